"""Tables for the tests."""

import gzip
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def co2():
    """The CO₂ table of the examples: three features and the target, one row a month."""
    path = REPOSITORY / "examples" / "co2.csv"
    names = "year", "season_cos", "season_sin", "co2"
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=5).T))


@pytest.fixture(scope="session")
def wave():
    """60 rows of a smooth function of two features, with noise."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 3, (60, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.standard_normal(60)


def shared_table(name, rows):
    """Return X and y of a table of the shared data, its first rows."""
    path = SHARED / name / "data.csv.gz"
    if not path.is_file():
        pytest.skip(f"SKIPPED: {path} is missing")
    with gzip.open(path, "rt") as file:
        first = file.readline()
        skip = 0 if _numbers(first) else 1
    table = np.loadtxt(path, delimiter=",", skiprows=skip)[:rows]
    return table[:, :-1], table[:, -1]


def _numbers(line):
    try:
        [float(cell) for cell in line.split(",")]
    except ValueError:
        return False
    return True


def servers():
    """Return the numbers of the processes of gpfit that this process has started."""
    tasks = Path("/proc/self/task").iterdir()
    children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return {child for child in children if b"\0serve\0" in _command(child)}


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
