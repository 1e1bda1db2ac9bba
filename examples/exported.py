"""Predicts with an export of gpfit, by NumPy, and by SciPy where it is there. EXPORT.md beside this file has the formulas.

read_model.py and the package pygpfit share this file and exported_kernels.py, which import nothing of either.
"""
# pyright: basic

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

try:
    from ._exported_kernels import Floats, Json, Kernel, Pairs, own, stacked
except ImportError:  # beside read_model.py
    from exported_kernels import Floats, Json, Kernel, Pairs, own, stacked  # type: ignore[no-redef, import-not-found, unused-ignore]

dtrtrs: Any = None
erfc: Any = np.vectorize(math.erfc, otypes=[float])
try:
    dtrtrs, erfc = importlib.import_module("scipy.linalg.lapack").dtrtrs, importlib.import_module("scipy.special").erfc
except ImportError:
    pass

# The versions of exports that this file knows.
VERSIONS = (1, 2, 3, 4, 5, 6, 7, 8)


def basis(functions: Sequence[Json], x: Floats, slope: bool = False) -> Floats:
    """Return the mean's basis functions at scaled rows, one in each column, or their derivatives by their column of x."""
    out = np.empty((len(x), len(functions)))
    for j, h in enumerate(functions):
        v, kind = x[:, h.get("column", 0)], h["type"]
        if kind == "constant":
            out[:, j] = 0 if slope else 1
        elif kind == "bump":
            u = (v - h["centre"]) / h["width"]
            out[:, j] = np.exp(-u * u / 2) * (-u / h["width"] if slope else 1)
        elif kind in ("cos", "sin"):
            angle = 2 * np.pi * (v - h["centre"]) / h["width"] + (np.pi / 2 if slope else 0)
            out[:, j] = (np.cos if kind == "cos" else np.sin)(angle) * (2 * np.pi / h["width"] if slope else 1)
        else:
            power = h.get("power", 1)
            out[:, j] = power * v ** (power - 1) if slope else v**power
    return out


class Transform:
    """A transform of the target, for draws of its parameter, whose shape is that of the first axis of values."""

    def __init__(self, kind: str, lam: Any, shift: float, unit: float) -> None:
        self.kind, self.yeo, self.lam, self.shift, self.unit = kind, kind == "yeojohnson", lam, shift, unit

    def sides(self, v: Any) -> tuple[Any, Any]:
        """Return the sign of values and λ on their side of 0, which differ with Yeo and Johnson."""
        return (np.where(v < 0, -1.0, 1.0), np.where(v < 0, 2 - self.lam, self.lam)) if self.yeo else (1.0, self.lam)

    def coordinate(self, y: Any) -> Any:
        """Return log u, or the logarithm of 1 + |u| with the sign of u."""
        u = (y - self.shift) / self.unit
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sign(u) * np.log1p(np.abs(u)) if self.yeo else np.log(u)

    def forward(self, y: Any) -> Any:
        """Return transformed targets."""
        c = self.coordinate(y)
        sign, lam = self.sides(c)
        with np.errstate(divide="ignore", invalid="ignore"):
            return sign * np.where(lam == 0, sign * c, np.expm1(lam * sign * c) / np.where(lam == 0, 1, lam))

    def slope(self, y: Any) -> Any:
        """Return the derivative of forward."""
        return np.exp((self.lam - 1) * self.coordinate(y)) / self.unit

    def inverse(self, v: Any) -> Any:
        """Return the targets with transformed values; below the range of Box and Cox the target is 0."""
        sign, lam = self.sides(v)
        with np.errstate(divide="ignore", over="ignore"):
            c = np.where(lam == 0, sign * v, np.log1p(np.maximum(lam * sign * v, -1)) / np.where(lam == 0, 1, lam))
            y = self.shift + sign * self.unit * np.expm1(c) if self.yeo else self.unit * np.exp(c)
        return np.clip(y, -sys.float_info.max, sys.float_info.max)

    def moments(self, mean: Any, std: Any) -> tuple[Any, Any]:
        """Return the mean and the standard deviation of targets whose transformed values are normal, by quadrature. Right of
        a kink of the inverse, where it may be a root, z grows with the cube."""
        lam = np.broadcast_to(self.lam, mean.shape)
        if not self.yeo and np.all(lam == 0):
            first = self.unit * np.exp(mean + std * std / 2)
            return first, first * np.sqrt(np.expm1(std * std))
        high = 9 + 2 * std
        low = -high if self.yeo else np.full_like(high, -9)
        with np.errstate(divide="ignore", invalid="ignore"):
            kink = np.clip(((0.0 if self.yeo else np.where(lam == 0, -np.inf, -1 / lam)) - mean) / std, low, high)
        places = np.concatenate([np.linspace(low, high, 10), kink[None], np.minimum(kink + 2, high)[None]])
        ends = np.sort(places, axis=0)[..., None]
        x, weights = (np.polynomial.legendre.leggauss(20)[0] + 1) / 2, np.polynomial.legendre.leggauss(20)[1] / 2
        begin, size = ends[:-1], np.diff(ends, axis=0)
        cubic = begin == kink[..., None]
        z = begin + size * np.where(cubic, x**3, x)
        p = size * weights * np.where(cubic, 3 * x * x, 1) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        wide = Transform(self.kind, lam[..., None], self.shift, self.unit)
        centre = wide.inverse(mean[..., None])
        off = wide.inverse(mean[..., None] + std[..., None] * z) - centre
        first, second = np.sum(p * off, axis=(0, -1)), np.sum(p * off * off, axis=(0, -1))
        return centre[..., 0] + first, np.where(std == 0, 0, np.sqrt(np.maximum(second - first * first, 0)))


