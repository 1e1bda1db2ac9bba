"""The life of an estimator: 43 probes, each of which passes or is refused with a reason."""

import copy
import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV, KFold, RandomizedSearchCV, TimeSeriesSplit, cross_val_predict, cross_val_score, cross_validate, learning_curve, validation_curve,
)
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import pygpfit
from pygpfit import GPFitRegressor

pytestmark = pytest.mark.filterwarnings("ignore::pygpfit.GPFitWarning")
PROBES = []


def probe(function):
    """Collect a probe, which gets rows and targets."""
    PROBES.append(pytest.param(function, id=function.__name__))
    return function


def model(**options):
    return GPFitRegressor("rbf(ard)", **options)


@probe
def pipeline(X, y):
    assert make_pipeline(StandardScaler(), PCA(2), model()).fit(X, y).score(X, y) > 0.9


@probe
def pipeline_with_interactions(X, y):
    assert make_pipeline(PolynomialFeatures(2), model()).fit(X, y).score(X, y) > 0.9


@probe
def column_transformer(X, y):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(g=["a", "b"] * (len(X) // 2))
    steps = ColumnTransformer([("n", StandardScaler(), ["u", "v"]), ("c", OneHotEncoder(), ["g"])])
    assert make_pipeline(steps, model()).fit(frame, y).score(frame, y) > 0.9


@probe
def grid_search(X, y):
    search = GridSearchCV(GPFitRegressor(), {"kernel": ["rbf", "matern52(ard)"], "restarts": [0, 1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8 and hasattr(search.best_estimator_, "model_")


@probe
def randomized_search_in_parallel(X, y):
    assert RandomizedSearchCV(GPFitRegressor(), {"kernel": ["rbf", "matern52", "matern32"]}, n_iter=2, cv=3, n_jobs=2, random_state=1).fit(X, y).best_score_ > 0.8


@probe
def search_refuses_a_wrong_kernel(X, y):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="fits failed"):
        warnings.simplefilter("ignore")
        GridSearchCV(GPFitRegressor(), {"kernel": ["rbff"]}, cv=3).fit(X, y)


@probe
def cross_validation_scores(X, y):
    assert cross_val_score(model(), X, y, cv=KFold(4, shuffle=True, random_state=1)).mean() > 0.9


@probe
def cross_validation_with_several_scores(X, y):
    found = cross_validate(model(), X, y, cv=3, scoring=("r2", "neg_root_mean_squared_error"), return_train_score=True, return_estimator=True)
    assert len(found["estimator"]) == 3 and found["test_r2"].min() > 0.7


@probe
def cross_validation_predictions(X, y):
    assert np.corrcoef(cross_val_predict(model(), X, y, cv=5), y)[0, 1] > 0.95


@probe
def splits_of_time(X, y):
    assert len(cross_val_score(model(), X, y, cv=TimeSeriesSplit(3))) == 3


@probe
def own_scorer_with_std(X, y):
    def nlpd(estimator, rows, targets):
        mean, std = estimator.predict(rows, return_std=True)
        return -np.mean(0.5 * np.log(2 * np.pi * std**2) + (targets - mean) ** 2 / (2 * std**2))

    assert np.isfinite(cross_val_score(model(), X, y, cv=3, scoring=nlpd)).all()


@probe
def scorer_of_a_metric(X, y):
    assert cross_val_score(model(), X, y, cv=3, scoring=make_scorer(mean_squared_error, greater_is_better=False)).max() <= 0


@probe
def learning_curves(X, y):
    _, train, test = learning_curve(model(), X, y, train_sizes=[0.3, 1.0], cv=3)
    assert test[-1].mean() > 0.8 and train.shape == (2, 3)


@probe
def validation_curves(X, y):
    assert validation_curve(GPFitRegressor("rbf"), X, y, param_name="noise_floor", param_range=[1e-4, 1e-1], cv=3)[1].shape == (2, 3)


@probe
def joblib_processes(X, y):
    one, two = joblib.Parallel(n_jobs=2)(joblib.delayed(model().fit)(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@probe
def joblib_file(X, y):
    file = io.BytesIO()
    fitted = model().fit(X, y)
    joblib.dump(fitted, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(X), fitted.predict(X))


@probe
def pickles_of_every_protocol(X, y):
    fitted = model().fit(X, y)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted, protocol)).predict(X), fitted.predict(X))


@probe
def deep_copies(X, y):
    fitted = model().fit(X, y)
    np.testing.assert_array_equal(copy.deepcopy(fitted).predict(X), fitted.predict(X))


@probe
def clones_forget_the_fit(X, y):
    with pytest.raises(NotFittedError):
        clone(model(restarts=2).fit(X, y)).predict(X)
    assert clone(model(restarts=2)).get_params()["restarts"] == 2


@probe
def parameters_can_be_set(X, y):
    assert model().set_params(kernel="matern52", posterior="none").fit(X, y).kernel_ == "matern52"
    with pytest.raises(ValueError, match="Invalid parameter"):
        model().set_params(kernal="rbf")


@probe
def fit_again(X, y):
    fitted = model().fit(X, y)
    first = fitted.predict(X)
    assert not np.allclose(fitted.fit(X, -2 * y).predict(X), first)


@probe
def frames_of_pandas(X, y):
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(len(X)) * 2)
    fitted = model().fit(frame, pd.Series(y, index=frame.index, name="salt"))
    assert list(fitted.feature_names_in_) == ["u", "v"] and "lengthscale[u]" in fitted.parameters_
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["v", "u"]])


