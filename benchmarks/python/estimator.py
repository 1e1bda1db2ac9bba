"""Compares pygpfit.GPFitRegressor with scikit-learn's GaussianProcessRegressor.

    python benchmarks/python/estimator.py [--repeat 3] FOLDER…

Each FOLDER has data.csv.gz, whose last column is the target, and test_mask.csv.gz, whose
first column marks held-out rows. Both estimators fit rbf(ard) with noise from the same start,
within the same bounds, on inputs scaled to mean 0 and standard deviation 1, in turn. Times are
medians of whole calls of fit and predict: pygpfit's include the start of its program and the
files to and from it. The output gives

    NLML at the start   of both, at the start values
    fit                 seconds, and the NLML at the optimum
    predict             seconds for mean and standard deviation of the held-out rows
    difference          largest difference of means and of standard deviations at gpfit's
                        parameters, in standard deviations of the target
"""

import argparse
import gzip
import importlib.metadata
import os
import pathlib
import platform
import statistics
import sys
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

import pygpfit

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import machine

BOUNDS = {"lengthscale": (1e-3, 1e4), "signal_variance": (1e-6, 1e6), "noise_variance": (1e-9, 1e2)}


def read(folder):
    """Returns training and held-out inputs, scaled, and the targets of training."""
    with gzip.open(folder / "data.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    with gzip.open(folder / "test_mask.csv.gz", "rt") as file:
        held = np.loadtxt(file, delimiter=",", ndmin=2)[:, 0] == 1
    X, y = table[:, :-1], table[:, -1]
    X = X[:, np.ptp(X[~held], axis=0) > 0]
    X = StandardScaler().fit(X[~held]).transform(X)
    return X[~held], y[~held], X[held]


def kernel(lengthscales, signal, noise):
    return (
        ConstantKernel(signal, BOUNDS["signal_variance"]) * RBF(lengthscales, BOUNDS["lengthscale"])
        + WhiteKernel(noise, BOUNDS["noise_variance"])
    )


def timed(action):
    begin = time.perf_counter()
    result = action()
    return result, time.perf_counter() - begin


def compare(folder, repeat):
    X, y, X_test = read(folder)
    d = X.shape[1]
    start = {f"lengthscale[{i}]": d**0.5 for i in range(d)} | {"signal_variance": 1.0, "noise_variance": 0.1}
    bounds = {name: BOUNDS[name.partition("[")[0]] for name in start}
    theirs_at_start = GaussianProcessRegressor(kernel([d**0.5] * d, 1.0, 0.1), alpha=0, normalize_y=True, optimizer=None).fit(X, y)
    columns = {f"x{i}": X[:, i] for i in range(d)} | {"y": y}
    ours_at_start = pygpfit.nlml(columns, kernel="rbf(ard)", set=start)["nlml"]
    seconds = {"gpfit": ([], []), "sklearn": ([], [])}
    for _ in range(repeat):
        for name, model in (
            ("gpfit", pygpfit.GPFitRegressor("rbf(ard)", set=start, bounds=bounds)),
            ("sklearn", GaussianProcessRegressor(kernel([d**0.5] * d, 1.0, 0.1), alpha=0, normalize_y=True)),
        ):
            fitted, fit_seconds = timed(lambda: model.fit(X, y))
            _, predict_seconds = timed(lambda: model.predict(X_test, return_std=True))
            seconds[name][0].append(fit_seconds)
            seconds[name][1].append(predict_seconds)
            if name == "gpfit":
                ours = fitted
            else:
                theirs = fitted
    p = ours.parameters_
    same = kernel([p[f"lengthscale[{i}]"] for i in range(d)], p["signal_variance"], p["noise_variance"])
    same = GaussianProcessRegressor(same, alpha=0, normalize_y=True, optimizer=None).fit(X, y)
    mean, std = ours.predict(X_test, return_std=True)
    other_mean, other_std = same.predict(X_test, return_std=True)
    print(f"\n{folder.name}: n = {len(y)}, d = {d}, {len(X_test)} held-out rows")
    print(f"  NLML at the start    gpfit {ours_at_start:.10f}  sklearn {-theirs_at_start.log_marginal_likelihood_value_:.10f}")
    for name, value in (("gpfit", ours.log_marginal_likelihood_value_), ("sklearn", theirs.log_marginal_likelihood_value_)):
        fits, predictions = seconds[name]
        print(f"  {name:8} fit {statistics.median(fits):8.3f} s  (each {', '.join(f'{s:.3f}' for s in fits)})  NLML {-value:.6f}  predict {statistics.median(predictions):.3f} s")
    ratio = statistics.median(seconds["sklearn"][0]) / statistics.median(seconds["gpfit"][0])
    print(f"  ratio of the fits    {ratio:.1f}")
    print(f"  difference           NLML {abs(ours.log_marginal_likelihood_value_ - same.log_marginal_likelihood_value_):.2g}, mean {np.abs(mean - other_mean).max() / y.std():.2g}, std {np.abs(std - other_std).max() / y.std():.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("command       benchmarks/python/estimator.py", *(f.name for f in args.folders), f"--repeat {args.repeat}")
    print("date         ", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    print("cpu          ", machine.cpu_name())
    print("load average ", machine.load_average())
    print("threads      ", os.environ.get("OMP_NUM_THREADS", "all"), "for both (OMP_NUM_THREADS)")
    print("python       ", platform.python_version(), *(f"{p} {importlib.metadata.version(p)}" for p in ("pygpfit", "numpy", "scipy", "scikit-learn")))
    for folder in args.folders:
        compare(folder, args.repeat)
    print("\nload average at the end:", machine.load_average())


if __name__ == "__main__":
    main()
