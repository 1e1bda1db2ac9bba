"""Batches: many fits from one spec, and their results."""

import json
import os
from pathlib import Path

from . import _temporary
from ._process import flags, run
from .model import load


class Run:
    """The run directory of a batch.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = Path(path)

    def __repr__(self):
        return f"Run({str(self.path)!r})"

    def results(self):
        """Return one dict per job, with its state, scores and parameters."""
        return [line for line in self._lines() if line["type"] == "job"]

    def rankings(self):
        """Return the kernels of each data set in the order of their scores, one dict each."""
        return [line for line in self._lines() if line["type"] == "ranking"]

    def comparisons(self):
        """Return the comparisons of kernels in pairs, one dict each."""
        return [line for line in self._lines() if line["type"] == "comparison"]

    def _lines(self):
        return [json.loads(line) for line in run("show", self.path, options=["--format=json"]).splitlines()]

    def model(self, job):
        """Return the `Model` of a job, which is a dict of `results` or its name."""
        if not isinstance(job, dict):
            job = next((result for result in self.results() if result["job"] == job), {"job": job})
        if not job.get("model"):
            raise KeyError(f"{self.path}: the job {job['job']} has no model")
        return load(self.path / job["model"])

    def report(self, out=None):
        """Write the HTML page of the run, in place of an earlier one, and return its path."""
        out = Path(out) if out else self.path / "report.html"
        run("report", self.path, options=[f"--out={out}", "--force"])
        return out

    def resume(self, **options):
        """Run what is missing, as ``gpfit resume`` does."""
        run("resume", self.path, options=flags(options | {"quiet": True}, "resume"))
        return self


def run_batch(spec, out=None, **options):
    """Run a batch and return its `Run`.

    Parameters
    ----------
    spec : path or dict
        a YAML file, or what it would hold; paths in a dict refer to the current folder
    out : path or None
        the run directory; None takes gpfit's default, beside the spec, and for a dict
        ``batch.run`` in the current folder
    options
        options of ``gpfit batch``, such as ``jobs=2``

    Raises
    ------
    JobsFailedError
        if some jobs fail; ``Run(out)`` still has the results of the others
    """
    if isinstance(spec, (str, os.PathLike)):
        return _start(spec, out or Path(spec).with_suffix(".run").name, options, {})
    with _temporary.beside(".") as path:
        path.write_text(json.dumps(spec), encoding="utf-8")  # JSON is YAML
        return _start(path, out or "batch.run", options, {path: "the spec"})


def _start(spec, out, options, names):
    run("batch", spec, options=[f"--out={out}", *flags(options, "batch")], names=names)
    return Run(out)
