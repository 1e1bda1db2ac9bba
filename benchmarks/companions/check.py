"""Compare gpfit's simpler regressions, from the command line, with scikit-learn and SciPy.

    python3 benchmarks/companions/check.py GPFIT

It makes two tables with fixed seeds, fits ridge regression, the lasso, Bayesian linear regression and a smoothing
spline with both, prints the largest differences, and exits with code 1 if one is above its bound. The bounds are
relative to the largest number compared. scikit-learn's lasso ends by a duality gap; the script asks it for 1e-14.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy
import sklearn
from scipy.interpolate import make_smoothing_spline
from sklearn.linear_model import Lasso, Ridge
from sklearn.preprocessing import StandardScaler

BOUND = 1e-8


def table(path, x, y):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow([f"x{c}" for c in range(x.shape[1])] + ["y"])
        out.writerows([[repr(float(v)) for v in row] for row in np.column_stack([x, y])])


class Check:
    def __init__(self, gpfit, folder):
        self.gpfit, self.folder, self.worst = gpfit, folder, 0.0

    def run(self, *arguments):
        out = subprocess.run([self.gpfit, *map(str, arguments)], check=True, capture_output=True, text=True)
        return json.loads(out.stdout)

    def near(self, what, got, want):
        got, want = np.asarray(got, float), np.asarray(want, float)
        off = np.max(np.abs(got - want)) / max(1, np.max(np.abs(want)))
        self.worst = max(self.worst, off)
        print(f"{what:44} {off:.1e}")

    def paths(self, data, x, y):
        """Weights in the units of the table and of scaled columns."""
        lambdas = [10.0, 1.0, 0.3, 0.05]
        text = ",".join(map(str, lambdas))
        for how, inputs in [("none", x), ("x", StandardScaler().fit_transform(x))]:
            scale = x.std(axis=0) if how == "x" else np.ones(x.shape[1])
            ridge = self.run("path", data, "--penalty", "ridge", "--lambdas", text, "--standardize", how, "--json")
            lasso = self.run("path", data, "--penalty", "lasso", "--lambdas", text, "--standardize", how, "--json")
            models = [(ridge, lambda v: Ridge(alpha=v, solver="svd")), (lasso, lambda v: Lasso(alpha=v, tol=1e-14, max_iter=1000000))]
            for got, make in models:
                fits = [make(v).fit(inputs, y) for v in lambdas]
                name = f"{got['penalty']}, standardize {how}"
                self.near(name + ": weights", got["weights"], [f.coef_ / scale for f in fits])
                means = x.mean(axis=0) if how == "x" else np.zeros(x.shape[1])
                self.near(name + ": intercepts", got["intercepts"], [f.intercept_ - f.coef_ @ (means / scale) for f in fits])
                errors = [np.sqrt(np.mean((y - f.predict(inputs)) ** 2)) for f in fits]
                self.near(name + ": training RMSE", got["training_rmse"], errors)

    def models(self, data, x, y):
        """Predictions of the files of gpfit compare --models."""
        folder = self.folder / "models"
        self.run("compare", data, "--methods", "ridge,lasso", "--lambda", "ridge=2", "--lambda", "lasso=0.1",
                 "--standardize", "none", "--folds", 3, "--models", folder, "--json")
        for name, model in [("ridge", Ridge(alpha=2, solver="svd")), ("lasso", Lasso(alpha=0.1, tol=1e-14, max_iter=1000000))]:
            got = self.run("predict", folder / f"{name}.json", data, "--json")
            self.near(f"{name}.json: predictions", got["mean"], model.fit(x, y).predict(x))

    def spline(self, data, x, y):
        """The natural cubic smoothing spline, whose penalty is the same."""
        folder = self.folder / "spline"
        for penalty in [0.001, 0.2, 30]:
            self.run("compare", data, "--methods", "spline", "--spline", "cubic", "--lambda", f"spline={penalty}",
                     "--standardize", "none", "--folds", 3, "--models", folder, "--force", "--json")
            got = self.run("predict", folder / "spline.json", data, "--json")
            want = make_smoothing_spline(x[:, 0], y, lam=penalty)(x[:, 0])
            self.near(f"cubic spline, λ = {penalty}: predictions", got["mean"], want)


def main():
    gpfit = sys.argv[1] if len(sys.argv) > 1 else "gpfit"
    print(f"{subprocess.run([gpfit, '--version'], capture_output=True, text=True).stdout.strip()}; "
          f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}")
    draw = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        check = Check(gpfit, folder)
        x = draw.normal(size=(60, 7)) @ draw.normal(size=(7, 7)) + [3, 0, -20, 1, 0, 0, 5]
        y = x @ [1, 0, 0, -2, 0.5, 0, 0] + draw.normal(size=60) + 7
        table(folder / "linear.csv", x, y)
        check.paths(folder / "linear.csv", x, y)
        check.models(folder / "linear.csv", x, y)
        one = np.sort(draw.uniform(0, 10, size=(80, 1)), axis=0)
        bent = np.sin(one[:, 0]) + 0.2 * draw.normal(size=80)
        table(folder / "curve.csv", one, bent)
        check.spline(folder / "curve.csv", one, bent)
    print(f"{'largest difference':44} {check.worst:.1e}, bound {BOUND:.0e}")
    sys.exit(int(check.worst > BOUND))


if __name__ == "__main__":
    main()
