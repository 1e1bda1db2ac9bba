#!/usr/bin/env python3
"""Times gpfit predict against NumPy's own K*·α, interleaved in one run.

    go build -o /tmp/gpfit ./cmd/gpfit
    python3 benchmarks/predict/compare.py --gpfit /tmp/gpfit

The model has n = 2000 rows of d = 8 columns and the kernel rbf(ard); the table to
predict has 1,000,000 rows. gpfit's times are those of the whole command, with starting,
reading the table and writing the result. NumPy's are those of the arithmetic alone, on
arrays in memory: blocks of K* by one matrix product and one exp in place, and then the
product with α; of several block sizes the fastest counts. NumPy's result must agree with
gpfit's to 1e-9. With variances, NumPy needs L⁻¹·K* as well, which is limited by dgemm:
the bound is n²·rows/rate operations of the triangular solve, at the rate of
numpy.dot for 2000×2000 matrices in the same run.

On a machine that does other work, too, the CPU seconds tell more than the seconds.

It needs NumPy. It prints one JSON line for each measurement and a summary.
"""
import argparse
import json
import os
import platform
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

N, D = 2000, 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpfit", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--variance-rows", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps({"type": "machine", "cpu": processor(), "cores": os.cpu_count(), "numpy": np.__version__,
                      "gpfit": run([args.gpfit, "version"])[1].splitlines()[0], "date": time.strftime("%Y-%m-%d")}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        measure(args)


def measure(args):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N, D))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=N)
    np.save("train.npy", np.column_stack([x, y]))
    new = rng.normal(size=(args.rows, D))
    np.save("new.npy", new)
    np.save("some.npy", new[: args.variance_rows])
    np.savetxt("new.csv", new, fmt="%.17g", delimiter=",", header=",".join(f"x{i}" for i in range(D)), comments="")
    run([args.gpfit, "fit", "train.npy", "--kernel", "rbf(ard)", "--max-evals", "5", "--device", "cpu", "--quiet", "--out", "m.gpfit"])
    model = load("m.gpfit")
    commands = {
        "gpfit, .npy to .npy": ["new.npy", "--mean-only", "--out", "mean.npy"],
        "gpfit, .csv to .csv": ["new.csv", "--mean-only", "--out", "mean.csv"],
        "gpfit, .npy to .parquet": ["new.npy", "--mean-only", "--out", "mean.parquet"],
    }
    blocks = [2000, 8000]
    seconds, cpu_seconds = {}, {}

    def note(name, wall, cpu, rows):
        seconds.setdefault(name, []).append(wall)
        cpu_seconds.setdefault(name, []).append(cpu)
        print(json.dumps({"type": "measurement", "name": name, "rows": rows, "seconds": round(wall, 3), "cpu_seconds": round(cpu, 2),
                          "rows_per_second": round(rows / wall)}), flush=True)

    for _ in range(args.repeat):
        for name, words in commands.items():
            wall, _, cpu = timed([args.gpfit, "predict", "m.gpfit", *words, "--device", "cpu", "--quiet", "--force"])
            note(name, wall, cpu, args.rows)
        for block in blocks:
            began, used = time.perf_counter(), time.process_time()
            mean = numpy_means(model, new, block)
            note(f"NumPy, blocks of {block}", time.perf_counter() - began, time.process_time() - used, args.rows)
        wall, _, cpu = timed([args.gpfit, "predict", "m.gpfit", "some.npy", "--out", "all.npy", "--device", "cpu", "--quiet", "--force"])
        note("gpfit with variances", wall, cpu, args.variance_rows)
        wall, cpu = product_seconds()
        operations = args.variance_rows / (2 * N)  # n²·rows, in products of 2n³ each
        note("bound of dgemm", operations * wall, operations * cpu, args.variance_rows)
    difference = np.abs(np.load("mean.npy")[:, 0] - mean).max()
    if not difference < 1e-9:
        raise SystemExit(f"the means differ by {difference}")
    summary = {"type": "summary", "largest_difference": difference}
    for what, times in {"": seconds, "_cpu": cpu_seconds}.items():
        best = {name: min(t) for name, t in times.items()}
        numpy_best = min(best[f"NumPy, blocks of {b}"] for b in blocks)
        summary["rate_over_numpy" + what] = {name: round(numpy_best / best[name], 2) for name in commands}
        summary["share_of_dgemm_with_variances" + what] = round(best["bound of dgemm"] / best["gpfit with variances"], 3)
    print(json.dumps(summary))


def numpy_means(m, new, block):
    """The posterior mean at the rows of new."""
    a = (m["X"] - m["x_mean"]) / m["x_scale"] / m["lengthscales"]
    half = 0.5 * np.einsum("ij,ij->i", a, a)
    alpha = m["signal_variance"] * m["alpha"]
    out, k = np.empty(len(new)), np.empty((block, N))
    shift, scale = m["x_mean"], 1 / (m["x_scale"] * m["lengthscales"])
    for begin in range(0, len(new), block):
        b = (new[begin:begin + block] - shift) * scale
        part = k[: len(b)]
        np.dot(b, a.T, out=part)
        part -= half
        part -= 0.5 * np.einsum("ij,ij->i", b, b)[:, None]
        np.exp(part, out=part)
        np.dot(part, alpha, out=out[begin:begin + len(b)])
    return out * m["y_scale"] + m["y_mean"]


def load(path):
    """The arrays and numbers of a model of gpfit with the kernel rbf(ard)."""
    archive = np.load(path)
    header = json.loads(bytes(archive["model.json"]))
    theta = dict(zip(header["parameter_names"], header["theta"]))
    s = header["scaling"]
    return {
        "X": archive["X"], "alpha": archive["alpha"], "signal_variance": theta["signal_variance"],
        "lengthscales": np.array([theta[f"lengthscale[{c}]"] for c in range(D)]),
        "x_mean": np.array(s["x_mean"]), "x_scale": np.array(s["x_scale"]), "y_mean": s["y_mean"], "y_scale": s["y_scale"],
    }


def product_seconds():
    """Wall and CPU seconds of one product of N×N matrices, the best of six."""
    a, b = np.random.rand(N, N), np.random.rand(N, N)
    times = [one_product(a, b) for _ in range(6)]
    return min(t[0] for t in times), min(t[1] for t in times)


def one_product(a, b):
    began, used = time.perf_counter(), time.process_time()
    a @ b
    return time.perf_counter() - began, time.process_time() - used


def timed(words):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    code, text = run(words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.returncode, done.stdout


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
