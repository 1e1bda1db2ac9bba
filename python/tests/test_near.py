"""Predictions of this process against those of the program: within 1e-10 of the target's deviation."""

import math
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import pygpfit
from pygpfit import DataError, GPFitRegressor

warnings.simplefilter("ignore", pygpfit.GPFitWarning)
pytestmark = pytest.mark.filterwarnings("ignore::pygpfit.GPFitWarning")
TOLERANCE = 1e-10


def table(n, d=2, seed=1, change=lambda y: y):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X.sum(1) + 0.1 * rng.standard_normal(n)
    return {f"c{i}": X[:, i] for i in range(d)}, change(y)


def rows(columns, m=5):
    """Return rows among the training rows, the first of them one of these."""
    rng = np.random.default_rng(7)
    return {name: np.r_[v[0], rng.uniform(v.min(), v.max(), m - 1)] for name, v in columns.items()}


def compare(model, data, near=True, scale=None, **options):
    """Compare predictions with the program's. near says whether this process computes them."""
    taken = model.near()
    got = None if taken is None else taken.table(data, options)
    assert (got is not None) == near
    want = model._table("predict", data, options)
    assert list(model.predict(data, **options)) == list(want)
    for name, values in want.items():
        if not near:
            break
        size = scale or np.max(np.abs(values)) + 1
        if "latent" in name:  # rounding of a variance near 0 is that of the prior's
            np.testing.assert_allclose(got[name] ** 2, values**2, rtol=0, atol=TOLERANCE * size**2, err_msg=name)
        else:
            np.testing.assert_allclose(got[name], values, rtol=0, atol=TOLERANCE * size, err_msg=name)
        assert got[name].flags.owndata and got[name].flags.c_contiguous


KERNELS = [
    "rbf", "rbf(ard)", "matern12", "matern32(ard)", "matern52", "rq", "periodic", "cosine(ard)*rbf", "linear + constant*matern12", "poly(3)", "rbf + matern32(dims=1)",
    "rbf*periodic(dims=0) + linear(dims=1)", "(rbf + linear)*matern12(dims=0)", "matern(3.5)", "wendland(1)", "additive(rbf)", "rbf(rotated)", "matern32(sphere)", "arcsine",
    "gibbs", "hamming(dims=0) + rbf", "wendland(2)", "formula(exp(-r/a), a=1)", "formula(1/(1+r2/a), a=1)*linear", "formula(exp(-sqrt(r2)/a)*sinc(r), a=1)",
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel):
    columns, y = table(40)
    try:
        model = pygpfit.fit({**columns, "y": y}, kernel=kernel, max_evals=8, noise_floor=1e-3)
    except pygpfit.UsageError as error:
        pytest.skip(str(error))
    new = rows(columns)
    compare(model, new, interval=[0.5, 0.95])
    compare(model, new, posterior_draws=0)
    compare(model, new, mean_only=True)
    inside = {name: v[1:] for name, v in new.items()}  # kinks are at training rows
    compare(model, inside, gradient=True, posterior_draws=0)


@pytest.mark.parametrize("mean_fit", ["gls", "free"])
@pytest.mark.parametrize("mean", ["zero", "linear", "poly(2)", "linear + bumps(4, dims=0)", "seasonal(1.3, 2, dims=0)"])
def test_means(mean, mean_fit):
    columns, y = table(40)
    model = pygpfit.fit({**columns, "y": y}, kernel="rbf", mean=mean, mean_fit=mean_fit, max_evals=8, noise_floor=1e-3)
    compare(model, rows(columns))
    compare(model, rows(columns), gradient=True, posterior_draws=0)


@pytest.mark.parametrize("posterior", ["auto", "none"])
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("transform", ["none", "log", "boxcox", "yeojohnson"])
def test_transforms_and_outlying_rows(transform, robust, posterior):
    def change(y):
        y = y + 4 * (np.arange(len(y)) % 13 == 5) * robust
        return y if transform == "none" else np.exp(y)

    columns, y = table(40, change=change)
    options = {"kernel": "rbf", "target_transform": transform, "robust": robust, "posterior": posterior, "max_evals": 8, "noise_floor": 1e-3}
    model = pygpfit.fit({**columns, "y": y}, **options)
    # A tail of observations that do not fit has quantiles of any size.
    taken, new = model.near(), rows(columns)
    assert taken is not None
    found, want = taken.table(new, {"interval": [0.5, 0.9]}), model._table("predict", new, {"interval": [0.5, 0.9]})
    if found is not None:
        for name, values in want.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-9 * y.std(), err_msg=name)


