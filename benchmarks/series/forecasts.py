"""Forecasts by the program."""

import json
import resource
import subprocess

import numpy as np


def rmse(miss):
    return float(np.sqrt(np.mean(miss**2)))


def write(path, *columns):
    np.savetxt(path, np.column_stack(columns), fmt="%.10g", delimiter=",", header=",".join("ty"[: len(columns)]), comments="")


def forecast(program, folder, t, y, ahead):
    """Returns mean, interval and report of a default fit, and its CPU seconds."""
    write(folder / "table.csv", t, y)
    write(folder / "ahead.csv", ahead)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    fit = [program, "fit", "table.csv", "--target", "y", "--out", "model.gpfit", "--force", "--quiet", "--json"]
    report = json.loads(subprocess.run(fit, cwd=folder, capture_output=True, check=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    predict = [program, "predict", "model.gpfit", "ahead.csv", "--out", "out.csv", "--force", "--quiet"]
    subprocess.run(predict, cwd=folder, check=True, capture_output=True)
    out = np.genfromtxt(folder / "out.csv", delimiter=",", names=True)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return out["mean"], (out["lower95"], out["upper95"]), report, cpu
