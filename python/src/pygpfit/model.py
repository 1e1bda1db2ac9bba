"""Models as values: fit a table, predict, and read what gpfit reports."""

import json
import warnings
from pathlib import Path

from . import _tables, _temporary
from ._errors import GPFitError, InterruptedFitError, InterruptedFitWarning, UsageError
from ._process import call, caller, flags, run


class Model:
    """A fitted model.

    It holds the bytes of a model file, so that it can be pickled, and writes them to a
    temporary file when gpfit first needs one.

    Attributes
    ----------
    data : bytes
        the model file
    report : dict or None
        what ``gpfit fit --json`` reported, if this process fitted the model
    """

    def __init__(self, data, report=None):
        self.data, self.report = data, report
        self._file = None

    def __getstate__(self):
        return {"data": self.data, "report": self.report}

    def __setstate__(self, state):
        self.__init__(**state)

    def __repr__(self):
        about = self.description
        headline = (_verdict(about) or {}).get("headline", "without a report of its fit")
        return f"<Model {about['kernel']} on {about['n']} rows of {', '.join(about['features'])}; {headline}>"

    @property
    def verdict(self):
        """How good the model is: its level, the headline with the scores, warnings and what to do next; or None."""
        return (self.report or {}).get("verdict") or _verdict(self.description)

    def save(self, path):
        """Write the model file, which the program gpfit reads, too, in place of an earlier file."""
        _temporary.replace(path, self.data)

    @property
    def path(self):
        """Path of a temporary file with the model. It lives as long as this object."""
        if self._file is None or not self._file.usable():
            self._file = _temporary.File(self.data, ".gpfit")
        return self._file.path

    @property
    def description(self):
        """What ``gpfit inspect`` says about the model: kernel, features, parameters, scores, options."""
        about = json.loads(run("inspect", self.path, options=["--json"], names={self.path: "the model"}))
        del about["file"]  # it is temporary
        return about

    def export(self, **options):
        """Return the model in the form for other programs, as a dict (examples/EXPORT.md)."""
        _refuse_out("export", options)
        return json.loads(run("export", self.path, options=flags(options, "export")))

    def predict(self, data, **options):
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
        return self._table("predict", data, options)

    def sample(self, data, **options):
        """Draw jointly at the rows of a table; the options are those of ``gpfit sample``.

        The result has the features and draw0, draw1, … by name.
        """
        return self._table("sample", data, options)

    def loo(self, **options):
        """Predict each training row from the others; the columns of ``gpfit loo``."""
        return self._table("loo", None, options)

    def _table(self, command, data, options):
        _refuse_out(command, options)
        with _temporary.folder() as folder:
            text = bool(options.get("keep"))  # which an array of numbers cannot hold
            out = Path(folder) / ("result.csv" if text else "result.npy")
            inputs, names = [], {self.path: "the model"}
            if data is not None:
                inputs = [_tables.place(data, folder)]
                names |= _names(inputs[0], data)
            options = options | {"out": out, "quiet": True, "json": True}
            summary = run(command, self.path, *inputs, options=flags(options, command), names=names)
            if text:
                return _tables.read_csv(out)
            return _tables.read_npy(out, json.loads(summary)["columns"])


def _names(path, data):
    """Return what to call the file of a table in messages: a file of the user has its own name."""
    return {} if path is data else {path: "data"}


def _refuse_out(command, options):
    if options.get("out") is not None:
        raise UsageError(f"out: {command} returns its result and writes no file; save what it returns")


def _verdict(about):
    return ((about.get("fit") or {}).get("report") or {}).get("verdict")


def fit(data, **options):
    """Fit a table, as ``gpfit fit`` does, and return the `Model`.

    Parameters
    ----------
    data : path, data frame, dict of columns or array
        the table; the last column is the target unless ``target`` names another
    options
        options of ``gpfit fit`` with underscores, such as ``kernel="rbf(ard)"``,
        ``max_evals=100`` or ``bounds={"lengthscale": (0.1, 10)}``. ``out`` also saves the model
        in a file, which must not exist unless ``force=True``

    A KeyboardInterrupt stops the fit and goes on to the caller; its attribute ``model`` is the
    best model so far, if there is one. After a signal to gpfit itself, the best model so far is
    the result, with an `InterruptedFitWarning`.
    """
    with _temporary.folder() as folder:
        path = _tables.place(data, folder)
        return fit_file(path, folder, _names(path, data), with_categories(options, data))


def with_categories(options, data):
    """Return the options with the categories that the types of a data frame name."""
    names = _tables.categories(data)
    if not names or options.get("categories"):
        return options
    return options | {"categories": names}


def fit_file(path, folder, names, options):
    """Fit the table in a file; folder is for temporary files."""
    saved = options.get("out")
    out = Path(folder) / "model.gpfit" if saved is None else Path(saved)
    if saved is None:
        names = names | {out: "the attribute model of this exception"}
    ended = call("fit", path, options=flags(options | {"out": out, "quiet": True, "json": True}, "fit"), names=names)
    report = _report(ended.stdout)
    if report is not None and saved is None:
        report.pop("model_file", None)
        if Path(path).parent == Path(folder):  # the command names a file that is temporary
            (report.get("verdict", {}).get("next") or {}).pop("command", None)
    model = None
    if out.exists() and (saved is None or report is not None and "model_file" in report):
        model = Model(out.read_bytes(), report)
    return _result(ended, model, options)


def _report(text):
    """Return the report of a fit; None if it was killed before."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _result(ended, model, options):
    """Return the model of a fit, or raise what ended the fit, with the model as its attribute."""
    error = ended.error()
    if error is None:
        ended.warn()
        return model
    if isinstance(error, InterruptedFitError) and model is not None and model.report is not None:
        ended.warn()
        text = "a signal interrupted the fit: the model is the best so far"
        if options.get("checkpoint"):
            text += f"; the same fit continues from the checkpoint {options['checkpoint']}"
        warnings.warn(text, InterruptedFitWarning, stacklevel=caller())
        return model
    if isinstance(error, GPFitError) or model is not None:
        error.model = model
    raise error


def load(path):
    """Read a model file."""
    model = Model(Path(path).read_bytes())
    run("inspect", model.path, names={model.path: str(path)})  # checks the file
    return model


def nlml(data, **options):
    """Evaluate the likelihood and its gradient, as ``gpfit nlml`` does, and return its report."""
    with _temporary.folder() as folder:
        path = _tables.place(data, folder)
        options = with_categories(options, data) | {"quiet": True, "json": True}
        return json.loads(run("nlml", path, options=flags(options, "nlml"), names=_names(path, data)))
