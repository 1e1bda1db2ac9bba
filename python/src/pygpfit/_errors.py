"""The exceptions and the warnings of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

if TYPE_CHECKING:
    from .model import Model


class GPFitError(Exception):
    """A failure of gpfit. The text is gpfit's message.

    Attributes
    ----------
    code : int
        exit code of gpfit, as docs/commands.md lists them
    model : Model or None
        the model of a fit that failed after tuning, with an incomplete report
    """

    code: int = 1
    model: Model | None = None


class UsageError(GPFitError, ValueError):
    """A mistake in an option, a kernel or a batch spec."""

    code = 2


class JobsFailedError(GPFitError):
    """Some jobs of a batch failed; the results of the others are in its run directory."""

    code = 3


class DataError(GPFitError, ValueError):
    """Bad input data."""

    code = 10


class InUseError(GPFitError):
    """Another process uses the run directory."""

    code = 11


class DeviceError(GPFitError):
    """The device is missing, lost or too small, or there is too little memory."""

    code = 12


class InterruptedFitError(GPFitError):
    """A signal, or the end of a worker's main process, stopped gpfit before it had a result."""

    code = 130


class GPFitWarning(UserWarning):
    """A warning of gpfit about a result."""


class InterruptedFitWarning(GPFitWarning, ConvergenceWarning):
    """A signal stopped a fit: the model is the best so far."""


def error_of(code: int, message: str) -> GPFitError:
    """Return the exception for an exit code."""
    kinds: tuple[type[GPFitError], ...] = (UsageError, JobsFailedError, DataError, InUseError, DeviceError, InterruptedFitError)
    for kind in kinds:
        if kind.code == code:
            return kind(message)
    failure = GPFitError(message)
    failure.code = code
    return failure
