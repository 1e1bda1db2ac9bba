"""The exceptions and the warning of this package."""


class GPFitError(Exception):
    """A failure of gpfit. The text is gpfit's message.

    Attributes
    ----------
    code : int
        exit code of gpfit, as docs/commands.md lists them
    """

    code = 1


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
    """A signal stopped gpfit."""

    code = 130


class GPFitWarning(UserWarning):
    """A warning of gpfit about a result."""


def error_of(code, message):
    """Return the exception for an exit code."""
    kinds = (UsageError, JobsFailedError, DataError, InUseError, DeviceError, InterruptedFitError)
    for kind in kinds:
        if kind.code == code:
            return kind(message)
    failure = GPFitError(message)
    failure.code = code
    return failure
