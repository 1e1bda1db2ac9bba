"""Times calls of pygpfit that read a model, without and with another version beside it.

    python benchmarks/python/calls.py [--repeat 5] NAME=PACKAGE,PROGRAM…

Each NAME is a version: the folder that contains its package pygpfit, and its program gpfit.
The versions take turns, each in a process of its own. The output gives medians in seconds:

    load                read a model file of n rows and check it
    repr                what the model is, in a line
    mean, 300 rows      predict the mean of a few rows
    mean, 100000 rows   of many
    std, 1000 rows      mean and standard deviation
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N, D = 2000, 8


def worker(folder):
    """Time the calls of the package on PYTHONPATH, as JSON on standard output."""
    import pygpfit

    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    path = Path(folder) / "model.gpfit"
    estimator = pygpfit.GPFitRegressor("rbf", fix={"lengthscale": 3.0, "signal_variance": 1.0, "noise_variance": 0.1}, max_evals=1)
    estimator.fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=N))
    estimator.model_.save(path)
    few, many, rows = rng.normal(size=(300, D)), rng.normal(size=(100_000, D)), rng.normal(size=(1000, D))
    model = pygpfit.load(path)
    seconds = {}
    for name, call in {
        f"load, n = {N}": lambda: pygpfit.load(path),
        f"repr, n = {N}": lambda: repr(model),
        "mean, 300 rows": lambda: estimator.predict(few),
        "mean, 100000 rows": lambda: estimator.predict(many),
        "std, 1000 rows": lambda: estimator.predict(rows, return_std=True),
    }.items():
        begin = time.perf_counter()
        call()
        seconds[name] = time.perf_counter() - begin
    print(json.dumps(seconds))


def main():
    if sys.argv[1:2] == ["worker"]:
        return worker(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="NAME=PACKAGE,PROGRAM")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    sys.path.append(str(Path(__file__).resolve().parent.parent / "peers"))
    import machine

    versions = {}
    for version in args.versions:
        name, _, rest = version.partition("=")
        package, _, program = rest.partition(",")
        versions[name] = {"PYTHONPATH": package, "PYGPFIT_PROGRAM": program}
    print("command       benchmarks/python/calls.py", " ".join(versions), f"--repeat {args.repeat}")
    print("date         ", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    print("cpu          ", machine.cpu_name())
    print("load average ", machine.load_average())
    print("python       ", platform.python_version(), "numpy", np.__version__)
    measured = {name: [] for name in versions}
    for _ in range(args.repeat):
        for name, where in versions.items():
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-W", "ignore", __file__, "worker", folder]
                text = subprocess.run(command, env=os.environ | where, capture_output=True, text=True, check=True).stdout
            measured[name].append(json.loads(text))
    print(f"\n{'':22}" + "".join(f"{name:>12}" for name in versions))
    for call in measured[next(iter(versions))][0]:
        medians = [statistics.median(run[call] for run in runs) for runs in measured.values()]
        ratio = f"   {medians[0] / medians[-1]:.1f}×" if len(medians) > 1 else ""
        print(f"{call:22}" + "".join(f"{m:12.4f}" for m in medians) + ratio)
    print("\nload average at the end:", machine.load_average())


if __name__ == "__main__":
    main()
