#!/usr/bin/env python3
"""Times two gpfit programs in turn: value and gradient, and 200 jobs of 500 rows.

    python3 benchmarks/samebits/speed.py BEFORE AFTER [--quick]

Each round runs both programs, in alternating order. Ratios are computed per round;
medians are over rounds. A ratio above 1 means that AFTER is faster. Close other
programs first.
"""
import argparse
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def evaluation(program, n, repeat):
    """Returns the median seconds of a value with gradient and of a value alone."""
    out = subprocess.run(
        [program, "bench", "--n", str(n), "--kernel", "rbf", "--repeat", str(repeat), "--json", "--quiet", "--device", "cpu"],
        check=True, capture_output=True, text=True).stdout
    row = [r for r in map(json.loads, out.splitlines()) if r["type"] == "bench"][0]
    return row["seconds_value_gradient"], row["seconds_value"]


def write_jobs(folder, jobs):
    """Writes a table of 500 rows, and a batch that fits it jobs times."""
    rng = random.Random(1)
    with open(folder / "t.csv", "w") as f:
        f.write("a,b,c,y\n")
        for _ in range(500):
            x = [rng.gauss(0, 1) for _ in range(3)]
            y = math.sin(2 * x[0]) + 0.3 * x[1] ** 2 + 0.1 * rng.gauss(0, 1)
            f.write(",".join(f"{v:.6f}" for v in [*x, y]) + "\n")
    seeds = ", ".join(map(str, range(1, jobs + 1)))
    (folder / "s.yaml").write_text(f'data:\n  - {{name: t, path: t.csv}}\nkernels: ["rbf(ard)"]\nseeds: [{seeds}]\n')


def batch(program, folder, name):
    began = time.perf_counter()
    subprocess.run([program, "batch", "s.yaml", "--out", name, "--quiet", "--device", "cpu"], check=True, capture_output=True, cwd=folder)
    return time.perf_counter() - began


def turns(rounds, programs, run):
    """Yields run's results for both programs, round by round, in alternating order."""
    for k in range(rounds):
        order = programs if k % 2 == 0 else programs[::-1]
        found = {p: run(p, k) for p in order}
        yield found[programs[0]], found[programs[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--quick", action="store_true", help="few rounds and jobs, to try the script")
    args = parser.parse_args()
    programs = [os.path.abspath(args.before), os.path.abspath(args.after)]
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?") if sys.platform == "linux" else "?"
    print(f"{platform.platform()}, {cpu}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}, {time.strftime('%Y-%m-%d %H:%M')}")
    for n, rounds, repeat in [(500, 12, 15), (2000, 8, 15), (4000, 5, 5)]:
        if args.quick:
            rounds, repeat = 2, 3
        pairs = list(turns(rounds, programs, lambda p, _: evaluation(p, n, repeat)))
        for i, what in enumerate(["value and gradient", "value"]):
            ratios = [b[i] / a[i] for b, a in pairs]
            print(f"n = {n}, {what}: before/after {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
                  f"after {1e3 * statistics.median(a[i] for _, a in pairs):.2f} ms", flush=True)
    jobs = 20 if args.quick else 200
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_jobs(folder, jobs)
        pairs = list(turns(2 if args.quick else 4, programs, lambda p, k: batch(p, folder, f"{programs.index(p)}-{k}.run")))
        ratios = [b / a for b, a in pairs]
        print(f"{jobs} jobs of n = 500: before/after {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
              f"after {statistics.median(a for _, a in pairs):.1f} s; load {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
