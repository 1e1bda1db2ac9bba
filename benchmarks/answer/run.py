#!/usr/bin/env python3
"""Judges the answer of a default fit on tables of a few hundred rows, beside each kernel alone and
scikit-learn's histogram gradient boosting (min_samples_leaf 10).

    go build ./cmd/gpfit && benchmarks/answer/run.py ./gpfit ../shared/data [--out NAME]

Without --out only the summary is printed; NAME.jsonl has a line for each fit, NAME.txt the summary.
Needs numpy and scikit-learn.
"""

import argparse
import concurrent.futures
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import sklearn
import tables
from sklearn.ensemble import HistGradientBoostingRegressor

KERNELS = ["matern32(ard)", "matern52(ard)", "rbf(ard)", "rbf(ard) + matern12", "matern32", "rbf"]


def fit(gpfit, folder, task):
    """Fits a kernel to a table; "auto" is a fit without options."""
    name, seed, kernel = task
    x, y, held = tables.split(folder, name, seed)
    with tempfile.TemporaryDirectory() as d:
        table, mask = os.path.join(d, "t.csv"), os.path.join(d, "m.csv")
        np.savetxt(table, np.c_[x, y], delimiter=",", fmt="%.17g")
        np.savetxt(mask, held, fmt="%d")
        args = [gpfit, "fit", table, "--split-mask", mask, "--json", "--quiet", "--out", os.path.join(d, "m.gpfit")]
        out = subprocess.run(args + ([] if kernel == "auto" else ["--kernel", kernel]), capture_output=True, text=True)
    if not out.stdout.startswith("{"):
        raise RuntimeError(f"{name} {seed} {kernel}: {out.stderr}")
    r = json.loads(out.stdout)
    t, e = r["test"], r["evaluations"]
    return {"table": name, "split": seed, "method": kernel, "rows": r["n"], "kernel": r["kernel"], "mean": r["mean"], "nlml": r["nlml"],
            "noise_variance": r["parameters"].get("noise_variance"), "rmse": t["rmse_standardized"], "nlpd": t["nlpd_standardized"],
            "coverage95": t["coverage95"], "values": e["full_size_value"], "seconds": r["seconds"]}


def boosting(folder, name, seed):
    """Returns the standardized RMSE of gradient boosting."""
    x, y, held = tables.split(folder, name, seed)
    train, test = held == 0, held == 1
    m = HistGradientBoostingRegressor(min_samples_leaf=10, random_state=0).fit(x[train], y[train])
    rmse = math.sqrt(np.mean((m.predict(x[test]) - y[test]) ** 2)) / y[train].std()
    return {"table": name, "split": seed, "method": "boosting", "rmse": rmse}


def summary(rows):
    """Returns a line for each table and the figures over all."""
    by = {}
    for r in rows:
        by.setdefault((r["table"], r["split"]), {})[r["method"]] = r
    lines, ratios, rmses, boosted, beaten, excess, used = [], [], [], [], 0, [], []
    lines.append(f"{'table':<12} split  default: RMSE    NLPD  cover   kernel and mean; best kernel alone: RMSE, NLPD; boosting: RMSE")
    for (name, seed), m in by.items():
        own, alone = m["auto"], [m[k] for k in KERNELS]
        best, density = min(alone, key=lambda r: r["rmse"]), min((r["nlpd"] for r in alone if r["nlpd"] is not None))
        rmses.append(own["rmse"])
        boosted.append(m["boosting"]["rmse"])
        ratios.append(own["rmse"] / best["rmse"])
        excess.append((math.inf if own["nlpd"] is None else own["nlpd"]) - density)
        beaten += own["rmse"] < m["boosting"]["rmse"]
        used.append(own["values"] / m["matern32(ard)"]["values"])
        lines.append(f"{name:<12} {seed:>5} {own['rmse']:14.4f} {own['nlpd']:7.2f} {100 * own['coverage95']:6.1f}   {own['kernel']}, {own['mean']}; "
                     f"{best['method']}: {best['rmse']:.4f}, {density:.2f}; {m['boosting']['rmse']:.4f}")
    mean = lambda v: math.exp(np.mean(np.log(v)))
    lines += ["", f"geometric mean RMSE: default {mean(rmses):.4f}, {mean(ratios):.3f} of the best kernel in hindsight (at most {max(ratios):.2f}); boosting {mean(boosted):.4f}"]
    for k in KERNELS:
        lines.append(f"  {k:<22} {mean([m[k]['rmse'] for m in by.values()]):.4f}, beats boosting in {sum(m[k]['rmse'] < m['boosting']['rmse'] for m in by.values())}")
    lines += [f"the default beats boosting in {beaten} of {len(rmses)}",
              f"NLPD above the best kernel's: at most {max(excess):.2f}, on average {np.mean(excess):.3f}",
              f"values over all rows, of the default over matern32(ard)'s: median {np.median(used):.2f}, at most {max(used):.2f}"]
    return "\n".join(lines)


def machine(gpfit):
    """Returns what a result depends on beside the tables."""
    with open("/proc/cpuinfo") as f:
        cpu = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    version = subprocess.run([gpfit, "--version"], capture_output=True, text=True).stdout.strip()
    return {"type": "machine", "cpu": cpu, "cores": os.cpu_count(), "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "gpfit": version,
            "python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__, "command": "benchmarks/answer/run.py " + " ".join(sys.argv[1:])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gpfit")
    parser.add_argument("data", help="folder of the public tables")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--tables", help="names, separated by commas (default: all)")
    parser.add_argument("--out")
    o = parser.parse_args()
    names = o.tables.split(",") if o.tables else tables.REAL + [g.__name__ for g in tables.GENERATED]
    tasks = [(n, s, k) for n in names for s in range(1, o.splits + 1) for k in ["auto", *KERNELS]]
    header = machine(os.path.abspath(o.gpfit))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda t: fit(os.path.abspath(o.gpfit), o.data, t), tasks))
    rows += [boosting(o.data, n, s) for n in names for s in range(1, o.splits + 1)]
    text = "\n".join(f"{k}: {v}" for k, v in header.items() if k != "type") + "\n\n" + summary(rows)
    print(text)
    if o.out:
        with open(o.out + ".jsonl", "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in [header, *rows])
        with open(o.out + ".txt", "w") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    main()
