"""The process of gpfit that stays."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest

import pygpfit
from conftest import servers
from pygpfit import GPFitRegressor, _process, _server

proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="SKIPPED: no /proc with children here")


@pytest.fixture
def model(wave):
    return pygpfit.fit(np.column_stack(wave), kernel="rbf(ard)")


@proc
def test_calls_share_one_process(model, wave):
    model.predict(wave[0])
    before = servers()
    for _ in range(5):
        model.predict(wave[0])
    assert servers() == before


@proc
def test_a_new_process_follows_one_that_was_killed(model, wave):
    expected = model.predict(wave[0])["mean"]
    old = servers()
    for child in old:
        os.kill(child, signal.SIGKILL)
    for _ in range(200):  # the call in hand may still meet the old one
        try:
            found = model.predict(wave[0])["mean"]
            break
        except pygpfit.GPFitError as error:
            assert "signal 9" in str(error)
    np.testing.assert_array_equal(found, expected)
    assert not servers() & old


@proc
def test_a_killed_process_ends_its_calls(wave):
    table = np.column_stack(wave)
    timer = threading.Timer(0.7, lambda: [os.kill(child, signal.SIGKILL) for child in servers()])
    timer.start()
    with pytest.raises(pygpfit.GPFitError, match="ended by signal 9"):
        pygpfit.fit(table, kernel="rbf(ard)", restarts=10000, coarse="off")
    timer.join()


def test_the_working_directory_and_variables_of_the_caller_count(tmp_path, monkeypatch, wave):
    np.savetxt(tmp_path / "t.csv", np.column_stack(wave), delimiter=",")
    pygpfit.version()
    monkeypatch.chdir(tmp_path)
    assert pygpfit.fit("t.csv", kernel="rbf", max_evals=3, out="m.gpfit").summary["n"] == 60
    assert Path("m.gpfit").exists()
    found = any(d["name"].startswith("cuda") and d["found"] for d in pygpfit.devices()["devices"])
    monkeypatch.setenv("GPFIT_DEVICE", "cuda")
    if not found:
        with pytest.raises(pygpfit.DeviceError):
            pygpfit.fit("t.csv", kernel="rbf")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="SKIPPED: no fork here")
def test_forked_processes_have_processes_of_their_own(model, wave):
    expected = model.predict(wave[0])["mean"]
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(w, pickle.dumps(model.predict(wave[0])["mean"]))
            code = 0
        finally:
            os._exit(code)
    os.close(w)
    with os.fdopen(r, "rb") as out:
        np.testing.assert_array_equal(pickle.loads(out.read()), expected)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(model.predict(wave[0])["mean"], expected)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(model, wave, backend):
    X, y = wave
    expected = model.predict(X)["mean"]
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(model.predict)(X) for _ in range(4))
    for one in found:
        np.testing.assert_array_equal(one["mean"], expected)
    fitted = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(GPFitRegressor("rbf(ard)").fit)(X, y) for _ in range(2))
    assert len({one.report_["nlml"] for one in fitted}) == 1


def test_many_threads_predict_with_several_models(wave):
    X, y = wave
    models = [pygpfit.fit(np.column_stack([X, s * y]), kernel="rbf(ard)", max_evals=20) for s in (1, 2, 3)]
    expected = [m.predict(X)["std"] for m in models]
    wrong = []

    def work(i):
        for k in range(12):
            j = (i + k) % 3
            if not np.array_equal(models[j].predict(X)["std"], expected[j]):
                wrong.append((i, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_file_that_changes_is_read_again(tmp_path, wave):
    X, y = wave
    path = tmp_path / "m.gpfit"
    found = []
    for s in (1, 5):
        pygpfit.fit(np.column_stack([X, s * y]), kernel="rbf", out=path, force=True)
        np.savetxt(tmp_path / "x.csv", X[:3], delimiter=",")
        out = tmp_path / f"{s}.npy"
        _process.run("predict", path, tmp_path / "x.csv", options=[f"--out={out}", "--quiet"])
        found.append(np.load(out)[:, 0])
    np.testing.assert_allclose(found[1], 5 * found[0], rtol=1e-5)


def test_a_program_of_another_protocol(tmp_path, monkeypatch):
    fake = tmp_path / "gpfit"
    hello = json.dumps({"protocol": 99, "version": "7.1"})
    fake.write_text(f"#!/bin/sh\nprintf '\\000\\000\\000\\{len(hello):03o}{hello}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PYGPFIT_PROGRAM", str(fake))
    with pytest.raises(pygpfit.GPFitError, match="of another version, 7.1"):
        pygpfit.version()
    fake.write_bytes(b"#!/bin/sh\necho 'no such library' >&2\nexit 3\n")
    with pytest.raises(pygpfit.GPFitError, match="does not start: no such library"):
        pygpfit.version()


@proc
@pytest.mark.skipif(os.name == "nt", reason="SKIPPED: a script is no program here")
@pytest.mark.parametrize("message", ["b'no message'", "b'\\x00\\x00\\x00\\x02[]'"])
def test_a_program_that_sends_no_message_ends_all_calls(tmp_path, monkeypatch, message):
    program = tmp_path / "gpfit"
    program.write_text(
        f"#!{sys.executable}\nimport json, struct, sys, time\n"
        f"hello = json.dumps({{'protocol': {_server.PROTOCOL}, 'version': ''}}).encode()\n"
        f"sys.stdout.buffer.write(struct.pack('>I', len(hello)) + hello); sys.stdout.flush()\n"
        f"sys.stdin.buffer.read(4); sys.stdout.buffer.write({message} * 9); sys.stdout.flush(); sys.stdin.read()\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PYGPFIT_PROGRAM", str(program))
    with pytest.raises(pygpfit.GPFitError):
        pygpfit.version()


def test_the_process_ends_with_python():
    script = "import os, pygpfit; pygpfit.version(); print(*[c for t in os.listdir('/proc/self/task') for c in open(f'/proc/self/task/{t}/children').read().split()])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert out.stderr == "" and out.stdout.split()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in out.stdout.split())


def test_large_messages(tmp_path):
    text = "x" * 300_000
    with pytest.raises(pygpfit.UsageError):
        _process.run("kernel show", "rbf", options=["--set=" + text])


def test_protocol_is_the_program_s():
    source = Path(__file__).resolve().parents[2] / "cmd/gpfit/internal/serve/message.go"
    assert f"const Protocol = {_server.PROTOCOL}\n" in source.read_text(encoding="utf-8")
