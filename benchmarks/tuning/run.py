#!/usr/bin/env python3
"""Counts the full-size evaluations of a fit, coarse to fine against plain L-BFGS.

    run.py GPFIT TABLE.csv... [--best NAME=NLML]... [--header yes|no] [--only coarse|plain]
           [--max-evals N]

Fits every table with rbf(ard) from the default start, once on growing subsets first
(--coarse on) and once without (--coarse off). Prints the number of values and
gradients on all rows until the NLML is within 0.5 and 0.05 of the best known NLML
(the lowest of both fits and --best). The script reads the numbers from gpfit's
progress, which has at least one line every five seconds. If an evaluation takes
less time than that, the numbers are upper bounds.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LINE = re.compile(r"\] start 0, iteration (\d+): NLML (\S+), .* (\d+) values, (\d+) gradients")


def fit(gpfit, table, header, coarse, limit, folder):
    name = f"{table.stem}-{coarse}"
    run = subprocess.run([gpfit, "fit", str(table), "--header", header, "--kernel", "rbf(ard)", "--coarse", coarse,
                          "--json", "--device", "cpu", "--max-evals", str(limit), "--out", str(folder / f"{name}.gpfit")],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{name}: {run.stderr[-500:]}")
    report = json.loads(run.stdout)
    # Lines without "rows," refer to all rows.
    steps = {}
    for m in LINE.finditer(run.stderr):
        steps[int(m[3])] = (float(m[2]), int(m[4]))
    e = report["evaluations"]
    steps[e["full_size_value"]] = (report["nlml"], e["full_size_gradient"])
    return report, sorted((v, g, f) for v, (f, g) in steps.items())


def reached(steps, limit):
    for values, gradients, f in steps:
        if f <= limit:
            return f"{values}/{gradients}"
    return "never"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("gpfit")
    p.add_argument("tables", nargs="+", type=Path)
    p.add_argument("--best", action="append", default=[])
    p.add_argument("--header", default="auto")
    p.add_argument("--max-evals", type=int, default=1000)
    p.add_argument("--only", choices=["coarse", "plain"])
    a = p.parse_args()
    best = {name: float(v) for name, v in (b.split("=") for b in a.best)}
    version = subprocess.run([a.gpfit, "version"], capture_output=True, text=True).stdout.strip().replace("\n", ", ")
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "")
    print(f"# {version}; {cpu}; kernel rbf(ard), default start; values/gradients on all rows")
    print(f"{'table':12} {'fit':8} {'rows':>6} {'to 0.5':>9} {'to 0.05':>9} {'in all':>9} {'subsets':>9} {'NLML':>16} {'seconds':>9}  status")
    with tempfile.TemporaryDirectory() as folder:
        for table in a.tables:
            fits = {}
            for what, coarse in ("coarse", "on"), ("plain", "off"):
                if a.only in (None, what):
                    fits[what] = fit(a.gpfit, table, a.header, coarse, a.max_evals, Path(folder))
            limit = min([best.get(table.stem, float("inf"))] + [r["nlml"] for r, _ in fits.values()])
            for what, (r, steps) in fits.items():
                e = r["evaluations"]
                whole = f"{e['full_size_value']}/{e['full_size_gradient']}"
                subsets = f"{e['value'] - e['full_size_value']}/{e['gradient'] - e['full_size_gradient']}"
                print(f"{table.stem:12} {what:8} {r['n']:6d} {reached(steps, limit + 0.5):>9} {reached(steps, limit + 0.05):>9} "
                      f"{whole:>9} {subsets:>9} {r['nlml']:16.6f} {r['seconds']:9.1f}  {r['status']}", flush=True)


main()
