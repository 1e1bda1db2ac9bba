"""GPFitRegressor against scikit-learn's GaussianProcessRegressor.

scikit-learn has the mean zero and predicts with the parameters of the optimum. The defaults of gpfit
are a constant mean and, on few rows, an average over draws of the parameters.
"""

import numpy as np
import pytest
from conftest import shared_table
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.preprocessing import StandardScaler

import pygpfit

BOUNDS = (1e-6, 1e6)
START = {"lengthscale": 1.5, "signal_variance": 1.0, "noise_variance": 0.05}
TABLES = [("yacht", 150, "rbf(ard)"), ("concrete", 200, "matern52(ard)"), ("energy", 150, "matern32(ard)")]


def kernel_of(text, lengthscales, signal, noise):
    """Return scikit-learn's kernel for a kernel of gpfit."""
    shape = {"rbf": RBF, "matern32": Matern, "matern52": Matern}[text.removesuffix("(ard)")]
    more = {"nu": float(text[6]) / 2} if shape is Matern else {}
    return ConstantKernel(signal, BOUNDS) * shape(lengthscales, BOUNDS, **more) + WhiteKernel(noise, BOUNDS)


def split(name, rows):
    X, y = shared_table(name, rows)
    test = np.arange(len(y)) % 5 == 0
    X = StandardScaler().fit(X[~test]).transform(X)
    return X[~test], y[~test], X[test]


@pytest.mark.parametrize(("name", "rows", "text"), TABLES)
def test_likelihood_at_the_same_parameters(name, rows, text):
    X, y, _ = split(name, rows)
    d = X.shape[1]
    start = kernel_of(text, np.full(d, START["lengthscale"]), START["signal_variance"], START["noise_variance"])
    other = GaussianProcessRegressor(start, alpha=0, normalize_y=True, optimizer=None).fit(X, y)
    here = {f"lengthscale[{i}]": START["lengthscale"] for i in range(d)} | {k: v for k, v in START.items() if k != "lengthscale"}
    columns = {f"x{i}": X[:, i] for i in range(d)} | {"y": y}
    report = pygpfit.nlml(columns, kernel=text, mean="zero", set=here)
    assert -report["nlml"] == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-10)
    _, gradient = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    ours = report["gradient_log"]
    order = ["signal_variance", *(f"lengthscale[{i}]" for i in range(d)), "noise_variance"]
    np.testing.assert_allclose([-ours[k] for k in order], gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of bounds and convergence, in both
@pytest.mark.parametrize(("name", "rows", "text"), TABLES)
def test_fit_and_predictions(name, rows, text):
    X, y, X_test = split(name, rows)
    d = X.shape[1]
    start = {f"lengthscale[{i}]": START["lengthscale"] for i in range(d)} | {k: v for k, v in START.items() if k != "lengthscale"}
    ours = pygpfit.GPFitRegressor(text, mean="zero", posterior="none", set=start, bounds={k: BOUNDS for k in start}).fit(X, y)
    kernel = kernel_of(text, np.full(d, START["lengthscale"]), START["signal_variance"], START["noise_variance"])
    fitted = GaussianProcessRegressor(kernel, alpha=0, normalize_y=True).fit(X, y)
    # Both descend from one start. gpfit stops at a smaller gradient.
    assert ours.log_marginal_likelihood_value_ > fitted.log_marginal_likelihood_value_ - 1e-4
    # Predictions at the same parameters.
    p = ours.parameters_
    kernel = kernel_of(text, [p[f"lengthscale[{i}]"] for i in range(d)], p["signal_variance"], p["noise_variance"])
    other = GaussianProcessRegressor(kernel, alpha=0, normalize_y=True, optimizer=None).fit(X, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-8)
    mean, std = ours.predict(X_test, return_std=True)
    other_mean, other_std = other.predict(X_test, return_std=True)
    scale = y.std()
    np.testing.assert_allclose(mean, other_mean, rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(std, other_std, rtol=0, atol=1e-6 * scale)
    _, cov = ours.predict(X_test, return_cov=True)
    _, other_cov = other.predict(X_test, return_cov=True)
    np.testing.assert_allclose(cov, other_cov, rtol=0, atol=1e-6 * scale**2)
