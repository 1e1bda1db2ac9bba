"""Tables with known answers."""

import gzip
from pathlib import Path

import numpy as np


def exact(seed):
    """Returns kind, inputs, function and new inputs of a table whose target is an exact function of the columns."""
    r = np.random.default_rng(seed)
    sizes = {6: 0.1, 8: 0.12, 11: 0.12, 15: 0.12, 20: 0.12, 30: 0.12, 50: 0.1, 80: 0.08, 120: 0.06, 200: 0.03, 400: 0.02, 900: 0.01}
    n = int(r.choice(list(sizes), p=list(sizes.values())))
    d = int(r.integers(1, min(6, n // 3) + 1))
    x, new = r.uniform(size=(n, d)), r.uniform(size=(60, d))
    match r.integers(0, 4):
        case 1:
            x, new = x.round(2), new.round(2)
        case 2:
            scale = 10.0 ** r.integers(-3, 4, d)
            x = x * scale + scale * 10 * r.normal(size=d)
            a, b, t = x[r.integers(0, n, 60)], x[r.integers(0, n, 60)], r.uniform(size=(60, 1))
            new = a * t + b * (1 - t)
        case 3:
            x, new = r.normal(size=(n, d)), r.normal(size=(60, d))
    w = r.integers(-5, 6, d).astype(float)
    w[w == 0] = 2
    c = float(r.integers(-10, 11))
    functions = {
        "linear": lambda a: a @ w + c,
        "column": lambda a: a[:, 0],
        "unit": lambda a: a[:, 0] * 1.8 + 32,
        "leaked": lambda a: a[:, -1],
        "rounded": lambda a: (a @ w + c).round(2),
        "polynomial": lambda a: (a @ w) ** 2 + c,
        "product": lambda a: np.prod(a, axis=1),
    }
    kind = list(functions)[r.integers(0, len(functions))]
    return kind, x, functions[kind], new


def branin(a):
    u, v = a[:, 0] * 15 - 5, a[:, -1] * 15
    return (v - 5.1 / (4 * np.pi**2) * u * u + 5 / np.pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10


FUNCTIONS = [
    lambda a: np.sin(6 * a[:, 0]) + a[:, -1] ** 2,
    branin,
    lambda a: np.exp(-3 * a[:, 0]) * np.cos(9 * a[:, 0]),
    lambda a: np.abs(a[:, 0] - 0.5) + a.sum(1),
    lambda a: 10 * np.sin(np.pi * a[:, 0] * a[:, -1]) + 20 * (a[:, 0] - 0.5) ** 2 + 5 * a.mean(1),
    lambda a: np.where(a[:, 0] > 0.5, 1.0, 0) + 0.3 * a[:, -1],
    lambda a: a[:, 0] ** 3 - a[:, -1] * a[:, 0] + 0.1 * a[:, 0],
    lambda a: np.sin(20 * a[:, 0]) + a[:, -1],
    lambda a: 1 / (1 + 25 * (2 * a[:, 0] - 1) ** 2),
    lambda a: np.log(0.05 + a[:, 0]) * a.mean(1),
]


def grid(n, d):
    levels = np.linspace(0, 1, max(2, round(n ** (1 / d))))
    return np.stack(np.meshgrid(*[levels] * d), -1).reshape(-1, d)


def small(seed, noisy):
    """Returns inputs, targets, new inputs and new targets of a small table."""
    r = np.random.default_rng(seed + 10**6 * noisy)
    n = int(r.integers(8, 61))
    d = min(int(r.integers(1, 5)), n // 4)
    f = FUNCTIONS[seed % len(FUNCTIONS)]
    x = grid(n, d) if r.uniform() < 0.25 else r.uniform(size=(n, d))
    new = r.uniform(size=(500, d))
    sigma = f(new).std() * r.choice([0.05, 0.1, 0.3, 0.6]) if noisy else 0
    return x, f(x) + sigma * r.normal(size=len(x)), new, f(new) + sigma * r.normal(size=500)


def design(seed):
    """Returns the same for a factorial design (even seeds) or a Latin hypercube."""
    r = np.random.default_rng(seed + 7)
    d = int(r.integers(2, 4))
    m = int(r.integers(3, [0, 0, 13, 6][d]))
    f = FUNCTIONS[seed // 2 % len(FUNCTIONS)]
    n = m**d
    x = np.stack([(r.permutation(n) + 0.5) / n for _ in range(d)], 1) if seed % 2 else grid(n, d)
    new = r.uniform(size=(500, d))
    sigma = f(x).std() * r.choice([0, 0, 0.1])
    return x, f(x) + sigma * r.normal(size=n), new, f(new) + sigma * r.normal(size=500)


NOISES = [0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1, 2, 4, 10, 30]  # standard deviations of the function
SIZES = [20, 30, 50, 80, 120, 200, 350, 800]


def varied(seed, categories=True):
    """Returns the same for tables of many kinds: every noise and number of columns comes in turn, the rest at random."""
    r = np.random.default_rng(seed + 31337)
    n, d, level = SIZES[seed % len(SIZES)], 1 + 7 * seed % 12, NOISES[5 * seed % len(NOISES)]
    active, rows = int(r.integers(1, min(d, 4) + 1)), n + 500
    x = r.normal(size=(rows, d)) if r.uniform() < 0.5 else r.uniform(-1, 1, size=(rows, d))
    if d > 2 and r.uniform() < 0.4:
        x[:, -1] = x[:, 0] + 0.1 * r.normal(size=rows)  # nearly redundant
    if r.uniform() < 0.3:
        x[:, 0] = np.floor(4 * x[:, 0])
    a = x[:, :active]
    functions = [
        lambda: a @ r.normal(size=active),
        lambda: np.sin(2 * a).sum(1),
        lambda: np.prod(np.cos(a), axis=1),
        lambda: np.abs(a).sum(1),
        lambda: (a > 0).sum(1).astype(float),
        lambda: np.exp(a.sum(1) / np.sqrt(active)),
        lambda: np.tanh(3 * a[:, 0]) * (1 + a[:, -1]),
    ]
    f = functions[r.integers(0, len(functions))]()
    group = r.integers(0, 4, rows)
    if categories and r.uniform() < 0.3:
        f = f + f.std() * np.array([0, 1, -1, 0.5])[group]
        x = np.column_stack([x.astype(object), np.array(["red", "green", "blue", "white"], object)[group]])
    noise = [r.normal(size=rows), r.standard_t(4, size=rows) / np.sqrt(2), r.normal(size=rows) * (0.3 + np.abs(a[:, 0]))][r.integers(0, 3)]
    y = f + level * f.std() * noise
    if r.uniform() < 0.2:
        y = np.exp(y / y.std())
    return x[:n], y[:n], x[n:], y[n:]


def real(folder, name, seed):
    """Returns the same for rows of a real table, drawn by seed."""
    with gzip.open(Path(folder) / name / "data.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    n = min(300, len(rows) * 2 // 3)
    x, y = rows[:, :-1], rows[:, -1]
    return x[:n], y[:n], x[n : n + 500], y[n : n + 500]


def drawn(seed):
    """Returns inputs and targets of a process with a linear mean and noise, 40 rows and 15 more ones beside and beyond them."""
    r = np.random.default_rng(seed + 271828)
    d = 1 + seed % 3
    x = np.concatenate([r.uniform(0, 1, (40, d)), r.uniform(-0.5, 2, (15, d))])
    square = (((x[:, None] - x[None]) / LENGTHSCALE) ** 2).sum(2)
    s = np.sqrt(3 * square)
    sigma = SIGNAL * (1 + s) * np.exp(-s) + NOISE * np.eye(len(x))
    return x, np.linalg.cholesky(sigma) @ r.normal(size=len(x)) + 1.5 + x @ r.normal(0, 2, d)


LENGTHSCALE, SIGNAL, NOISE = 0.3, 0.5, 0.05  # of drawn
