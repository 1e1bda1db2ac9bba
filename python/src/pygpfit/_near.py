"""Predicts with a model in this process, by NumPy, where a call of gpfit would take longer than the computation.

What is not computed here goes to gpfit: other methods and options, many rows, files, text that is to be parsed, and
whatever ends with a warning or an error, so that both are gpfit's.
"""

from __future__ import annotations

import io
import json
import os
import threading
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]  # pyright: ignore[reportMissingTypeStubs]

from . import _tables
from ._errors import GPFitError
from ._exported import VERSIONS, Prediction, Predictor
from ._exported_kernels import Kernel, own
from ._types import Column, Floats, Options, Report

# The most training rows, and the most numbers of the factors of all draws.
_ROWS, _NUMBERS = 2000, 4_000_000
# The most covariances of one call, and the most operations with them.
_PAIRS, _OPERATIONS = 200_000, 100_000_000
# Beyond this ratio of pivots, and this sum of terms of a mean, rounding may take the tenth digit.
_GROWTH, _TERMS = 3000.0, 1e6
# A variance below this share of the prior's is the difference of numbers that agree to so many digits.
_SHARE = 1e-10
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800, "years": 31556952}
# Options that may be given here, and the values of others that change nothing.
_OPTIONS = {"interval", "mean_only", "gradient", "unseen", "threads", "fallback"}
_VALUES: dict[str, tuple[Any, ...]] = {"posterior_draws": (None, 100, 0), "missing": (None, "error"), "device": (None, "auto"), "method": (None, "chosen")}
# From this share of the prior's deviation on, gpfit warns of rows where only the mean function goes on.
_PRIOR = 0.99
_building = threading.RLock()


