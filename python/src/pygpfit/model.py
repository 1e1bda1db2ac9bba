"""Models as values: fit a table, predict, and read what gpfit reports."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any



from . import _html, _tables, _temporary
from ._near import Near, near as near_of
from ._errors import GPFitError, InterruptedFitError, InterruptedFitWarning, UsageError
from ._keywords import completes
from ._options import (
    ExportOptions, FitOptions, LooOptions, NlmlOptions, PredictOptions, ReportOptions, SampleOptions, UpdateOptions, WeightsOptions,
)
from ._process import Ended, call, caller, flags, run
from ._progress import Progress
from ._types import Callback, Column, Options, PathLike, Report, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack


# The result of a table of so many bytes is text on standard output: a file takes longer.
_FEW = 4096


class Model:
    """A fitted model.

    It holds the bytes of a model file, so that it can be pickled, and writes them to a
    temporary file when gpfit first needs one.

    Attributes
    ----------
    data : bytes
        the model file
    summary : dict or None
        what ``gpfit fit --json`` reported, if this process fitted the model
    """

    def __init__(self, data: bytes, summary: Report | None = None) -> None:
        self.data, self.summary = data, summary
        self._file: _temporary.File | None = None
        # What predicts in this process: not known yet, or None if gpfit predicts.
        self._near: Near | None | bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "summary": self.summary}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["data"], state["summary"])  # type: ignore[misc]

    def __repr__(self) -> str:
        about = self.inspect()
        if about["type"] != "model":
            return f"<Model {about['method']} of gpfit compare>"
        headline = (verdict_of(about) or {}).get("headline", "without a report of its fit")
        return f"<Model {about['kernel']} on {about['n']} rows of {', '.join(about['features'])}; {headline}>"

    def _repr_html_(self) -> str:
        about = self.inspect()
        if about["type"] != "model":
            return _html.text(repr(self))
        # Leave-one-out takes n³ operations and has one result for each target.
        small = about["n"] <= 2000 and "target" in about and not about.get("experts")
        return _html.model(about, self.loo(device="cpu")["standardized"].tolist() if small else ())

    @property
    def verdict(self) -> Report | None:
        """How good the model is: its level, the headline with the scores, warnings and what to do next; or None."""
        return (self.summary or {}).get("verdict") or verdict_of(self.inspect())

    def save(self, path: PathLike) -> None:
        """Write the model file, which the program gpfit reads, too, in place of an earlier file."""
        _temporary.replace(path, self.data)

    @property
    def path(self) -> str:
        """Path of a temporary file with the model. It lives as long as this object."""
        if self._file is None or not self._file.usable():
            self._file = _temporary.File(self.data, ".gpfit")
        return self._file.path

    def inspect(self) -> Report:
        """Return what ``gpfit inspect`` says about the model: kernel, features, parameters, scores, options."""
        about: Report = json.loads(run("inspect", self.path, options=["--json"], names={self.path: "the model"}))
        del about["file"]  # it is temporary
        return about

    def check(self) -> Report:
        """Compare the model with itself, as ``gpfit check`` does. A fault is a `DataError`."""
        found: Report = json.loads(run("check", self.path, options=["--json"], names={self.path: "the model"}))
        return found

    @completes("export")
    def export(self, **options: Unpack[ExportOptions]) -> Report:
        """Return the model in the form for other programs, as a dict (examples/EXPORT.md)."""
        refuse_out("export", options)
        exported: Report = json.loads(run("export", self.path, options=flags(options, "export")))
        return exported

    @completes("predict")
    def predict(self, data: Table, **options: Unpack[PredictOptions]) -> dict[str, Column]:
        """Predict every row of a table.

        Parameters
        ----------
        data : path, data frame, dict of columns or array
            rows with the features of the model
        options
            options of ``gpfit predict``, such as ``interval=0.9``, ``terms=True`` or
            ``gradient=True``

        Returns
        -------
        dict of str to array
            mean, std, lower95, upper95, std_latent and what the options add; with
            ``mean_only=True``, mean alone, at a fraction of the cost; with
            ``missing="blank"``, NaN in rows with gaps; with ``keep="id"``, that column of the
            table, too, as text
        """
        refuse_out("predict", options)
        near = self.near()
        found = None if near is None else near.table(data, options)
        return self._table("predict", data, options) if found is None else found

    def near(self) -> Near | None:
        """Return what predicts in this process, by NumPy; None for a model with which gpfit predicts."""
        if isinstance(self._near, bool):
            self._near = None if os.environ.get("GPFIT_DEVICE") else near_of(self.data, self._exported)
        return self._near

    def _exported(self, target: str | None) -> Report:
        report: Report = json.loads(run("export", self.path, options=flags({"target": target}, "export")))
        return report

    @completes("sample")
    def sample(self, data: Table, **options: Unpack[SampleOptions]) -> dict[str, Column]:
        """Draw jointly at the rows of a table; the options are those of ``gpfit sample``.

        The result has the features and draw0, draw1, … by name.
        """
        return self._table("sample", data, options)

    @completes("loo")
    def loo(self, **options: Unpack[LooOptions]) -> dict[str, Column]:
        """Predict each training row from the others; the columns of ``gpfit loo``."""
        return self._table("loo", None, options)

    @completes("weights")
    def weights(self, **options: Unpack[WeightsOptions]) -> Any:
        """Return the weights of terms such as linear and poly, as ``gpfit weights --json`` prints them."""
        refuse_out("weights", options)
        return json.loads(run("weights", self.path, options=[*flags(options, "weights"), "--json"], names={self.path: "the model"}))

    @completes("update")
    def update(self, data: Table, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[UpdateOptions]) -> Model:
        """Return the model with the rows of a table added to its training rows.

        With ``retune=True``, the parameters are tuned again. Its ``summary`` has the report.
        """
        return _made("update", [self.path], data, options, {self.path: "the model"}, callback, progress)

    @completes("report")
    def report(self, out: PathLike | None = None, data: Table | None = None, **options: Unpack[ReportOptions]) -> Path:
        """Write the HTML page about the model, in place of an earlier one, and return its path.

        data holds rows to predict on the page. out is ``model.html`` in the current folder if it is None.
        """
        target = Path(out or "model.html")
        with _temporary.folder() as folder:
            rows = [] if data is None else [_tables.place(data, folder)]
            given = flags({**options, "out": target, "force": True, "quiet": True}, "report")
            run("report", self.path, *rows, options=given, names={self.path: "the model"} | (names_of(rows[0], data) if rows else {}))
        return target

    def _table(self, command: str, data: Table | None, given: Mapping[str, Any]) -> dict[str, Column]:
        refuse_out(command, given)
        with _temporary.folder() as folder:
            inputs, names = list[PathLike](), {self.path: "the model"}
            if data is not None:
                inputs = [_tables.place(data, folder)]
                names |= names_of(inputs[0], data)
            kept = given.get("keep") or ()  # text, which an array of numbers cannot hold
            few = command == "predict" and inputs[0] is not data and os.path.getsize(inputs[0]) <= _FEW and not given.get("draws")
            out = Path(folder) / ("result.csv" if kept else "result.npy")
            options = {**given, "out": None if few else out, "format": None, "quiet": True, "json": not few}
            result = run(command, self.path, *inputs, options=flags(options, command), names=names)
            if not few and not kept:
                return _tables.read_npy(out, json.loads(result)["columns"])
            with io.StringIO(result, newline="") if few else open(out, newline="", encoding="utf-8") as file:
                return _tables.read_csv(file, kept.split(",") if isinstance(kept, str) else list(map(str, kept)))


def names_of(path: PathLike, data: Table) -> dict[str, str]:
    """Return what to call the file of a table in messages: a file of the user has its own name."""
    return {} if path is data and not _temporary.holds(path) else {str(path): "data"}


def refuse_out(command: str, options: Mapping[str, Any]) -> None:
    """Raise an error if options name a file for a result that the caller gets."""
    if options.get("out") is not None:
        raise UsageError(f"out: {command} returns its result and writes no file; save what it returns")


def verdict_of(about: Report) -> Report | None:
    """Return the verdict in what ``gpfit inspect`` says, or None."""
    return _html.report_of(about).get("verdict")


@completes("fit")
def fit(data: Table, *, callback: Callback | None = None, progress: Progress = False, **options: Unpack[FitOptions]) -> Model:
    """Fit a table, as ``gpfit fit`` does, and return the `Model`.

    Parameters
    ----------
    data : path, data frame, dict of columns or array
        the table; the last column is the target unless ``target`` names another
    callback : function or None
        gets the progress up to 20 times a second: a dict with ``text``, and with ``done``, ``total``,
        ``seconds_left``, ``value`` and ``best`` as far as they are known. StopIteration from it ends the
        fit with the best model so far
    progress : bool or function
        True shows a progress bar of tqdm, or a line of text without tqdm. A function makes another bar,
        such as ``tqdm.notebook.tqdm``
    options
        options of ``gpfit fit`` with underscores, such as ``kernel="rbf(ard)"``,
        ``max_evals=100`` or ``bounds={"lengthscale": (0.1, 10)}``. ``out`` also saves the model
        in a file, which must not exist unless ``force=True``. ``from_`` is a model to start from

    Ctrl-C and signals to gpfit itself end the fit with the best model so far, if there is one, and an
    `InterruptedFitWarning`.
    """
    given = dict(options)
    start = given.get("from_")
    if isinstance(start, Model):
        given["from_"] = start.path
    with _temporary.folder(large=bool(given.get("save_factor"))) as folder:
        path = _tables.place(data, folder)
        return fit_file(path, folder, names_of(path, data), with_categories(given, data), callback, progress)


def with_categories(options: Options, data: Table) -> dict[str, Any]:
    """Return the options with the categories that the types of a data frame name."""
    names = _tables.categories(data)
    if not names or options.get("categories"):
        return dict(options)
    return {**options, "categories": names}


def fit_file(
    path: PathLike, folder: PathLike, names: Mapping[str, str], options: Options, callback: Callback | None = None, progress: Progress = False,
) -> Model:
    """Fit the table in a file; folder is for temporary files."""
    return _finished("fit", [path], folder, names, options, callback, progress)


def _made(
    command: str, files: list[PathLike], data: Table, options: Options, names: Mapping[str, str], callback: Callback | None, progress: Progress,
) -> Model:
    """Run a command that makes a model from a table."""
    with _temporary.folder(large=bool(options.get("save_factor"))) as folder:
        path = _tables.place(data, folder)
        return _finished(command, [*files, path], folder, {**names, **names_of(path, data)}, options, callback, progress)


def _finished(
    command: str, files: list[PathLike], folder: PathLike, names: Mapping[str, str], options: Options, callback: Callback | None, progress: Progress,
) -> Model:
    saved = options.get("out")
    out = Path(folder) / "model.gpfit" if saved is None else Path(saved)
    if saved is None:
        names = {**names, str(out): "the attribute model of this exception"}
    given = flags({**options, "out": out, "quiet": True, "json": True}, command)
    ended = call(command, *files, options=given, names=names, callback=callback, progress=progress)
    report = _read_report(ended.stdout)
    if report is not None and saved is None:
        report.pop("model_file", None)
        if Path(files[-1]).parent == Path(folder):  # the command names a file that is temporary
            _forget_command(report)
    model = None
    if out.exists() and (saved is None or report is not None and "model_file" in report):
        model = Model(out.read_bytes(), report)
    return _result(ended, model, options)


def _forget_command(report: Report) -> None:
    verdict: Report = report.get("verdict") or {}
    advice: Report = verdict.get("next") or {}
    advice.pop("command", None)


def _read_report(text: str) -> Report | None:
    """Return the report of a fit; None if it was killed before."""
    try:
        report: Report = json.loads(text)
    except ValueError:
        return None
    return report


def _result(ended: Ended, model: Model | None, options: Options) -> Model:
    """Return the model of a fit, or raise what ended the fit, with the model as its attribute."""
    error = ended.error()
    if error is None and model is not None:
        ended.warn()
        return model
    complete = model is not None and model.summary is not None
    stopped = isinstance(error, (InterruptedFitError, StopIteration)) or isinstance(error, KeyboardInterrupt) and not _searching()
    if model is not None and complete and error is not None and stopped:
        ended.warn()
        warnings.warn(_how_interrupted(error, options), InterruptedFitWarning, stacklevel=caller())
        return model
    if error is None:
        error = GPFitError("gpfit wrote no model")
    if isinstance(error, GPFitError):
        error.model = model
    elif model is not None:
        setattr(error, "model", model)  # noqa: B010  # an exception of Python's own
    raise error


def _searching() -> bool:
    """Say whether a search or a cross-validation of scikit-learn, or joblib, made this fit: Ctrl-C means all of it."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(("sklearn.model_selection.", "joblib.")):
            return True
        frame = frame.f_back
    return False


def _how_interrupted(error: BaseException, options: Options) -> str:
    what = "Ctrl-C" if isinstance(error, KeyboardInterrupt) else "the callback" if isinstance(error, StopIteration) else "a signal"
    text = f"{what} interrupted the fit: the model is the best so far"
    if options.get("checkpoint"):
        text += f"; the same fit continues from the checkpoint {options['checkpoint']}"
    return text


def load(path: PathLike) -> Model:
    """Read a model file."""
    model = Model(Path(path).read_bytes())
    run("inspect", model.path, names={model.path: str(path)})  # checks the file
    return model


@completes("nlml")
def nlml(data: Table, **options: Unpack[NlmlOptions]) -> Report:
    """Evaluate the likelihood and its gradient, as ``gpfit nlml`` does, and return its report."""
    return reported("nlml", data, options)


def reported(command: str, data: Table, options: Options, callback: Callback | None = None, progress: Progress = False) -> Report:
    """Run a command on a table and return its report."""
    with _temporary.folder() as folder:
        path = _tables.place(data, folder)
        given = {**with_categories(options, data), "quiet": True, "json": True}
        text = run(command, path, options=flags(given, command), names=names_of(path, data), callback=callback, progress=progress)
        report: Report = json.loads(text)
        return report
