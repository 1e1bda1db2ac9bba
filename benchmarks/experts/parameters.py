#!/usr/bin/env python3
"""Compares local experts that share their parameters with experts that have their own: on a
part of kin40k, and on a table of which one half is smooth and the other rough and noisy.

    benchmarks/experts/parameters.py GPFIT FOLDER > result-parameters.txt

FOLDER has data.csv.gz and test_mask.csv.gz of kin40k (8 columns, the target last). It takes a
few minutes.
"""

import argparse
import csv
import datetime
import gzip
import json
import math
import os
import platform
import random
import statistics
import subprocess
import tempfile
import time


def kin40k(folder, rows):
    """Return a header, some training rows and all held-out rows."""
    with gzip.open(f"{folder}/data.csv.gz", "rt") as file:
        table = list(csv.reader(file))
    with gzip.open(f"{folder}/test_mask.csv.gz", "rt") as file:
        mask = [line.strip().split(",")[0] for line in file]
    mask = mask[-len(table):]
    train = [row for row, held in zip(table, mask) if float(held) == 0]
    test = [row for row, held in zip(table, mask) if float(held) == 1]
    random.Random(1).shuffle(train)
    return [*(f"x{c}" for c in range(len(table[0]) - 1)), "y"], train[:rows], test


def regions(rows, held):
    """Return a header, training and held-out rows of a table with two different regions."""
    draw = random.Random(2)

    def row():
        a, b = draw.uniform(-1, 1), draw.uniform(0, 1)
        if a < 0:
            return [a, b, math.sin(2 * a) + 0.5 * b * b + draw.gauss(0, 0.02)]
        return [a, b, math.sin(25 * a) * math.cos(18 * b) + draw.gauss(0, 0.2)]

    return ["a", "b", "y"], [row() for _ in range(rows)], [row() for _ in range(held)]


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def run(args, folder, arguments):
    """Run gpfit and return its output and the seconds that it took."""
    began = time.time()
    done = subprocess.run([args.gpfit, *arguments], check=True, capture_output=True, text=True, cwd=folder)
    return done.stdout, time.time() - began


def compare(args, name, header, train, test):
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/train.csv", header, train)
        write(f"{folder}/test.csv", header, test)
        scale = statistics.pstdev(float(row[-1]) for row in train)
        for parameters in ("shared", "separate"):
            command = ["fit", "train.csv", "--kernel", "rbf(ard)", "--experts", f"kmeans:{args.clusters}", "--expert-parameters", parameters,
                       "--out", f"{parameters}.gpfit", "--json", "--quiet", "--force"]
            print(f"# {name}: $ gpfit", " ".join(command), flush=True)
            report, seconds = run(args, folder, command)
            report = json.loads(report)
            for rule in ("rbcm", "nearest"):
                out, _ = run(args, folder, ["predict", f"{parameters}.gpfit", "test.csv", "--combine", rule, "--score", "--json", "--quiet", "--out", "p.csv", "--force"])
                score = json.loads(out)["scores"][0]
                print(f"{name:10} {parameters:9} {rule:8} rows {report['n']:5}  NLML {report['nlml']:10.1f}  RMSE {score['rmse'] / scale:.4f}  "
                      f"NLPD {score['nlpd'] - math.log(scale):8.4f}  in 95 % {100 * score['coverage']['95']:.1f} %  "
                      f"seconds of the fit {seconds:.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpfit", type=os.path.abspath)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--clusters", type=int, default=6)
    args = parser.parse_args()
    version, _ = run(args, None, ["version"])
    print(f"# {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {platform.processor() or platform.machine()}, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    print("#", version.splitlines()[0])
    compare(args, "regions", *regions(args.rows // 2, args.rows // 3))
    compare(args, "kin40k", *kin40k(args.folder, args.rows))
    print(f"# load {os.getloadavg()[0]:.2f} at the end")


if __name__ == "__main__":
    main()
