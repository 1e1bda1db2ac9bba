"""Exact Gaussian-process regression by gpfit, for scikit-learn and by itself.

`GPFitRegressor` is a scikit-learn estimator. `fit`, `load` and `nlml` work on tables and
model files, `run_batch` and `Run` on batches. All numbers come from the program gpfit,
which this package carries.
"""

from ._errors import (
    DataError,
    DeviceError,
    GPFitError,
    GPFitWarning,
    InterruptedFitError,
    InterruptedFitWarning,
    InUseError,
    JobsFailedError,
    UsageError,
)
from ._process import find_program
from .batch import Run, run_batch
from .model import Model, fit, load, nlml
from .regressor import GPFitRegressor

__all__ = [
    "DataError",
    "DeviceError",
    "GPFitError",
    "GPFitRegressor",
    "GPFitWarning",
    "InUseError",
    "InterruptedFitError",
    "InterruptedFitWarning",
    "JobsFailedError",
    "Model",
    "Run",
    "UsageError",
    "find_program",
    "fit",
    "load",
    "nlml",
    "run_batch",
]
