"""Rows, weights and names of the estimator."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight  # pyright: ignore[reportPrivateUsage]

from . import _words
from ._errors import UsageError
from ._parameters import FitParameters
from ._types import Column, Floats

Rows = dict[str, Column] | Floats


def hinted(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor whose error for an unknown parameter names the one that was meant."""

    @wraps(init)
    def construct(*args: Any, **given: Any) -> None:
        check_names(given)
        init(*args, **given)

    return construct


def check_names(given: Iterable[str]) -> None:
    known = signature(FitParameters).parameters
    for name in given:
        if name not in known and "__" not in name:
            raise TypeError(f"GPFitRegressor has no parameter {name}{_words.option(name, known)}")


# Weights that scikit-learn lets through, also if all are 0: the program says what is wrong with them.
ANY_WEIGHTS: dict[str, Any] = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in signature(_check_sample_weight).parameters else {}


@contextmanager
def naming_missing() -> Generator[None]:
    """Name the option missing in scikit-learn's error for NaN in X, in place of other estimators."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("Input X contains NaN"):
            raise
        raise ValueError("Input X contains NaN: GPFitRegressor(missing='drop') leaves such rows out, and predicts NaN there") from None


def counts(weights: Any, targets: Floats) -> Any:
    """Return the number of each row as often as its weight says."""
    counts: Floats = _check_sample_weight(weights, targets, dtype=np.float64, **ANY_WEIGHTS)
    wrong = np.flatnonzero((counts < 0) | (counts != np.round(counts)))
    if len(wrong):
        raise UsageError(
            f"sample_weight: the weight of row {wrong[0]} is {counts[wrong[0]]:g}, and must be a whole number: how often the row was observed. "
            "precision=… divides the noise variance of rows by any number"
        )
    if not counts.any():
        raise UsageError("sample_weight: all weights are zero, so that no rows are left")
    return np.repeat(np.arange(len(counts)), counts.astype(int))


def repeated(X: Rows, rows: Any) -> Rows:
    """Return rows of X by their numbers."""
    return {name: values[rows] for name, values in X.items()} if isinstance(X, dict) else X[rows]


def last_axis(parts: Sequence[Floats], several: bool) -> Floats:
    """Return the results of several targets as one array, or the result of the only one."""
    return np.stack(parts, axis=-1) if several else parts[0]


def without(missing: Column, X: Rows) -> Rows:
    """Return the rows that are not missing."""
    return repeated(X, ~missing)


def with_gaps(missing: Column, result: Floats, of_rows: bool) -> Floats:
    """Return a prediction of the rows without gaps as one of all rows, with NaN in gaps: the first axis has rows, or the first two."""
    n, rows = len(missing), np.flatnonzero(~missing)
    axes = 1 if of_rows else 2
    full = np.full((n,) * axes + result.shape[axes:], np.nan)
    full[np.ix_(*[rows] * axes)] = result
    return full


def names_in(option: Any) -> set[str]:
    """Return the names of parameters in an option: a dict by name, NAME=VALUE, or several of these."""
    return {str(one).split("=", 1)[0] for one in ([option] if isinstance(option, str) else option or ())}


def free(name: str, taken: Any) -> str:
    while name in taken:
        name += "_"
    return name


def seed_of(random_state: Any) -> int | None:
    """Return a seed of gpfit, which takes whole numbers, for a random state; None for None."""
    if random_state is None:
        return None
    if isinstance(random_state, int) or hasattr(random_state, "__index__"):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))
