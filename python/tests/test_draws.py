"""ArviZ reads the draws of ``gpfit fit --posterior-out``."""

import json
import os
import subprocess

import numpy as np
import pytest

arviz = pytest.importorskip("arviz")


def test_arviz_reads_draws(tmp_path):
    program = os.environ.get("PYGPFIT_PROGRAM", "gpfit")
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(30, 1))
    np.savetxt(tmp_path / "t.csv", np.hstack([x, np.sin(6 * x) + 0.1 * rng.normal(size=x.shape)]), delimiter=",", header="x,y", comments="")
    done = subprocess.run(
        [program, "fit", "t.csv", "--kernel", "rbf", "--posterior", "hmc", "--posterior-out", "draws.json", "--json", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )
    report = json.loads(done.stdout)["posterior"]
    data = arviz.from_json(str(tmp_path / "draws.json"))
    assert data.posterior["lengthscale"].shape == (report["chains"], report["draws"])
    assert int(data.sample_stats["diverging"].sum()) == report["divergences"]
    for name, summary in report["parameters"].items():
        values = data.posterior[name]
        assert float(values.mean()) == pytest.approx(summary["mean"], rel=1e-9)
        # ArviZ computes the same diagnostics by its own code.
        assert float(arviz.rhat(values)[name]) == pytest.approx(summary["r_hat"], abs=1e-3)
        assert float(arviz.ess(values, method="bulk")[name]) == pytest.approx(summary["ess_bulk"], rel=0.02)
        assert float(arviz.ess(values, method="tail")[name]) == pytest.approx(summary["ess_tail"], rel=0.05)
