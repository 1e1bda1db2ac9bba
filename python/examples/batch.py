"""A batch of fits with progress, and the best of its models."""

import tempfile
from pathlib import Path
from typing import Any

import pygpfit

CO2 = Path(__file__).resolve().parents[2] / "examples"


def show(status: dict[str, Any]) -> None:
    """Print how far the batch is."""
    print(status["text"])


def main() -> None:
    """Compare two kernels on the CO₂ table."""
    spec = {"data": [{"name": "co2", "path": str(CO2 / "co2.csv")}], "kernels": ["rbf(ard)", "matern52(ard)"]}
    with tempfile.TemporaryDirectory() as folder:
        run = pygpfit.batch(spec, out=Path(folder) / "study.run", callback=show)
        best = min(run.results(), key=lambda job: float(job["nlml"]))
        print(best["expression"], run.model(best).predict(CO2 / "co2_new.csv", mean_only=True)["mean"][:3])


if __name__ == "__main__":
    main()
