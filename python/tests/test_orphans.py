"""No gpfit outlives its Python, and no file stays.

PYGPFIT_KILLS says how many Python processes to kill; `make reliability-orphans` kills 100.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import pygpfit

KILLS = int(os.environ.get("PYGPFIT_KILLS", 6))
# Far more than the five seconds that docs/python.md promises: the test prints the longest time.
PATIENCE = 60

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="SKIPPED: looks for processes in /proc")

# A fit of many minutes, on one thread.
FIT = """
import numpy as np, os, sys, pygpfit
rng = np.random.default_rng(1)
X = rng.random((1000, 6))
table = np.column_stack([X, X.sum(1) + rng.random(1000)])
def fit(_=0):
    os.write(1, b"begin %d\\n" % os.getpid())  # whole, beside the lines of other workers
    pygpfit.fit(table, kernel="rbf(ard)", restarts=5000, coarse="off", threads=1, out="m.gpfit", force=True)
def batch():
    np.savetxt("table.csv", table, delimiter=",")
    os.write(1, b"begin %d\\n" % os.getpid())
    pygpfit.batch({"data": [{"name": "t", "path": "table.csv"}], "kernels": ["rbf(ard)"], "defaults": {"restarts": 5000, "coarse": "off"}}, out="b.run")
"""
EXIT = """
import threading, time
def leave():
    sys.stdin.read(1)
    os._exit(3)
threading.Thread(target=leave, daemon=True).start()
fit()
"""
# A forked worker, which outlives its parent for a moment, has copies of what the parent has open.
FORKED = """
import threading, time
thread = threading.Thread(target=fit)
thread.start()
time.sleep(0.3)
if os.fork() == 0:
    time.sleep(8)
    os._exit(0)
thread.join()
"""
WORKERS = """
import joblib
joblib.Parallel(n_jobs=2)(joblib.delayed(fit)(i) for i in range(2))
"""


class Script:
    """A script that fits. end sends it SIGKILL, or what its kind says."""

    def __init__(self, where, more="fit()"):
        self.process = subprocess.Popen(
            [sys.executable, "-c", FIT + more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=where,
            start_new_session=True,
        )
        line = self.process.stdout.readline().split()
        if line[:1] != ["begin"]:
            self.close()
            raise AssertionError("the script did not begin")
        self.pid = int(line[1])

    def end(self):
        os.kill(self.pid, signal.SIGKILL)

    def orphans(self, mark):
        """Return the programs that must end after end."""
        return programs(mark)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Terminated(Script):
    def end(self):
        os.kill(self.pid, signal.SIGTERM)


class Exiting(Script):
    def __init__(self, where):
        super().__init__(where, EXIT)

    def end(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()


class Batch(Script):
    def __init__(self, where):
        super().__init__(where, "batch()")


class Forked(Script):
    def __init__(self, where):
        super().__init__(where, FORKED)


class Worker(Script):
    """A worker of joblib. The other one may live on."""

    def __init__(self, where):
        super().__init__(where, WORKERS)
        assert self.pid != self.process.pid

    def orphans(self, mark):
        return programs(mark, self.pid)


class Deserted(Script):
    """The main process of workers of joblib, which live on."""

    def __init__(self, where):
        super().__init__(where, WORKERS)
        self.pid = self.process.pid


class Kernel:
    """A kernel of Jupyter that is killed, or restarted, during a cell."""

    def __init__(self, where):
        client = pytest.importorskip("jupyter_client", reason="SKIPPED: no jupyter_client")
        pytest.importorskip("ipykernel", reason="SKIPPED: no ipykernel")
        self.manager = client.KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(where))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.client.execute(FIT.replace("os.write(", "open('begun', 'w').write('1') or os.write(") + "fit()")
        wait(lambda: (where / "begun").exists(), "the kernel did not begin")
        (where / "begun").unlink()

    def end(self):
        if random.random() < 0.5:
            self.manager.restart_kernel(now=True)
        else:
            self.manager.signal_kernel(signal.SIGKILL)

    orphans = Script.orphans

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def wait(until, message):
    """Wait until a condition holds and return the seconds."""
    began = time.monotonic()
    while not until():
        assert time.monotonic() - began < PATIENCE, message
        time.sleep(0.02)
    return time.monotonic() - began


def programs(mark, parent=None):
    """Return the numbers of the programs gpfit with a text in their environment, of one parent or of all."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment, program = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes().split(b"\0", 1)[0]
        except OSError:
            continue
        if mark in environment and program.endswith(b"gpfit") and (parent is None or b"GPFIT_PARENT=%d:" % parent in environment):
            found.append(int(folder.name))
    return found


