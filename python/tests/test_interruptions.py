"""What an interrupted fit leaves, names that begin with "-", and files that a user names."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import pygpfit
from conftest import servers
from pygpfit import GPFitRegressor, InterruptedFitError, InterruptedFitWarning, UsageError

LONG = {"restarts": 5000, "coarse": "off", "checkpoint": "ck"}

signals = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="SKIPPED: no /proc with children here")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@contextlib.contextmanager
def interrupting(send):
    """Call send when a fit has written some evaluations to its checkpoint."""
    def wait():
        while not (os.path.exists("ck") and os.path.getsize("ck") > 4096):
            time.sleep(0.01)
        send()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


def terminate_gpfit():
    for child in servers():
        os.kill(child, signal.SIGTERM)


def interrupt_python():
    os.kill(os.getpid(), signal.SIGINT)


@signals
def test_keyboard_interrupt_leaves_a_fitted_estimator(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard)", **LONG)
    with interrupting(interrupt_python), pytest.warns(InterruptedFitWarning, match="Ctrl-C interrupted the fit: the model is the best so far"):
        assert model.fit(X, y) is model
    assert model.interrupted_
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


@signals
def test_a_signal_to_gpfit_leaves_a_fitted_estimator(wave):
    X, y = wave
    model = GPFitRegressor("rbf(ard)", **LONG)
    with interrupting(terminate_gpfit), pytest.warns(InterruptedFitWarning, match="the same fit continues from the checkpoint ck"):
        model.fit(X, y)
    assert model.interrupted_ and np.corrcoef(model.predict(X), y)[0, 1] > 0.9
    assert not GPFitRegressor("rbf(ard)").fit(X, y).interrupted_


@signals
def test_functions_give_the_model_and_save_it(wave):
    table = np.column_stack(wave)
    with interrupting(interrupt_python), pytest.warns(InterruptedFitWarning, match="Ctrl-C"):
        model = pygpfit.fit(table, kernel="rbf(ard)", out="m.gpfit", **LONG)
    assert model.summary["interrupted"] and model.data == Path("m.gpfit").read_bytes()
    os.remove("ck")
    with interrupting(terminate_gpfit), pytest.warns(InterruptedFitWarning):
        model = pygpfit.fit(table, kernel="rbf(ard)", out="n.gpfit", **LONG)
    assert model.summary["interrupted"] and model.data == Path("n.gpfit").read_bytes()


@signals
@pytest.mark.parametrize("n_jobs", [None, 1])
def test_keyboard_interrupt_ends_a_search(wave, n_jobs):
    X, y = wave
    search = GridSearchCV(GPFitRegressor("rbf(ard)", **LONG), {"noise": ["estimated", "none"]}, cv=2, n_jobs=n_jobs)
    with interrupting(interrupt_python), pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


def test_a_callback_sees_the_progress_and_can_stop(wave):
    X, y = wave
    seen = []

    def callback(status):
        seen.append(status)
        if len(seen) == 5:
            raise StopIteration

    with pytest.warns(InterruptedFitWarning, match="the callback interrupted the fit"):
        model = GPFitRegressor("rbf(ard)", restarts=5000, coarse="off").fit(X, y, callback=callback)
    assert model.interrupted_ and len(seen) == 5
    assert all(isinstance(status["text"], str) and status["done"] >= 0 for status in seen)
    assert min(status["best"] for status in seen if "best" in status) <= model.report_["objective"] + 1e-6 or model.report_["nlml"] < 0

    def broken(status):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        GPFitRegressor("rbf(ard)", restarts=5000, coarse="off").fit(X, y, callback=broken)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf(ard)", "scores": "cv", "folds": 3, "refit": True}])
def test_the_progress_rises_to_its_end(wave, options):
    seen = []
    model = pygpfit.fit(np.column_stack(wave), callback=seen.append, **options)
    shares = [status["done"] / status["total"] for status in seen if "total" in status]
    assert shares == sorted(shares) and shares[-1] == 1
    assert seen[-1]["best"] == model.inspect()["fit"]["report"]["nlml"]


def test_a_progress_bar(wave):
    X, y = wave
    bars = []

    class Bar:
        def __init__(self, total, desc, leave):
            self.total, self.n, self.texts, self.drawn, self.open = total, 0, [], 0, True
            bars.append(self)

        def set_postfix_str(self, s="", refresh=True):
            self.texts.append(s)

        def refresh(self):
            self.drawn += 1

        def close(self):
            self.open = False

    GPFitRegressor("rbf(ard)", restarts=300, coarse="off").fit(X, y, progress=Bar)
    assert len(bars) == 1 and bars[0].drawn > 0 and bars[0].n > 0 and not bars[0].open
    assert any(text.startswith("best") for text in bars[0].texts)


@signals
def test_an_interruption_before_any_model():
    os.mkfifo("data.csv")  # gpfit waits for its writer
    timer = threading.Timer(1, interrupt_python)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            pygpfit.fit("data.csv", out="m.gpfit")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not hasattr(caught.value, "model") and not os.path.exists("m.gpfit")
    threading.Timer(1, terminate_gpfit).start()
    with pytest.raises(InterruptedFitError) as ended:
        pygpfit.fit("data.csv", out="m.gpfit")
    assert ended.value.model is None


def test_names_that_begin_with_a_dash(wave):
    table = np.column_stack(wave)
    np.savetxt("-x.csv", table, delimiter=",")
    model = pygpfit.fit("-x.csv", kernel="rbf", out="-m.gpfit")
    again = pygpfit.load("-m.gpfit")
    np.testing.assert_array_equal(again.predict("-x.csv")["mean"], model.predict("-x.csv")["mean"])
    expected = pygpfit.nlml("-x.csv", kernel="rbf")["nlml"]
    os.rename("-x.csv", "-")
    assert pygpfit.nlml("-", kernel="rbf")["nlml"] == expected


def test_out_saves_the_model_and_replaces_none(wave):
    table = np.column_stack(wave)
    model = pygpfit.fit(table, kernel="rbf", out=Path("m.gpfit"))
    assert Path("m.gpfit").read_bytes() == model.data and model.summary["model_file"] == "m.gpfit"
    with pytest.raises(UsageError, match="m.gpfit: the file exists"):
        pygpfit.fit(table, kernel="matern32", out="m.gpfit")
    assert Path("m.gpfit").read_bytes() == model.data
    other = pygpfit.fit(table, kernel="matern32", out="m.gpfit", force=True)
    assert Path("m.gpfit").read_bytes() == other.data != model.data
    with pytest.raises(UsageError, match="predict returns its result"):
        model.predict(table[:, :2], out="p.csv")


def test_save_writes_whole_files(wave):
    model = pygpfit.fit(np.column_stack(wave), kernel="rbf")
    Path("m.gpfit").write_bytes(b"old")
    os.chmod("m.gpfit", 0o640)
    os.symlink("m.gpfit", "link")
    model.save("link")
    assert Path("m.gpfit").read_bytes() == model.data and os.path.islink("link")
    assert os.stat("m.gpfit").st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == ["link", "m.gpfit"]
