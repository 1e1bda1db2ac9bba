"""Every command from Python, with the command line as the reference."""

import inspect
import json
import re
import subprocess
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import pygpfit
from pygpfit import GPFitRegressor, plots

matplotlib.use("Agg")


def program(*args):
    return subprocess.run([pygpfit.find_program(), *map(str, args)], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def path(tmp_path, wave):
    X, y = wave
    file = tmp_path / "t.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="u,v,y", comments="")
    return file


def without_times(report):
    """Return a report without what differs from run to run."""
    if isinstance(report, dict):
        return {k: without_times(v) for k, v in report.items() if "seconds" not in k and k not in ("peak_bytes", "file", "command", "model_file")}
    return [without_times(v) for v in report] if isinstance(report, list) else report


def test_compare(path):
    report = pygpfit.compare(path, folds=3, kernels=["rbf(ard)"])
    assert without_times(report) == without_times(json.loads(program("compare", path, "--folds", 3, "--kernels", "rbf(ard)", "--json", "--quiet")))


def test_select(path, tmp_path):
    report, model = pygpfit.select(path, kernels=["rbf", "matern52"], score="loo")
    text = program("select", path, "--kernels", "rbf", "--kernels", "matern52", "--score", "loo", "--json", "--quiet", "--out", tmp_path / "b.gpfit")
    assert without_times(report) == without_times(json.loads(text))
    assert model.inspect()["nlml"] == pygpfit.load(tmp_path / "b.gpfit").inspect()["nlml"]


def test_profile(path):
    report = pygpfit.profile(path, kernel="rbf", along="lengthscale", points=5)
    assert without_times(report) == without_times(
        json.loads(program("profile", path, "--kernel", "rbf", "--along", "lengthscale", "--points", 5, "--json", "--quiet")))


def test_update_weights_report_check(path, tmp_path, wave):
    X, y = wave
    model = pygpfit.fit(path, kernel="rbf + linear", features=["u", "v"], target="y")
    more = model.update({"u": X[:5, 0] + 0.1, "v": X[:5, 1], "y": y[:5]})
    assert more.inspect()["n"] == 65 and more.summary["n"] == 65 and model.inspect()["n"] == 60
    term, = model.weights()["terms"]
    assert term["features"] == ["u", "v"] and len(term["mean"]) == 2
    page = model.report(tmp_path / "m.html", data=path)
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert model.check()["ok"] is True
    again = pygpfit.fit(path, from_=model, out=tmp_path / "again.gpfit")
    assert again.summary["kernel"] == model.summary["kernel"]


def test_kernels():
    assert pygpfit.kernel_check("rbf(ard)")["ok"]
    assert not pygpfit.kernel_check("formula(-dot)", columns=1)["ok"]
    assert not pygpfit.kernel_check(matrix=np.array([[1.0, 2.0], [2.0, 1.0]]))["ok"]
    shown = pygpfit.kernel_show("matern32(lengthscale=2)")
    assert shown == json.loads(program("kernel", "show", "matern32(lengthscale=2)", "--json"))
    drawn = pygpfit.sample(prior="rbf", grid="0:1:5", draws=2)
    assert len(drawn["draw1"]) == 5


def test_devices_version_bench():
    assert pygpfit.devices()["chosen"]
    assert pygpfit.version()["version"].startswith(pygpfit.__version__.split("+")[0])
    assert {line["type"] for line in pygpfit.bench(n=60, repeat=1)} >= {"machine"}


def test_experts_and_several_targets(wave):
    X, y = wave
    model = pygpfit.fit(np.column_stack([X, y]), kernel="rbf", experts="kmeans:3")
    assert np.corrcoef(model.predict(X)["mean"], y)[0, 1] > 0.9
    estimator = GPFitRegressor("rbf", experts="kmeans:3").fit(X, y)
    np.testing.assert_array_equal(estimator.predict(X), model.predict(X, mean_only=True)["mean"])


def test_a_batch_with_progress(path, tmp_path):
    seen = []
    run = pygpfit.batch({"data": [{"name": "t", "path": str(path)}], "kernels": ["rbf", "matern52", "matern32"]}, out=tmp_path / "b.run", callback=seen.append)
    assert seen and all({"text", "total"} <= set(status) for status in seen) and seen[0]["total"] == 3
    assert {line["type"] for line in run.show()} >= {"job", "ranking"} and run.check()["ok"]
    assert run.resume().path == run.path


def test_functions_have_the_options_of_their_commands(path):
    signature = inspect.signature(pygpfit.fit)
    assert signature.parameters["kernel"].default == "auto" and "json" not in signature.parameters
    with pytest.raises(pygpfit.UsageError, match="fit has no option restart: did you mean restarts"):
        pygpfit.fit(path, restart=3)
    with pytest.raises(pygpfit.DataError, match="t.csv"):
        pygpfit.fit(path, target="z")


def test_plots(path, wave, tmp_path):
    X, y = wave
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = pygpfit.fit(path, kernel="rbf(ard)")
    figure, grid = pyplot.subplots(1, 5, figsize=(25, 4))
    draw = [lambda ax: plots.plot_fit(model, "v", ax), lambda ax: plots.plot_effects(model, ax), lambda ax: plots.plot_residuals(model, ax),
            lambda ax: plots.plot_calibration(model, ax), lambda ax: plots.plot_parameters(model, ax)]
    for one, ax in zip(draw, grid, strict=True):
        assert one(ax) is ax
    found = model.predict({"u": np.full(200, np.median(X[:, 0])), "v": grid[0].lines[0].get_xdata()})["mean"]
    np.testing.assert_allclose(grid[0].lines[0].get_ydata(), found, rtol=1e-12)
    figure.savefig(tmp_path / "plots.png")
    assert (tmp_path / "plots.png").stat().st_size > 10_000
    pyplot.close(figure)
    estimator = GPFitRegressor("rbf(ard)").fit(X, y)
    assert plots.plot_fit(estimator, 0).get_ylabel()
    pyplot.close("all")
    with pytest.raises(pygpfit.UsageError, match="no column w: u, v"):
        plots.plot_fit(model, "w")


def test_the_table_of_functions():
    text = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text(encoding="utf-8")
    table = text.split("| command | what it does | in Python | in Go |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    rows = [row.split("|")[1:5] for row in table.splitlines()]
    assert len(rows) == 23
    for command, _, cell, _ in rows:
        names = re.findall("`([^`]+)`", cell)
        assert names
        for name in names:
            found = pygpfit
            for part in name.split("."):
                found = getattr(found, part)
            assert callable(found) and name.split(".")[-1] == command.split("`")[1].replace(" ", "_")
