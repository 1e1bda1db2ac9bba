"""Pictures of models, with matplotlib: ``pip install 'pygpfit[plots]'``.

Each function draws into ``ax``, or into the axes in hand, and returns the axes.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from . import _html
from ._errors import GPFitError, UsageError
from ._types import Column, Floats, Report
from .model import Model
from .regressor import GPFitRegressor

# Axes of matplotlib.
Axes = Any
Fitted = Model | GPFitRegressor

_DATA, _LINE, _BAND = "#555555", "#2a6fbb", "#2a6fbb"


def plot_fit(fitted: Fitted, column: str | int = 0, ax: Axes = None, *, interval: float = 0.95, points: int = 200) -> Axes:
    """Draw the prediction along one column, with an interval for new observations, and the training rows.

    Parameters
    ----------
    fitted : Model or GPFitRegressor
    column : name or index of a feature; the others are at their medians
    interval : probability of the interval
    points : number of points along the column
    """
    about, state = _about(fitted)
    features = _features(about)
    i = _index(column, features)
    X, y = _training(state)
    grid = np.tile(np.median(X, axis=0), (points, 1))
    low, high = X[:, i].min(), X[:, i].max()
    grid[:, i] = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), points)
    found = _model(fitted).predict(dict(zip(features, grid.T, strict=True)), interval=[interval])
    lower, upper = (found[name] for name in _interval_names(found))
    axes = _axes(ax)
    axes.fill_between(grid[:, i], lower, upper, color=_BAND, alpha=0.2, linewidth=0, label=f"{100 * interval:g} % interval")
    axes.plot(grid[:, i], found["mean"], color=_LINE, label="mean")
    axes.plot(X[:, i], y, ".", color=_DATA, markersize=4, label="training rows")
    axes.set_xlabel(features[i])
    axes.set_ylabel(about["target"])
    axes.legend()
    return axes


def plot_effects(fitted: Fitted, ax: Axes = None, *, points: int = 100) -> Axes:
    """Draw the mean along each column, the others at their medians: all on one axis, over the share of the column's range."""
    about, state = _about(fitted)
    features = _features(about)
    X, _ = _training(state)
    axes = _axes(ax)
    share = np.linspace(0, 1, points)
    for i, name in enumerate(features):
        grid = np.tile(np.median(X, axis=0), (points, 1))
        grid[:, i] = X[:, i].min() + share * np.ptp(X[:, i])
        mean = _model(fitted).predict(dict(zip(features, grid.T, strict=True)), mean_only=True)["mean"]
        axes.plot(share, mean, label=name)
    axes.set_xlabel("share of the column's range")
    axes.set_ylabel(about["target"])
    axes.legend()
    return axes


def plot_residuals(fitted: Fitted, ax: Axes = None) -> Axes:
    """Draw the standardized residuals of leave-one-out over their predictions, with the 95 % interval."""
    left_out = _model(fitted).loo()
    axes = _axes(ax)
    axes.axhspan(*(NormalDist().inv_cdf(p) for p in (0.025, 0.975)), color=_BAND, alpha=0.15, linewidth=0, label="95 % interval")
    axes.axhline(0, color=_LINE, linewidth=1)
    axes.plot(left_out["mean"], left_out["standardized"], ".", color=_DATA, markersize=4)
    axes.set_xlabel("prediction from the other rows")
    axes.set_ylabel("residual / standard deviation")
    axes.legend()
    return axes


def plot_calibration(fitted: Fitted, ax: Axes = None) -> Axes:
    """Draw the share of rows in leave-one-out intervals of each probability."""
    standardized: list[float] = _model(fitted).loo()["standardized"].tolist()
    held = _html.coverage(standardized)
    axes = _axes(ax)
    axes.plot([0, 1], [0, 1], "--", color=_DATA, linewidth=1, label="calibrated")
    axes.plot([p for p, _ in held], [share for _, share in held], color=_LINE, label=f"{len(standardized)} rows left out")
    axes.set_xlabel("probability of the interval")
    axes.set_ylabel("share of rows")
    axes.set_aspect("equal")
    axes.legend()
    return axes


def plot_parameters(fitted: Fitted, ax: Axes = None) -> Axes:
    """Draw the relevance of each column: how much the function varies along it, compared with the others."""
    about, _ = _about(fitted)
    relevance: Sequence[Report] = _html.report_of(about).get("relevance") or ()
    if not relevance:
        raise UsageError("the model has no relevance of its columns: its kernel has no lengthscale for each column, such as rbf(ard)")
    axes = _axes(ax)
    names = [one["column"] for one in relevance][::-1]
    axes.barh(names, [one["relevance"] for one in relevance][::-1], color=_LINE)
    axes.set_xlabel("relevance")
    return axes


def _axes(ax: Axes) -> Axes:
    if ax is not None:
        return ax
    try:
        return importlib.import_module("matplotlib.pyplot").gca()
    except ImportError as error:
        raise GPFitError("plots need matplotlib: pip install 'pygpfit[plots]'") from error


def _model(fitted: Fitted) -> Model:
    return fitted.model_ if isinstance(fitted, GPFitRegressor) else fitted


def _about(fitted: Fitted) -> tuple[Report, Report]:
    """Return what gpfit says of a model, and its state. Raise an error for several targets."""
    model = _model(fitted)
    about = model.inspect()
    if "targets" in about:
        raise UsageError(f"the model has several targets ({', '.join(t['name'] for t in about['targets'])}): plots show one; fit it alone")
    return about, model.export()


def _training(state: Report) -> tuple[Floats, Floats]:
    """Return the training rows of the model in original units."""
    return np.asarray(state["X"], dtype=np.float64), np.asarray(state["y"], dtype=np.float64)


def _features(about: Report) -> list[str]:
    """Return the names of the columns of the training rows. Raise an error if they come from texts or dates."""
    if about.get("encoding"):
        raise UsageError("the model has columns of texts, categories or dates: Model.report() draws these")
    used: list[str] = about["used"]
    return used


def _index(column: str | int, features: Sequence[str]) -> int:
    if isinstance(column, int):
        return range(len(features))[column]
    if column not in features:
        raise UsageError(f"the model has no column {column}: {', '.join(features)}")
    return features.index(column)


def _interval_names(found: dict[str, Column]) -> tuple[str, str]:
    lower = next(name for name in found if name.startswith("lower"))
    return lower, lower.replace("lower", "upper", 1)