@pytest.fixture(autouse=True)
def absolute(monkeypatch):
    """Scripts run in folders of their own, also from the sources."""
    if "PYTHONPATH" in os.environ:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep))))


@pytest.mark.filterwarnings("ignore")
def test_kills(tmp_path, monkeypatch, capsys):
    kinds = [Script, Worker, Kernel, Forked, Exiting, Batch, Deserted, Terminated]
    try:
        import ipykernel, jupyter_client  # noqa: E401, F401
    except ImportError:
        kinds.remove(Kernel)
    seed = random.randrange(2**31)
    random.seed(seed)
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    longest, running, left = 0.0, 0, 0
    for kill in range(KILLS):
        kind, where = kinds[kill % len(kinds)], tmp_path / f"work{kill}"
        temporary = tmp_path / f"temporary{kill}"
        where.mkdir()
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        mark = f"TMPDIR={temporary}\0".encode()
        parent = kind(where)
        try:
            time.sleep(random.uniform(0, 1.5))
            running += bool(programs(mark))
            parent.end()
            took = wait(lambda: not parent.orphans(mark), f"{kind.__name__}, seed {seed}: gpfit lives on")
            print(f"{kill} {kind.__name__} {took:.2f} s")
            longest = max(longest, took)
        finally:
            parent.close()
        wait(lambda: not programs(mark), f"{kind.__name__}, seed {seed}: gpfit lives on after all processes of Python")
        left += len(list(temporary.glob("pygpfit-*"))) + len(list(where.glob(".*pygpfit-*")))
        next_call(where, temporary, monkeypatch)
        assert [path.name for path in temporary.iterdir() if "gpfit" in path.name] == [], f"{kind.__name__}, seed {seed}"
        names = {path.name for path in where.iterdir()} - {"m.gpfit", "next.gpfit", "table.csv", "b.run", "next.run"}
        assert names == set(), f"{kind.__name__}, seed {seed}"
    with capsys.disabled():
        print(f"\n{KILLS} kills, {running} of them with gpfit running: none left after {longest:.1f} s; {left} files left, 0 after the next call")
    assert running > KILLS / 3  # else the test does not see the programs


def next_call(where, temporary, monkeypatch):
    """Fit, save and run a batch, in this process, as the next calls after a kill."""
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(where)
    table = np.column_stack([np.arange(8), np.arange(8) % 3])
    model = pygpfit.fit(table, kernel="rbf", max_evals=2, posterior="none")
    model.save("next.gpfit")
    if (where / "table.csv").exists():
        np.savetxt("table.csv", table, delimiter=",")
        pygpfit.batch({"data": [{"name": "t", "path": "table.csv"}], "kernels": ["rbf"], "defaults": {"max_evals": 2}}, out="next.run")


@pytest.mark.filterwarnings("ignore")
def test_a_living_process_keeps_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = """
import numpy as np, os, pygpfit, sys
model = pygpfit.fit(np.column_stack([np.arange(8), np.arange(8) % 3]), kernel="rbf", max_evals=2, posterior="none")
pid = os.fork()  # has copies of the locks, and gives none of them back
if pid == 0:
    model.predict([[1.0]])
    sys.exit()
os.waitpid(pid, 0)
print(model.path, flush=True)
sys.stdin.read(1)
"""
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], env=os.environ | {"TMPDIR": str(tmp_path)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    path = Path(process.stdout.readline().strip())
    other = tmp_path / "pygpfit-notes"  # no name of this package
    other.mkdir()
    pygpfit.nlml({"x": [1, 2, 3], "y": [1, 2, 4]}, kernel="rbf")
    assert path.exists() and sorted(tmp_path.iterdir()) == sorted([other, path.parent])
    process.communicate("x")
    assert list(tmp_path.iterdir()) == [other]
