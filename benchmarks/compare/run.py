#!/usr/bin/env python3
"""Runs gpfit compare on six tables and prints the result as a Markdown table.

    go build ./cmd/gpfit && benchmarks/compare/run.py ./gpfit ../shared/data

Each table NAME is a folder with data.csv.gz and test_mask.csv.gz. Small tables are divided into
ten folds. Large tables train on --rows rows and predict the rows of their mask; --rows 0 takes
all rows, which needs hours for elevators and a device for kin40k. --out NAME writes NAME.jsonl,
the JSON objects of gpfit, and NAME.txt, its tables with machine, date and commands.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys

SMALL = ["yacht", "energy", "concrete", "airfoil"]
LARGE = ["elevators", "kin40k"]


def command(gpfit, folder, name, rows, device):
    """Returns the command for a table."""
    data, mask = (os.path.join(folder, name, f) for f in ("data.csv.gz", "test_mask.csv.gz"))
    args = [gpfit, "compare", data, "--kernels", "rbf(ard)", "--kernels", "matern52(ard)", "--device", device, "--quiet"]
    if name in LARGE:
        args += ["--split-mask", mask]
        if rows:
            args += ["--subsample", str(rows)]
    return args


def processor():
    """Returns the name of the processor."""
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def cell(method, best):
    """Returns RMSE and seconds of a method; the best RMSE is bold."""
    if method["status"] != "done":
        return method["status"]
    rmse = f"{method['rmse_standardized']:.3f}"
    if method is best:
        rmse = f"**{rmse}**"
    elif (method["difference"] or {}).get("lower95", 1) <= 0:
        rmse = f"*{rmse}*"
    return f"{rmse} ({seconds(method)} s)"


def seconds(method):
    """Returns the time of a method: two digits, or whole seconds."""
    v = method["fit_seconds"] + method["predict_seconds"]
    return f"{v:.0f}" if v >= 10 else f"{max(v, 0.01):.1g}" if v < 0.1 else f"{v:.1f}"


def markdown(results):
    """Returns the table: a row for each method, a column for each table."""
    names = list(results)
    order = [m["method"] for m in max(results.values(), key=lambda r: len(r["methods"]))["methods"]]
    lines = ["| method | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for method in sorted(order, key=lambda m: sum(r["methods"].index(next(x for x in r["methods"] if x["method"] == m)) for r in results.values())):
        cells = []
        for r in results.values():
            cells.append(cell(next(x for x in r["methods"] if x["method"] == method), r["methods"][0]))
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gpfit")
    p.add_argument("folder", help="folder of the tables")
    p.add_argument("--rows", type=int, default=4000, help="training rows of large tables, 0 for all")
    p.add_argument("--device", default="cpu")
    p.add_argument("--only", default=",".join(SMALL + LARGE), help="names of tables")
    p.add_argument("--out", help="name of the files of raw results")
    o = p.parse_args()

    raw, text, results = [], [], {}
    text.append(f"{datetime.date.today()}, {processor()}, {os.cpu_count()} threads, load {os.getloadavg()[0]:.1f} at the start")
    text.append(subprocess.run([o.gpfit, "version"], capture_output=True, text=True, check=True).stdout.strip())
    for name in o.only.split(","):
        args = command(o.gpfit, o.folder, name, o.rows, o.device)
        shown = shlex.join(["gpfit"] + [os.path.relpath(a, o.folder) if a.startswith(o.folder) else a for a in args[1:]])
        print(shown, file=sys.stderr, flush=True)
        done = subprocess.run(args + ["--json"], stdout=subprocess.PIPE, text=True, check=True)
        raw.append(done.stdout)
        results[name] = json.loads(done.stdout)
        text += ["", shown, table(results[name])]
    text += ["", markdown(results), "", f"load {os.getloadavg()[0]:.1f} at the end"]
    print("\n".join(text))
    if o.out:
        with open(o.out + ".jsonl", "w") as f:
            f.writelines(raw)
        with open(o.out + ".txt", "w") as f:
            f.write("\n".join(text) + "\n")


def table(r):
    """Returns the scores of all methods as text."""
    number = lambda v, form: "-" if v is None else format(v, form)
    lines = [f"{'method':<20}{'RMSE':>12}{'RMSE/std':>10}{'difference':>12}{'± error':>10}{'NLPD':>10}{'in 95 %':>9}{'seconds':>9}"]
    for m in r["methods"]:
        d = m["difference"] or {}
        lines.append(
            f"{m['method']:<20}{number(m['rmse'], '.5g'):>12}{number(m['rmse_standardized'], '.4f'):>10}"
            f"{number(d.get('value'), '.4g'):>12}{number(d.get('std_error'), '.2g'):>10}{number(m['nlpd'], '.4f'):>10}"
            f"{number(m['coverage95'], '.1%'):>9}{m['fit_seconds'] + m['predict_seconds']:>9.2f}  {m.get('error', '')}"
        )
    return "\n".join(lines + [f"verdict: {r['verdict']}"])


if __name__ == "__main__":
    main()
