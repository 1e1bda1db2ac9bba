"""The covariance functions of an export, by NumPy: a tree of leaves, each of which is spelled out as features and operations.

EXPORT.md has the formulas. exported.py uses this file, in the package pygpfit, too.
"""
# pyright: basic

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Json = dict[str, Any]
erf: Any
try:
    erf = importlib.import_module("scipy.special").erf
except ImportError:
    erf = np.vectorize(math.erf, otypes=[float])


class Pairs:
    """All pairs of rows a and b, in columns: a has the shape (d, m, 1), b (d, 1, n), or a's for each row with itself."""

    def __init__(self, a: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        self.squares: dict[int, Floats] = {}

    def term(self, kind: str, q: int, period: Any) -> Any:
        """Return the quantity of a kind of feature in column q."""
        a, b = self.a[q], self.b[q]
        if kind == "squared_distance":
            if q not in self.squares:
                self.squares[q] = (a - b) ** 2
            return self.squares[q]
        if kind == "inner_product":
            return a * b
        if kind == "sin_squares":
            return np.sin(np.pi * (a - b) / period) ** 2
        if kind == "differences":
            return a - b
        if kind == "mismatches":
            return (a != b).astype(float)
        value = a if kind.startswith("first") else b
        return value * value if kind.endswith("norm") else value

    def slope(self, kind: str, q: int, period: Any) -> Any:
        """Return the derivative of the quantity by a."""
        a, b = self.a[q], self.b[q]
        if kind == "squared_distance":
            return 2 * (a - b)
        if kind == "sin_squares":
            return np.pi / period * np.sin(2 * np.pi * (a - b) / period)
        return {"inner_product": b, "first_norm": 2 * a, "differences": 1.0, "first": 1.0}.get(kind, 0.0)


def own(a: Floats) -> Pairs:
    """Return the pairs of each row with itself."""
    return Pairs(a.T[:, :, None], a.T[:, :, None])


STATIONARY = ("squared_distance", "sin_squares", "differences", "mismatches")
FEATURES = (*STATIONARY, "inner_product", "first", "second", "first_norm", "second_norm")


def stacked(values: Sequence[float]) -> Any:
    """Return a number of several draws of the parameters: one number if all are equal, or an array with an axis of draws."""
    return float(values[0]) if all(v == values[0] for v in values) else np.array(values, dtype=float)[:, None, None]


class Feature:
    """A weighted sum over columns of a quantity of pairs, for several draws."""

    def __init__(self, draws: Sequence[Json]) -> None:
        self.kind, self.columns = draws[0]["kind"], draws[0]["columns"]
        if self.kind not in FEATURES:
            raise ValueError(f"this reader does not know the feature {self.kind!r}")
        self.weights = [stacked(w) for w in zip(*(f["weights"] for f in draws), strict=True)]
        self.periods = [stacked(p) for p in zip(*(f.get("periods") or f["weights"] for f in draws), strict=True)]

    def __call__(self, pairs: Pairs) -> Any:
        terms = (w * pairs.term(self.kind, q, p) for q, w, p in zip(self.columns, self.weights, self.periods, strict=True))
        return sum(terms, next(terms))

    def add_slopes(self, pairs: Pairs, by: Any, out: Floats) -> None:
        """Add the derivatives by the columns of a, times by and summed over b, to out."""
        for q, w, p in zip(self.columns, self.weights, self.periods, strict=True):
            out[:, :, q] += np.sum(by * w * pairs.slope(self.kind, q, p), axis=2)


def inverse_root(v: Any) -> Any:
    """Return 1/√v, and 0 for 0."""
    return np.where(v == 0, 0, 1 / np.sqrt(np.where(v == 0, 1, v)))


# The value of an operation of one argument, and its derivative by the argument v where the value is f.
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "exp": (np.exp, lambda v, f: f),
    "log": (np.log, lambda v, f: 1 / v),
    "log1p": (np.log1p, lambda v, f: 1 / (1 + v)),
    "sqrt": (np.sqrt, lambda v, f: 0.5 / f),
    "inverse_sqrt": (inverse_root, lambda v, f: -0.5 * f**3),
    "log_or_0": (lambda v: np.log(np.where(v == 0, 1, v)), lambda v, f: inverse_root(v) ** 2),
    "sin_turns": (lambda v: np.sin(2 * np.pi * (v - np.round(v))), lambda v, f: 2 * np.pi * np.cos(2 * np.pi * v)),
    "cos_turns": (lambda v: np.cos(2 * np.pi * (v - np.round(v))), lambda v, f: -2 * np.pi * np.sin(2 * np.pi * v)),
    "tanh": (np.tanh, lambda v, f: 1 - f * f),
    "asin": (np.arcsin, lambda v, f: 1 / np.sqrt(1 - v * v)),
    "erf": (erf, lambda v, f: 2 / np.sqrt(np.pi) * np.exp(-v * v)),
    "sinc": (lambda v: np.sinc(v / np.pi), lambda v, f: np.where(v == 0, 0, (np.cos(v) - f) / np.where(v == 0, 1, v))),
    "abs": (np.abs, lambda v, f: np.sign(v)),
    "positive": (lambda v: np.maximum(v, 0), lambda v, f: np.where(v > 0, 1.0, 0.0)),
    "step": (lambda v: np.where(v > 0, 1.0, 0.0), lambda v, f: 0.0),
}