class Near:
    """A model that predicts in this process: data has the model file, and export returns a target in the form for other programs."""

    def __init__(self, data: bytes, export: Callable[[str | None], Report]) -> None:
        with np.load(io.BytesIO(data)) as archive:
            header: Report = json.loads(bytes(archive["model.json"]))
        drawn: Report = header.get("draws") or {"theta": ()}
        draws, n = len(drawn["theta"]), header["n"]
        if n > _ROWS or min(max(draws, 1), 100) * n * n > _NUMBERS or header.get("experts"):
            raise ValueError("the model has too many rows, or experts")
        self.names: list[str] = [t["name"] for t in header.get("targets", ())]
        self.exports = list(map(export, self.names or (None,)))
        self.model = model = self.exports[0]
        if model["schema_version"] not in VERSIONS:
            raise ValueError("an unknown version")
        self.draws, self.n = min(draws, 100), n
        self.weights, self.noise = header.get("noise", {}).get("weight_column"), model["noise"]
        self.columns, self.mean = model["columns"], model["mean"]["basis"]
        with threadpool_limits(1, user_api="blas"):  # threads of BLAS wait for each other beside other work
            self.mixed = Predictor(*self.exports)
            self.plain = self.mixed if not draws else Predictor(*self.exports, draws=False)
        # The least variance that rounding leaves whole, in the square of a scaled target.
        self.least = max(map(self._least, {self.mixed, self.plain}))
        self.prior = Kernel([model["kernel"]])
        plain = [{"name": name, "kind": "number"} for name in model["feature_names"]]
        self.coding: list[Report] = model["encoding"]["columns"] if "encoding" in model else plain
        self._ranges(np.asarray(model["X"], dtype=np.float64))

    def _least(self, predictor: Predictor) -> float:
        """Return a share of the largest variance of the prior, and raise an error if digits cannot be those of gpfit."""
        largest = 0.0
        for part in predictor.parts:
            prior: Any = part.kernel(own(part.x))
            most = np.max(np.broadcast_to(prior, (len(part.factors), len(part.x), 1)), axis=(1, 2))
            terms = np.max(np.sum(np.abs(part.alpha), axis=1) * most[:, None])
            if not (part.growth < _GROWTH and terms < _TERMS and np.all(np.isfinite(part.alpha))):
                raise ValueError("the covariance is nearly singular")
            largest = max(largest, float(np.max(most)))
        return _SHARE * largest

    def _ranges(self, x: Floats) -> None:
        """Find the ranges of the columns that are no categories, and which of them the mean function extrapolates."""
        kinds: list[str] = []
        for c in self.coding:
            kinds += [c["kind"]] * (1 if c.get("codes") else len(c.get("categories", (0,))))
        where = [q for q, f in enumerate(self.columns) if kinds[f] not in ("category", "boolean")]
        further = {h["column"] for h in self.mean if h["type"] in ("linear", "power")}
        self.where = slice(None) if len(where) == x.shape[1] else where
        self.low, self.high = x[:, where].min(axis=0), x[:, where].max(axis=0)
        self.width, self.further = self.high - self.low, np.array([q in further for q in where], dtype=bool)

    def predict(self, rows: Floats, noise: Floats | None, mean_only: bool, plain: bool = False) -> Prediction | Floats | None:
        """Predict rows of the columns in use: only the means with mean_only. The result is None where gpfit is to predict."""
        m, draws = len(rows), 1 if plain else max(1, self.draws)
        if m == 0 or m * self.n * draws > _PAIRS or m * self.n**2 * draws > _OPERATIONS:
            return None
        predictor = self.plain if plain else self.mixed
        v = rows[:, self.where]
        far = np.maximum(self.low - v, v - self.high)
        if not far.max(initial=0) <= 0 and (predictor.columns or not np.all(far <= self.width)):
            return None
        if np.abs(rows[:, predictor.latitudes]).max(initial=0) > 90:
            return None
        if mean_only and predictor.transform is None:
            means = predictor.means(rows)
            return means if np.isfinite(means).all() else None
        found = predictor(rows, noise)
        if not (np.isfinite(found.mean).all() and np.isfinite(found.std).all()) or found.medians.any() or found.latent.min() < self.least:
            return None
        outside = np.any((far > 0) & self.further, axis=1)
        if outside.any():
            a = predictor.scaled(rows[outside])
            prior = np.ravel(self.prior(own(a)) * np.ones((len(a), 1)))
            if np.any(found.latent[0][outside] >= (_PRIOR * np.sqrt(prior)) ** 2):
                return None
        return found.mean if mean_only else found

    def rows(self, data: Any) -> tuple[Floats, dict[str, Column]] | None:
        """Return rows of a table in the columns in use, and its columns by name; None for a table that gpfit is to read."""
        if isinstance(data, (str, os.PathLike)) or np.ma.isMaskedArray(data):
            return None
        named = _tables.named_columns(data)
        if named is None:
            X = np.asarray(data)
            names = self.model["feature_names"]
            plain = names == [f"x{i}" for i in range(len(names))] and "encoding" not in self.model and not self.noise.get("known_column")
            if not plain or X.ndim != 2 or X.shape[1] < len(names) or X.dtype.kind not in "fiu":
                return None
            return X[:, self.columns].astype(np.float64), {}
        features = self._features(named)
        return None if features is None else (features, named)

    def _features(self, named: Mapping[str, Column]) -> Floats | None:
        out: list[Any] = []
        if len({len(v) if v.ndim == 1 else -1 for v in named.values()}) != 1:
            return None
        for c in self.coding:
            if c["name"] not in named:
                return None
            features = _encoded(c, named[c["name"]])
            if features is None:
                return None
            out += features
        return np.column_stack([out[f] for f in self.columns]).astype(np.float64)

    def row_noise(self, named: Mapping[str, Column]) -> tuple[bool, Floats | None]:
        """Return whether the noise of rows is known, and if it is not the same for all, what it is."""
        known, groups = self.noise.get("known_column"), None
        if known and known not in named or self.weights in named or (self.noise.get("groups") and self.noise["group_column"] not in named):
            return False, None
        if self.noise.get("groups"):
            labels = named[self.noise["group_column"]]
            groups = [str(label) for label in labels.tolist()]
            if labels.dtype.kind not in "OUiu" or not set(groups) <= set(self.noise["groups"]):
                return False, None
        if known and not (named[known].dtype.kind in "fiu" and np.all(np.isfinite(named[known])) and np.all(named[known] >= 0)):
            return False, None
        if not known and groups is None:
            return True, None
        return True, self.mixed.noise(groups, named[known] if known else None)

    def table(self, data: Any, options: Options) -> dict[str, Column] | None:
        """Return what gpfit predict returns, or None where gpfit is to predict."""
        for name, value in options.items():
            default = value is None or value is False
            if name not in _OPTIONS and not default and value not in _VALUES.get(name, ()):
                return None
        chosen = options.get("interval")
        levels: list[Any] = [0.95] if chosen is None else list(cast("list[Any]", chosen)) if isinstance(chosen, (list, tuple)) else [chosen]
        if not all(isinstance(p, (int, float)) and 0 < p < 1 for p in levels) or len(set(levels)) != len(levels):
            return None
        gradient, mean_only = bool(options.get("gradient")), bool(options.get("mean_only"))
        plain = options.get("posterior_draws") == 0 or not self.draws
        taken = None if gradient and (mean_only or not plain or self.plain.transform) else self.rows(data)
        fit = taken and self.row_noise(taken[1])
        if not (taken and fit and fit[0]) or plain and fit[1] is not None and self.draws:
            return None
        found = self.predict(taken[0], fit[1], mean_only, plain)
        slopes = self.plain.gradient(taken[0]) if gradient and found is not None else None
        if found is None or slopes is not None and not np.all(np.isfinite(slopes)):
            return None
        out: dict[str, Column] = {}
        for t in range(len(self.exports)):
            start = f"{self.names[t]}." if len(self.names) > 1 else ""
            if not isinstance(found, Prediction):
                out[start + "mean"] = found[:, t].copy()
                continue
            out |= {start + "mean": found.mean[:, t].copy(), start + "std": found.std[:, t].copy()}
            for p in levels:
                for side, at in (("lower", (1 - p) / 2), ("upper", (1 + p) / 2)):
                    out[f"{start}{side}{100 * p:.10g}"] = found.quantile(at)[:, t].copy()
            out[start + "std_latent"] = found.std_latent[:, t].copy()
            if slopes is not None:
                for f, name in enumerate(self.model["feature_names"]):
                    inside = f in self.columns
                    out[f"{start}gradient_{name}"] = slopes[:, self.columns.index(f), t].copy() if inside else np.zeros(len(slopes))
        return out


