"""GPFitRegressor within scikit-learn."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF, ConstantKernel as C, DotProduct, Exponentiation, Matern, RationalQuadratic, WhiteKernel,
)
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pygpfit
from pygpfit import DataError, DeviceError, GPFitRegressor, GPFitWarning, UsageError, from_sklearn


@pytest.mark.filterwarnings("ignore::pygpfit.GPFitWarning")
@parametrize_with_checks([GPFitRegressor(), GPFitRegressor("matern52", restarts=1, mean="zero", missing="drop")])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_repr_has_the_verdict(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard)", mean="zero")
    assert repr(model) == "GPFitRegressor(kernel='rbf(ard)', mean='zero')"
    assert repr(model.fit(X, y)) == f"GPFitRegressor(kernel='rbf(ard)', mean='zero')\n{model.model_.verdict['headline']}"
    assert repr(clone(model)) == "GPFitRegressor(kernel='rbf(ard)', mean='zero')"


def test_grid_search_over_kernels_in_a_pipeline(wave):
    X, y = wave
    pipeline = make_pipeline(StandardScaler(), GPFitRegressor(standardize="y"))
    search = GridSearchCV(pipeline, {"gpfitregressor__kernel": ["linear", "rbf(ard)"]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_ == {"gpfitregressor__kernel": "rbf(ard)"}
    assert search.best_score_ > 0.98


def test_clone_keeps_every_parameter():
    model = GPFitRegressor("rq", bounds={"alpha": (0.1, 10)}, set={"lengthscale": 2}, restarts=2, random_state=4)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["bounds"] == {"alpha": (0.1, 10)}


def test_options_reach_the_program(wave):
    X, y = wave
    model = GPFitRegressor(
        "rbf", ard=True, fix={"noise_variance": 0.01}, bounds={"lengthscale[1]": (0.5, 0.7)}, set={"lengthscale[0]": 2},
        scores=["loo", "cv"], folds=4, std_errors=True,
    )
    with pytest.warns(GPFitWarning, match="lengthscale\\[1\\] .*is at its upper bound"):
        model.fit(X, y)
    assert model.kernel_ == "rbf(ard)"
    assert model.parameters_["noise_variance"] == pytest.approx(0.01, rel=1e-12)
    assert model.parameters_["lengthscale[1]"] == pytest.approx(0.7, rel=1e-12)
    assert len(model.report_["scores"]["cv"]["folds"]) == 4
    assert model.n_iter_ == model.report_["iterations"]


@pytest.mark.filterwarnings("ignore:k2.signal_variance is at its lower bound")
def test_priors_and_ties_reach_the_program(wave):
    X, y = wave
    model = GPFitRegressor("rbf + matern32", prior={"k1.lengthscale": "lognormal(0, 0.01)"}, tie={"k2.lengthscale": "k1.lengthscale"})
    model.fit(X, y)
    assert model.parameters_["k1.lengthscale"] == pytest.approx(1, abs=0.05)
    assert model.parameters_["k2.lengthscale"] == model.parameters_["k1.lengthscale"]


@pytest.mark.parametrize("dump", [pickle, joblib])
def test_pickle_carries_the_model(wave, tmp_path, dump):
    X, y = wave
    model = GPFitRegressor(save_factor=True).fit(X, y)
    path = tmp_path / "model.pickle"
    with open(path, "wb") as file:
        dump.dump(model, file)
    file_of_model = model.model_.path
    with open(path, "rb") as file:
        again = dump.load(file)
    assert again.model_.path != file_of_model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_data_frames(wave):
    X, y = wave
    X = pd.DataFrame(X, columns=["X", "dose, mg"], index=np.arange(100, 160))
    y = pd.Series(y, index=X.index, name="effect")
    model = GPFitRegressor("rbf(ard)").fit(X, y)
    assert list(model.feature_names_in_) == ["X", "dose, mg"]
    assert model.model_.inspect()["features"] == ["X", "dose, mg"]
    plain = GPFitRegressor("rbf(ard)").fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_array_equal(model.predict(X), plain.predict(X.to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"X": "Z"}))


def test_a_data_frame_with_one_column_called_y(wave):
    X, y = wave
    X = pd.DataFrame({"y": X[:, 0]})
    model = GPFitRegressor().fit(X, y)
    assert model.model_.inspect()["features"] == ["y"]
    assert model.predict(X).shape == (60,)


def test_standard_deviations_and_covariances_agree(wave):
    X, y = wave
    # Covariances have the parameters of the optimum, not an average over draws, which few rows have.
    model = GPFitRegressor("rbf(ard)", posterior="none").fit(X, y)
    mean, std = model.predict(X[:9], return_std=True)
    mean_with_cov, cov = model.predict(X[:9], return_cov=True)
    np.testing.assert_allclose(mean_with_cov, mean, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-9)
    _, latent = model.predict(X[:9], return_std=True, observed=False)
    _, latent_cov = model.predict(X[:9], return_cov=True, observed=False)
    np.testing.assert_allclose(np.sqrt(np.diag(latent_cov)), latent, rtol=1e-6)
    noise = model.parameters_original_units_["noise_variance"]
    np.testing.assert_allclose(std**2 - latent**2, noise, rtol=1e-9)
    all_three = model.predict(X[:9], return_std=True, return_cov=True)
    for got, want in zip(all_three, (mean, std, cov), strict=True):
        np.testing.assert_array_equal(got, want)


def test_draws_follow_the_posterior(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard)").fit(X, y)
    draws = model.sample_y(X[:3], n_samples=4000, random_state=1)
    mean, cov = model.predict(X[:3], return_cov=True)
    assert draws.shape == (3, 4000)
    # Four standard errors of a mean and of a covariance from 4000 draws.
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=4 * np.sqrt(cov.max() / 4000))
    np.testing.assert_allclose(np.cov(draws), cov, atol=4 * np.sqrt(2 / 4000) * cov.max())
    np.testing.assert_array_equal(draws, model.sample_y(X[:3], n_samples=4000, random_state=1))
    assert not np.array_equal(draws, model.sample_y(X[:3], n_samples=4000, random_state=2))


@pytest.mark.filterwarnings("ignore:subsample")
def test_random_states(wave):
    X, y = wave
    seeds = [GPFitRegressor(subsample=40, random_state=r).fit(X, y).report_["seed"] for r in (None, 7, np.random.RandomState(3), np.random.RandomState(3))]
    assert seeds[:2] == [1, 7]
    assert seeds[2] == seeds[3]


def test_known_noise_in_a_column(wave):
    X, y = wave
    X = pd.DataFrame(X, columns=["a", "b"]).assign(variance=np.where(np.arange(60) < 30, 1e-4, 1.0))
    model = GPFitRegressor(noise_column="variance").fit(X, y)
    assert model.model_.inspect()["features"] == ["a", "b"]
    _, std = model.predict(X, return_std=True)
    assert std[30:].min() > 0.9 > std[:30].max()


FIXED = {"mean": "zero", "standardize": "none", "fix": {"lengthscale": 1.3, "signal_variance": 0.8, "noise_variance": 0.02}}


def posterior(X, y, noise, rows):
    """Return means and latent standard deviations for known variances, by their formulas."""
    def k(a, b):
        return 0.8 * np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2 * 1.3**2))

    solved = np.linalg.solve(k(X, X) + np.diag(noise), np.column_stack([y, k(X, rows)]))
    return k(rows, X) @ solved[:, 0], np.sqrt(0.8 - np.einsum("ij,ji->i", k(rows, X), solved[:, 1:]))


@pytest.mark.parametrize("table", [lambda X: X, lambda X: pd.DataFrame(X, columns=["precision", "y"])])
def test_precisions_divide_the_estimated_noise(wave, table):
    X, y = wave
    weights = np.tile([0, 1, 2.5], 20)
    with pytest.warns(GPFitWarning, match="left out 20 of 60 rows: their weight is 0"):
        model = GPFitRegressor("rbf", **FIXED).fit(table(X), y, precision=weights)
    mean, latent = model.predict(table(X[:7]), return_std=True, observed=False)
    kept = weights > 0
    want = posterior(X[kept], y[kept], 0.02 / weights[kept], X[:7])
    np.testing.assert_allclose(mean, want[0], rtol=1e-9)
    np.testing.assert_allclose(latent, want[1], rtol=1e-7)
    _, std = model.predict(table(X[:7]), return_std=True)  # of observations of weight 1
    np.testing.assert_allclose(std**2, latent**2 + 0.02, rtol=1e-9)
    with pytest.raises(DataError, match='column "precision_*", is -1'):
        model.fit(table(X), y, precision=np.where(weights > 2, -1, 1))
    with pytest.raises(UsageError, match="cannot be combined"):
        model.fit(table(X), y, precision=weights, noise_variance=1)


@pytest.mark.parametrize("table", [lambda X: X, lambda X: pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 1, "u", "v")})])
def test_a_weight_of_two_is_the_row_twice(wave, table):
    X, y = wave
    weights = np.tile([0, 1, 2], 20)
    rows = np.repeat(np.arange(60), weights)
    counted = GPFitRegressor("rbf", max_evals=20).fit(table(X), y, sample_weight=weights, noise_variance=np.linspace(0, 0.1, 60))
    twice = GPFitRegressor("rbf", max_evals=20).fit(table(X[rows]), y[rows], noise_variance=np.linspace(0, 0.1, 60)[rows])
    assert counted.log_marginal_likelihood_value_ == twice.log_marginal_likelihood_value_
    np.testing.assert_array_equal(counted.predict(table(X), return_std=True), twice.predict(table(X), return_std=True))
    for wrong in (2.5, -1):
        with pytest.raises(UsageError, match="sample_weight: the weight of row 3 is .*precision="):
            counted.fit(table(X), y, sample_weight=np.where(np.arange(60) == 3, wrong, 1))


def test_known_noise_of_rows(wave):
    X, y = wave
    noise = np.where(np.arange(60) < 30, 1e-3, 0.5)
    model = GPFitRegressor("rbf", **FIXED).fit(X, y, noise_variance=noise)
    mean, latent = model.predict(X[:7], return_std=True, observed=False)
    want = posterior(X, y, 0.02 + noise, X[:7])
    np.testing.assert_allclose(mean, want[0], rtol=1e-9)
    np.testing.assert_allclose(latent, want[1], rtol=1e-7)
    for given, total in (None, 0.02), (0.3, 0.32), (noise[:7], 0.021):
        _, std = model.predict(X[:7], return_std=True, noise_variance=given)
        np.testing.assert_allclose(std**2, latent**2 + total, rtol=1e-9)
    assert model.sample_y(X[:3], n_samples=2).shape == (3, 2)
    with pytest.raises(ValueError, match="needs a fit with noise_variance"):
        GPFitRegressor().fit(X, y).predict(X, noise_variance=1)


def test_two_columns_of_one_name_are_an_error(wave):
    X, y = wave
    table = pd.DataFrame(np.column_stack([X, X[:, :1] > 1]), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="positions 0 and 2 are both called 'a'"):
        pygpfit.fit(table)
    with pytest.raises(ValueError, match="positions 0 and 2 are both called 'a'"):
        GPFitRegressor().fit(table.astype(str), y)


@pytest.mark.filterwarnings("ignore:left out column 1")
def test_an_index_and_excluded_columns_are_no_inputs(wave):
    X, y = wave
    table = pd.DataFrame({"Unnamed: 0": np.arange(60), "a": X[:, 0], "b": X[:, 1]})
    model = GPFitRegressor(exclude=["b"]).fit(table, y)
    assert model.model_.inspect()["features"] == ["a"]
    np.testing.assert_array_equal(model.predict(table), GPFitRegressor().fit(table[["a"]], y).predict(table[["a"]]))


@pytest.mark.filterwarnings("ignore:left out 1 of 60 rows")
def test_rows_with_missing_cells(wave):
    X, y = wave
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GPFitRegressor().fit(holes, y)
    model = GPFitRegressor(missing="drop", posterior="none").fit(holes, y)
    assert model.report_["n"] == 59
    mean, cov = model.predict(holes[:5], return_cov=True)
    assert np.flatnonzero(np.isnan(mean)).tolist() == [3]
    assert np.isnan(cov).sum() == 9
    _, std = model.predict(holes[3:5], return_std=True)
    assert np.isnan(std[0]) and std[1] == pytest.approx(np.sqrt(cov[4, 4]))
    assert np.isnan(model.predict(holes[3:4])).tolist() == [True]


def test_several_targets_share_the_kernel(wave):
    X, y = wave
    Y = np.column_stack([y, 3 * np.cos(y) - 1])
    model = GPFitRegressor("rbf(ard)", posterior="none").fit(X, Y)
    mean, std, cov = model.predict(X[:7], return_std=True, return_cov=True)
    assert mean.shape == std.shape == (7, 2) and cov.shape == (7, 7, 2)
    for t in range(2):
        np.testing.assert_allclose(np.sqrt(np.diag(cov[:, :, t])), std[:, t], rtol=1e-8)
        assert np.corrcoef(model.predict(X)[:, t], Y[:, t])[0, 1] > 0.95
    assert model.sample_y(X[:3], n_samples=5).shape == (3, 2, 5)
    whole = pygpfit.fit({"0": X[:, 0], "1": X[:, 1], "y0": Y[:, 0], "y1": Y[:, 1]}, target="y0,y1", kernel="rbf(ard)", posterior="none")
    assert whole.summary["nlml"] == model.report_["nlml"]
    frame = pd.DataFrame(Y, columns=["salt", "heat"])
    named = GPFitRegressor("rbf(ard)", posterior="none").fit(pd.DataFrame(X, columns=["u", "v"]), frame)
    assert [t["name"] for t in named.model_.inspect()["targets"]] == ["salt", "heat"] and named.score(pd.DataFrame(X, columns=["u", "v"]), frame) > 0.9
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert cross_val_predict(GPFitRegressor("rbf(ard)"), X, Y, cv=3).shape == Y.shape


@pytest.mark.parametrize("kernel", [
    C(2.0) * RBF(0.7) + WhiteKernel(0.05), C(1.5) * RBF([0.5, 2.0], (0.01, 50)) + WhiteKernel(1e-2, (1e-6, 1)),
    Matern(0.8, nu=1.5) + WhiteKernel(), C(3.0, "fixed") * Matern([1.0, 2.0], nu=2.5) + WhiteKernel(0.1), RationalQuadratic(1.2, 0.7) + WhiteKernel(0.2),
    C(0.5) * RBF(1.0) * Matern(3.0, nu=0.5) + C(2.0) * RBF(0.1) + WhiteKernel(0.3), C(0.7) * DotProduct(2.0) + RBF() + WhiteKernel(), RBF() + DotProduct(0.0, "fixed") + WhiteKernel(),
], ids=str)
def test_kernels_of_scikit_learn(wave, kernel):
    X, y = wave
    theirs = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = GPFitRegressor(kernel, max_evals=1, posterior="none").fit(X, y)
        start = from_sklearn(kernel, ["0", "1"]).start
        at = [np.log(start[name]) for name in ours.theta_names]
        np.testing.assert_allclose(ours.log_marginal_likelihood(at), theirs.log_marginal_likelihood_value_, rtol=1e-10)
        tuned = GPFitRegressor(kernel).fit(X, y)
        reference = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=2, random_state=1).fit(X, y)
    assert tuned.log_marginal_likelihood_value_ >= reference.log_marginal_likelihood_value_ - 1e-3


def test_kernels_that_gpfit_does_not_have(wave):
    X, y = wave
    for kernel, text in (
        (Exponentiation(RBF(), 2), "no kernel with the meaning"), (RBF() + WhiteKernel() + WhiteKernel(), "several WhiteKernel"),
        (RBF() * WhiteKernel(), "noise is a term by itself"), (C(1.0) * (RBF() + Matern()), "multiply out"),
        (C(2.0) * DotProduct(1.0, "fixed") + WhiteKernel(), "cannot tie"), (RBF([1, 2, 3]), "3 lengthscales, and X has 2 columns"), (Matern(nu=0.7), "nu is half an odd"),
    ):
        with pytest.raises(pygpfit.UsageError, match=text):
            GPFitRegressor(kernel).fit(X, y)


def test_the_likelihood_at_other_parameters(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard) + linear", posterior="none").fit(X, y)
    tuned = np.log([model.parameters_[name] for name in model.theta_names])
    value, gradient = model.log_marginal_likelihood(tuned, eval_gradient=True)
    np.testing.assert_allclose(value, model.log_marginal_likelihood(), rtol=1e-9)
    np.testing.assert_allclose(gradient, [-model.report_["gradient_log"][name] for name in model.theta_names], atol=1e-5)
    h = 1e-5
    for i in range(len(tuned)):
        step = np.eye(len(tuned))[i] * h
        central = (model.log_marginal_likelihood(tuned + 0.3 + step) - model.log_marginal_likelihood(tuned + 0.3 - step)) / (2 * h)
        np.testing.assert_allclose(model.log_marginal_likelihood(tuned + 0.3, eval_gradient=True)[1][i], central, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="5 parameters|parameters: "):
        model.log_marginal_likelihood([1.0])


@pytest.mark.parametrize("how", ["weights", "noise", "tie", "targets", "transform", "fix", "prior", "objective"])
def test_the_likelihood_of_every_fit(wave, how):
    X, y = wave
    options = {"tie": {"lengthscale[1]": "lengthscale[0]"}} if how == "tie" else {"target_transform": "log"} if how == "transform" else {
        "fix": {"fix": {"noise_variance": 0.01}}, "prior": {"prior": {"lengthscale[0]": "lognormal(0, 1)"}}, "objective": {"objective": "loo"}}.get(how, {})
    given = {"precision": np.linspace(1, 3, len(y))} if how == "weights" else {"noise_variance": np.linspace(0, 0.1, len(y))} if how == "noise" else {}
    y = np.exp(y) if how == "transform" else np.column_stack([y, y**2]) if how == "targets" else y
    model = GPFitRegressor("rbf(ard)", posterior="none", **options).fit(X, y, **given)
    tuned = np.log([model.parameters_[name] for name in model.theta_names])
    value, gradient = model.log_marginal_likelihood(tuned, eval_gradient=True)
    np.testing.assert_allclose(value, model.log_marginal_likelihood(), rtol=1e-9)
    step = 1e-5 * np.eye(len(tuned))[0]
    central = (model.log_marginal_likelihood(tuned + step) - model.log_marginal_likelihood(tuned - step)) / 2e-5
    np.testing.assert_allclose(gradient[0], central, rtol=1e-4, atol=1e-3)


def test_what_notebooks_show(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard)")
    before = model._repr_mimebundle_()["text/html"]
    after = model.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "class='gpfit'" not in before and after.startswith(before[:50])
    for text in ("rbf(ard)", "on 60 rows of", "noise_variance", "original units", "<svg", "Rows in leave-one-out intervals"):
        assert text in after


def test_target_scaling_and_cross_validation(wave):
    X, y = wave
    model = TransformedTargetRegressor(GPFitRegressor("rbf(ard)"), func=np.exp, inverse_func=np.log)
    assert np.corrcoef(cross_val_predict(model, X, y, cv=3), y)[0, 1] > 0.98


def test_errors_are_exceptions_with_the_programs_message(wave):
    X, y = wave
    with pytest.raises(UsageError, match='did you mean "rbf"'):
        GPFitRegressor("rbff").fit(X, y)
    with pytest.raises(UsageError, match=r"^max_evals -3: must be at least 1"):
        GPFitRegressor(max_evals=-3).fit(X, y)
    with pytest.raises(DataError, match="the target .* is constant"):
        GPFitRegressor().fit(X, np.ones(60))
    with pytest.raises(DeviceError) as caught:
        GPFitRegressor(device="cuda:7").fit(X, y)
    assert caught.value.code == 12
    with pytest.raises(NotFittedError):
        GPFitRegressor().predict(X)


def test_a_failed_fit_leaves_no_half_model(wave):
    X, y = wave
    model = GPFitRegressor().fit(X, y)
    before = model.predict(X)
    with pytest.raises(UsageError):
        model.set_params(kernel="rbf(").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_variables_of_options_do_not_change_a_fit(wave, monkeypatch):
    X, y = wave
    monkeypatch.setenv("GPFIT_KERNEL", "linear")
    monkeypatch.setenv("GPFIT_DEVICE", "cuda:7")
    with pytest.raises(DeviceError):
        GPFitRegressor().fit(X, y)
    assert GPFitRegressor(device="cpu").fit(X, y).kernel_ != "linear"


def test_masked_cells_are_missing() -> None:
    x = np.linspace(0, 6, 30).reshape(-1, 1)
    y = np.sin(x[:, 0])
    masked = np.ma.masked_array(x.copy(), mask=np.arange(30).reshape(-1, 1) == 4)
    masked.data[4] = 1e6
    with pytest.raises(ValueError, match="NaN"):
        GPFitRegressor().fit(masked, y)
    dropped = GPFitRegressor(missing="drop").fit(masked, y)
    rest = GPFitRegressor().fit(np.delete(x, 4, axis=0), np.delete(y, 4))
    assert dropped.report_["nlml"] == rest.report_["nlml"]
    assert np.isnan(dropped.predict(masked)[4])