def test_targets_share_a_kernel():
    columns, y = table(30)
    both = {**columns, "y": y, "z": np.cos(columns["c0"]) * 10}
    model = pygpfit.fit(both, target=["y", "z"], kernel="rbf", max_evals=8, noise_floor=1e-3)
    compare(model, rows(columns), interval=0.9)
    compare(model, rows(columns), mean_only=True)
    X = np.column_stack(list(columns.values()))
    several = GPFitRegressor("rbf", max_evals=8, noise_floor=1e-3).fit(X, np.column_stack([both["y"], both["z"]]))
    mean, std = several.predict(X[:3], return_std=True)
    assert mean.shape == std.shape == (3, 2)
    np.testing.assert_array_equal(mean, several.predict(X[:3]))


def test_noise_of_groups_known_noise_and_weights():
    columns, y = table(40)
    rng = np.random.default_rng(3)
    more = {"lab": rng.choice(["a", "b"], 40), "known": rng.uniform(0.001, 0.01, 40), "w": rng.uniform(0.5, 2, 40)}
    fit = {"kernel": "rbf", "max_evals": 8, "noise_floor": 1e-3}
    new = rows(columns)
    grouped = pygpfit.fit({**columns, "lab": more["lab"], "y": y}, noise_group="lab", target="y", **fit)
    compare(grouped, {**new, "lab": np.array(["a", "b", "b", "a", "b"])})
    compare(grouped, {**new, "lab": np.array(["a", "b", "b", "a", "b"])}, interval=[0.3])
    with pytest.raises(DataError, match="no noise group"):
        grouped.predict({**new, "lab": np.array(["a", "b", "c", "a", "b"])})
    known = pygpfit.fit({**columns, "known": more["known"], "y": y}, noise_column="known", target="y", **fit)
    compare(known, {**new, "known": np.array([0, 0.01, 0.5, 1, 2])})
    with pytest.warns(pygpfit.GPFitWarning, match="known"):
        compare(known, new, near=False)
    weighted = pygpfit.fit({**columns, "w": more["w"], "y": y}, weight_column="w", target="y", **fit)
    compare(weighted, new)
    compare(weighted, {**new, "w": np.ones(5)}, near=False)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 500])
def test_sizes(n):
    columns, y = table(n)
    model = pygpfit.fit({**columns, "y": y}, kernel="rbf", max_evals=5, noise_floor=1e-3)
    compare(model, rows(columns, 3))


def test_what_is_close_to_singular_goes_to_the_program():
    columns, _ = table(40)
    model = pygpfit.fit({**columns, "y": columns["c0"] ** 2}, kernel="rbf", noise="none", max_jitter=1e-6, fix={"lengthscale": 5.0}, max_evals=3)
    assert model.near() is None
    compare(model, rows(columns), near=False)


def test_rows_without_variance_go_to_the_program():
    columns, y = table(12)
    model = pygpfit.fit({**columns, "y": y}, kernel="matern12", noise="none", fix={"lengthscale": 0.5}, posterior="none")
    new = rows(columns)
    compare(model, new, near=False)
    compare(model, {name: v[1:] for name, v in new.items()})


def test_rows_far_away_warn_as_before():
    columns, y = table(40)
    model = pygpfit.fit({**columns, "y": y}, kernel="rbf", mean="linear", max_evals=8, noise_floor=1e-3)
    far = {"c0": np.array([1.0, 99.0]), "c1": np.array([1.0, 1.0])}
    with pytest.warns(pygpfit.GPFitWarning, match="far outside of the training rows"):
        compare(model, far, near=False)
    beyond = {"c0": np.array([1.0, 5.9]), "c1": np.array([1.0, 5.9])}  # where only the mean goes on
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        model._table("predict", beyond, {})
    compare(model, beyond, near=not shown)
    compare(model, {"c0": np.array([3.05]), "c1": np.array([1.0])})


