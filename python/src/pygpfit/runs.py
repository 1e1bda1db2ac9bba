"""Batches: many fits from one spec, and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _temporary
from ._keywords import completes
from ._options import BatchOptions, ReportOptions, ResumeOptions
from ._process import flags, run
from ._progress import Progress
from ._types import Callback, PathLike, Report
from .model import Model, load

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Run:
    """The run directory of a batch.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def show(self) -> list[Report]:
        """Return what ``gpfit show`` lists: jobs, rankings and comparisons, one dict each with its ``type``."""
        return [json.loads(line) for line in run("show", self.path, options=["--format=json"]).splitlines()]

    def results(self) -> list[Report]:
        """Return one dict per job, with its state, scores and parameters."""
        return self._lines("job")

    def rankings(self) -> list[Report]:
        """Return the kernels of each data set in the order of their scores, one dict each."""
        return self._lines("ranking")

    def comparisons(self) -> list[Report]:
        """Return the comparisons of kernels in pairs, one dict each."""
        return self._lines("comparison")

    def _lines(self, kind: str) -> list[Report]:
        return [line for line in self.show() if line["type"] == kind]

    def model(self, job: str | Report) -> Model:
        """Return the `Model` of a job, which is a dict of `results` or its name."""
        if isinstance(job, str):
            job = next((result for result in self.results() if result["job"] == job), {"job": job})
        if job.get("each"):  # gpfit keeps no models of the values of a column
            file = _temporary.File(b"", ".gpfit")
            run("show", self.path, options=[f"--model={job['job']}", f"--out={file.path}", "--force"])
            return load(file.path)
        if not job.get("model"):
            raise KeyError(f"{self.path}: the job {job['job']} has no model")
        return load(self.path / job["model"])

    def check(self) -> Report:
        """Check that the files of the run are whole, as ``gpfit check`` does. A fault is a `DataError`."""
        found: Report = json.loads(run("check", self.path, options=["--json"]))
        return found

    @completes("report")
    def report(self, out: PathLike | None = None, **options: Unpack[ReportOptions]) -> Path:
        """Write the HTML page of the run, in place of an earlier one, and return its path."""
        target = Path(out) if out else self.path / "report.html"
        run("report", self.path, options=flags({**options, "out": target, "force": True, "quiet": True}, "report"))
        return target

    @completes("resume")
    def resume(self, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[ResumeOptions]) -> Run:
        """Run what is missing, as ``gpfit resume`` does."""
        run("resume", self.path, options=flags({**options, "quiet": True}, "resume"), callback=callback, progress=progress)
        return self


@completes("batch")
def batch(
    spec: PathLike | Mapping[str, Any], out: PathLike | None = None, *, callback: Callback | None = None, progress: Progress = False,
    **options: Unpack[BatchOptions],
) -> Run:
    """Run a batch and return its `Run`.

    Parameters
    ----------
    spec : path or dict
        a YAML file, or what it would hold; paths in a dict refer to the current folder
    out : path or None
        the run directory; None takes gpfit's default, beside the spec, and for a dict
        ``batch.run`` in the current folder
    callback, progress
        as in `pygpfit.fit`: done and total count jobs
    options
        options of ``gpfit batch``, such as ``cores=2``

    Raises
    ------
    JobsFailedError
        if some jobs fail; ``Run(out)`` still has the results of the others
    """
    def start(path: PathLike, target: PathLike, names: Mapping[str, str]) -> Run:
        given = flags({**options, "out": target, "quiet": True}, "batch")
        run("batch", path, options=given, names=names, callback=callback, progress=progress)
        return Run(target)

    if isinstance(spec, (str, os.PathLike)):
        return start(spec, out or Path(spec).with_suffix(".run").name, {})
    with _temporary.beside(".") as path:
        path.write_text(json.dumps(spec), encoding="utf-8")  # JSON is YAML
        return start(path, out or "batch.run", {str(path): "the spec"})
