"""Ridge regression, the lasso and splines from Python beside scikit-learn and the textbook formulas, to 1e-8."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline
from sklearn.linear_model import Lasso, Ridge

import pygpfit

pytestmark = pytest.mark.filterwarnings("ignore::pygpfit.GPFitWarning")
LAMBDAS = [10.0, 1.0, 0.3, 0.05]


def near(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * max(1, np.abs(want).max()))


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7)) + [3, 0, -20, 1, 0, 0, 5]
    return X, X @ [1, 0, 0, -2, 0.5, 0, 0] + rng.normal(size=60) + 7


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_paths(linear, penalty):
    X, y = linear
    path = pygpfit.path(np.column_stack([X, y]), penalty=penalty, lambdas=LAMBDAS, standardize="none")
    for i, value in enumerate(path["lambdas"]):
        theirs = (Ridge(alpha=value, solver="svd") if penalty == "ridge" else Lasso(alpha=value, tol=1e-14, max_iter=1_000_000)).fit(X, y)
        near(path["weights"][i], theirs.coef_)
        near(path["intercepts"][i], theirs.intercept_)


def test_models_of_a_comparison(linear, tmp_path):
    X, y = linear
    data = np.column_stack([X, y])
    pygpfit.compare(data, methods=["ridge", "lasso"], lambda_={"ridge": 2, "lasso": 0.1}, standardize="none", folds=3, models=tmp_path / "models")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header=",".join(f"X[{i}]" for i in range(7)), comments="")
    for name, theirs in (("ridge", Ridge(alpha=2, solver="svd")), ("lasso", Lasso(alpha=0.1, tol=1e-14, max_iter=1_000_000))):
        near(pygpfit.load(tmp_path / f"models/{name}.json").predict(X)["mean"], theirs.fit(X, y).predict(X))


def test_splines(tmp_path):
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 80))
    y = np.sin(x) + 0.2 * rng.normal(size=80)
    for value in (0.001, 0.2, 30):
        pygpfit.compare(
            {"x": x, "y": y}, methods=["spline"], spline="cubic", lambda_={"spline": value}, standardize="none", folds=3,
            models=tmp_path / "models", force=True)
        near(pygpfit.load(tmp_path / "models/spline.json").predict({"x": x})["mean"], make_smoothing_spline(x, y, lam=value)(x))


def test_weights_of_a_linear_kernel(linear):
    """The posterior mean of the weights of a linear kernel is ridge regression with λ = σ²/s²."""
    X, y = linear
    model = pygpfit.fit(
        np.column_stack([X, y]), kernel="linear", standardize="none", mean="zero", fix={"signal_variance": 2.0, "noise_variance": 0.5})
    term, = model.weights()["terms"]
    near(term["mean"], np.linalg.solve(X.T @ X + 0.25 * np.eye(7), X.T @ y))
