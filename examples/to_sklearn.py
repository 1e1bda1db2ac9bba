#!/usr/bin/env python3
"""Build the scikit-learn model that is equivalent to an export of gpfit.

    gpfit export co2.gpfit --format json --out co2.json
    python3 examples/to_sklearn.py co2.json examples/co2_new.csv

prints the mean and standard deviation of a new observation for every row. build()
returns a fitted Pipeline of a StandardScaler and a GaussianProcessRegressor: pickle
it, or call predict(rows, return_std=True) on rows of the columns in use.
"""

import sys

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from read_model import load, read_rows, read_table


class NotExpressible(Exception):
    """scikit-learn has no equivalent of a part of the model."""


class OnColumns(gp.Kernel):
    """A stationary or dot-product kernel on some columns, each divided by a scale."""

    def __init__(self, kernel, columns, scale):
        self.kernel, self.columns, self.scale = kernel, columns, scale

    def pick(self, x):
        return None if x is None else x[:, self.columns] / self.scale

    def __call__(self, X, Y=None, eval_gradient=False):
        k = self.kernel(self.pick(X), self.pick(Y))
        return (k, np.empty((len(X), len(X), 0))) if eval_gradient else k

    def diag(self, X):
        return self.kernel.diag(self.pick(X))

    def is_stationary(self):
        return self.kernel.is_stationary()

    @property
    def hyperparameters(self):
        return []  # all parameters are fixed


def fixed(node_type, **parameters):
    """Return a kernel of scikit-learn whose parameters stay fixed."""
    return node_type(**parameters, **{name + "_bounds": "fixed" for name in parameters if name != "nu"})


def leaf(node):
    family, columns = node["family"], node["columns"] if "columns" in node else []
    p = {name: np.array(v) for name, v in node.get("parameters", {}).items()}
    scale = p.get("lengthscale", 1.0)
    if family == "rbf":
        return OnColumns(fixed(gp.RBF, length_scale=1.0), columns, scale)
    if family in ("matern12", "matern32", "matern52"):
        nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[family]
        return OnColumns(fixed(gp.Matern, length_scale=1.0, nu=nu), columns, scale)
    if family == "matern":
        return OnColumns(fixed(gp.Matern, length_scale=1.0, nu=node["order"]), columns, scale)
    if family == "rq":
        return OnColumns(fixed(gp.RationalQuadratic, length_scale=1.0, alpha=float(p["alpha"])), columns, scale)
    if family == "periodic":
        # The kernel is a product over columns: exp(−2 Σ sin²) = Π exp(−2 sin²).
        lengthscales, periods = (np.broadcast_to(p[name], len(columns)) for name in ("lengthscale", "period"))
        return product([
            OnColumns(fixed(gp.ExpSineSquared, length_scale=float(l), periodicity=float(t)), [c], 1.0)
            for c, l, t in zip(columns, lengthscales, periods)
        ])
    if family == "linear":
        return OnColumns(fixed(gp.DotProduct, sigma_0=0.0), columns, scale)
    if family == "poly":
        return OnColumns(fixed(gp.DotProduct, sigma_0=float(np.sqrt(p["offset"]))) ** node["degree"], columns, scale)
    if family == "constant":
        return fixed(gp.ConstantKernel, constant_value=1.0)
    raise NotExpressible(f"scikit-learn has no kernel that equals {node.get('formula', family)!r}")


def product(factors):
    out = factors[0]
    for f in factors[1:]:
        out = out * f
    return out


def kernel(node):
    if node["type"] == "leaf":
        k = leaf(node)
    else:
        parts = [kernel(child) for child in node["children"]]
        k = sum(parts[1:], parts[0]) if node["type"] == "sum" else product(parts)
    if "signal_variance" in node:
        k = fixed(gp.ConstantKernel, constant_value=node["signal_variance"]) * k
    return k


def build(model):
    """Return the equivalent fitted Pipeline or raise NotExpressible."""
    s = model["scaling"]
    if "training_noise" in model:
        raise NotExpressible("scikit-learn cannot predict observations whose noise differs from row to row")
    if "experts" in model:
        raise NotExpressible("scikit-learn's Gaussian processes have no local experts")
    if "transform" in s:
        raise NotExpressible("scikit-learn has no deviations of a transformed target")
    if "x_transforms" in s:
        raise NotExpressible("StandardScaler transforms no columns: fit with --input-transform none")
    if model["mean"]["basis"]:
        raise NotExpressible("scikit-learn's Gaussian processes have no mean function: fit with --mean zero")
    standard = np.isclose(s["y_mean"], np.mean(model["y"]), rtol=1e-12) and np.isclose(s["y_scale"], np.std(model["y"]), rtol=1e-12)
    if not standard and (s["y_mean"], s["y_scale"]) != (0, 1):
        raise NotExpressible("scikit-learn scales targets by their mean and standard deviation or not at all")
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = np.array(s["x_mean"]), np.array(s["x_scale"])
    scaler.var_, scaler.n_features_in_, scaler.n_samples_seen_ = scaler.scale_**2, model["d"], model["n"]
    regressor = GaussianProcessRegressor(
        kernel(model["kernel"]) + fixed(gp.WhiteKernel, noise_level=model["noise"]["variance"]),
        alpha=model["noise"]["jitter"], optimizer=None, normalize_y=bool(standard),
    )
    regressor.fit(scaler.transform(model["X"]), model["y"])
    return make_pipeline(scaler, regressor)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = load(sys.argv[1])
    try:
        pipeline = build(model)
    except NotExpressible as problem:
        sys.exit(f"{sys.argv[1]}: {problem}")
    print("mean,std")
    for row in zip(*pipeline.predict(read_rows(read_table(sys.argv[2]), model), return_std=True)):
        print(",".join(repr(float(v)) for v in row))


if __name__ == "__main__":
    main()
