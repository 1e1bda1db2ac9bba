"""Fit a table, look at the verdict, predict with intervals, and save the model."""

from pathlib import Path

import numpy as np

import pygpfit

CO2 = Path(__file__).resolve().parents[2] / "examples"


def main() -> None:
    """Fit the CO₂ table of the examples."""
    model = pygpfit.fit(CO2 / "co2.csv", kernel="rbf(ard)", scores=["loo"], progress=True)
    print(model)
    prediction = model.predict(CO2 / "co2_new.csv", interval=[0.9])
    for mean, lower, upper in zip(prediction["mean"][:3], prediction["lower90"], prediction["upper90"], strict=False):
        print(f"{mean:.2f} ppm, with 90 % between {lower:.2f} and {upper:.2f}")
    left_out = model.loo()
    print("root mean square of the standardized residuals:", np.sqrt(np.mean(left_out["standardized"] ** 2)).round(2))


if __name__ == "__main__":
    main()
