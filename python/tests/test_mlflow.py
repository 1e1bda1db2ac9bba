"""Runs in MLflow of models, checkpoints and batches."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import pygpfit
import pygpfit.mlflow

mlflow = pytest.importorskip("mlflow", reason="SKIPPED: mlflow is not installed")
CHECKPOINT = """gpfit-checkpoint 2 abc
full-0 v 0000000000000007 3ff8000000000000 f333ebf1
full-0 g 0000000000000007 3ff8000000000000 3fd0000000000000 928ff744
full-0 p 0000000000000007 0000000000000000 e202d96c
full-0 v 0000000000000007 c000000000000000 7bd34716
full-0 v 00000"""


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "a b" / "mlruns").as_uri())
    return mlflow.MlflowClient()


def runs(client, experiment):
    return client.search_runs([client.get_experiment_by_name(experiment).experiment_id])


def test_model(client, wave):
    X, y = wave
    model = pygpfit.fit(np.column_stack([X, y]), kernel="rbf(ard)", fix={"noise_variance": 0.01})
    model.save("t.gpfit")
    (first,) = pygpfit.mlflow.log("t.gpfit")
    client.set_tag(first, "mlflow.note.content", "good")
    (again,) = pygpfit.mlflow.log("t.gpfit")
    (run,) = runs(client, "gpfit")
    assert run.info.run_id == again != first
    assert (run.info.status, run.info.run_name) == ("FINISHED", "t")
    assert run.info.end_time == int(Path("t.gpfit").stat().st_mtime * 1000)
    assert run.data.params["kernel"] == "rbf(ard)" and run.data.params["n"] == "60" and run.data.params["d"] == "2"
    assert run.data.metrics["objective"] == model.inspect()["nlml"]
    assert run.data.metrics["parameters/noise_variance"] == pytest.approx(0.01)
    assert run.data.metrics["parameters/lengthscale.0"] == model.inspect()["parameters"]["lengthscale[0]"]
    assert run.data.tags["mlflow.note.content"] == "good"
    copy = mlflow.artifacts.download_artifacts(run_id=again, artifact_path="t.gpfit", dst_path="copy")
    assert Path(copy).read_bytes() == model.data


def test_batch(client, co2):
    np.savez("co2.npz", **{name: values[:120] for name, values in co2.items()})
    kernels = ["rbf(ard)", "matern52(ard)", {"name": "exact", "kernel": "linear", "noise": "none"}]
    spec = {"name": "kernels for CO₂", "data": [{"name": "co2", "path": "co2.npz", "target": "co2"}], "kernels": kernels}
    with pytest.raises(pygpfit.JobsFailedError):
        pygpfit.batch(spec, out="study.run")
    batch = pygpfit.Run("study.run")
    assert len(pygpfit.mlflow.log(batch)) == 3
    found = runs(client, "kernels for CO₂")
    assert sorted(r.info.status for r in found) == ["FAILED", "FINISHED", "FINISHED"]
    by_kernel = {r.data.params["kernel"]: r for r in found}
    for job in batch.results():
        run = by_kernel[job["expression"]]
        assert run.data.metrics.get("nlml") == job["nlml"]
        assert run.info.end_time >= run.info.start_time > 0
        assert (run.data.params["kernel_name"], run.data.params["seed"]) == (job["kernel"], "1")
    assert "not positive definite" in by_kernel["linear"].data.tags["gpfit.error"]
    assert by_kernel["linear"].data.params["noise"] == "none"
    files = [a.path for a in client.list_artifacts(by_kernel["rbf(ard)"].info.run_id)]
    assert any(file.endswith(".gpfit") for file in files) and any(file.endswith(".log") for file in files)
    # A second call keeps the tags of users, and another experiment has runs of its own.
    client.set_tag(by_kernel["rbf(ard)"].info.run_id, "reviewed", "yes")
    pygpfit.mlflow.log("study.run")
    assert sorted(r.data.tags.get("reviewed", "") for r in runs(client, "kernels for CO₂")) == ["", "", "yes"]
    pygpfit.mlflow.log("study.run", experiment="mine")
    assert len(runs(client, "mine")) == 3


def test_values_of_a_checkpoint(client):
    Path("c.ckpt").write_text(CHECKPOINT)
    (run_id,) = pygpfit.mlflow.log("c.ckpt", experiment="unfinished")
    assert client.get_run(run_id).info.status == "KILLED"
    history = client.get_metric_history(run_id, "objective/full-0")
    assert [(m.step, m.value) for m in history] == [(0, 1.5), (1, -2.0)]


def test_checkpoint_of_a_killed_fit(client, co2):
    np.savez("co2.npz", **co2)
    options = ["--target=co2", "--restarts=100", "--coarse=off", "--quiet", "--checkpoint=fit.ckpt"]
    process = subprocess.Popen([pygpfit.find_program(), "fit", "co2.npz", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not os.path.exists("fit.ckpt") or os.path.getsize("fit.ckpt") < 2000:
        assert time.monotonic() < deadline and process.poll() is None, "no checkpoint"
        time.sleep(0.02)
    process.kill()
    process.wait()
    (run_id,) = pygpfit.mlflow.log("fit.ckpt")
    name = next(n for n in client.get_run(run_id).data.metrics if n.startswith("objective/"))
    history = client.get_metric_history(run_id, name)
    assert [m.step for m in history] == list(range(len(history)))
    assert min(m.value for m in history) < history[0].value


def test_names_and_values_that_mlflow_limits(client):
    many = pygpfit.mlflow._parameters("p", {f"x[../{i}]": 1.0 for i in range(1500)})
    many |= {"objective": [3, float("nan"), 1], "never": [float("inf")]}
    run = {"name": "a: b", "status": "RUNNING", "start": 5, "end": None, "artifacts": [], "metrics": many}
    run |= {"params": {"long": "é" * 7000, "a": {"b/c": 1}, **{f"p{i}": i for i in range(150)}}}
    run |= {"tags": {"mlflow.source.name": "it's", "gpfit.error": "é" * 9000}}
    written = client.get_run(pygpfit.mlflow._write(client, "0", run))
    assert written.info.status == "RUNNING" and written.info.end_time is None
    assert written.data.params["long"] == "é" * 5999 + "…"
    assert written.data.params["a/b_c"] == "1" and len(written.data.params) == 152
    assert len(written.data.tags["gpfit.error"]) == 8000
    assert "never" not in written.data.metrics and len(written.data.metrics) == 1501
    assert [(m.step, m.value) for m in client.get_metric_history(written.info.run_id, "objective")] == [(0, 3), (2, 1)]


@pytest.mark.parametrize("name", ["nothing", "taken", "t.csv"])
def test_mistakes(client, name):
    Path("taken").mkdir()
    Path("t.csv").write_text("x,y\n1,2\n")
    with pytest.raises(pygpfit.GPFitError):
        pygpfit.mlflow.log(name)
    assert [e.name for e in client.search_experiments()] == ["Default"]
