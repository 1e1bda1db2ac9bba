"""Runs one engine in a separate process: reads requests, one JSON object per line,
from standard input and answers each with one object.

    {"op": "load", "engine": …, "data": FILE.npz, "n": …, "threads": …}
    {"op": "eval", "z": […], "repeat": r}  value and gradient at z, r times timed
                                           at points near z; peak memory so far
    {"op": "dgemm", "n": …, "repeat": r}   NumPy's matrix product
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


def dgemm(n, repeat):
    rng = np.random.default_rng(0)
    a, b = rng.random((n, n)), rng.random((n, n))
    c = np.empty((n, n))
    np.matmul(a, b, out=c)
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        np.matmul(a, b, out=c)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds}


class Worker:
    def __init__(self):
        self.engine = None
        self.count = 0

    def answer(self, q):
        if q["op"] == "dgemm":
            return dgemm(q["n"], q["repeat"])
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
