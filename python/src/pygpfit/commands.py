"""The commands of gpfit that need no model of this package: comparisons, profiles, kernels, devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _tables, _temporary
from ._keywords import completes
from ._options import (
    BenchOptions, CompareOptions, DevicesOptions, KernelCheckOptions, KernelShowOptions, PathOptions, ProfileOptions, SampleOptions, SelectOptions,
)
from ._process import call, flags, run
from ._progress import Progress
from ._types import Callback, Column, Floats, PathLike, Report, Table
from .model import Model, names_of, refuse_out, reported, with_categories

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Selection(NamedTuple):
    """The kernels that `select` compared, and the model of the best one."""

    report: Report
    model: Model


@completes("select")
def select(data: Table, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[SelectOptions]) -> Selection:
    """Fit several kernels and return their scores and the best model, as ``gpfit select`` does.

    ``kernels`` is a list of expressions; ``greedy=True`` grows one from them.
    """
    saved = options.get("out")
    with _temporary.folder() as folder:
        path = _tables.place(data, folder)
        out = Path(saved) if saved is not None else Path(folder) / "best.gpfit"
        given = flags({**with_categories(options, data), "out": out, "quiet": True, "json": True}, "select")
        text = run("select", path, options=given, names=names_of(path, data), callback=callback, progress=progress)
        return Selection(json.loads(text), Model(out.read_bytes()))


@completes("compare")
def compare(data: Table, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[CompareOptions]) -> Report:
    """Score simpler regressions beside Gaussian processes on the same rows, as ``gpfit compare`` does."""
    return reported("compare", data, options, callback, progress)


@completes("path")
def path(data: Table, **options: Unpack[PathOptions]) -> Report:
    """Return the weights of ridge regression or the lasso over a range of penalties, as ``gpfit path --json`` prints them.

    ``penalty="lasso"`` or ``"ridge"``, and ``lambdas`` are the penalties.
    """
    return reported("path", data, options)


@completes("profile")
def profile(data: Table, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[ProfileOptions]) -> Report:
    """Evaluate the objective around the optima of a fit, as ``gpfit profile`` does."""
    return reported("profile", data, options, callback, progress)


@completes("sample")
def sample(**options: Unpack[SampleOptions]) -> dict[str, Column]:
    """Draw functions from a prior: ``sample(prior="rbf", grid="0:10:101", draws=3)``.

    `Model.sample` draws from a model.
    """
    refuse_out("sample", options)
    with _temporary.folder() as folder:
        out = Path(folder) / "result.npy"
        summary = run("sample", options=flags({**options, "out": out, "quiet": True, "json": True}, "sample"))
        return _tables.read_npy(out, json.loads(summary)["columns"])


@completes("kernel check")
def kernel_check(
    kernel: str | None = None, data: Table | None = None, *, matrix: PathLike | Floats | None = None, **options: Unpack[KernelCheckOptions]
) -> Report:
    """Check on a sample of points whether a function, or a matrix, is a covariance function.

    The report is what ``gpfit kernel check --json`` prints: ``"ok"`` says whether it is one, and ``"verdict"`` why.
    """
    with _temporary.folder() as folder:
        if matrix is not None and not isinstance(matrix, (str, Path)):
            file = Path(folder) / "matrix.npy"
            np.save(file, np.asarray(matrix, dtype=np.float64))
            matrix = file
        rows = [] if data is None else [_tables.place(data, folder)]
        words = ([] if kernel is None else [kernel]) + rows
        given = flags({**options, "matrix": matrix, "json": True}, "kernel check")
        ended = call("kernel check", *words, options=given, names=names_of(rows[0], data) if rows else None)
        error = ended.error()
        if error is not None and not ended.stdout:
            raise error
        report: Report = json.loads(ended.stdout)
        return report


@completes("kernel show")
def kernel_show(kernel: str, **options: Unpack[KernelShowOptions]) -> Any:
    """Return the values of a covariance function along one column, as ``gpfit kernel show --json`` prints them."""
    return json.loads(run("kernel show", kernel, options=flags({**options, "json": True}, "kernel show")))


@completes("devices")
def devices(**options: Unpack[DevicesOptions]) -> Report:
    """Return the devices and the methods, which one gpfit would choose, and why."""
    report: Report = json.loads(run("devices", options=flags({**options, "json": True}, "devices")))
    return report


@completes("bench")
def bench(*, progress: Progress = False, **options: Unpack[BenchOptions]) -> list[Report]:
    """Measure the speed of the devices, as ``gpfit bench`` does, and return one dict per measurement."""
    text = run("bench", options=flags({**options, "json": True, "quiet": True}, "bench"), progress=progress)
    return [json.loads(line) for line in text.splitlines()]


def version() -> Report:
    """Return the version of the program, its commit, its platform and its build."""
    report: Report = json.loads(run("version", options=["--json"]))
    return report
