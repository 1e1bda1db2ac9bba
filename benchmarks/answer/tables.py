"""Tables of a few hundred rows to judge the answer of a default fit: real ones, and generated
ones with what real tables have: kinks, plateaus, skew, outliers, repeats, columns without effect."""

import gzip
import os

import numpy as np

REAL = ["yacht", "energy", "concrete", "airfoil", "elevators", "kin40k"]


def read(folder, name):
    """Returns inputs and targets of a public table."""
    with gzip.open(os.path.join(folder, name, "data.csv.gz"), "rt") as f:
        data = np.loadtxt(f, delimiter=",")
    return data[:, :-1], data[:, -1]


def uniform(rng, n, d):
    return rng.uniform(-1, 1, (n, d))


def kinks(rng, n):
    """Absolute values and a maximum of planes: a function without second derivatives."""
    x = uniform(rng, n, 4)
    y = np.abs(x[:, 0]) + np.maximum(x[:, 1], 0.5 * x[:, 2]) + 0.3 * np.abs(x[:, 2] - x[:, 3])
    return x, y + 0.05 * rng.normal(size=n)


def plateaus(rng, n):
    """A smooth function that is cut off below and above, so that many targets are equal."""
    x = uniform(rng, n, 3)
    y = np.clip(2 * np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2], -0.8, 1.0)
    return x, y


def skew(rng, n):
    """Targets with a lognormal distribution."""
    x = uniform(rng, n, 3)
    return x, np.exp(1.5 * np.sin(2 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=n))


def outliers(rng, n):
    """Noise with heavy tails, of which the rows for the test have none."""
    x = uniform(rng, n, 3)
    clean = np.sin(3 * x[:, 0]) + x[:, 1] ** 2 - 0.5 * x[:, 2]
    return x, clean + 0.1 * rng.standard_t(2, size=n)


def repeats(rng, n):
    """A sixth as many places as rows; the targets at one place differ."""
    places = uniform(rng, n // 6, 3)
    x = places[rng.integers(0, len(places), n)]
    return x, np.cos(2 * x[:, 0] + x[:, 1]) + 0.5 * x[:, 2] + 0.3 * rng.normal(size=n)


def irrelevant(rng, n):
    """Friedman's function of 5 columns, and 10 columns without effect."""
    x = rng.uniform(size=(n, 15))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + rng.normal(size=n)


def trend(rng, n):
    """A plane with a small smooth rest, as many processes have."""
    x = rng.normal(size=(n, 6))
    return x, x @ [3, -2, 1, 0.5, 0, 0] + 0.8 * np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=n)


def mixed(rng, n):
    """A smooth function of two columns, a step of a third, and levels of a fourth."""
    x = uniform(rng, n, 5)
    x[:, 3] = rng.integers(0, 4, n)
    level = np.array([0.0, 1.5, -0.7, 0.4])[x[:, 3].astype(int)]
    return x, np.sin(2 * x[:, 0]) * x[:, 1] + (x[:, 2] > 0.2) + level + 0.1 * rng.normal(size=n)


GENERATED = [kinks, plateaus, skew, outliers, repeats, irrelevant, trend, mixed]


def split(folder, name, seed, rows=350, most=1000):
    """Returns a table and which of its rows are held out: rows for training, and at most most."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    if name in REAL:
        x, y = read(folder, name)
    else:
        x, y = next(g for g in GENERATED if g.__name__ == name)(rng, rows + most)
    order = rng.permutation(len(y))
    n = min(rows, int(0.75 * len(y)))
    order = order[: n + most]
    held = np.zeros(len(order), int)
    held[n:] = 1
    return x[order], y[order], held
