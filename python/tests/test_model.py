"""The functions for tables and model files, and the process behind them."""

import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import pygpfit
from pygpfit import _process, _tables
from conftest import REPOSITORY


def test_fit_save_load_predict(co2, tmp_path):
    model = pygpfit.fit(co2, kernel="rbf(ard)", target="co2")
    assert model.summary["n"] == len(co2["co2"])
    model.save(tmp_path / "co2.gpfit")
    again = pygpfit.load(tmp_path / "co2.gpfit")
    rows = {name: values[:5] for name, values in co2.items()}
    result = again.predict(rows, interval=0.5, gradient=True)
    assert {"mean", "std", "std_latent", "lower50", "gradient_year"} <= result.keys()
    np.testing.assert_array_equal(result["mean"], model.predict(rows)["mean"])
    assert again.inspect()["kernel"] == "rbf(ard)"
    assert "rbf(ard)" in repr(again) and repr(again).endswith(model.summary["verdict"]["headline"] + ">")
    assert again.verdict["level"] == "fair" and "command" not in model.verdict.get("next", {})
    draws = again.sample(rows, draws=2)
    assert draws["draw1"].shape == (5,)
    assert again.loo()["residual"].shape == co2["co2"].shape


def test_tables_in_every_form_give_the_same_bits(co2, tmp_path):
    frame = pd.DataFrame(co2)
    frame.to_csv(tmp_path / "co2.csv", index=False)
    structured = frame.to_records(index=False)
    values = [pygpfit.nlml(form)["nlml"] for form in (co2, frame, structured, tmp_path / "co2.csv", str(tmp_path / "co2.csv"), frame.to_numpy())]
    assert len(set(values)) == 1


def test_text_and_missing_cells_go_by_csv(tmp_path):
    columns = {"x": [0.1, 0.2, np.nan], "label": ["a", 'say "b", c', None], "day": np.array(["2024-01-02", "2024-01-03", "NaT"], "M8[D]"), "on": [True, False, True]}
    path = _tables.write(tmp_path / "t", columns)
    assert path.suffix == ".csv"
    again = pd.read_csv(path)
    assert again["x"].tolist()[:2] == [0.1, 0.2]
    assert again["label"].tolist()[1] == 'say "b", c'
    assert again["day"].tolist()[:2] == ["2024-01-02", "2024-01-03"]
    assert again.isna().sum().tolist() == [1, 1, 1, 0]


def test_results_are_read_without_loss():
    values = np.array([0.1, 1e-300, -np.pi, 5e-324])
    result = _tables.read_csv(['"a, ""b""",c\n', *(f"{v!r},1\n" for v in values.tolist())], ())
    np.testing.assert_array_equal(result['a, "b"'], values)


def test_a_model_survives_pickling_and_removes_its_file(wave):
    X, y = wave
    model = pygpfit.fit(np.column_stack([X, y]))
    path = model.path
    assert os.path.exists(path)
    again = pickle.loads(pickle.dumps(model))
    expected = model.predict(X)["mean"]
    del model
    assert not os.path.exists(path)
    np.testing.assert_array_equal(again.predict(X)["mean"], expected)


def test_a_damaged_model_file(tmp_path):
    (tmp_path / "bad.gpfit").write_bytes(b"nothing")
    with pytest.raises(pygpfit.DataError, match="bad.gpfit"):
        pygpfit.load(tmp_path / "bad.gpfit")


def test_flags():
    flags = _process.flags(
        {"kernel": "auto", "ard": True, "max_evals": np.int64(7), "set": {"a": 0.1}, "bounds": {"b": (1, 2.5)}, "fix": {"c": None},
         "tie": ["d=e"], "features": ["x", "y, z"], "missing": "error", "tolerance_nats": 0.9, "prior": None, "refit": np.bool_(True)}, "fit")
    assert flags == ["--ard=true", "--max-evals=7", "--set=a=0.1", "--bounds=b=1:2.5", "--fix=c", "--tie=d=e",
                     '--features=x,"y, z"', "--tolerance-nats=0.9", "--refit=true"]


def test_messages():
    stderr = "gpfit: device cpu\ngpfit: warning: one\nof --max-evals\ngpfit: /tmp/data.npz: row 3\n  rbf(\n     ^\nRun 'gpfit help' for more\n"
    assert _process.messages(stderr, {"/tmp/data.npz": "data"}) == (["one\nof max_evals"], "data: row 3\n  rbf(\n     ^")


def test_an_unknown_option_is_an_error(wave):
    X, y = wave
    with pytest.raises(pygpfit.UsageError, match="no option kernle: did you mean kernel"):
        pygpfit.fit(np.column_stack([X, y]), kernle="rbf")


def test_a_missing_program(monkeypatch):
    monkeypatch.setenv("PYGPFIT_PROGRAM", "/nowhere/gpfit")
    with pytest.raises(pygpfit.GPFitError, match="/nowhere/gpfit is not a program"):
        pygpfit.find_program()


@pytest.mark.skipif(os.name == "nt", reason="SKIPPED: signals")
def test_keyboard_interrupt_stops_the_program(tmp_path):
    script = """
import numpy as np, pygpfit
rng = np.random.default_rng(1)
X = rng.random((3000, 8))
seen = []
def begun(status):
    if status.get("best") is not None and not seen:
        seen.append(print("begin", flush=True))
model = pygpfit.fit(np.column_stack([X, X.sum(1) + rng.random(3000)]), kernel="rbf(ard)", restarts=50, coarse="off", callback=begun)
print("stopped", model.summary["interrupted"], flush=True)
"""
    # A shell starts background jobs with SIGINT ignored, which a child would inherit.
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)},
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout.readline() == "begin\n"
    children = _children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "stopped True\n"
    assert not any(os.path.exists(f"/proc/{child}") for child in children)
    assert list(tmp_path.iterdir()) == []


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return file.read().split()
    except FileNotFoundError:
        pytest.skip("SKIPPED: no /proc with children here")


def test_fits_in_threads(wave):
    X, y = wave
    table, results = np.column_stack([X, y]), []
    threads = [threading.Thread(target=lambda: results.append(pygpfit.fit(table).summary["nlml"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results)) == 1


def test_the_program_has_the_version_of_the_package():
    from importlib.metadata import PackageNotFoundError, version

    try:
        expected = version("pygpfit")
    except PackageNotFoundError:
        pytest.skip("SKIPPED: pygpfit is not installed from a wheel")
    # A program that is not built from a release's tag says so.
    assert _process.run("version").startswith((f"gpfit {expected} ", f"gpfit {expected}-dev "))


def test_examples_of_the_documentation(monkeypatch):
    page = REPOSITORY / "docs" / "python.md"
    blocks = page.read_text(encoding="utf-8").split("```python\n")[1:]
    assert len(blocks) >= 4
    monkeypatch.chdir(REPOSITORY)
    names = {}
    for block in blocks:
        exec(compile(block.split("```")[0], str(page), "exec"), names)  # noqa: S102