def test_errors_are_those_of_the_program():
    columns, y = table(30)
    model = pygpfit.fit({**columns, "y": y}, kernel="rbf", max_evals=5)
    for bad in (np.nan, np.inf, -np.inf, 1e300):
        wrong = {"c0": np.array([1.0, bad]), "c1": np.array([1.0, 1.0])}
        texts = []
        for call in (model.predict, lambda data: model._table("predict", data, {})):
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                try:
                    call(wrong)
                    texts.append([str(w.message) for w in shown])
                except pygpfit.GPFitError as error:
                    texts.append(str(error))
        assert texts[0] == texts[1]
        assert texts[0]
    with pytest.raises(DataError, match="c1"):
        model.predict({"c0": [1.0]})
    places = pygpfit.fit({"c0": 28 * columns["c0"], "c1": columns["c1"], "y": y}, kernel="matern32(sphere)", fix={"lengthscale": 20, "noise_variance": 0.2, "signal_variance": 1}, posterior="none")
    with pytest.raises(DataError, match="latitude"):  # not far away
        places.predict({"c0": [97.0], "c1": [1.0]})
    with pytest.raises(ValueError, match="row 2 .* latitude"):  # as examples/read_model.py
        places.near().mixed(np.array([[9.0, 1.0], [97.0, 1.0]]))
    with pytest.raises(pygpfit.UsageError, match="interval"):
        model.predict(columns, interval=2)
    with pytest.raises(pygpfit.UsageError, match="writes no file"):
        model.predict(columns, out="x.csv")
    estimator = GPFitRegressor("rbf", max_evals=5).fit(np.column_stack(list(columns.values())), y)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="contains NaN|contains infinity"):
            estimator.predict([[1.0, bad]])
    with pytest.raises(ValueError, match="features"):
        estimator.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="2D"):
        estimator.predict(np.ones(2))


@pytest.mark.parametrize("make", [pd.DataFrame, pytest.importorskip("polars").DataFrame, dict])
def test_tables_of_any_kind(make):
    rng = np.random.default_rng(2)
    columns, y = table(40)
    mixed = {
        **columns, "kind": rng.choice(["u", "v w", "x,y"], 40), "flag": rng.random(40) > 0.5, "number": rng.integers(0, 9, 40),
        "day": np.datetime64("2024-01-01T05:30:00", "ns") + rng.integers(0, 10**15, 40), "month": np.arange("2020-01", "2023-05", dtype="datetime64[M]"),
    }
    mixed["month"] = mixed["month"].astype("datetime64[ns]")
    model = pygpfit.fit(make({**mixed, "y": y + mixed["flag"]}), kernel="rbf", max_evals=8, noise_floor=1e-3)
    compare(model, make({name: v[:6] for name, v in mixed.items()}))
    compare(model, make({"more": np.array(["?"] * 6), **{name: v[:6][::-1] for name, v in reversed(mixed.items())}}))
    unseen = {name: v[:1] for name, v in mixed.items()} | {"kind": np.array(["z"])}
    with pytest.warns(pygpfit.GPFitWarning, match="z"):
        compare(model, make(unseen), near=False)
    with pytest.raises(DataError, match="no category"):
        model.predict(make(unseen), unseen="error")


