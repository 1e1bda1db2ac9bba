"""Limits on the memory of the Python process, which gpfit inherits."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import pygpfit
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    pygpfit.GPFitRegressor(restarts=1).fit([[float(i)] for i in range(30)], [float(i % 5) for i in range(30)])
    print("fitted")
except pygpfit.GPFitError as e:
    print("refused:", e)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("mib", [800, 1300, 2600])
def test_no_trace(mib: int) -> None:
    """A limit lets gpfit work, or ends in a sentence."""
    r = subprocess.run([sys.executable, "-c", SCRIPT, str(mib)], capture_output=True, text=True, timeout=120, check=False)
    if "MemoryError" in r.stderr or "OpenBLAS" in r.stderr:
        pytest.skip("Python itself does not work with so little")
    assert r.stdout, r.stderr
    assert "goroutine" not in r.stdout + r.stderr
    if mib == 800:
        assert "limit" in r.stdout
