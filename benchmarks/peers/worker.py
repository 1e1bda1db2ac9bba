"""Runs one engine in a separate process: reads requests, one JSON object per line,
from standard input and answers each with one object.

    {"op": "load", "engine": …, "data": FILE.npz, "n": …, "threads": …}
    {"op": "eval", "z": […], "repeat": r}  value and gradient at z, r times timed
                                           at points near z; peak memory so far
    {"op": "dgemm", "library": "numpy" or "mkl", "n": …, "repeat": r, "threads": …}
                                           a matrix product
    {"op": "inverse", "data": FILE.npz, "n": …, "z": […], "repeat": r, "threads": …}
                                           MKL's potrf and potri of the covariance matrix
"""

import json
import sys
import time

import numpy as np


def peak_bytes():
    try:
        for line in open("/proc/self/status"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def timed(repeat, prepare, work):
    """Returns the seconds of repeated work, after a warm-up and without its preparation."""
    seconds = []
    for i in range(repeat + 1):
        prepare()
        start = time.perf_counter()
        work()
        if i:
            seconds.append(time.perf_counter() - start)
    return {"seconds": seconds}


def dgemm(library, n, repeat, threads):
    rng = np.random.default_rng(0)
    a, b = rng.random((n, n)), rng.random((n, n))
    c = np.empty((n, n))
    if library == "numpy":
        return timed(repeat, lambda: None, lambda: np.matmul(a, b, out=c))
    from mklblas import MKL

    mkl = MKL(threads)
    return timed(repeat, lambda: None, lambda: mkl.dgemm(a, b, c))


def inverse(data, n, z, repeat, threads):
    from mklblas import MKL

    mkl, x = MKL(threads), np.load(data)["x"][:n]
    squares = (x * x).sum(axis=1)
    sigma = np.exp(z[1]) * np.exp((x @ x.T - squares[:, None] / 2 - squares / 2) / np.exp(2 * z[0]))
    sigma.flat[:: n + 1] += np.exp(z[2])
    work = np.empty_like(sigma)
    return timed(repeat, lambda: np.copyto(work, sigma), lambda: mkl.inverse(work))


class Worker:
    def __init__(self):
        self.engine = None
        self.count = 0

    def answer(self, q):
        if q["op"] == "dgemm":
            return dgemm(q["library"], q["n"], q["repeat"], q["threads"])
        if q["op"] == "inverse":
            return inverse(q["data"], q["n"], q["z"], q["repeat"], q["threads"])
        if q["op"] == "load":
            from engines import ENGINES

            data = np.load(q["data"])
            x, y = np.ascontiguousarray(data["x"][: q["n"]]), np.ascontiguousarray(data["y"][: q["n"]])
            self.engine = ENGINES[q["engine"]](x, y, q["threads"])
            return {}
        z = np.array(q["z"])
        value, grad = self.engine.eval(z)  # the warm-up, whose result is compared
        seconds = []
        for _ in range(q["repeat"]):
            self.count += 1
            start = time.perf_counter()
            self.engine.eval(z + 1e-6 * self.count)
            seconds.append(time.perf_counter() - start)
        return {"nlml": float(value), "gradient": [float(g) for g in grad], "seconds": seconds, "peak_bytes": peak_bytes()}


def main():
    worker = Worker()
    # Libraries may print, so redirect their output: only answers may enter the pipe.
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as e:  # the driver reports it and continues
            answer = {"error": f"{type(e).__name__}: {e}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