def _encoded(coding: Report, values: Column) -> list[Any] | None:
    """Return the features that a column of a data frame becomes, or None where gpfit is to read it."""
    kind = coding["kind"]
    if kind == "number" and values.dtype.kind in "fiu":
        return [values]
    if kind == "boolean" and values.dtype.kind == "b":
        return [values]
    if kind == "category" and values.dtype.kind in "OUiu":
        places = {label: k for k, label in enumerate(coding["categories"])}
        codes = np.array([places.get(str(v), -1) for v in values.tolist()], dtype=np.float64)
        if (codes < 0).any():
            return None
        return [codes] if coding.get("codes") else [codes == k for k in range(len(places))]
    if kind == "date" and values.dtype.kind == "M" and not np.isnat(values).any():
        try:
            passed = values.astype("datetime64[ns]") - np.datetime64(coding["origin"], "ns")
        except ValueError:
            return None
        whole, rest = np.divmod(passed.astype(np.int64), 1_000_000_000)
        return [(whole.astype(np.float64) + rest / 1e9) / _SECONDS[coding["unit"]]]
    return None


def near(data: bytes, export: Callable[[str | None], Report]) -> Near | None:
    """Return a model that predicts in this process, or None for one that does not."""
    with _building:
        try:
            return Near(data, export)
        except (GPFitError, zipfile.BadZipFile, OSError, EOFError, ValueError, LookupError, TypeError, ArithmeticError):
            return None