def test_categories_as_codes_and_types_of_categories():
    rng = np.random.default_rng(2)
    columns, y = table(40)
    frame = pd.DataFrame({**columns, "kind": pd.Categorical(rng.choice([1, 2, 10], 40))})
    estimator = GPFitRegressor("rbf", max_evals=8, noise_floor=1e-3).fit(frame, y)
    assert estimator.model_.near() is not None
    compare(estimator.model_, frame.head(4))
    codes = pygpfit.fit(frame.assign(y=y), kernel="rbf(dims=0) + hamming(dims=2)", category_columns="codes", max_evals=8, noise_floor=1e-3)
    compare(codes, frame.head(4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_of_arrays(dtype, order):
    columns, y = table(30)
    X = np.round(np.column_stack(list(columns.values())) * 4)
    estimator = GPFitRegressor("rbf", max_evals=5, noise_floor=1e-3).fit(X, y)
    mean, std = estimator.predict(X[:9], return_std=True)
    given = np.array(X[:9], dtype=dtype, order=order)
    for again in (given, np.repeat(given, 2, axis=0)[::2]):
        for got, want in zip(estimator.predict(again, return_std=True), (mean, std), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)
    before = given.copy()
    estimator.predict(given)
    np.testing.assert_array_equal(given, before)


def test_pickles_and_threads():
    columns, y = table(60)
    X = np.column_stack(list(columns.values()))
    estimator = GPFitRegressor("rbf", max_evals=8).fit(X, y)
    want = estimator.predict(X[:4], return_std=True)
    copy = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(copy.predict(X[:4], return_std=True), want)
    fresh, found = pickle.loads(pickle.dumps(estimator)), []
    threads = [threading.Thread(target=lambda: found.append([fresh.predict(X[:4], return_std=True) for _ in range(20)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for several in found:
        for one in several:
            np.testing.assert_array_equal(one, want)


def test_means_and_deviations_are_those_of_the_textbook():
    """Rasmussen & Williams, eq. 2.25 and 2.26, with a constant mean of 0."""
    columns, y = table(30)
    X = np.column_stack(list(columns.values()))
    fixed = {"lengthscale": 0.7, "signal_variance": 1.3, "noise_variance": 0.05}
    model = GPFitRegressor("rbf", fix=fixed, mean="zero", standardize="none", posterior="none").fit(X, y)

    def k(a, b):
        return 1.3 * np.exp(-((a[:, None] - b[None]) ** 2).sum(2) / (2 * 0.7**2))

    new = X[:5] + 0.1
    sigma = k(X, X) + 0.05 * np.eye(30)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, k(new, X) @ np.linalg.solve(sigma, y), rtol=1e-10)
    variance = 1.3 + 0.05 - np.einsum("ij,ji->i", k(new, X), np.linalg.solve(sigma, k(X, new)))
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-10)
    assert math.isclose(model.model_.predict(new)["lower95"][0], mean[0] - 1.959963984540054 * std[0], rel_tol=1e-12)


@pytest.mark.parametrize("several", [False, True])
def test_intervals_and_quantiles_of_the_estimator(several):
    columns, y = table(40)
    X, targets = np.column_stack(list(columns.values())), np.column_stack([y, 3 * y]) if several else y
    estimator = GPFitRegressor("rbf", max_evals=8, noise_floor=1e-3, missing="drop").fit(X, targets)
    new = np.r_[X[:4], [[np.nan, 1]]]
    mean, std, interval, quantiles = estimator.predict(new, return_std=True, interval=0.9, quantiles=[0.05, 0.5, 0.8])
    assert np.isnan(quantiles[4]).all()
    assert interval.shape == (*mean.shape, 2)
    np.testing.assert_allclose(interval[:4, ..., 0], quantiles[:4, ..., 0], rtol=1e-12)
    estimator.model_._near = None  # the program's
    for got, want in zip(estimator.predict(new, interval=0.9, quantiles=[0.05, 0.5, 0.8]), (mean, interval, quantiles), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    with pytest.raises(ValueError, match="below 1"):
        estimator.predict(X, interval=1.5)
    assert std.shape == mean.shape


@pytest.mark.parametrize("posterior", ["auto", "none"])
def test_transforms_of_columns(posterior):
    columns, y = table(60)
    columns = {"c0": np.exp(2 * columns["c0"]), "c1": columns["c1"]}
    model = pygpfit.fit({**columns, "y": y}, kernel="rbf", input_transform="skewed", posterior=posterior, max_evals=8, noise_floor=1e-3)
    assert model.near() is not None
    assert model.near().plain.columns
    compare(model, rows(columns))
    compare(model, rows(columns), gradient=True, posterior_draws=0)
    compare(model, {"c0": np.array([-1.0]), "c1": np.array([1.0])}, near=False)  # far outside of the transform's range