class Part:
    """The draws of the parameters that share the form of the kernel and of the mean, at the training rows x in scaled units."""

    def __init__(self, states: Sequence[Json], x: Floats, experts: Json | None) -> None:
        count, n = len(states), len(x)
        self.kernel: Any = Kernel([s["kernel"] for s in states])
        self.x, self.functions = x, states[0]["basis"]
        self.least_squares = bool(self.functions) and states[0]["least_squares"]
        self.experts, centres = experts, np.array((experts or {}).get("centres", [[0.0] * x.shape[1]]))
        self.centres, owner = centres, nearest(x, centres)
        sigma = np.empty((count, n, n))
        step = max(1, 200_000 // (n * count))
        for i in range(0, n, step):
            sigma[:, i : i + step] = self.kernel(self.pairs(x[i : i + step])) * (owner[i : i + step, None] == owner)
        sigma[:, np.arange(n), np.arange(n)] += [s["diagonal"] for s in states]
        lower = np.linalg.cholesky(sigma)
        pivots = np.diagonal(lower, axis1=1, axis2=2)
        # How much rounding grows in a solution.
        self.growth = float(np.max(np.max(pivots, axis=1) / np.min(pivots, axis=1)))
        self.factors = [np.asfortranarray(one) for one in lower]
        self.inverses = np.linalg.inv(lower) if 1 < count and n <= 96 and self.growth < 1000 else None
        self.owners = (owner[:, None] == np.arange(len(centres))).astype(float) if len(centres) > 1 else None
        h = basis(self.functions, x)
        if self.least_squares:
            self.whitened = self.solve(np.broadcast_to(h.T, (count, *h.T.shape)))
            q, r = np.linalg.qr(self.whitened)
            self.root = np.linalg.inv(r)
        self.alpha, self.beta = np.empty((count, n, states[0]["y"].shape[1])), np.array([s["beta"] for s in states])
        for k, s in enumerate(states):
            if s["alpha"] is None:
                y = s["y"]
                if self.least_squares:
                    self.beta[k] = self.root[k] @ (q[k].T @ solve(self.factors[k], y))
                s["alpha"] = solve(self.factors[k], solve(self.factors[k], y - h @ self.beta[k]), 1)
            self.alpha[k] = s["alpha"]
        self.prior = self.kernel(own(x[:1])) if self.kernel.stationary else None

    def pairs(self, a: Floats) -> Pairs:
        return Pairs(a.T[:, :, None], self.x.T[:, None, :])

    def solve(self, rows: Floats) -> Floats:
        """Return L⁻¹k for each draw and each row k of rows, which has the shape (draws, m, n), in columns."""
        if self.inverses is not None:
            return self.inverses @ np.swapaxes(rows, 1, 2)
        if len(self.factors) == 1:
            return solve(self.factors[0], rows[0].T)[None]
        return np.stack([solve(factor, one.T) for factor, one in zip(self.factors, rows, strict=True)])

    def __call__(self, a: Floats, spread: bool) -> tuple[Floats, Floats | None]:
        """Return means, (draws, m, targets), and with spread the variances of the function, (draws, m), at scaled rows."""
        count, h = len(self.factors), basis(self.functions, a)
        cross = np.broadcast_to(self.kernel(self.pairs(a)), (count, len(a), len(self.x)))
        weights: Any = None
        variance: Any = None
        if spread or self.owners is not None:
            solved = self.solve(cross)
            variance = np.broadcast_to(self.kernel(own(a)) if self.prior is None else self.prior, (count, len(a), 1))[..., 0]
            if self.owners is None:
                reduction = np.sum(solved * solved, axis=1)
            else:
                weights, variance, reduction = self.combine(a, variance[0], self.owners.T @ solved[0] ** 2)
                cross, solved = cross * (self.owners @ weights).T, solved * (self.owners @ weights)
            if self.least_squares:
                r = (h - np.swapaxes(solved, 1, 2) @ self.whitened) @ self.root
                variance = variance + np.sum(r * r, axis=2)
            variance = np.maximum(variance - reduction, 0)
        return h @ self.beta + cross @ self.alpha, variance

    def combine(self, a: Floats, prior: Floats, reductions: Floats) -> tuple[Floats, Any, Any]:
        """Return the weights of the experts' means at new rows, the variances there, and what is still to be subtracted from these."""
        if self.experts is None or self.experts["combine"] == "nearest":
            weights = (nearest(a, self.centres) == np.arange(len(reductions))[:, None]).astype(float)
            return weights, prior[None], np.sum(weights * reductions, axis=0)
        variance = np.clip(prior - reductions, 1e-14 * prior, prior)
        beta = np.log(prior / variance) / 2
        precision = np.sum(beta * (1 / variance - 1 / prior), axis=0)
        return beta / variance / (precision + 1 / prior), 1 / (precision / self.experts["temperature"] + 1 / prior)[None], 0.0

    def gradient(self, a: Floats) -> Floats:
        """Return the derivatives of the means by the scaled columns, (draws, targets, m, d)."""
        count, targets = len(self.factors), self.alpha.shape[2]
        out, h = np.zeros((count, targets, *a.shape)), basis(self.functions, a, slope=True)
        for t in range(targets):
            by = np.broadcast_to(self.alpha[:, None, :, t], (count, len(a), len(self.x)))
            self.kernel.add_slopes(self.pairs(a), by, out[:, t])
            for j, f in enumerate(self.functions):
                out[:, t, :, f.get("column", 0)] += self.beta[:, j, t, None] * h[:, j]
        return out


def solve(factor: Floats, columns: Floats, trans: int = 0) -> Floats:
    """Return L⁻¹ times columns, or L⁻ᵀ times columns."""
    solution: Any = np.linalg.solve(factor.T if trans else factor, columns) if dtrtrs is None else dtrtrs(factor, columns, lower=1, trans=trans)[0]
    return np.asarray(solution)


def nearest(x: Floats, centres: Floats) -> Any:
    """Return the expert of each scaled row, the one with the nearest centre."""
    if len(centres) == 1:
        return np.zeros(len(x), dtype=int)
    return np.argmin(np.sum((x[:, None, :] - centres) ** 2, axis=2), axis=1)


class Prediction:
    """Means and standard deviations, (m, targets), in original units, and the normal distributions of which they are the moments:
    one for each draw of the parameters."""

    def __init__(self, mean: Floats, latent: Floats, noise: Floats, predictor: Predictor) -> None:
        s, self.transform, self.share = predictor, predictor.transform, predictor.share
        self.centre, self.latent = mean * s.y_scale + s.y_mean, latent
        function: Any = np.sqrt(latent)[..., None] * s.y_scale
        self.spread = np.sqrt(latent + noise)[..., None] * s.y_scale
        own = predictor.outlying * s.y_scale
        self.off = np.hypot(self.spread, own)
        means: Any = self.centre
        stds: Any = self.spread
        # Rows whose mean is the median, because a tail rules the expected value.
        self.medians: Any = np.zeros(mean.shape[1:], dtype=bool)
        if self.transform is not None:
            means, stds = self.transform.moments(self.centre, self.spread)
            function = self.transform.moments(self.centre, function)[1]
            low, high = (self.transform.inverse(self.centre + z * self.spread) for z in (-1.959963984540054, 1.959963984540054))
            far = 10 * (predictor.highest - predictor.lowest)
            tail = (means > np.maximum(10 * high, high)) | (means < np.minimum(10 * low, low)) | ~np.isfinite(means)
            tail |= (means > predictor.highest + far) | (means < predictor.lowest - far)
            means, self.medians = np.where(tail, self.transform.inverse(self.centre), means), np.any(tail, axis=0)
        elif self.share:
            stds = np.hypot(stds, math.sqrt(self.share) * own)
        self.mean: Floats = means[0]
        self.std: Floats = stds[0]
        self.std_latent: Floats = function[0]
        if len(means) > 1:
            self.mean = np.asarray(np.mean(means, axis=0))
            between = np.mean((means - self.mean) ** 2, axis=0)
            self.std, self.std_latent = (np.sqrt(np.mean(v * v, axis=0) + between) for v in (stds, function))

    def quantile(self, probability: float) -> Floats:
        """Return the quantiles of new observations, by Newton's method or bisection where the distribution is a mixture."""
        z = NormalDist().inv_cdf(probability)
        forward, inverse = (self.transform.forward, self.transform.inverse) if self.transform else (np.asarray, np.asarray)
        fits = inverse(self.centre + z * self.spread)
        if len(fits) == 1 and not self.share:
            return np.asarray(fits[0])
        ends = np.concatenate([fits, inverse(self.centre + z * self.off)])
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        y = low + (high - low) / 2
        for _ in range(200):
            v, below, density = forward(y) * np.ones_like(self.centre), 0.0, 0.0
            for share, std in ((1 - self.share, self.spread), (self.share, self.off)):
                if share:
                    u = (v - self.centre) / std
                    below, density = below + share * erfc(-u / math.sqrt(2)) / 2, density + share * np.exp(-u * u / 2) / std
            if self.transform:
                density = density * self.transform.slope(y)
            excess = np.mean(below, axis=0) - probability
            low, high = np.where(excess < 0, y, low), np.where(excess < 0, high, y)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = excess / (np.mean(density, axis=0) / math.sqrt(2 * np.pi))
                new = np.where((y - step > low) & (y - step < high), y - step, low + (high - low) / 2)
            done, y = np.all((np.abs(new - y) <= 1e-14 * np.abs(y)) | (new <= low) | (new >= high)), new
            if done:
                break
        return np.asarray(y)


class Predictor:
    """An export that predicts. Several exports are the targets of one model. Without draws, it has the parameters of the optimum."""

    def __init__(self, *targets: Json, draws: bool = True) -> None:
        model = targets[0]
        s, self.model = model["scaling"], model
        self.columns = {c: Transform(t["kind"], t["lambda"], t["shift"], t["unit"]) for c, t in enumerate(s.get("x_transforms") or ()) if t}
        self.latitudes = latitudes(model["kernel"])
        self.x_mean, self.x_scale = np.array(s["x_mean"]), np.array(s["x_scale"])
        self.y_mean, self.y_scale = (np.array([t["scaling"][name] for t in targets]) for name in ("y_mean", "y_scale"))
        self.lowest, self.highest = float(np.min(model["y"])), float(np.max(model["y"]))
        self.share, self.outlying = model["noise"].get("outlying_share", 0.0), math.sqrt(model["noise"].get("outlying_variance", 0.0))
        turns = [list(each) for each in zip(*(t.get("draws") or () for t in targets), strict=True)] if draws else []
        x, every = self.scaled(np.asarray(model["X"], dtype=float)), turns or [list(targets)]
        self.transform: Transform | None = None
        if "transform" in s:
            t, lam = s["transform"], [one[0].get("transform", s["transform"])["lambda"] for one in every]
            self.transform = Transform(t["kind"], stacked(lam), t["shift"], t["unit"])
        y = np.stack([np.asarray(t["y"], dtype=float) for t in targets], axis=1)
        scaled = ((self.transform.forward(y) if self.transform else y) - self.y_mean) / self.y_scale
        groups: list[list[Json]] = []
        for k, one in enumerate(every):
            first = one[0]
            noise = first.get("training_noise")
            state = {
                "kernel": first["kernel"], "basis": first["mean"]["basis"], "least_squares": first["mean"]["least_squares"],
                "diagonal": np.broadcast_to(first["noise"]["variance"] if noise is None else noise, len(x)) + first["noise"]["jitter"],
                "beta": np.array([[h["coefficient"] for h in t["mean"]["basis"]] for t in one]).T.reshape(-1, len(one)),
                "y": scaled[k] if scaled.ndim == 3 else scaled,
                "alpha": None if turns else np.stack([np.asarray(t["alpha"], dtype=float) for t in one], axis=1),
            }
            if not groups or form(groups[-1][0]) != form(state):
                groups.append([])
            groups[-1].append(state)
        self.noises = [one[0]["noise"] for one in every]
        self.variances = self.noise()
        self.parts = [Part(group, x, model.get("experts")) for group in groups]

    def scaled(self, rows: Floats, slopes: bool = False) -> Floats:
        """Return rows in scaled units, or the derivatives of these."""
        rows, out = np.asarray(rows, dtype=float), np.ones(rows.shape)
        beyond = np.argwhere(np.abs(rows[:, self.latitudes]) > 90)
        if len(beyond):
            raise ValueError(f"row {beyond[0][0] + 1} (from 1): a latitude is between -90 and 90 degrees")
        if self.columns:
            rows = rows.copy()
            for c, t in self.columns.items():
                out[:, c], rows[:, c] = t.slope(rows[:, c]), t.forward(rows[:, c])
        return np.asarray(out / self.x_scale if slopes else (rows - self.x_mean) / self.x_scale)

    def means(self, rows: Floats) -> Floats:
        """Return the means at rows, which have the columns in use in original units, of a target without transform."""
        a = self.scaled(rows)
        means = [part(a, False)[0] * self.y_scale + self.y_mean for part in self.parts]
        return np.asarray(means[0][0] if len(self.noises) == 1 else np.mean(np.concatenate(means), axis=0))

    def noise(self, groups: Any = None, known: Any = None) -> Floats:
        """Return the noise variances of the draws, and of rows if these have labels of groups or known variances in original units."""
        out = np.array([[z["variance"]] if groups is None else [z["groups"][label] for label in groups] for z in self.noises], dtype=float)
        return out if known is None else out + np.asarray(known) / self.y_scale[0] ** 2

    def __call__(self, rows: Floats, noise: Floats | None = None) -> Prediction:
        """Predict rows, which have the columns in use in original units. noise is that of the method noise."""
        a = self.scaled(rows)
        found = [part(a, True) for part in self.parts]
        mean, variance = (np.concatenate(v) if len(found) > 1 else v[0] for v in zip(*found, strict=True))
        return Prediction(mean, variance, self.variances if noise is None else noise, self)

    def gradient(self, rows: Floats) -> Floats:
        """Return the derivatives of the means at the optimum by the columns in use, (m, d, targets)."""
        return np.asarray(np.moveaxis(self.parts[0].gradient(self.scaled(rows))[0], 0, 2) * self.y_scale * self.scaled(rows, True)[..., None])


def latitudes(node: Json) -> list[int]:
    """Return the columns of latitudes of a kernel with distances through a sphere."""
    own = [int(node["columns"][0])] if node.get("family") == "sphere" else []
    return sorted({*own, *(c for child in node.get("children", ()) for c in latitudes(child))})


def form(state: Json) -> Any:
    """Return what draws have in common that are evaluated together."""

    def shape(node: Json) -> Any:
        operations = [(o["op"], o.get("of"), o.get("powers"), "constant" in o) for o in node.get("operations", ())]
        return node["type"], node.get("family"), node.get("columns"), node.get("formula"), operations, list(map(shape, node.get("children", ())))

    return shape(state["kernel"]), [{**h, "coefficient": 0} for h in state["basis"]]
