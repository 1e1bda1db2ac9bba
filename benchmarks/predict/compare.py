#!/usr/bin/env python3
"""Times gpfit predict against NumPy's own K*·α, interleaved in one run.

    go build -o /tmp/gpfit ./cmd/gpfit
    python3 benchmarks/predict/compare.py --gpfit /tmp/gpfit

The model has n = 2000 rows of d = 8 columns and the kernel rbf(ard); the table to
predict has 1,000,000 rows. gpfit's times are those of the whole command, with starting,
reading the table and writing the result. NumPy's are those of the arithmetic alone, on
arrays in memory: blocks of K* by one matrix product and one exp in place, and then the
product with α; of several block sizes the fastest counts. NumPy's result must agree with
gpfit's to 1e-9. With variances, a row needs a triangular solve, too: n² operations, half of
those of a product with a full matrix. The bound is the time of these operations alone, at
the rate of the fastest product of 2000×2000 matrices in the same run: NumPy's, or MKL's if
the package mkl is installed. --before names an older gpfit to compare with, --threads a
number of threads for all programs, and --only variances leaves out the means.

On a machine that does other work, too, the CPU seconds tell more than the seconds.

It needs NumPy; MKL is optional. It prints one JSON line for each measurement and a summary.
"""
import argparse
import ctypes
import glob
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if "--threads" in sys.argv:  # before NumPy starts its threads
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ[library + "_NUM_THREADS"] = sys.argv[sys.argv.index("--threads") + 1]

import numpy as np

N, D = 2000, 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpfit", required=True)
    parser.add_argument("--before", help="an older gpfit")
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--only", choices=["means", "variances"])
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
    if args.only != "variances":
        np.savetxt("new.csv", new, fmt="%.17g", delimiter=",", header=",".join(f"x{i}" for i in range(D)), comments="")
    np.savetxt("some.csv", new[: args.variance_rows], fmt="%.17g", delimiter=",", header=",".join(f"x{i}" for i in range(D)), comments="")
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

    common = ["--device", "cpu", "--quiet", "--force", "--threads", args.threads]
    programs = {"gpfit": args.gpfit} | ({"before": args.before} if args.before else {})
    for _ in range(args.repeat):
        if args.only != "variances":
            for name, words in commands.items():
                wall, _, cpu = timed([args.gpfit, "predict", "m.gpfit", *words, *common])
                note(name, wall, cpu, args.rows)
            for block in blocks:
                began, used = time.perf_counter(), time.process_time()
                mean = numpy_means(model, new, block)
                note(f"NumPy, blocks of {block}", time.perf_counter() - began, time.process_time() - used, args.rows)
        if args.only != "means":
            for program, path in programs.items():
                for form in ("npy", "csv"):
                    wall, _, cpu = timed([path, "predict", "m.gpfit", "some." + form, "--out", "all." + form, *common])
                    note(f"{program} with variances, .{form} to .{form}", wall, cpu, args.variance_rows)
            for name, (wall, cpu) in product_seconds().items():
                operations = args.variance_rows / (2 * N)  # n²·rows, in products of 2n³ each
                note("bound of dgemm, " + name, operations * wall, operations * cpu, args.variance_rows)
    summary = {"type": "summary", "threads": int(args.threads)}
    if args.only != "variances":
        difference = np.abs(np.load("mean.npy")[:, 0] - mean).max()
        if not difference < 1e-9:
            raise SystemExit(f"the means differ by {difference}")
        summary["largest_difference"] = difference
    for what, times in {"": seconds, "_cpu": cpu_seconds}.items():
        for kind, pick in {"best": min, "median": statistics.median}.items():
            t = {name: pick(values) for name, values in times.items()}
            if args.only != "variances":
                numpy_best = min(t[f"NumPy, blocks of {b}"] for b in blocks)
                summary[f"rate_over_numpy{what}_{kind}"] = {name: round(numpy_best / t[name], 2) for name in commands}
            if args.only != "means":
                bound = min(v for name, v in t.items() if name.startswith("bound"))
                summary[f"share_of_dgemm{what}_{kind}"] = {name: round(bound / v, 3) for name, v in t.items() if "variances" in name}
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
    """Wall and CPU seconds of one product of N×N matrices, the best of six, by library."""
    a, b, c = np.random.rand(N, N), np.random.rand(N, N), np.empty((N, N))
    products = {"NumPy": lambda: np.dot(a, b, out=c)}
    found = glob.glob(sys.prefix + "/lib/libmkl_rt.so*")
    if found:
        dgemm = ctypes.CDLL(found[0]).cblas_dgemm
        whole, matrix, number = ctypes.c_int, ctypes.c_void_p, ctypes.c_double
        dgemm.argtypes = [whole] * 6 + [number, matrix, whole, matrix, whole, number, matrix, whole]
        dgemm.restype = None
        at = [m.ctypes.data_as(matrix) for m in (a, b, c)]
        # Row-major, neither matrix transposed.
        products["MKL"] = lambda: dgemm(101, 111, 111, N, N, N, 1.0, at[0], N, at[1], N, 0.0, at[2], N)
    out = {}
    for name, product in products.items():
        times = [one_product(product) for _ in range(6)]
        out[name] = min(t[0] for t in times), min(t[1] for t in times)
    return out


def one_product(product):
    began, used = time.perf_counter(), time.process_time()
    product()
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
