#!/usr/bin/env python3
"""Writes reference.json: covariances and their derivatives in 50-digit arithmetic.

    pip install mpmath==1.3.0 && python3 kernel/testdata/reference.py

The formulas are the books', written for one pair of points; derivatives by the logs
of the parameters are mpmath's numerical ones at 50 digits. Nothing of gpfit is used.
"""
import json
import random
from pathlib import Path

from mpmath import asin, cos, diff, exp, factorial, mp, mpf, pi, sin, sqrt

mp.dps = 50
D = 2


def sq(x, y, rho):
    return sum(((a - b) / r) ** 2 for a, b, r in zip(x, y, rho))


def dot(x, y, rho):
    return sum(a * b / r**2 for a, b, r in zip(x, y, rho))


def matern(p):  # R&W eq. 4.16, order p + 1/2
    def k(x, y, rho):
        t = sqrt((2 * p + 1) * sq(x, y, rho))
        return exp(-t) * factorial(p) / factorial(2 * p) * sum(
            factorial(p + i) / (factorial(i) * factorial(p - i)) * (2 * t) ** (p - i) for i in range(p + 1))
    return k


def rbf(x, y, rho):
    return exp(-sq(x, y, rho) / 2)


def rq(x, y, rho, alpha):
    return (1 + sq(x, y, rho) / (2 * alpha)) ** -alpha


def periodic(x, y, rho, p):
    return exp(-2 * sum((sin(pi * (a - b) / q) / r) ** 2 for a, b, r, q in zip(x, y, rho, p)))


def cosine(x, y, p):
    return cos(2 * pi * sum((a - b) / q for a, b, q in zip(x, y, p)))


def wendland1(x, y, rho):  # R&W eq. 4.21, q = 1, j = 3 on two columns
    r = sqrt(sq(x, y, rho))
    return (1 - r) ** 4 * (4 * r + 1) if r < 1 else mpf(0)


def arcsine(x, y, rho, o):  # R&W eq. 4.29
    s, v, w = (o + dot(a, b, rho) for a, b in ((x, y), (x, x), (y, y)))
    return 2 / pi * asin(2 * s / sqrt((1 + 2 * v) * (1 + 2 * w)))


def both(r):
    return [r, r]


# text: number of parameters, and the function of pair and parameters in θ's order;
# s is the signal variance.
KERNELS = {
    "rbf": (2, lambda x, y, r, s: s * rbf(x, y, both(r))),
    "rbf(ard)": (3, lambda x, y, r, q, s: s * rbf(x, y, [r, q])),
    "matern12": (2, lambda x, y, r, s: s * matern(0)(x, y, both(r))),
    "matern32(ard)": (3, lambda x, y, r, q, s: s * matern(1)(x, y, [r, q])),
    "matern52": (2, lambda x, y, r, s: s * matern(2)(x, y, both(r))),
    "matern(3.5)": (2, lambda x, y, r, s: s * matern(3)(x, y, both(r))),
    "matern(8.5, ard)": (3, lambda x, y, r, q, s: s * matern(8)(x, y, [r, q])),
    "rq": (3, lambda x, y, r, a, s: s * rq(x, y, both(r), a)),
    "rq(ard)": (4, lambda x, y, r, q, a, s: s * rq(x, y, [r, q], a)),
    "periodic": (3, lambda x, y, r, p, s: s * periodic(x, y, both(r), both(p))),
    "periodic(ard)": (5, lambda x, y, r, q, p, u, s: s * periodic(x, y, [r, q], [p, u])),
    "cosine": (2, lambda x, y, p, s: s * cosine(x, y, both(p))),
    "cosine(ard)": (3, lambda x, y, p, u, s: s * cosine(x, y, [p, u])),
    "linear": (1, lambda x, y, s: s * dot(x, y, (1, 1))),
    "linear(ard)": (2, lambda x, y, r, q: dot(x, y, (r, q))),
    "poly(3)": (2, lambda x, y, o, s: s * (o + dot(x, y, (1, 1))) ** 3),
    "wendland(1)": (2, lambda x, y, r, s: s * wendland1(x, y, both(r))),
    "arcsine": (3, lambda x, y, r, o, s: s * arcsine(x, y, both(r), o)),
    "formula(exp(-(r/a)^g)*cos(2*pi*r/b), a=1, b=2, g=1)": (
        4, lambda x, y, a, g, b, s: s * exp(-((sqrt(sq(x, y, (1, 1))) / a) ** g)) * cos(2 * pi * sqrt(sq(x, y, (1, 1))) / b)),
    "rbf*periodic + rq": (
        7, lambda x, y, r, q, p, s, t, a, u: s * rbf(x, y, both(r)) * periodic(x, y, both(q), both(p)) + u * rq(x, y, both(t), a)),
    "matern32*linear*rbf(ard)": (
        4, lambda x, y, r, q, u, s: s * matern(1)(x, y, both(r)) * dot(x, y, (1, 1)) * rbf(x, y, [q, u])),
}

rng, out = random.Random(1), []
for text, (count, f) in KERNELS.items():
    for _ in range(6):
        numbers = [round(rng.gauss(0, 0.7), 3) for _ in range(2 * D)]
        theta = [round(rng.uniform(0.5, 2), 3) for _ in range(count)]
        x, y = [mpf(str(v)) for v in numbers[:D]], [mpf(str(v)) for v in numbers[D:]]
        at = [mpf(str(v)) for v in theta]
        value = f(x, y, *at)
        slopes = [diff(lambda z, i=i: f(x, y, *at[:i], at[i] * exp(z), *at[i + 1:]), 0) for i in range(count)]
        out.append({"kernel": text, "x": numbers[:D], "y": numbers[D:], "theta": theta,
                    "value": mp.nstr(value, 25), "gradient": [mp.nstr(v, 22) for v in slopes]})
path = Path(__file__).with_name("reference.json")
path.write_text("[\n" + ",\n".join(json.dumps(r) for r in out) + "\n]\n")
print(len(out), "pairs")
