"""Follows the progress of 30 fits of different kinds, as a callback of pygpfit hears it.

    PYGPFIT_PROGRAM=gpfit PYTHONPATH=python/src python benchmarks/python/progress.py

For each fit the output says whether the share of the work never falls, whether it ends at 100 %, whether the last best value
is the NLML of the result, after how much of the share half of the time has passed, and the seconds. The last line counts
the fits that pass all three. The exit code is 1 unless all do.
"""

import sys
import time
import warnings

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


def main():
    passed = 0
    for name, (table, options) in FITS.items():
        seen, began = [], time.perf_counter()

        def hear(status):
            seen.append((time.perf_counter() - began, status))

        model = pygpfit.fit(table, target="y", callback=hear, **options)
        seconds = time.perf_counter() - began
        shares = [status["done"] / status["total"] if status.get("total") else 0.0 for _, status in seen if "done" in status or not status.get("total")]
        rises = all(a <= b for a, b in zip(shares, shares[1:]))
        ends = bool(shares) and shares[-1] == 1
        best = ends and seen[-1][1].get("best") == model.inspect()["fit"]["report"]["objective"]
        half = next((s for (at, _), s in zip(seen, shares) if at >= seconds / 2), 1.0)
        passed += rises and ends and best
        print(f"{name:24s} {len(seen):4d} reports  rises {rises!s:5s} ends {ends!s:5s} best {best!s:5s} half-time at {half:4.0%} of {seconds:6.2f} s")
    print(f"{passed} of {len(FITS)}")
    return passed < len(FITS)


if __name__ == "__main__":
    sys.exit(main())
