"""Tests the workflows of this folder.

Run with pytest; the program gpfit is the one on PATH.
"""

import csv
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent
SPEC = """
defaults: {threads: 1}
data:
  - {name: co2, path: co2.csv}
kernels: ["rbf(ard)", "matern52(ard)"]
"""
# Without noise, months that are close make the covariance singular: the third job fails.
FAILING = SPEC.replace('"rbf(ard)"', '"rbf(ard)", {name: exact, kernel: rbf, noise: none}')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and a spec."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "co2.csv", tmp_path)
    (tmp_path / "study.yaml").write_text(SPEC)
    return tmp_path


def shell(*command, code=0, **env):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def states(path):
    with open(path, newline="") as file:
        return [row["state"] for row in csv.DictReader(file)]


def test_batch_starts_continues_and_keeps_the_exit_code(folder):
    batch = HERE / "batch.sh"
    shell(batch, "study.yaml", "study.run", "results.csv")
    assert states("results.csv") == ["done", "done"]
    shell(batch, "study.yaml", "study.run", "again.csv")
    assert Path("again.csv").read_bytes() == Path("results.csv").read_bytes()
    # A new job, which fails: the others are not repeated.
    Path("study.yaml").write_text(FAILING)
    shell(batch, "study.yaml", "study.run", "results.csv", code=3)
    assert sorted(states("results.csv")) == ["done", "done", "failed"]
    shell(batch, "study.yaml", "study.run", "results.csv", ALLOW_FAILED="1")
    Path("study.yaml").write_text("data: []\nkernels: [rbf]\n")
    shell(batch, "study.yaml", "other.run", "none.csv", code=2)
    assert not Path("none.csv").exists()


def test_an_interrupted_batch_continues_to_the_same_bits(folder):
    # Starting points make the fits long enough to interrupt.
    Path("study.yaml").write_text(SPEC.replace("threads: 1", "threads: 1, restarts: 6, coarse: 'off'"))
    command = [HERE / "batch.sh", "study.yaml", "study.run", "results.csv"]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(Path("study.run/checkpoints").glob("*.ckpt")):
        assert time.monotonic() < deadline and process.poll() is None, "the batch did not begin, or ended"
        time.sleep(0.02)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    assert "the same command continues" in process.communicate(timeout=60)[1]
    assert process.returncode == 130 and not Path("results.csv").exists()
    shell(*command)
    shell(HERE / "batch.sh", "study.yaml", "whole.run", "whole.csv")
    columns = "job", "nlml", "parameters"
    both = []
    for name in ("results.csv", "whole.csv"):
        with open(name, newline="") as file:
            both.append([[row[c] for c in columns] for row in csv.DictReader(file)])
    assert both[0] == both[1]


def snakemake(*config, code=0):
    return shell("snakemake", "--snakefile", HERE / "Snakefile", "--cores", "2", "--config", "specs=study.yaml", *config, code=code)


def test_snakemake(folder):
    pytest.importorskip("snakemake")
    snakemake()
    assert states("study.results.csv") == ["done", "done"]
    shell("gpfit", "export", "study.best.gpfit")
    assert "Nothing to be done" in snakemake()
    # A changed table runs the batch again.
    time.sleep(1.1)
    lines = Path("co2.csv").read_text().splitlines()
    Path("co2.csv").write_text("\n".join(lines[:200]) + "\n")
    before = Path("study.results.csv").read_text()
    snakemake()
    assert Path("study.results.csv").read_text() != before


def test_snakemake_and_failed_jobs(folder):
    pytest.importorskip("snakemake")
    Path("study.yaml").write_text(FAILING)
    snakemake(code=1)
    assert not Path("study.results.csv").exists()
    assert Path("study.run/run.json").exists()
    snakemake("allow_failed=true")
    assert sorted(states("study.results.csv")) == ["done", "done", "failed"]


def test_nextflow(folder):
    if shutil.which("nextflow") is None:
        pytest.skip("SKIPPED: nextflow is not installed")
    shell("nextflow", "run", HERE / "main.nf", "--spec", "study.yaml")
    assert states("study.results.csv") == ["done", "done"]
    assert "cached: 1" in shell("nextflow", "run", HERE / "main.nf", "--spec", "study.yaml", "-resume")


def test_the_script_of_the_nextflow_process(folder):
    """Runs the script block of main.nf as Nextflow would, with its values filled in."""
    text = (HERE / "main.nf").read_text()
    script = re.search(r'script:\s*"""(.*?)"""', text, re.S)[1]
    values = {
        "params.allow_failed ? 1 : 0": "0", "script": "batch.sh", "original": folder / "study.yaml",
        "run": folder / "study.run", "spec.baseName": "study",
    }
    script = re.sub(r"\$\{(.*?)\}", lambda m: str(values[m[1]]), script)
    task = folder / "work"
    task.mkdir()
    (task / "batch.sh").symlink_to(HERE / "batch.sh")
    (task / ".command.sh").write_text("#!/bin/bash -ue\n" + script)
    done = subprocess.run(["bash", "-ue", ".command.sh"], cwd=task, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert states(task / "study.results.csv") == ["done", "done"]
