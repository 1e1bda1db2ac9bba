"""Follows the progress of 30 fits of different kinds, of comparisons, and of a fit and a batch that go on after a kill, as a callback
of pygpfit hears it.

    PYGPFIT_PROGRAM=gpfit PYTHONPATH=python/src python benchmarks/python/progress.py

For each the output says whether the share of the work never falls, whether it ends at 100 %, whether the last best value
is the NLML of the result, after how much of the share half of the time has passed, and the seconds. The last line counts
those that pass all three. The exit code is 1 unless all do.
"""

import functools
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import pygpfit

warnings.simplefilter("ignore")
rng = np.random.default_rng(5)


def smooth(n, d):
    """Return a table of a smooth function of d columns with noise."""
    x = 5 * rng.random((n, d))
    y = np.sin(2 * x[:, 0]) * np.cos(x[:, -1]) + 0.1 * rng.normal(size=n)
    return {**{f"x{i}": x[:, i] for i in range(d)}, "y": y}


def series(n):
    """Return a series with a season and a trend."""
    t = np.arange(n)
    return {"t": t, "y": np.sin(2 * np.pi * t / 12) + 0.01 * t + 0.2 * rng.normal(size=n)}


few, some, many, large, line, waves = smooth(20, 1), smooth(200, 2), smooth(900, 2), smooth(2500, 3), smooth(3000, 1), series(240)
fixed = {"kernel": "rbf(ard)"}
FITS = {
    "auto, 20 rows": (few, {}), "auto, 200 rows": (some, {}), "auto, 900 rows": (many, {}), "auto, linear mean": (some, {"mean": "linear"}),
    "rbf, 20 rows": (few, {"kernel": "rbf"}), "rbf(ard), 200 rows": (some, fixed), "rbf(ard), 900 rows": (many, fixed), "rbf(ard), 2500 rows": (large, fixed),
    "matern52": (some, {"kernel": "matern52"}), "sum": (some, {"kernel": "rbf + matern12"}), "product": (some, {"kernel": "rbf*linear"}),
    "restarts 0": (some, {**fixed, "restarts": 0}), "restarts 8": (some, {**fixed, "restarts": 8}), "restarts, 900 rows": (many, {**fixed, "restarts": 3}),
    "coarse off": (many, {**fixed, "coarse": "off"}), "coarse on": (some, {**fixed, "coarse": "on"}), "max-evals": (some, {**fixed, "max_evals": 5}),
    "series, auto": (waves, {}), "series, matern32": (waves, {"kernel": "matern32", "method": "markov"}), "series, periodic": (waves, {"kernel": "periodic + rbf"}),
    "experts": (many, {**fixed, "experts": "kmeans:4"}), "tree": (line, {"kernel": "matern32", "method": "tree", "restarts": 0}),
    "holdout": (some, {**fixed, "holdout": 0.2}), "holdout of the last": (waves, {"holdout": "last:0.2"}),
    "cross-validation": (some, {**fixed, "scores": "cv"}), "refitted folds": (some, {**fixed, "scores": "cv", "refit": True}),
    "standard errors": (some, {**fixed, "std_errors": True}), "robust": (some, {**fixed, "robust": True}),
    "posterior": (few, {"kernel": "rbf", "posterior": "hmc", "posterior_draws": 200}), "leave-one-out objective": (some, {**fixed, "objective": "loo"}),
}


SELECTIONS = {"kernels": {"kernels": ["rbf", "matern32", "rbf + linear"]}, "auto": {}, "greedy": {"kernels": ["rbf", "linear"], "greedy": True, "budget": 5}}


def fitted(table, options, hear):
    """Fit and return the NLML."""
    return pygpfit.fit(table, target="y", callback=hear, **options).inspect()["fit"]["report"]["objective"]


def selected(options, hear):
    """Compare kernels and return the NLML of the best."""
    return pygpfit.select(some, target="y", callback=hear, **options).report["report"]["objective"]


def killed(seconds, *words):
    """Kill a command after some time."""
    process = subprocess.Popen([pygpfit.find_program(), *map(str, words), "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.kill()
    process.wait()


def fit_again(folder, hear):
    """Go on from the checkpoint of a fit that was killed."""
    np.savez(folder / "large.npz", **large)
    options = {"kernel": "matern52", "std_errors": True, "checkpoint": folder / "point"}
    killed(0.4, "fit", folder / "large.npz", "--target=y", "--kernel=matern52", "--std-errors", f"--checkpoint={folder / 'point'}", f"--out={folder / 'm'}")
    return fitted(folder / "large.npz", options, hear)


def jobs(folder):
    """Write a spec of 12 jobs and return its path."""
    np.savez(folder / "many.npz", **many)
    spec = folder / "spec.yaml"
    spec.write_text("data: [{path: many.npz}]\ndefaults: {target: y}\nkernels: [rbf, matern12, matern32, matern52]\nseeds: [1, 2, 3]\n", encoding="utf-8")
    return spec


def batch(folder, hear):
    """Run the jobs."""
    pygpfit.batch(jobs(folder), folder / "run", callback=hear)


def batch_again(folder, hear):
    """Go on with a batch that was killed."""
    killed(1, "batch", jobs(folder), f"--out={folder / 'run'}")
    pygpfit.Run(folder / "run").resume(callback=hear)


def main():
    passed = 0
    with tempfile.TemporaryDirectory() as home:
        runs = {name: functools.partial(fitted, *fit) for name, fit in FITS.items()}
        runs |= {f"select, {name}": functools.partial(selected, options) for name, options in SELECTIONS.items()}
        for run in (fit_again, batch, batch_again):
            folder = Path(home) / run.__name__
            folder.mkdir()
            runs[run.__name__.replace("_", " ")] = functools.partial(run, folder)
        for name, run in runs.items():
            passed += followed(name, run)
    print(f"{passed} of {len(runs)}")
    return passed < len(runs)


def followed(name, run):
    """Run with a callback, print what it heard, and say whether all is right."""
    seen, began = [], time.perf_counter()
    value = run(lambda status: seen.append((time.perf_counter() - began, status)))
    seconds = time.perf_counter() - began
    shares = [status["done"] / status["total"] if status.get("total") else 0.0 for _, status in seen]
    rises = all(a <= b for a, b in zip(shares, shares[1:]))
    ends = bool(shares) and shares[-1] == 1
    best = ends and (value is None or seen[-1][1].get("best") == value)
    half = next((s for (at, _), s in zip(seen, shares) if at >= seconds / 2), 1.0)
    print(f"{name:24s} {len(seen):4d} reports  rises {rises!s:5s} ends {ends!s:5s} best {best!s:5s} half-time at {half:4.0%} of {seconds:6.2f} s")
    return rises and ends and best


if __name__ == "__main__":
    sys.exit(main())
