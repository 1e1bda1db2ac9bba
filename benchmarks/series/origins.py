"""How far off are forecasts of 672 hours by the default fit and by four simple methods, at the last eight origins of hourly series?"""

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from forecasts import forecast, rmse
from tables import DAY, WEEK, YEAR, table

HORIZON = 672  # hours: four weeks


def mean(t, y, ahead):
    return np.full(len(ahead), y.mean())


def naive(t, y, ahead):
    return np.tile(y[-WEEK:], HORIZON // WEEK)


def waves(t):
    """Returns the waves of the week, each also times those of the year, a line and a constant."""
    pair = lambda period, k: [f(2 * np.pi * k * t / period) for f in (np.cos, np.sin)]
    year = pair(YEAR, 1)
    week = [w for k in [*range(1, 15), 21, 28, 35, 42, 49, 56] for w in pair(WEEK, k)]
    return np.stack([np.ones_like(t), t / 1e5, *year, *pair(YEAR, 2), *[a * b for a in week for b in [1, *year]]], 1)


def harmonics(t, y, ahead):
    """Regresses on waves; a first-order autoregression of the residuals goes on."""
    design = waves(t)
    gram = design.T @ design
    beta = np.linalg.solve(gram + 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram)), design.T @ y)
    rest = y - design @ beta
    phi = rest[1:] @ rest[:-1] / (rest[:-1] @ rest[:-1])
    return waves(ahead) @ beta + rest[-1] * phi ** np.arange(1, len(ahead) + 1)


def mstl(t, y, ahead):
    """Takes the seasons of a day and a week of the last year out, and smooths the rest exponentially with a damped trend."""
    from statsmodels.tsa.holtwinters import ExponentialSmoothing
    from statsmodels.tsa.seasonal import MSTL

    last = y[-8736:]
    season = MSTL(last, periods=(DAY, WEEK)).fit().seasonal.sum(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smooth = ExponentialSmoothing(last - season, trend="add", damped_trend=True).fit()
    return smooth.forecast(len(ahead)) + np.tile(season[-WEEK:], len(ahead) // WEEK)


BASELINES = {"mean": mean, "naive": naive, "MSTL + ETS": mstl, "harmonics + AR(1)": harmonics}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--kinds", nargs="*", default=["load", "temp"])
    parser.add_argument("--rows", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--origins", type=int, default=8)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--raw")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    raw = open(args.raw, "a") if args.raw else None
    for kind in args.kinds:
        for n in args.rows:
            t, y = table(kind, n, args.seed)
            rows = []
            for origin in range(n - args.origins * HORIZON, n, HORIZON):
                known, ahead = slice(0, origin), slice(origin, origin + HORIZON)
                with tempfile.TemporaryDirectory() as folder:
                    began = time.time()
                    found, (low, high), report, cpu = forecast(args.program, Path(folder), t[known], y[known], t[ahead])
                    wall = time.time() - began
                row = {"kind": kind, "rows": n, "origin": origin, "cpu": cpu, "wall": wall, "kernel": report["kernel"], "mean": report["mean"]}
                row["values"] = report["evaluations"]["full_size_value"]
                row["cover"] = float(np.mean((low <= y[ahead]) & (y[ahead] <= high)))
                row["gpfit"] = [rmse(found - y[ahead]), rmse((found - y[ahead])[:24])]
                for name, method in BASELINES.items():
                    miss = method(t[known], y[known], t[ahead]) - y[ahead]
                    row[name] = [rmse(miss), rmse(miss[:24])]
                rows.append(row)
                if raw:
                    print(json.dumps(row), file=raw, flush=True)
            scores = {m: np.mean([r[m] for r in rows], 0) for m in ["gpfit", *BASELINES]}
            best = min((scores[m][0], m) for m in BASELINES)
            last = rows[-1]
            print(
                f"{kind} {n}: mean of {len(rows)} origins {scores['gpfit'][0]:.2f}, best baseline {best[0]:.2f} ({best[1]}), ratio {scores['gpfit'][0] / best[0]:.3f};",
                f"first 24 h {scores['gpfit'][1]:.2f} against {min(scores[m][1] for m in BASELINES):.2f};",
                f"last origin {last['gpfit'][0] / min(last[m][0] for m in BASELINES):.3f}; cover {np.mean([r['cover'] for r in rows]):.3f};",
                f"CPU s {np.median([r['cpu'] for r in rows]):.1f}; all:",
                ", ".join(f"{m} {s[0]:.2f}" for m, s in scores.items()),
                flush=True,
            )


main()
