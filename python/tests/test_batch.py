"""Batches from Python."""

import numpy as np
import pytest

import pygpfit


@pytest.fixture
def spec(co2, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("co2.npz", **{name: values[:120] for name, values in co2.items()})
    return {"data": [{"name": "co2", "path": "co2.npz", "target": "co2"}], "kernels": ["rbf(ard)", "matern52(ard)"]}


def test_run_and_results(spec, tmp_path):
    run = pygpfit.batch(spec, out="study.run")
    results = run.results()
    assert [job["expression"] for job in results] == ["rbf(ard)", "matern52(ard)"]
    assert all(job["state"] == "done" for job in results)
    model = run.model(results[0])
    assert model.inspect()["nlml"] == results[0]["nlml"]
    np.testing.assert_array_equal(run.model(results[0]["job"]).export()["alpha"], model.export()["alpha"])
    with pytest.raises(KeyError, match="no model"):
        run.model("nothing")
    assert run.rankings()[0]["data"] == "co2"
    assert len(run.comparisons()) == 1
    for _ in range(2):
        assert run.report().read_text(encoding="utf-8").startswith("<!")
    assert run.resume().results() == results
    assert sorted(p.name for p in tmp_path.iterdir()) == ["co2.npz", "study.run"]


def test_failed_jobs(spec):
    # Without noise, the covariance of a linear function has a rank of 4.
    spec["kernels"].append({"name": "exact", "kernel": "linear", "noise": "none"})
    with pytest.raises(pygpfit.JobsFailedError, match="1 of 3 jobs failed"):
        pygpfit.batch(spec)
    states = [job["state"] for job in pygpfit.Run("batch.run").results()]
    assert states == ["done", "done", "failed"]


def test_mistakes_in_a_spec(spec):
    spec["kernells"] = []
    with pytest.raises(pygpfit.UsageError, match="kernells"):
        pygpfit.batch(spec)


def test_a_column_each(tmp_path, monkeypatch):
    from pygpfit.mlflow import _batch

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{shop},{t},{np.sin(t * k):.4f}\n" for k, shop in ((1, "a/b"), (2, "NA")) for t in range(12))
    (tmp_path / "sales.csv").write_text("shop,t,y\n" + rows, encoding="utf-8")
    run = pygpfit.batch({"data": [{"path": "sales.csv", "each": "shop"}], "kernels": ["rbf"]}, out="sales.run")
    results = run.results()
    assert [(job["job"], job["each"]) for job in results] == [("sales.rbf.seed-1/a/b", "a/b"), ("sales.rbf.seed-1/NA", "NA")]
    assert run.model("sales.rbf.seed-1/NA").inspect()["nlml"] == results[1]["nlml"]
    name, logged = _batch(run.path)
    assert name == "sales.run" and [(one["name"], one["status"], one["params"]["each"]) for one in logged] == [
        (job["job"], "FINISHED", job["each"]) for job in results
    ]
    assert logged[0]["metrics"]["objective"] == [results[0]["nlml"]]
