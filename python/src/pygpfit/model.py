"""Models as values: fit a table, predict, and read what gpfit reports."""

import json
import os
import tempfile
import weakref
from pathlib import Path

from . import _tables
from ._process import flags, run


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
        """Write the model file, which the program gpfit reads, too."""
        Path(path).write_bytes(self.data)

    @property
    def path(self):
        """Path of a temporary file with the model. It lives as long as this object."""
        if self._file is None or self._file.owner != os.getpid():
            self._file = _File(self.data)
        return self._file.path

    @property
    def description(self):
        """What ``gpfit inspect`` says about the model: kernel, features, parameters, scores, options."""
        about = json.loads(run("inspect", self.path, "--json", names={self.path: "the model"}))
        del about["file"]  # it is temporary
        return about

    def export(self, **options):
        """Return the model in the form for other programs, as a dict (examples/EXPORT.md)."""
        return json.loads(run("export", self.path, *flags(options, "export")))

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
        with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
            text = bool(options.get("keep"))  # which an array of numbers cannot hold
            out = Path(folder) / ("result.csv" if text else "result.npy")
            inputs = [] if data is None else [_tables.place(data, folder)]
            names = {path: "data" for path in inputs} | {self.path: "the model"}
            summary = run(command, self.path, *inputs, "--quiet", "--json", f"--out={out}", *flags(options, command), names=names)
            if text:
                return _tables.read_csv(out)
            return _tables.read_npy(out, json.loads(summary)["columns"])


def _verdict(about):
    return ((about.get("fit") or {}).get("report") or {}).get("verdict")


class _File:
    """A temporary file that goes with its object."""

    def __init__(self, data):
        handle, self.path = tempfile.mkstemp(prefix="pygpfit-", suffix=".gpfit")
        self.owner = os.getpid()
        with open(handle, "wb") as out:
            out.write(data)
        weakref.finalize(self, _remove, self.path, self.owner)


def _remove(path, owner):
    if os.getpid() == owner:  # a forked process shares the file
        Path(path).unlink(missing_ok=True)


def fit(data, **options):
    """Fit a table, as ``gpfit fit`` does, and return the `Model`.

    Parameters
    ----------
    data : path, data frame, dict of columns or array
        the table; the last column is the target unless ``target`` names another
    options
        options of ``gpfit fit`` with underscores, such as ``kernel="rbf(ard)"``,
        ``max_evals=100`` or ``bounds={"lengthscale": (0.1, 10)}``
    """
    with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
        path = _tables.place(data, folder)
        return fit_file(path, folder, {path: "data"}, with_categories(options, data))


def with_categories(options, data):
    """Return the options with the categories that the types of a data frame name."""
    names = _tables.categories(data)
    if not names or options.get("categories"):
        return options
    return options | {"categories": names}


def fit_file(path, folder, names, options):
    """Fit the table in a file; folder is for temporary files."""
    out = Path(folder) / "model.gpfit"
    report = json.loads(run("fit", path, "--quiet", "--json", f"--out={out}", *flags(options, "fit"), names=names))
    report.pop("model_file", None)
    if Path(path).parent == Path(folder):  # the command names a file that is temporary
        (report.get("verdict", {}).get("next") or {}).pop("command", None)
    return Model(out.read_bytes(), report)


def load(path):
    """Read a model file."""
    model = Model(Path(path).read_bytes())
    run("inspect", model.path, names={model.path: str(path)})  # checks the file
    return model


def nlml(data, **options):
    """Evaluate the likelihood and its gradient, as ``gpfit nlml`` does, and return its report."""
    with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
        path = _tables.place(data, folder)
        options = with_categories(options, data)
        return json.loads(run("nlml", path, "--quiet", "--json", *flags(options, "nlml"), names={path: "data"}))
