#!/usr/bin/env python3
"""Times a batch of many small fits: tables of 50 to 300 rows and 1 to 8 columns.

    benchmarks/batch/small.py GPFIT [OTHER_GPFIT ...] [--jobs 500] [--repeat 3]

The programs run in turn, on the same tables, with one thread for each job. The script
prints jobs per second of wall clock and per second of processor time, and the largest
difference of an NLML between the programs.
"""

import argparse
import json
import math
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time


def table(path, n, d, seed):
    """Write n rows of d columns: a smooth function with noise."""
    rng = random.Random(seed)
    weights = [rng.gauss(0, 1.5) for _ in range(d)]
    with open(path, "w") as f:
        f.write(",".join([f"x{k}" for k in range(d)] + ["y"]) + "\n")
        for _ in range(n):
            x = [rng.uniform(-1, 1) for _ in range(d)]
            s = sum(w * v for w, v in zip(weights, x))
            y = math.sin(2 * s) + 0.3 * x[0] ** 2 + rng.gauss(0, 0.2)
            f.write(",".join(f"{v:.9g}" for v in x + [y]) + "\n")


def run(gpfit, spec, folder):
    """Run the batch and return wall and processor seconds, and the NLML of each job."""
    out = os.path.join(folder, "run")
    shutil.rmtree(out, ignore_errors=True)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([gpfit, "batch", spec, "--out", out, "--quiet"], capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    shown = subprocess.run([gpfit, "show", out, "--format", "json"], capture_output=True, text=True, check=True)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, [json.loads(line) for line in shown.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpfit", nargs="+")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(1)
        lines = ["name: small tables", "defaults: {threads: 1}", "kernels: ['rbf(ard)']", "data:"]
        for job in range(args.jobs):
            path = os.path.join(folder, f"t{job:03}.csv")
            table(path, rng.randrange(50, 301), rng.randrange(1, 9), job)
            lines.append(f"  - {{name: t{job:03}, path: {path}}}")
        spec = os.path.join(folder, "small.yaml")
        with open(spec, "w") as f:
            f.write("\n".join(lines) + "\n")
        seconds = {g: [] for g in args.gpfit}
        results = {}
        for _ in range(args.repeat):
            for g in args.gpfit:
                wall, cpu, results[g] = run(g, spec, folder)
                seconds[g].append((wall, cpu))
        for g in args.gpfit:
            wall, cpu = (statistics.median(v) for v in zip(*seconds[g]))
            print(f"{g}: {args.jobs / wall:.1f} jobs per second, {args.jobs / cpu:.1f} per processor second; median of {args.repeat}")
        nlml = {g: {j["data"]: j["nlml"] for j in results[g] if j["type"] == "job"} for g in args.gpfit}
        first = args.gpfit[0]
        for g in args.gpfit[1:]:
            print(f"{g}: largest difference of an NLML {max(abs(nlml[g][k] - nlml[first][k]) for k in nlml[first]):.2e} nats")


if __name__ == "__main__":
    main()
