#!/usr/bin/env python3
"""Counts how many fits end within half a nat of the best end known, on the first 44 pairs of table and kernel of the suite,
and on the first 42 with at most 100 rows.

    go run -C benchmarks ./tuning/suite tables FOLDER > FOLDER/pairs
    ends.py GPFIT FOLDER RESULTS.jsonl

The ends are those of a fit by default, with --restarts 5, and with --restarts 20 and three seeds; the best known is the
lowest of the five, and of --best FILE.jsonl, results of "suite best". All fits have --mean zero and --noise-floor none.
"""
import argparse
import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

WITHIN = 0.5
RUNS = [("default", 1, []), ("5", 1, ["--restarts", "5"]), *[("20", s, ["--restarts", "20"]) for s in (1, 2, 3)]]


def fit(task):
    program, table, rows, kernel, (label, seed, options) = task
    with tempfile.TemporaryDirectory() as d:
        data = table.read_text().splitlines()
        order = np.sort(np.random.default_rng(100).permutation(len(data))[:rows])
        (Path(d) / "t.csv").write_text("\n".join(data[i] for i in order) + "\n")
        command = [program, "fit", f"{d}/t.csv", "--kernel", kernel, "--mean", "zero", "--noise-floor", "none", "--posterior", "none", "--threads", "1",
                   "--seed", str(seed), "--json", "--quiet", "--out", f"{d}/m.gpfit", *options]
        r = json.loads(subprocess.run(["nice", "-n", "5", *command], capture_output=True, text=True, check=True).stdout)
    return {"pair": f"{table.stem} {kernel}", "rows": r["n"], "set": 100 if rows == 100 else 44, "restarts": label, "seed": seed, "nlml": r["nlml"],
            "values": r["evaluations"]["value"], "status": r["status"], "search": (r.get("search") or {}).get("kind")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("gpfit", "folder", "results"):
        parser.add_argument(name)
    parser.add_argument("--best", help="results of suite best")
    o = parser.parse_args()
    pairs = [line.split("\t") for line in (Path(o.folder) / "pairs").read_text().splitlines()]
    tasks = [(o.gpfit, Path(o.folder) / table, rows, kernel, run) for rows, number in ((100, 42), (10**6, 44)) for table, kernel in pairs[:number] for run in RUNS]
    with ThreadPoolExecutor(2) as pool, open(o.results, "w") as out:
        rows = []
        for r in pool.map(fit, tasks):
            rows.append(r)
            print(json.dumps(r), file=out, flush=True)
    known = {}
    if o.best:
        for line in open(o.best):
            r = json.loads(line)
            known[44, r["pair"]] = r["nlml"]
    for r in rows:
        key = r["set"], r["pair"]
        known[key] = min(known.get(key, np.inf), r["nlml"])
    for which in (44, 100):
        for label in ("default", "5", "20"):
            some = [(r["nlml"] - known[which, r["pair"]], r) for r in rows if r["set"] == which and r["restarts"] == label]
            missed = sorted([(e, r) for e, r in some if e > WITHIN], key=lambda m: -m[0])
            print(f"{'at most 100 rows' if which == 100 else 'all rows'}, restarts {label}: {len(some) - len(missed)} of {len(some)} within {WITHIN} nats; above: "
                  + ("; ".join(f"{r['pair']} {e:.2f}" for e, r in missed) or "none"))


if __name__ == "__main__":
    main()
