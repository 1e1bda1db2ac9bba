"""Runs of gpfit on tables: two at a time, one thread each, every table in a temporary folder of its own."""

import argparse
import csv
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np


class Failed(Exception):
    """The program ended with another exit code than 0."""


class Program:
    """The program, with a folder for the files of one table."""

    def __init__(self, path, folder):
        self.path, self.folder = str(Path(path).resolve()), Path(folder)

    def run(self, *args):
        command = [self.path, *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env={**os.environ, "GPFIT_THREADS": "1"})
        if done.returncode:
            raise Failed(f"{args[0]}: exit {done.returncode}: {done.stderr.strip()[-200:]}")
        return done

    def report(self, *args):
        return json.loads(self.run(*args, "--json", "--quiet", "--force").stdout)

    def table(self, name, x, y=None, **more):
        """Writes columns x0, x1, …, those of more, and the targets y (y0, y1, … if there are several)."""
        columns = {f"x{i}": c for i, c in enumerate(np.asarray(x).T)} | more
        if y is not None:
            columns |= {"y": y} if np.ndim(y) == 1 else {f"y{i}": c for i, c in enumerate(np.asarray(y).T)}
        path = self.folder / f"{name}.csv"
        with open(path, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(columns)
            out.writerows([v if isinstance(v, str) else repr(float(v)) for v in row] for row in zip(*columns.values()))
        return path

    def fit(self, x, y, *options):
        """Fits a table and returns its report. The model is in model.gpfit."""
        return self.report("fit", self.table("train", x, y), "--out", "model.gpfit", *options)

    def predict(self, x):
        """Returns the columns of the predictions, and what stands on standard error."""
        done = self.run("predict", "model.gpfit", self.table("new", x))
        rows = list(csv.DictReader(done.stdout.splitlines()))
        return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}, done.stderr


def judged(p, table, *options):
    """Fits a table, and compares its predictions of rows that the fit does not have with their targets."""
    x, y, new, target = table
    report = p.fit(x, y, *options)
    of, _ = p.predict(new)
    return {
        "n": len(x),
        "d": x.shape[1],
        "kernel": report["kernel"],
        "mean": report["mean"],
        "level": report["verdict"]["level"],
        "k_hat": (report.get("posterior") or {}).get("pareto_k"),
        "error": float(np.sqrt(np.mean((of["mean"] - target) ** 2)) / target.std()),
        "cover": float(np.mean((of["lower95"] <= target) & (target <= of["upper95"]))),
    }


def machine(a):
    """Returns the lines that describe a run."""
    said = lambda *command: subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent).stdout.strip()
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.processor())
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    command = f"benchmarks/diagnoses/{Path(sys.argv[0]).name} GPFIT --tables {a.tables} --seed {a.seed}"
    return {"cpu": cpu, "cores": os.cpu_count(), "date": date, "gpfit": said(str(Path(a.program).resolve()), "version"), "revision": said("git", "rev-parse", "--short", "HEAD"),
            "python": platform.python_version(), "numpy": np.__version__, "command": command}


def shortened(value):
    if isinstance(value, dict):
        return {k: shortened(v) for k, v in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main(what, one, summary, count, more=lambda a: None):
    """Measures one(program, number, arguments) for every number, prints the summary and writes the raw results."""
    a = argparse.ArgumentParser(description=what)
    a.add_argument("program", help="path of gpfit")
    a.add_argument("--tables", type=int, default=count)
    a.add_argument("--seed", type=int, default=0, help="number of the first table")
    a.add_argument("--raw", help="file for the raw results, as JSON lines")
    more(a)
    a = a.parse_args()

    def alone(number):
        with tempfile.TemporaryDirectory() as folder:
            try:
                return {"table": number, **one(Program(a.program, folder), number, a)}
            except Failed as e:
                return {"table": number, "failed": str(e)}

    with ThreadPoolExecutor(2) as pool:
        raw = list(pool.map(alone, range(a.seed, a.seed + a.tables)))
    text = f"{Path(sys.argv[0]).stem}: {summary(raw)}; failed {sum('failed' in r for r in raw)}"
    print(text)
    if a.raw:
        with open(a.raw, "w") as file:
            file.writelines(json.dumps(r) + "\n" for r in [{**machine(a), "summary": text}, *map(shortened, raw)])
