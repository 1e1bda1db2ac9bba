#!/usr/bin/env python3
"""Counts what whole fits of rbf(ard) need on four tables of 11,000 to 14,940 rows.

    make_tables.py FOLDER REFERENCE
    large.py GPFIT FOLDER RESULTS.jsonl [OPTION…]

runs "gpfit fit TABLE --json OPTION…" on each table, adds a line to the results, and prints
values and gradients over all rows and the NLML beside the same numbers of 2026-11-22. One
fit takes minutes on two cores and up to 2 GB of memory.
"""
import json
import subprocess
import sys
from pathlib import Path

TABLES = "waves", "kin40k", "friedman", "elevators"

program, folder, results, *options = sys.argv[1:]
raw = Path(__file__).resolve().parent.parent / "results" / "2026-11-22-tail.jsonl"
lines = [json.loads(line) for line in raw.read_text().splitlines()]
before = {r["table"]: r for r in lines if r["label"] == "new" and r["coarse"] == "auto"}
print(f"{'table':10} {'rows':>6} {'before':>11} {'NLML':>13} {'now':>11} {'NLML':>13} {'all values':>10} {'seconds':>8}  status", flush=True)
for table in TABLES:
    command = [program, "fit", f"{folder}/{table}.csv", "--kernel", "rbf(ard)", "--mean", "zero", "--noise-floor", "none", "--posterior", "none", "--json", "--quiet", "--force", "--out", f"{folder}/{table}.gpfit", *options]
    r = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    counts, old = r["evaluations"], before[table]
    now = {"table": table, "rows": r["n"], "options": options, "nlml": r["nlml"], "evaluations": counts, "status": r["status"], "seconds": r["seconds"], "device": r["device"]}
    with open(results, "a") as f:
        f.write(json.dumps(now | {"parameters": r["parameters"], "path": r.get("path"), "search": r.get("search")}) + "\n")
    then, these = f"{old['values']}, {old['gradients']}", f"{counts['full_size_value']}, {counts['full_size_gradient']}"
    print(f"{table:10} {r['n']:6} {then:>11} {old['nlml']:13.4f} {these:>11} {r['nlml']:13.4f} {counts['value']:10} {r['seconds']:8.1f}  {r['status']}", flush=True)
