"""The scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data  # pyright: ignore[reportPrivateUsage]

from . import _tables, _temporary
from ._errors import UsageError
from ._exported import Prediction
from ._options import OPTIONS
from ._parameters import FitParameters
from ._progress import Progress
from ._rows import (
    ANY_WEIGHTS, Rows, check_names, counts as counts_of, free, hinted, last_axis, names_in, naming_missing, repeated, seed_of, with_gaps, without,
)
from ._types import Callback, Column, Floats, Report
from .kernels import from_sklearn
from .model import Model, fit_file, nlml, with_categories

_WHERE = ("device", "fallback", "threads")
# What predict returns for one target: the mean, or the mean with std or cov or both.
Result = Floats | tuple[Floats, ...]


class GPFitRegressor(RegressorMixin, FitParameters):
    """Exact Gaussian-process regression, tuned and evaluated by gpfit.

    The parameters are the options of ``gpfit fit``; `FitParameters` and docs/options.md
    describe them. ``kernel`` is an expression, such as ``"rbf(ard) + matern32"``, or a kernel
    of ``sklearn.gaussian_process.kernels``. By default
    inputs and target are scaled to mean 0 and standard deviation 1 while gpfit tunes. A kernel of
    scikit-learn has scikit-learn's meaning instead: its start values, bounds and noise, data as they
    are, and mean 0, except for parameters of this estimator that are given.

    Options that name columns (``noise_column``, ``noise_group``, ``features``) refer to
    columns of X: by name if X is a data frame, else by index.

    Attributes
    ----------
    model_ : Model
        the fitted model; ``model_.save("model.gpfit")`` writes it for the program
    kernel_ : str
        the kernel as an expression that the options have completed
    parameters_ : dict of str to float
        the tuned parameters of the scaled problem, by name
    parameters_original_units_ : dict of str to float
        the same in units of X and y
    log_marginal_likelihood_value_ : float
        of the scaled targets, as scikit-learn's with ``normalize_y=True``
    report_ : dict
        everything that ``gpfit fit --json`` reports
    n_features_in_ : int
    feature_names_in_ : array of str
        if X had names
    X_train_, y_train_ : the rows of fit, each as often as its weight says
    relevance_ : dict of str to float
        how much the mean varies with each column, as a share of all columns; empty if the fit did not say
    n_iter_ : int
        number of iterations of the descent that found the optimum
    interrupted_ : bool
        whether the fit was interrupted: the model is then the best so far

    Examples
    --------
    >>> import numpy as np
    >>> from pygpfit import GPFitRegressor
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = GPFitRegressor("matern52", fix={"noise_variance": 1e-4}).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.01)
    True
    """

    model_: Model
    report_: Report
    kernel_: str
    parameters_: dict[str, float]
    parameters_original_units_: dict[str, float]
    log_marginal_likelihood_value_: float
    relevance_: dict[str, float]
    n_features_in_: int
    n_iter_: int
    interrupted_: bool

    if not TYPE_CHECKING:  # to checkers of types, the constructor is the one of the parameters
        __init__ = hinted(FitParameters.__init__)

    def set_params(self, **params: Any) -> GPFitRegressor:
        """Set parameters, as scikit-learn does."""
        try:
            check_names(params)
        except TypeError as error:
            raise ValueError(f"Invalid parameter: {error}") from None
        super().set_params(**params)
        return self

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, precision: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None, callback: Callback | None = None, progress: Progress = False,
    ) -> GPFitRegressor:
        """Tune the parameters on rows X with the targets y.

        Parameters
        ----------
        X, y : the rows and their targets. Several columns of y are several targets, which share kernel and
            noise
        sample_weight : how often each row was observed, a whole number: a weight of 2 is the row
            twice, and rows of weight 0 are left out
        precision : known precisions of the rows: the noise variance of a row is the estimated one
            divided by its precision, as for the mean of that many observations. Rows of precision 0
            are left out, with a warning
        noise_variance : known noise variances of the rows, in squared units of y, or one for
            all; gpfit adds the estimated variance unless ``noise="none"``. It excludes precision
        callback, progress : as in `pygpfit.fit`

        X may be a data frame with columns of text, categories, booleans and dates, which
        gpfit encodes as the command line does: ``report_["encoding"]`` says how. Rows to
        predict then come in data frames with the same columns.

        Ctrl-C, StopIteration from callback, and signals to gpfit end the fit: the estimator has the best
        model so far, ``interrupted_`` is True, and there is an `InterruptedFitWarning`. Within a search or
        a cross-validation of scikit-learn, KeyboardInterrupt goes on instead, so that the whole search ends.
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, sample_weight, {"precision": precision, "noise_variance": noise_variance}, callback, progress)
        except BaseException as stop:
            if getattr(stop, "model", None) is None:  # the earlier fit stays
                vars(self).clear()
                vars(self).update(before)
            raise

    def _fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, of_rows: Mapping[str, ArrayLike | None], callback: Callback | None, progress: Progress,
    ) -> GPFitRegressor:
        self._mixed = _tables.mixed(X) is not None
        columns, targets = self._check_training(X, y)
        options = self._options(X, columns)
        counts = None if sample_weight is None else counts_of(_tables.unmasked(sample_weight), targets)
        taken = columns if isinstance(columns, dict) else getattr(self, "feature_names_in_", ("X", "y"))
        with _temporary.folder(large=bool(self.save_factor)) as folder:
            more: dict[str, Column] = {}
            for option, name in (("weight_column", "precision"), ("noise_column", "noise_variance")):
                values = of_rows[name]
                if values is not None:
                    options[option] = name = free(name, taken)
                    more[name] = _check_sample_weight(_tables.unmasked(values), targets, dtype=np.float64, **ANY_WEIGHTS)
            if counts is not None:
                columns = repeated(columns, counts)
                targets, more = targets[counts], {name: values[counts] for name, values in more.items()}
            self._noise = options["noise_column"] if of_rows["noise_variance"] is not None else None
            self.X_train_, self.y_train_, self._of_rows = columns, targets, more
            path = self._write(Path(folder), columns, targets, more)
            if targets.ndim == 2:
                options["target"] = self._targets
            self._given = options
            try:
                model = fit_file(path, folder, {str(path): "the training data"}, options, callback, progress)
            except BaseException as stop:
                self._take(getattr(stop, "model", None))
                raise
        return self._take(model)

    def _options(self, X: Any, columns: Rows) -> dict[str, Any]:
        """Return the options of the fit."""
        options: dict[str, Any] = {name: getattr(self, name) for name in OPTIONS["fit"] if hasattr(self, name)}
        options["seed"] = seed_of(self.random_state)
        if not isinstance(self.kernel, str):
            names = list(columns) if isinstance(columns, dict) else [str(i) for i in range(columns.shape[1])]
            converted = from_sklearn(self.kernel, names).options()
            defaults = {name: p.default for name, p in signature(FitParameters).parameters.items()}
            options |= {name: value for name, value in converted.items() if name == "kernel" or options[name] == defaults[name]}
        return with_categories(options, X) if self._mixed else options

    def _check_training(self, X: Any, y: Any) -> tuple[Rows, Floats]:
        """Return the checked rows and targets."""
        self._targets: Sequence[str] = [str(name) for name in getattr(y, "columns", ())]
        if self._mixed:
            columns = self._check_mixed(X, reset=True)
            targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            check_consistent_length(X, targets)
        else:
            with naming_missing():
                columns, targets = validate_data(
                    self, _tables.unmasked(X), _tables.unmasked(y), dtype=np.float64, y_numeric=True, multi_output=True,
                    ensure_min_samples=2, ensure_all_finite=self._finite(),
                )
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = column_or_1d(targets, warn=True)
        if targets.ndim == 2 and len(self._targets) != targets.shape[1]:
            self._targets = [f"y{i}" for i in range(targets.shape[1])]
        return columns, targets

    def _take(self, model: Model | None) -> GPFitRegressor:
        """Hold a model with its report, if there is one, and return self."""
        if model is None or model.summary is None:
            return self
        self.model_, self.report_ = model, model.summary
        self.interrupted_ = self.report_.get("interrupted", False)
        self.kernel_ = self.report_["kernel"]
        self.parameters_ = self.report_["parameters"]
        self.parameters_original_units_ = self.report_.get("parameters_original_units", self.parameters_)
        self.log_marginal_likelihood_value_ = -self.report_["nlml"]
        self.relevance_ = {str(one["column"]): float(one["relevance"]) for one in self.report_.get("relevance") or ()}
        self.n_iter_ = max(1, self.report_.get("iterations", 1))
        return self

    def _check_mixed(self, X: Any, reset: bool = False) -> dict[str, Column]:
        """Return the columns of a data frame with columns of any kind."""
        validate_data(self, X, skip_check_array=True, reset=reset)
        columns = _tables.named_columns(X)
        if columns is None or not hasattr(self, "feature_names_in_"):
            raise ValueError("the columns are not all numbers: they need a data frame, with texts as their names")
        return columns

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, return_cov: Literal[False] = False, *, observed: bool = True, unseen: str = "zero",
        noise_variance: ArrayLike | None = None, interval: None = None, quantiles: None = None,
    ) -> Floats: ...

    @overload
    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, observed: bool = True, unseen: str = "zero",
        noise_variance: ArrayLike | None = None, interval: float | None = None, quantiles: Sequence[float] | None = None,
    ) -> Any: ...

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, observed: bool = True, unseen: str = "zero",
        noise_variance: ArrayLike | None = None, interval: float | None = None, quantiles: Sequence[float] | None = None,
    ) -> Any:
        """Predict the target at rows X.

        Parameters
        ----------
        X : rows with the features of fit
        return_std : also return the standard deviation of every row
        return_cov : also return the covariance matrix of the rows
        observed : standard deviation and covariance of new observations, with noise, as
            scikit-learn gives them for a kernel with a WhiteKernel; False leaves the noise
            out
        unseen : "zero", or "error" for categories that fit has not seen: their indicators
            are 0, with a warning, or they are refused
        noise_variance : known noise variances of the rows, or one for all, after a fit with
            some; by default 0: the noise is then the estimated one alone
        interval : also return the lower and the upper bound, on the last axis, of the central interval of new
            observations with this probability
        quantiles : also return the quantiles of new observations with these probabilities, on the last axis

        With missing="drop", rows with gaps have the prediction NaN.

        Returns
        -------
        mean, or (mean, std), or (mean, cov), or (mean, std, cov), and then the interval and the quantiles. Several targets
        are the last axis of mean and std.
        """
        bounds = [] if interval is None else [(1 - interval) / 2, (1 + interval) / 2]
        levels: list[list[float]] = [one for one in (bounds, [] if quantiles is None else list(quantiles)) if one]
        if not all(0 < p < 1 for one in levels for p in one):
            raise ValueError("interval and quantiles are probabilities: they must be above 0 and below 1")
        rows, missing = self._check(X)
        more = self._known_noise(noise_variance, missing)
        options = self._where() | {"unseen": unseen}
        if missing.any():
            rows, more = without(missing, rows), {name: values[~missing] for name, values in more.items()}
        parts: tuple[Floats, ...] = self._predict(rows, more, int(np.sum(~missing)), (return_std, return_cov, observed), options)
        for one in levels:
            parts = (*parts, self._quantiles(rows, more, one, options))
        if missing.any():
            parts = tuple(with_gaps(missing, part, of_rows=i != 1 + return_std or not return_cov) for i, part in enumerate(parts))
        mean, *spread = parts
        return (mean, *spread) if spread else mean

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of predictions, as scikit-learn does. Masked targets and weights are missing values, and an error."""
        return float(super().score(X, _tables.unmasked(y), _tables.unmasked(sample_weight)))

    def _known_noise(self, noise_variance: ArrayLike | None, rows: Any) -> dict[str, Column]:
        """Return the column of known noise variances to predict with, by its name."""
        name = getattr(self, "_noise", None)
        if name is None:
            if noise_variance is not None:
                raise ValueError("noise_variance needs a fit with noise_variance")
            return {}
        return {name: _check_sample_weight(0.0 if noise_variance is None else _tables.unmasked(noise_variance), rows, dtype=np.float64, **ANY_WEIGHTS)}

    def _predict(self, X: Rows, more: dict[str, Column], n: int, wanted: tuple[bool, bool, bool], options: Mapping[str, Any]) -> tuple[Floats, ...]:
        """Return the mean, and std and cov if they are wanted. wanted says whether they are, and whether they have the noise."""
        std, cov, observed = wanted
        last = (self.y_train_.shape[1],) if self.y_train_.ndim == 2 else ()
        if n == 0:
            return (np.empty((0, *last)), *[np.empty((0, *last))] * std, *[np.empty((0, 0, *last))] * cov)
        deviation = "std" if observed else "std_latent"
        near = self._near(X, more, mean_only=not std) if std or not cov else None
        parts: tuple[Floats, ...] = ()
        if near is not None:
            both: tuple[Floats, ...] = (near,) if isinstance(near, np.ndarray) else (near.mean, getattr(near, deviation))
            parts = both if last else tuple(part[:, 0] for part in both)
            if not cov:
                return parts
        elif not (cov or more or last):  # the shortest way, for a few rows
            named = self._named(X)
            result = self.model_.predict(X if named is None else named, mean_only=not std, **options)  # type: ignore[misc, unused-ignore]
            return (result["mean"], result[deviation]) if std else (result["mean"],)
        with _temporary.folder() as folder:
            path = self._write(Path(folder), X, more=more)
            found: dict[str, Any] = {}
            if not parts and (std or not cov):
                found = self.model_.predict(path, mean_only=not std, **options)  # type: ignore[misc, unused-ignore]
            covariance: tuple[Floats, ...] = ()
            if cov:
                file = Path(folder) / "cov.npy"
                joint = self.model_.predict(path, cov=file, observed=observed, **options)  # type: ignore[misc, unused-ignore]
                found = found or joint
                files = [file.with_name(f"cov.{name}.npy") for name in self._targets] if last else [file]
                covariance = (last_axis([np.load(one) for one in files], bool(last)),)
        columns = ["mean"] + [deviation] * std
        prefixes = [f"{name}." for name in self._targets] if last else [""]
        parts = parts or tuple(last_axis([found[prefix + column] for prefix in prefixes], bool(last)) for column in columns)
        return (*parts, *covariance)

    def _quantiles(self, X: Rows, more: Mapping[str, Column], levels: Sequence[float], options: Mapping[str, Any]) -> Floats:
        """Return quantiles of new observations on the last axis."""
        several = self.y_train_.ndim == 2
        near = self._near(X, more, mean_only=False)
        if isinstance(near, Prediction):
            found = [near.quantile(p) if several else near.quantile(p)[:, 0] for p in levels]
            return np.stack(found, axis=-1)
        with _temporary.folder() as folder:
            path = self._write(Path(folder), X, more=more)
            # An interval of nearly no probability has the median as its bounds.
            central = {p: round(max(abs(2 * p - 1), 1e-12), 12) for p in levels}
            table = self.model_.predict(path, interval=sorted(set(central.values())), **options)  # type: ignore[misc, unused-ignore]
        prefixes = [f"{name}." for name in self._targets] if several else [""]
        sides = [f"{'lower' if p < 0.5 else 'upper'}{100 * central[p]:.10g}" for p in levels]
        return np.stack([last_axis([table[prefix + side] for prefix in prefixes], several) for side in sides], axis=-1)

    def _near(self, X: Rows, more: Mapping[str, Column], mean_only: bool) -> Prediction | Floats | None:
        """Return the prediction of this process, or None where gpfit is to predict."""
        near = self.model_.near() if self.device in (None, "auto") and self.method in (None, "chosen") else None
        if near is None:
            return None
        named = X if isinstance(X, dict) else self._named(X) if near.noise.get("groups") else None
        taken = near.rows(X) if isinstance(X, dict) else None
        rows = X[:, near.columns] if not isinstance(X, dict) else None if taken is None else taken[0]
        known, noise = near.row_noise({**(named or {}), **more})
        return near.predict(rows, noise, mean_only) if rows is not None and known else None

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, observed: bool = True, unseen: str = "zero") -> Floats:
        """Draw from the posterior, jointly at rows X, which must have no gaps.

        The result has one column per draw, after the targets if there are several. The parameters mean
        the same as those of predict and of scikit-learn's regressor.
        """
        check_is_fitted(self)
        rows: Rows = self._check_mixed(X) if self._is_mixed() else validate_data(self, _tables.unmasked(X), dtype=np.float64, reset=False)
        more = self._known_noise(None, next(iter(rows.values())) if isinstance(rows, dict) else rows)
        options = self._where() | {"draws": n_samples, "seed": seed_of(random_state), "observed": observed, "unseen": unseen}
        targets = self._targets if self.y_train_.ndim == 2 else [None]
        with _temporary.folder() as folder:
            path = self._write(Path(folder), rows, more=more)
            drawn = list[Floats]()
            for target in targets:
                result = self.model_.sample(path, target=target, **options)  # type: ignore[misc, unused-ignore]
                drawn.append(np.column_stack([result[f"draw{i}"] for i in range(n_samples)]))
        return drawn[0] if len(drawn) == 1 else np.stack(drawn, axis=1)

    def log_marginal_likelihood(self, theta: ArrayLike | None = None, eval_gradient: bool = False) -> Any:
        """Return the log marginal likelihood of the scaled targets.

        Parameters
        ----------
        theta : logarithms of the parameters in the order of ``theta_names``, or None for the tuned ones
        eval_gradient : also return the gradient with respect to theta
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        values = {name: self.parameters_[name] for name in self.theta_names}
        if theta is not None:
            given = np.asarray(theta, dtype=np.float64)
            if given.shape != (len(values),):
                raise ValueError(f"theta has the shape {given.shape}, and there are {len(values)} parameters: {', '.join(values)}")
            values = {name: float(v) for name, v in zip(values, np.exp(given), strict=True)}
        report = self._evaluate(values)
        if not eval_gradient:
            return -report["nlml"]
        return -report["nlml"], np.array([-report["gradient_log"][name] for name in values])

    @property
    def theta_names(self) -> list[str]:
        """The names of the parameters that were tuned, in the order of theta."""
        check_is_fitted(self)
        fixed = names_in(self._given.get("fix"))
        return [name for name in self.report_.get("gradient_log", ()) if name not in fixed]

    def _evaluate(self, values: Mapping[str, float]) -> Report:
        """Return the report of the likelihood at parameters of the fit."""
        given = self._given
        for name in ("robust", "experts", "subsample", "holdout", "mean_prior"):
            if given.get(name):
                raise UsageError(f"the likelihood at other parameters needs a fit without {name}")
        if "~real" in self.kernel_ or any(name.endswith("lambda") for name in self.parameters_):
            raise UsageError("theta holds logarithms, and the model has parameters of either sign: pygpfit.nlml(data, set=...) evaluates these")
        options = {name: value for name, value in given.items() if name in OPTIONS["nlml"]}
        elsewhere = {*values, *names_in(self.tie)}
        fixed = {name: v for name, v in self.parameters_.items() if name not in elsewhere and not name.startswith("mean_")}
        options |= {"kernel": self.kernel_, "ard": False, "mean": self.report_["mean"], "set": {**fixed, **values}}
        options |= dict.fromkeys(("fix", "bounds", "scores", "prior", "objective"))
        with _temporary.folder() as folder:
            path = self._write(Path(folder), self.X_train_, self.y_train_, self._of_rows)
            return nlml(path, **options)  # type: ignore[misc, unused-ignore]

    def _check(self, X: Any) -> tuple[Rows, Column]:
        """Return the rows and which of them have gaps."""
        if type(X) is np.ndarray and X.dtype == np.float64 and self._is_ready(X):
            return X, np.zeros(len(X), dtype=bool)
        check_is_fitted(self)
        if not self._is_mixed():
            with naming_missing():
                rows: Floats = validate_data(self, _tables.unmasked(X), dtype=np.float64, reset=False, ensure_all_finite=self._finite())
            gaps: Column = np.any(np.isnan(rows), axis=1)
            return rows, gaps
        columns = self._check_mixed(X)
        if self.missing != "drop":  # the program says where the gaps are
            return columns, np.zeros(len(X), dtype=bool)
        return columns, _tables.gaps(columns)

    def _is_ready(self, X: Floats) -> bool:
        """Say whether rows need none of scikit-learn's checks, which take longer than a prediction."""
        ready = hasattr(self, "model_") and not self._mixed and not hasattr(self, "feature_names_in_")
        return ready and X.ndim == 2 and X.shape[1] == self.n_features_in_ and len(X) > 0 and bool(np.isfinite(X).all())

    def _is_mixed(self) -> bool:
        """Say whether fit had columns that are not all numbers."""
        return self._mixed

    def _finite(self) -> Any:
        """Return what scikit-learn should check: with missing="drop" there may be gaps."""
        return "allow-nan" if self.missing == "drop" else True

    def _where(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _WHERE}

    def _write(self, folder: Path, X: Rows, y: Floats | None = None, more: Mapping[str, Column] | None = None) -> Path:
        """Write rows, with more columns, in the form in which fit wrote them, and return the file's path."""
        path, further = folder / "data", dict(more or {})
        named = self._named(X)
        if named is None:
            return _tables.write_array(path, np.asarray(X), y, further)
        columns = {**named, **further}
        if y is not None and y.ndim == 1:
            columns[free("y", columns)] = y
        elif y is not None:
            self._targets = [free(name, columns) for name in self._targets]
            columns |= dict(zip(self._targets, y.T, strict=True))
        return _tables.write(path, columns)

    def _named(self, X: Rows) -> dict[str, Column] | None:
        """Return the columns of rows by the names with which fit wrote them, or None if they have none."""
        if isinstance(X, dict):
            return X
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if all(names) and len(set(names)) == X.shape[1]:
            return dict(zip(names, X.T, strict=True))
        if self.y_train_.ndim == 1:
            return None
        return dict(zip(map(str, range(X.shape[1])), X.T, strict=True))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        verdict = getattr(self, "report_", {}).get("verdict")
        return f"{text}\n{verdict['headline']}" if verdict else text

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "model_") and "text/html" in shown:
            shown["text/html"] += self.model_._repr_html_()  # pyright: ignore[reportPrivateUsage]
        return shown

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.target_tags.multi_output = True
        return tags
