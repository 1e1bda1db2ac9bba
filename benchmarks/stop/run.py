#!/usr/bin/env python3
"""Interrupts fits of kin40k at random moments and looks at what they leave.

    go build ./cmd/gpfit && benchmarks/stop/run.py ./gpfit ../shared/data N MOMENTS LONGEST RESULTS.jsonl

sends SIGTERM to MOMENTS fits of the first N rows, each after a random time of up to LONGEST seconds. Every other fit chooses
kernel and mean by itself, and the others have a kernel and few evaluations, so that the signal also comes while the fit
settles and scores. It prints the seconds from the signal to the end, and whether the model passes 'gpfit check' and predicts. A fit
that ends before its signal is not counted, and another one takes its place.
"""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

FORMS = {"auto": [], "given": ["--kernel", "rbf(ard)", "--coarse", "off", "--max-evals", "3", "--holdout", "0.1"]}
LIMIT = 10  # seconds


def stop(gpfit, table, rows, form, moment, folder):
    """Fits, stops the fit after some seconds, and returns what it left; None if it ended before."""
    model = os.path.join(folder, "m.gpfit")
    if os.path.exists(model):
        os.remove(model)
    command = [gpfit, "fit", table, "--out", model, "--json", "--quiet", "--threads", "2", *FORMS[form]]
    fit = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        fit.communicate(timeout=moment)
        return None
    except subprocess.TimeoutExpired:
        pass
    began = time.monotonic()
    fit.send_signal(signal.SIGTERM)
    out, err = fit.communicate()
    r = {"form": form, "moment": round(moment, 2), "seconds": round(time.monotonic() - began, 2), "code": fit.returncode, "load": os.getloadavg()[0]}
    r["model"] = os.path.exists(model)
    if r["model"]:
        r["check"] = subprocess.run([gpfit, "check", model], capture_output=True, text=True).returncode
        r["predict"] = subprocess.run([gpfit, "predict", model, rows, "--mean-only", "--out", os.path.join(folder, "p.csv"), "--force"], capture_output=True, text=True).returncode
    if out.startswith("{"):
        report = json.loads(out)
        r |= {"n": report["n"], "of": report.get("of_rows", report["n"]), "status": report["status"], "verdict": report["verdict"]["level"]}
        r["left"] = [w for w in report["warnings"] if w.startswith("interrupted")]
    r["message"] = err.strip().splitlines()[-1:]
    return r


def main():
    gpfit, data, n, moments, longest, results = sys.argv[1:]
    draw = random.Random(int(n))
    with gzip.open(os.path.join(data, "kin40k", "data.csv.gz"), "rt") as f:
        lines = [next(f) for _ in range(int(n) + 100)]
    columns = lines[0].count(",")
    header = ",".join([*(f"x{i}" for i in range(columns)), "y"]) + "\n"
    good = done = 0
    with tempfile.TemporaryDirectory() as folder:
        table, rows = os.path.join(folder, "t.csv"), os.path.join(folder, "new.csv")
        for path, part in (table, lines[:int(n)]), (rows, lines[int(n):]):
            with open(path, "w") as f:
                f.writelines([header, *part])
        print(f"{'form':6} {'signal, s':>9} {'end, s':>7} code model check predict rows", flush=True)
        while done < int(moments):
            r = stop(gpfit, table, rows, list(FORMS)[done % 2], draw.uniform(1, float(longest)), folder)
            if r is None:
                continue
            done += 1
            well = r["seconds"] <= LIMIT and r["model"] and r["check"] == r["predict"] == 0
            good += well
            with open(results, "a") as f:
                f.write(json.dumps({"rows": int(n)} | r) + "\n")
            print(f"{r['form']:6} {r['moment']:9.1f} {r['seconds']:7.1f} {r['code']:4} {r['model']!s:5} {r.get('check')!s:5} {r.get('predict')!s:7} {r.get('n')} of {r.get('of')}", flush=True)
    print(f"{good} of {done} end within {LIMIT} s and leave a model that passes 'gpfit check' and predicts")


main()
