"""A table with numbers, booleans, categories, dates, times and gaps, as data frames."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import cross_val_score

import pygpfit
from pygpfit import DataError, GPFitRegressor, GPFitWarning

TRAIN, NEW = REPOSITORY / "examples" / "passengers.csv", REPOSITORY / "examples" / "passengers_new.csv"
FEATURES = ["class", "sex", "age", "alone", "port", "booked", "dinner"]
# Covariances and exports have the parameters of the optimum, so predictions to compare have them, too.
OPTIONS = {"kernel": "rbf(ard)", "missing": "drop", "date_unit": "weeks", "date_origin": "1912-01-01", "max_evals": 60, "posterior": "none"}


def frame(path):
    """Return a table with the types that pandas users give such columns."""
    table = pd.read_csv(path, parse_dates=["booked"], true_values=["yes"], false_values=["no"])
    return table.astype({"sex": "category", "age": "Int64", "alone": bool})


@pytest.fixture(scope="module")
def by_file():
    """The model that the command line makes of the file, and its predictions."""
    with pytest.warns(GPFitWarning, match="age"):
        model = pygpfit.fit(TRAIN, target="fare", features=",".join(FEATURES), **OPTIONS)
    return model, model.predict(NEW)


@pytest.fixture(scope="module")
def by_frame():
    table = frame(TRAIN)
    with pytest.warns(GPFitWarning, match="missing values"):
        return GPFitRegressor(**OPTIONS).fit(table[FEATURES], table["fare"])


def test_fit_of_a_data_frame_is_that_of_the_file(by_file, by_frame):
    model, _ = by_file
    assert by_frame.report_["n"] == model.summary["n"] < 120
    assert by_frame.n_features_in_ == 7 and list(by_frame.feature_names_in_) == FEATURES
    kinds = {column["name"]: column["kind"] for column in by_frame.report_["encoding"]["columns"]}
    assert kinds == {column["name"]: column["kind"] for column in model.summary["encoding"]["columns"]}
    assert kinds["sex"] == kinds["port"] == "category" and kinds["alone"] == "boolean" and kinds["booked"] == "date"
    assert by_frame.report_["nlml"] == model.summary["nlml"]
    assert by_frame.parameters_ == model.summary["parameters"]


def test_predictions_of_a_data_frame_are_those_of_the_file(by_file, by_frame):
    _, expected = by_file
    rows = frame(NEW)[FEATURES]
    mean, std = by_frame.predict(rows, return_std=True)
    np.testing.assert_array_equal(mean, expected["mean"])
    np.testing.assert_array_equal(std, expected["std"])
    np.testing.assert_array_equal(by_frame.predict(rows), by_frame.predict(rows, return_cov=True)[0])
    assert by_frame.score(rows, frame(NEW)["fare"]) > 0.9
    draws = by_frame.sample_y(rows, 3)
    assert draws.shape == (12, 3) and np.isfinite(draws).all()


def test_functions_take_data_frames(by_file):
    model, expected = by_file
    table = frame(TRAIN)
    with pytest.warns(GPFitWarning, match="missing values"):
        other = pygpfit.fit(table[[*FEATURES, "fare"]], **OPTIONS)
    assert other.summary["nlml"] == model.summary["nlml"]
    result = other.predict(frame(NEW), keep="name")  # with surplus columns
    np.testing.assert_array_equal(result["mean"], expected["mean"])
    assert list(result["name"]) == list(frame(NEW)["name"])


def test_the_model_goes_round_with_its_encoding(by_frame, tmp_path):
    rows = frame(NEW)[FEATURES]
    expected = by_frame.predict(rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(by_frame)).predict(rows), expected)
    by_frame.model_.save(tmp_path / "fares.gpfit")
    again = pygpfit.load(tmp_path / "fares.gpfit")
    np.testing.assert_array_equal(again.predict(NEW)["mean"], expected)
    np.testing.assert_array_equal(again.predict(rows, mean_only=True)["mean"], expected)
    assert {"sex_female", "sex_male", "alone"} <= set(again.inspect()["features"])


def test_the_export_describes_the_encoding(by_frame, tmp_path):
    state = by_frame.model_.export()
    (tmp_path / "fares.json").write_text(json.dumps(state))
    reader = [sys.executable, str(REPOSITORY / "examples" / "read_model.py"), str(tmp_path / "fares.json"), str(NEW)]
    lines = subprocess.run(reader, capture_output=True, text=True, check=True).stdout.splitlines()
    means = [float(line.split(",")[lines[0].split(",").index("mean")]) for line in lines[1:]]
    np.testing.assert_allclose(means, by_frame.predict(frame(NEW)[FEATURES]), rtol=1e-9)
    columns = {column["name"]: column for column in state["encoding"]["columns"]}
    assert columns["sex"]["categories"] == ["female", "male"]
    assert columns["booked"]["kind"] == "date"
    assert len(state["feature_names"]) == len(state["X"][0]) == 10


def test_gaps_and_categories_that_fit_has_not_seen(by_frame):
    rows = frame(NEW)[FEATURES]
    expected = by_frame.predict(rows)
    rows.loc[3, "age"] = pd.NA
    rows.loc[5, "booked"] = pd.NaT
    for result in (by_frame.predict(rows), *by_frame.predict(rows, return_std=True)):
        assert list(np.flatnonzero(np.isnan(result))) == [3, 5]
    rest = np.delete(np.arange(12), [3, 5])
    np.testing.assert_allclose(by_frame.predict(rows)[rest], expected[rest], rtol=1e-12)
    rows = frame(NEW)[FEATURES]
    rows.loc[0, "port"] = "Belfast"
    with pytest.raises(DataError, match="Belfast"):
        by_frame.predict(rows, unseen="error")
    with pytest.warns(GPFitWarning, match="Belfast"):
        unseen = by_frame.predict(rows)
    np.testing.assert_allclose(unseen[1:], expected[1:], rtol=1e-12)
    assert unseen[0] != expected[0]


def test_frames_that_do_not_fit(by_frame):
    table = frame(TRAIN)
    with pytest.raises(DataError, match="age"):
        GPFitRegressor().fit(table[FEATURES], table["fare"])
    with pytest.raises(ValueError, match="feature names"):
        by_frame.predict(frame(NEW)[FEATURES[:-1]])
    with pytest.raises(ValueError, match="data frame"), pytest.warns(UserWarning):
        by_frame.predict(frame(NEW)[FEATURES].to_numpy())
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GPFitRegressor(**OPTIONS).fit(table[FEATURES], table["fare"][:-1])
    with pytest.raises(ValueError, match="NaN"):
        GPFitRegressor(**OPTIONS).fit(table[FEATURES], table["fare"].where(table["class"] > 1))
    with pytest.raises(DataError, match="colour"):
        GPFitRegressor(categories="colour", **OPTIONS).fit(table[FEATURES], table["fare"])


def test_categories_of_numbers_stay_categories(by_frame):
    table = frame(TRAIN).dropna().astype({"class": "category"})
    model = GPFitRegressor(max_evals=5).fit(table[["class", "sex"]], table["fare"])
    kinds = [column["kind"] for column in model.report_["encoding"]["columns"]]
    assert kinds == ["category", "category"]
    number = GPFitRegressor(max_evals=5).fit(table[["class", "sex"]].astype({"class": int}), table["fare"])
    assert [column["kind"] for column in number.report_["encoding"]["columns"]] == ["number", "category"]


def test_data_frames_in_searches_and_pipelines():
    table = frame(TRAIN).dropna()
    model = TransformedTargetRegressor(GPFitRegressor("rbf(ard)", max_evals=30), func=np.log, inverse_func=np.exp)
    scores = cross_val_score(model, table[["class", "sex", "alone", "booked"]], table["fare"], cv=3)
    assert scores.min() > 0.3


def test_durations_and_zones():
    days = np.arange(40)
    table = pd.DataFrame({
        "since": pd.to_timedelta(days, unit="D"),
        "when": pd.date_range("2024-03-01", periods=40, freq="D", tz="UTC"),
    })
    model = GPFitRegressor(max_evals=20).fit(table, np.sin(days / 6))
    assert [column["kind"] for column in model.report_["encoding"]["columns"]] == ["number", "date"]
    np.testing.assert_allclose(model.predict(table), np.sin(days / 6), atol=0.02)
