#!/usr/bin/env python3
"""Coverage and density of held-out rows after fits to few rows, by option posterior.

    benchmarks/posterior/intervals.py GPFIT [--rows 60] [--splits 5] [--ways none,auto]

Each split draws the rows of a fit from a table, and at most 500 others to score. Beside the four
tables of the folder --data there are generated ones: series, noise-free, and drawn, from a process with random parameters.
The last lines are averages over tables and splits.
"""

import argparse
import csv
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

TABLES = "yacht,energy,concrete,airfoil"


def drawn(rng, count=180):
    """Return rows of two columns whose targets are drawn from a process with the covariance matern52(ard)."""
    x = [[rng.uniform(-1.7, 1.7) for _ in range(2)] for _ in range(count)]
    scale = [math.exp(rng.gauss(0.3, 0.7)) for _ in range(2)]
    noise = math.exp(rng.gauss(-3, 1))
    lower, y = [], []
    for i, a in enumerate(x):
        row = []
        for j, b in enumerate(x[:i + 1]):
            r = math.sqrt(5 * sum(((u - v) / s) ** 2 for u, v, s in zip(a, b, scale)))
            v = (1 + r + r * r / 3) * math.exp(-r) + (noise if i == j else 0) - sum(p * q for p, q in zip(row, lower[j] if j < i else row))
            row.append(math.sqrt(v) if i == j else v / lower[j][j])
        lower.append(row)
    xi = [rng.gauss(0, 1) for _ in range(count)]
    return [[f"{v:.9g}" for v in a + [sum(p * q for p, q in zip(row, xi))]] for a, row in zip(x, lower)]


def generated(name, rng):
    """Return rows of a process, or 700 rows of a series with noise or of a function without."""
    if name == "drawn":
        return drawn(rng)
    rows = []
    for _ in range(700):
        if name == "series":
            x = [rng.uniform(0, 10)]
            y = math.sin(x[0]) + 0.3 * math.sin(3.7 * x[0]) + rng.gauss(0, 0.2)
        else:
            x = [rng.uniform(-1, 1) for _ in range(4)]
            y = math.sin(2 * x[0] + x[1]) + x[2] ** 2
        rows.append([f"{v:.9g}" for v in x + [y]])
    return rows


def read(name, folder, rng):
    if name in ("series", "noise-free", "drawn"):
        return generated(name, rng)
    with gzip.open(os.path.join(folder, name, "data.csv.gz"), "rt") as f:
        return list(csv.reader(f))


def write(path, rows):
    with open(path, "w") as f:
        csv.writer(f).writerows([[f"x{k}" for k in range(len(rows[0]) - 1)] + ["y"]] + rows)


def run(o, way, folder):
    """Fit and predict in one way, and return the scores."""
    train, test, model = (os.path.join(folder, name) for name in ("train.csv", "test.csv", "m.gpfit"))
    options = [] if way == "auto" else ["--posterior", way]
    began = time.perf_counter()
    done = subprocess.run([o.gpfit, "fit", train, "--kernel", o.kernel, *o.option, *options, "--out", model, "--force", "--quiet", "--json"], capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        return {"failed": done.stderr.strip()[-300:]}
    report = json.loads(done.stdout)
    began = time.perf_counter()
    done = subprocess.run([o.gpfit, "predict", model, test, "--score", "--quiet", "--json", "--out", os.path.join(folder, "p.csv"), "--force"], capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip()[-300:]}
    s = json.loads(done.stdout)["scores"][0]
    return {"nlpd": s["nlpd"], "rmse": s["rmse"], "coverage": s["coverage"]["95"], "width": s.get("width", {}).get("95"), "k_hat": (report.get("posterior") or {}).get("pareto_k"),
            "values": report["evaluations"]["value"], "gradients": report["evaluations"]["gradient"], "nlml": report["nlml"], "noise": report["parameters"].get("noise_variance"),
            "seconds": round(seconds, 3), "predict_seconds": round(time.perf_counter() - began, 3), "bytes": os.path.getsize(model)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpfit")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--kernel", default="matern52(ard)")
    parser.add_argument("--ways", default="none,auto")
    parser.add_argument("--option", action="append", default=[], help="a further option of the fit, such as --option=--mean=constant")
    o = parser.parse_args()
    print(json.dumps({"type": "machine", "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"),
                      "gpfit": subprocess.run([o.gpfit, "--version"], capture_output=True, text=True).stdout.strip(), "kernel": o.kernel, "rows": o.rows, "option": o.option}), flush=True)
    ways, all_runs = o.ways.split(","), {}
    with tempfile.TemporaryDirectory() as folder:
        for table in o.tables.split(","):
            for split in range(1, o.splits + 1):
                rng = random.Random(f"{table} {split}")
                rows = read(table, o.data, rng)
                rng.shuffle(rows)
                write(os.path.join(folder, "train.csv"), rows[:o.rows])
                write(os.path.join(folder, "test.csv"), rows[o.rows:o.rows + 500])
                for way in ways:
                    r = run(o, way, folder)
                    all_runs.setdefault(way, []).append(r)
                    print(json.dumps({"type": "run", "table": table, "split": split, "way": way, **r}), flush=True)
    for way in ways:
        good = [r for r in all_runs[way] if "failed" not in r]
        mean = lambda key: statistics.fmean(r[key] for r in good)
        print(json.dumps({"type": "average", "way": way, "runs": len(good), "failed": len(all_runs[way]) - len(good), **{k: round(mean(k), 4) for k in ("nlpd", "coverage", "rmse", "seconds", "predict_seconds", "bytes")}}), flush=True)


if __name__ == "__main__":
    main()
