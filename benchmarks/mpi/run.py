#!/usr/bin/env python3
"""Measures what one rank of the method mpi takes, beside the method dense.

    benchmarks/mpi/run.py GPFIT [--n 4000] [--rounds 5] [--out FILE]

Each round runs 'gpfit nlml' (one value with its gradient) by the method dense, by mpi with ELPA and by mpi with
ScaLAPACK, one after the other, with one thread each. The figures are processor seconds, user and system, of the whole
process: they depend less on other load than wall-clock time. What the same process takes for 100 rows is subtracted.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import resource
import statistics
import subprocess
import tempfile
import time

METHODS = {"dense": ("dense", ""), "elpa": ("mpi", "elpa"), "scalapack": ("mpi", "scalapack")}


def table(path, n):
    rng = random.Random(1)
    with open(path, "w") as out:
        out.write("a,b,c,y\n")
        for _ in range(n):
            x = [rng.gauss(0, 1) for _ in range(3)]
            out.write(",".join(repr(v) for v in [*x, sum(x) + 0.3 * rng.gauss(0, 1)]) + "\n")


def processor_seconds(gpfit, path, method):
    name, engine = METHODS[method]
    environment = dict(os.environ, GOMAXPROCS="1", OPENBLAS_NUM_THREADS="1")
    if engine:
        environment["GPFIT_MPI_ENGINE"] = engine
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([gpfit, "nlml", path, "--kernel", "rbf(ard)", "--method", name, "--threads", "1", "--json"],
                          env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(done.stdout)["nlml"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpfit")
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    args = parser.parse_args()
    record = {"date": time.strftime("%Y-%m-%d"), "n": args.n, "machine": platform.machine(), "processor": "", "libraries": {}, "rounds": []}
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            record["processor"] = f"{line.split(':')[1].strip()}, {os.cpu_count()} cores"
            break
    record["version"] = subprocess.run([args.gpfit, "version"], capture_output=True, text=True).stdout.strip()
    for package in ["libopenmpi3", "libscalapack-openmpi2.2", "libelpa19", "libopenblas0-pthread"]:
        shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
        record["libraries"][package] = shown.stdout
    with tempfile.TemporaryDirectory() as folder:
        small, large = os.path.join(folder, "small.csv"), os.path.join(folder, "large.csv")
        table(small, 100)
        table(large, args.n)
        for i in range(args.rounds):
            round_ = {"load": os.getloadavg()[0]}
            for method in METHODS:
                start, _ = processor_seconds(args.gpfit, small, method)
                whole, nlml = processor_seconds(args.gpfit, large, method)
                round_[method] = {"seconds": round(whole - start, 3), "start": round(start, 3), "nlml": nlml}
            record["rounds"].append(round_)
            print(round_["load"], {m: round_[m]["seconds"] for m in METHODS}, flush=True)
    for method in METHODS:
        seconds = [r[method]["seconds"] for r in record["rounds"]]
        record[method] = statistics.median(seconds)
        ratios = [r[method]["seconds"] / r["dense"]["seconds"] for r in record["rounds"]]
        print(f"{method:10s} median {record[method]:.2f} s, {statistics.median(ratios):.2f} times dense in the same round ({min(ratios):.2f} to {max(ratios):.2f})")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(record, indent=1) + "\n")


main()