@probe
def frames_of_polars(X, y):
    frame = pl.DataFrame({"u": X[:, 0], "v": X[:, 1]})
    fitted = model().fit(frame, pl.Series("salt", y))
    np.testing.assert_array_equal(fitted.predict(frame), model().fit(pd.DataFrame(X, columns=["u", "v"]), y).predict(pd.DataFrame(X, columns=["u", "v"])))


@probe
def frames_with_categories(X, y):
    frame = pl.DataFrame({"u": X[:, 0], "g": pl.Series(["a", "b"] * (len(X) // 2), dtype=pl.Categorical)})
    assert GPFitRegressor("rbf").fit(frame, y).report_["encoding"]


@probe
def tables_of_pyarrow(X, y):
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "y": y})
    assert pygpfit.fit(table, kernel="rbf").summary["n"] == len(y)


@probe
def integers_and_single_precision(X, y):
    assert model().fit(X.astype(np.float32), y.astype(np.float32)).score(X, y) > 0.9
    assert np.isfinite(model().fit((10 * X).astype(int), y).predict((10 * X).astype(int))).all()


@probe
def lists_and_columns_in_fortran_order(X, y):
    np.testing.assert_array_equal(model().fit(X.tolist(), y.tolist()).predict(X), model().fit(np.asfortranarray(X), y).predict(X))


@probe
def sparse_rows_are_refused(X, y):
    with pytest.raises(TypeError, match="[Ss]parse"):
        model().fit(scipy.sparse.csr_matrix(X), y)


@probe
def gaps_are_refused_or_dropped(X, y):
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model().fit(holes, y)
    assert np.isnan(model(missing="drop").fit(holes, y).predict(holes)[3])


@probe
def texts_as_target_are_refused(X, y):
    with pytest.raises(ValueError, match="convert string|dtype|numeric"):
        model().fit(X, np.array(["a", "b"] * (len(y) // 2)))


@probe
def one_row_is_refused(X, y):
    with pytest.raises(ValueError, match="minimum of 2|1 sample"):
        model().fit(X[:1], y[:1])


@probe
def permutation_importances(X, y):
    found = permutation_importance(model().fit(X, y), X, y, n_repeats=3, random_state=1)
    assert found.importances_mean.min() > 0


@probe
def partial_dependences(X, y):
    assert partial_dependence(model().fit(X, y), X, [0], grid_resolution=5)["average"].shape == (1, 5)


@probe
def feature_selection(X, y):
    wide = np.column_stack([X, np.random.default_rng(2).random(len(X))])
    assert list(SequentialFeatureSelector(GPFitRegressor("rbf"), n_features_to_select=2, cv=3).fit(wide, y).get_support()) == [True, True, False]


@probe
def several_targets(X, y):
    assert model().fit(X, np.column_stack([y, -y])).predict(X).shape == (len(y), 2)


@probe
def a_model_for_each_target(X, y):
    Y = np.column_stack([y, y**2])
    assert MultiOutputRegressor(model()).fit(X, Y).score(X, Y) > 0.8
    assert RegressorChain(model()).fit(X, Y).predict(X).shape == Y.shape


@probe
def weights(X, y):
    weighted = model().fit(X, y, sample_weight=np.arange(len(y)) % 3)
    assert not np.allclose(weighted.predict(X), model().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="[Ww]eight"):
        model().fit(X, y, sample_weight=-np.ones(len(y)))


@probe
def weights_through_a_pipeline(X, y):
    assert make_pipeline(StandardScaler(), model()).fit(X, y, gpfitregressor__sample_weight=np.ones(len(y))).score(X, y) > 0.9


@probe
def transformed_targets(X, y):
    assert TransformedTargetRegressor(model(), func=np.exp, inverse_func=np.log).fit(X, y).score(X, y) > 0.9
    positive = np.exp(y)
    assert model(target_transform="log").fit(X, positive).score(X, positive) > 0.9


@probe
def ensembles(X, y):
    assert VotingRegressor([("gp", model()), ("ridge", Ridge())]).fit(X, y).score(X, y) > 0.8
    assert StackingRegressor([("gp", model()), ("ridge", Ridge())], cv=3).fit(X, y).score(X, y) > 0.8


@probe
def bags(X, y):
    assert BaggingRegressor(model(), n_estimators=2, max_samples=0.8, random_state=1).fit(X, y).score(X, y) > 0.8


@probe
def standard_deviations_and_draws(X, y):
    fitted = model(posterior="none").fit(X, y)
    mean, std, cov = fitted.predict(X[:5], return_std=True, return_cov=True)
    draws = fitted.sample_y(X[:5], n_samples=2000, random_state=1)
    assert np.abs(draws.mean(1) - mean).max() < 5 * std.max() / np.sqrt(2000) and cov.shape == (5, 5)


@probe
def warnings_and_tags(X, y):
    with pytest.warns(pygpfit.GPFitWarning, match="stopped before convergence"):
        model(max_evals=2).fit(X, y)
    assert is_regressor(model()) and model().__sklearn_tags__().target_tags.multi_output
    assert "kernel='rbf(ard)'" in repr(model())


def test_there_are_43_probes():
    assert len(PROBES) == 43


@pytest.mark.parametrize("one", PROBES)
def test_probe(one, wave):
    X, y = wave
    one(X, y)
