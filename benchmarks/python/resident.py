"""Times calls from Python beside scikit-learn's, in turn: one row, 100,000 rows, small fits, cross-validation.

    python benchmarks/python/resident.py [RESULTS.json]

Needs pygpfit and scikit-learn. Each time is the median of several, taken in turn with the other program.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import cross_val_score

import pygpfit
from pygpfit import GPFitRegressor

warnings.simplefilter("ignore")
KERNEL = ConstantKernel() * RBF() + WhiteKernel()


def data(n, d=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X.sum(1) + 0.1 * rng.standard_normal(n)


def in_turn(repeats, *calls):
    """Return the median time of each call in ms."""
    times = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, taken in zip(calls, times, strict=True):
            begun = time.perf_counter()
            call()
            taken.append(1e3 * (time.perf_counter() - begun))
    return [statistics.median(taken) for taken in times]


def one_row(n):
    X, y = data(n)
    ours, theirs = GPFitRegressor("rbf").fit(X, y), GaussianProcessRegressor(KERNEL, normalize_y=True).fit(X, y)
    row = X[:1] + 0.01
    mean = in_turn(200, lambda: ours.predict(row), lambda: theirs.predict(row))
    std = in_turn(200, lambda: ours.predict(row, return_std=True), lambda: theirs.predict(row, return_std=True))
    return {"n": n, "mean_ms": mean, "std_ms": std}


def many_rows():
    X, y = data(1000)
    model = pygpfit.fit({"a": X[:, 0], "b": X[:, 1], "y": y}, kernel="rbf")
    new, _ = data(100_000, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.gpfit")
        np.savez(Path(folder) / "new.npz", a=new[:, 0], b=new[:, 1])
        table = {"a": new[:, 0], "b": new[:, 1]}
        command = [pygpfit.find_program(), "predict", f"{folder}/m.gpfit", f"{folder}/new.npz", f"--out={folder}/out.npy", "--force", "--quiet"]
        ours, program = in_turn(7, lambda: model.predict(table), lambda: subprocess.run(command, check=True))
    return {"rows": len(new), "python_ms": ours, "command_ms": program, "speed_of_the_command": program / ours}


def fits():
    X, y = data(20, 1)
    times = in_turn(
        30, lambda: GPFitRegressor("rbf").fit(X, y), lambda: GPFitRegressor().fit(X, y),
        lambda: GaussianProcessRegressor(KERNEL, normalize_y=True).fit(X, y),
    )
    return dict(zip(("rbf_ms", "default_ms", "sklearn_ms"), times, strict=True)) | {"n": 20}


def folds():
    X, y = data(80)
    times = in_turn(
        5, lambda: cross_val_score(GPFitRegressor("rbf"), X, y, cv=10), lambda: cross_val_score(GPFitRegressor(), X, y, cv=10),
        lambda: cross_val_score(GaussianProcessRegressor(KERNEL, normalize_y=True), X, y, cv=10),
    )
    return dict(zip(("rbf_ms", "default_ms", "sklearn_ms"), times, strict=True)) | {"n": 80, "folds": 10}


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    return {
        "processor": model, "cpus": os.cpu_count(), "load": os.getloadavg(), "python": platform.python_version(), "sklearn": sklearn.__version__,
        "numpy": np.__version__, "gpfit": pygpfit.version()["version"], "date": time.strftime("%Y-%m-%d"),
    }


def main():
    results = {"machine": machine(), "one_row": [one_row(n) for n in (20, 100, 500, 2000)], "many_rows": many_rows(), "fit": fits(), "cross_validation": folds()}
    text = json.dumps(results, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