def polynomial(coefficients: Sequence[float], t: Any) -> Any:
    """Return Σ c_i t^i."""
    return functools.reduce(lambda value, c: value * t + c, reversed(coefficients))


class Operation:
    """A value of pairs that is computed from features and earlier values, for several draws."""

    def __init__(self, draws: Sequence[Json]) -> None:
        first = draws[0]
        self.name, self.of, self.feature = first["op"], first.get("of", []), first.get("feature", 0)
        if self.name not in ("number", "feature", "sum", "product", "power", "decay", *FUNCTIONS):
            raise ValueError(f"this reader does not know the operation {self.name!r}")
        own = {"sum": "constant", "power": "exponent"}.get(self.name, "number")
        self.number: Any = stacked([o[own] for o in draws]) if own in first else None
        self.coefficients = [stacked(c) for c in zip(*(o.get("coefficients", ()) for o in draws), strict=True)]
        self.powers = first.get("powers", [])

    def __call__(self, pairs: Pairs, features: Sequence[Feature], args: Sequence[Any]) -> Any:
        if self.name == "feature":
            return features[self.feature](pairs)
        if self.name == "sum":
            terms = (c * x for c, x in zip(self.coefficients, args, strict=True))
            return sum(terms, next(terms) if self.number is None else self.number)
        if self.name == "product":
            return math.prod(x if p == 1 else x ** float(p) for p, x in zip(self.powers, args, strict=True))
        if self.name == "power":
            return args[0] ** self.number
        if self.name == "decay":
            t = np.sqrt(args[0])
            return polynomial(self.coefficients, t) * np.exp(-t)
        return FUNCTIONS[self.name][0](args[0]) if args else self.number

    def slopes(self, args: Sequence[Any], value: Any) -> list[Any]:
        """Return the derivatives by the arguments."""
        if self.name == "sum":
            return list(self.coefficients)
        if self.name == "product":
            return [
                p * args[i] ** float(p - 1) * math.prod(x ** float(r) for j, (x, r) in enumerate(zip(args, self.powers, strict=True)) if j != i)
                for i, p in enumerate(self.powers)
            ]
        if self.name == "power":
            return [self.number * args[0] ** (self.number - 1)]
        if self.name == "decay":  # of p(t) exp(−t) with t = √v: (p'(t) − p(t)) exp(−t)/(2t)
            t, c = np.sqrt(args[0]), [*self.coefficients, 0.0]
            rest = [(i + 1) * c[i + 1] - c[i] for i in range(len(c) - 1)]
            flat = isinstance(rest[0], float) and rest[0] == 0
            return [(polynomial([*rest[1:], 0.0], t) if flat else polynomial(rest, t) / t) * np.exp(-t) / 2]
        return [FUNCTIONS[self.name][1](args[0], value)]


