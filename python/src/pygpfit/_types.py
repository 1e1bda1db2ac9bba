"""Types that several modules name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
# A column of a table.
Column: TypeAlias = NDArray[Any]
PathLike: TypeAlias = str | os.PathLike[str]
# A path, a data frame, a dict of columns or an array.
Table: TypeAlias = PathLike | Mapping[str, ArrayLike] | ArrayLike | Any
# What gpfit reports, as docs/reference describes it.
Report: TypeAlias = dict[str, Any]
Options: TypeAlias = Mapping[str, Any]
# Gets the progress of a command: text, and done, total, seconds_left, value and best if they are known.
# What it returns does not matter; StopIteration stops the work with the best result so far.
Callback: TypeAlias = Callable[[dict[str, Any]], object]
