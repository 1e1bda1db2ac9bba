"""Exact Gaussian-process regression by gpfit, for scikit-learn and by itself.

`GPFitRegressor` is a scikit-learn estimator. `fit`, `load` and `nlml` work on tables and
model files, `compare`, `select` and `profile` compare kernels and methods, `batch` and `Run` work on
batches, and `plots` draws models. All numbers come from the program gpfit, which this package carries.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version as _version_of

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
from .commands import Selection, bench, compare, devices, kernel_check, kernel_show, path, profile, sample, select, version
from .kernels import from_sklearn
from .model import Model, fit, load, nlml
from .regressor import GPFitRegressor
from .runs import Run, batch

try:
    __version__ = _version_of("pygpfit")
except PackageNotFoundError:  # not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> object:
    """Import the modules plots and mlflow, which need other packages, where they are first used."""
    if name in ("plots", "mlflow"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    "Selection",
    "UsageError",
    "__version__",
    "batch",
    "bench",
    "compare",
    "devices",
    "find_program",
    "fit",
    "from_sklearn",
    "kernel_check",
    "kernel_show",
    "load",
    "nlml",
    "path",
    "profile",
    "sample",
    "select",
    "version",
]
