#!/usr/bin/env python3
"""Compares local experts with one process on kin40k: on a subset of the rows with the same
work in each evaluation, and on 12,000 rows.

    benchmarks/experts/run.py GPFIT FOLDER > result.txt

FOLDER has data.csv.gz and test_mask.csv.gz of kin40k (36,000 training rows, 8 columns, the
target last). Fits take minutes; --quick leaves out the one of 12,000 rows.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import tempfile
import time

KERNEL = "rbf(ard)"


def run(arguments):
    """Run gpfit and return its output and the seconds that it took."""
    began = time.time()
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return done.stdout, time.time() - began


def fit(args, folder, name, more):
    """Fit, and return the report and the seconds of the whole command."""
    command = [args.gpfit, "fit", f"{args.folder}/data.csv.gz", "--kernel", KERNEL, "--split-mask", f"{args.folder}/test_mask.csv.gz:0",
               "--out", f"{folder}/{name}.gpfit", "--json", "--quiet", *more]
    print("$", " ".join(["gpfit", *command[1:]]).replace(args.folder, "FOLDER").replace(folder, "TEMPORARY"), flush=True)
    out, seconds = run(command)
    return json.loads(out), seconds


def show(label, report, seconds):
    test = report["test"]
    print(f"{label:34} rows {report['n']:6}  RMSE {test['rmse_standardized']:.4f}  NLPD {test['nlpd_standardized']:.4f}  "
          f"in 95 % {100 * test['coverage95']:.1f} %  minutes {seconds / 60:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpfit")
    parser.add_argument("folder")
    parser.add_argument("--clusters", type=int, default=18)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    version, _ = run([args.gpfit, "version"])
    print(f"# {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {platform.processor() or platform.machine()}, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    print("#", version.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        report, seconds = fit(args, folder, "experts", ["--experts", f"kmeans:{args.clusters}"])
        show(f"{args.clusters} experts, {report['experts']['combine']}", report, seconds)
        # n³ operations of one process are the sum of the experts' cubes.
        rows = round(sum(size**3 for size in report["experts"]["sizes"]) ** (1 / 3))
        report, seconds = fit(args, folder, "subset", ["--subsample", str(rows)])
        show("one process, same work", report, seconds)
        if not args.quick:
            report, seconds = fit(args, folder, "exact", ["--subsample", "12000"])
            show("one process", report, seconds)
    print(f"# load {os.getloadavg()[0]:.2f} at the end")


if __name__ == "__main__":
    main()
