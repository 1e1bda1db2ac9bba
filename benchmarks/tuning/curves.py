#!/usr/bin/env python3
"""Looks for points of profiles that lie below the fit, on 20 pairs of a table and a kernel.

    go run -C benchmarks ./tuning/suite tables FOLDER
    curves.py GPFIT FOLDER RESULTS.jsonl LABEL [OPTION…]

runs "gpfit profile TABLE --json OPTION…" on three of the examples and on tables of the suite,
and prints how far the lowest point of all curves lies below the best optimum that the command
reports. A fit that found the best optimum has no such point.
"""
import json
import subprocess
import sys
from pathlib import Path

BELOW = 0.1  # nats

CASES = """
two_optima rbf
co2 rbf(ard) --subsample 150
passengers rbf(ard) --target fare --features class,sex,age --missing drop
ripple-60 rbf + periodic
rise-90 linear + periodic
swelling-120 periodic*rbf
beats-150 rbf + periodic
harmonics-108 rbf + periodic
tiny-25 matern32
few-20 rbf(ard)
concrete-60 rbf(ard)
airfoil-100 rbf(ard)
yacht-100 rbf(ard)*linear
energy-150 rbf(ard)
kin40k-120 matern52(ard)
bowl-100 rbf(ard)
plane-80 linear + rbf(ard)
loud-140 rbf(ard)
exact-70 rbf(ard)
chirp-300 rbf
"""

program, folder, results, label, *options = sys.argv[1:]
examples = Path(__file__).resolve().parent.parent.parent / "examples"
missed = cases = 0
for case in CASES.strip().splitlines():
    name, _, kernel = case.partition(" ")
    kernel, *own = kernel.split(" --")
    table = Path(folder) / f"{name}.csv"
    if not table.exists():
        table = examples / f"{name}.csv"
    command = [program, "profile", table, "--kernel", kernel, "--json", "--quiet", *(word for o in own for word in f"--{o}".split()), *options]
    p = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout)
    lowest = min(q["objective"] for s in p["sections"] for q in s["points"] if q["objective"] is not None)
    end = p["optima"][0]["objective"]
    with open(results, "a") as f:
        f.write(json.dumps({"label": label, "case": case, "options": options, "fit": end, "lowest": lowest, "evaluations": p["evaluations"], "seconds": p["seconds"], "warnings": p["warnings"]}) + "\n")
    missed, cases = missed + (end - lowest > BELOW), cases + 1
    print(f"{name + ', ' + kernel:40} fit {end:12.4f}  lowest point {lowest:12.4f}  {end - lowest:+9.4f}{'  *' if end - lowest > BELOW else ''}", flush=True)
print(f"{label}: on {missed} of {cases} pairs a point is more than {BELOW} nats below the fit")