def spelled(node: Json) -> tuple[list[Json], list[Json]]:
    """Return the features and the operations of a leaf."""
    if "operations" in node:
        return node.get("features", []), node["operations"]
    family, columns, p = node["family"], node["columns"], node.get("parameters", {})

    def each(name: str) -> list[float]:
        value = p.get(name, 1.0)
        return list(value) if isinstance(value, list) else [value] * len(columns)

    shape, weights, rest = "squared_distance", [1 / v / v for v in each("lengthscale")], list[Json]()
    if family == "rbf":
        rest = [{"op": "sum", "coefficients": [-0.5]}, {"op": "exp"}]
    elif family in DECAYS:
        times, coefficients = DECAYS[family]
        weights, rest = [times * w for w in weights], [{"op": "decay", "coefficients": coefficients}]
    elif family == "rq":
        a = p["alpha"]
        rest = [{"op": "sum", "coefficients": [0.5 / a]}, {"op": "log1p"}, {"op": "sum", "coefficients": [-a]}, {"op": "exp"}]
    elif family == "periodic":
        shape, rest = "sin_squares", [{"op": "sum", "coefficients": [-2.0]}, {"op": "exp"}]
    elif family == "cosine":
        shape, weights, rest = "differences", [1 / v for v in each("period")], [{"op": "cos_turns"}]
    elif family in ("linear", "poly"):
        shape = "inner_product"
        if family == "poly":
            rest = [{"op": "sum", "coefficients": [1.0], "constant": p["offset"]}, {"op": "power", "exponent": float(node["degree"])}]
    elif family == "constant":
        return [], [{"op": "number", "number": 1.0}]
    else:
        raise ValueError(f"this reader does not know the kernel {family!r}")
    features = [{"kind": shape, "columns": columns, "weights": weights} | ({"periods": each("period")} if shape == "sin_squares" else {})]
    return features, [{"op": "feature", "feature": 0}] + [o | {"of": [i]} for i, o in enumerate(rest)]


# The factor of the squared distance, and the polynomial before the exponential function.
DECAYS = {"matern12": (1.0, [1.0]), "matern32": (3.0, [1.0, 1.0]), "matern52": (5.0, [1.0, 1.0, 1 / 3])}


class Kernel:
    """A covariance function, a tree of leaves, sums and products, for several draws of its parameters."""

    def __init__(self, draws: Sequence[Json]) -> None:
        self.type, self.variance = draws[0]["type"], stacked([node.get("signal_variance", 1.0) for node in draws])
        self.children = [Kernel(parts) for parts in zip(*(node.get("children", ()) for node in draws), strict=True)]
        spellings = [spelled(node) for node in draws] if self.type == "leaf" else []
        self.features = [Feature(f) for f in zip(*(s[0] for s in spellings), strict=True)]
        self.operations = [Operation(o) for o in zip(*(s[1] for s in spellings), strict=True)]
        self.stationary: bool = all(c.stationary for c in self.children) and all(f.kind in STATIONARY for f in self.features)

    def values(self, pairs: Pairs) -> list[Any]:
        """Return the values of the operations of a leaf, or of the children."""
        values = [child(pairs) for child in self.children]
        for o in self.operations:
            values.append(o(pairs, self.features, [values[i] for i in o.of]))
        return values

    def __call__(self, pairs: Pairs) -> Any:
        """Return the covariances of pairs: of the shape (m, n), with an axis of draws before if they differ."""
        values = self.values(pairs)
        value = values[-1] if self.operations else math.prod(values) if self.type == "product" else sum(values[1:], values[0])
        return value if isinstance(self.variance, float) and self.variance == 1 else self.variance * value

    def add_slopes(self, pairs: Pairs, by: Any, out: Floats) -> None:
        """Add the derivatives of the covariances by the columns of a, times by and summed over b, to out."""
        values, by = self.values(pairs), by * self.variance
        for i, child in enumerate(self.children):
            others = [v for j, v in enumerate(values) if j != i]
            child.add_slopes(pairs, by * math.prod(others) if self.type == "product" else by, out)
        slopes: list[Any] = [0.0] * (len(values) - 1) + [by]
        for k, o in reversed(list(enumerate(self.operations))):
            if o.name == "feature":
                self.features[o.feature].add_slopes(pairs, slopes[k], out)
            elif o.of:
                for i, slope in zip(o.of, o.slopes([values[j] for j in o.of], values[k]), strict=True):
                    slopes[i] = slopes[i] + slopes[k] * slope
