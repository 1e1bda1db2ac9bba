"""Times calls from Python beside scikit-learn's, in turn: one row, 100,000 rows, small fits, cross-validation.

    python benchmarks/python/resident.py [RESULTS.json] [--load N] [--rows]

Needs pygpfit and scikit-learn. Each time is the median of several, taken in turn with the other program; of one row, the
median and the 90 % quantile. --load adds as many processes that compute, and --rows times predictions of one row and fits alone.
"process" is the program gpfit that stays, which computes what this process does not; "first" reads and factors the model.
"""

import argparse
import json
import os
import platform
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
    return [times[0] for times in quantiles(repeats, *calls)]


def quantiles(repeats, *calls):
    """Return the median and the 90 % quantile of the time of each call in ms."""
    times = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, taken in zip(calls, times, strict=True):
            begun = time.perf_counter()
            call()
            taken.append(1e3 * (time.perf_counter() - begun))
    return [[round(float(np.quantile(taken, q)), 4) for q in (0.5, 0.9)] for taken in times]


def one_row(n, posterior):
    X, y = data(n)
    ours = GPFitRegressor("rbf", posterior=posterior).fit(X, y)
    theirs = GaussianProcessRegressor(ours_as_kernel(ours), normalize_y=True, optimizer=None).fit(X, y)
    row, model = X[:1] + 0.01, ours.model_
    begun = time.perf_counter()
    near = model.near()
    first = 1e3 * (time.perf_counter() - begun)
    names = ("std", "sklearn_std", "mean", "sklearn_mean", "process_std")
    table = {"x0": row[:, 0], "x1": row[:, 1]}
    taken = quantiles(
        200, lambda: ours.predict(row, return_std=True), lambda: theirs.predict(row, return_std=True),
        lambda: ours.predict(row), lambda: theirs.predict(row), lambda: model._table("predict", table, {}),
    )
    return {"n": n, "draws": near.draws if near else None, "in_process": near is not None, "first_ms": round(first, 2)} | dict(zip(names, taken, strict=True))


def ours_as_kernel(ours):
    """Return the tuned kernel as one of scikit-learn, whose fit then takes no time."""
    p = ours.parameters_
    return ConstantKernel(p["signal_variance"]) * RBF(p["lengthscale"]) + WhiteKernel(p["noise_variance"])


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
    options = {"rbf": {}, "rbf_without_draws": {"posterior": "none"}, "rbf_one_start": {"posterior": "none", "restarts": 1}, "default": None}
    ours = [lambda o=o: GPFitRegressor(**({} if o is None else {"kernel": "rbf"} | o)).fit(X, y) for o in options.values()]
    times = in_turn(20, *ours, lambda: GaussianProcessRegressor(KERNEL, normalize_y=True).fit(X, y))
    return dict(zip([f"{name}_ms" for name in (*options, "sklearn")], times, strict=True)) | {"n": 20}


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="?")
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--rows", action="store_true")
    args = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(10**5))"]) for _ in range(args.load)]
    try:
        rows = [one_row(n, posterior) for n in (20, 100, 500, 2000) for posterior in ("none", "auto")[: 1 + (n < 100)]]
        results = {"machine": machine(), "added_load": args.load, "one_row": rows, "fit": fits()}
        if not args.rows:
            results |= {"many_rows": many_rows(), "cross_validation": folds()}
    finally:
        for one in busy:
            one.kill()
    text = json.dumps(results, indent=1)
    print(text)
    if args.results:
        Path(args.results).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
