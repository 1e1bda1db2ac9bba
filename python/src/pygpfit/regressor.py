"""The scikit-learn estimator."""

from inspect import signature
from pathlib import Path

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _tables, _temporary
from ._options import OPTIONS
from ._parameters import FitParameters
from .model import Model, fit_file, with_categories

_WHERE = ("device", "fallback", "threads")


class GPFitRegressor(RegressorMixin, FitParameters):
    """Exact Gaussian-process regression, tuned and evaluated by gpfit.

    The parameters are the options of ``gpfit fit``; `FitParameters` and docs/options.md
    describe them. ``kernel`` is an expression, such as ``"rbf(ard) + matern32"``. By default
    inputs and target are scaled to mean 0 and standard deviation 1 while gpfit tunes.

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

    def fit(self, X, y, sample_weight=None, *, noise_variance=None):
        """Tune the parameters on rows X with the targets y, one number each.

        Parameters
        ----------
        X, y : the rows and their targets
        sample_weight : weights of the rows: the noise variance of a row is the estimated one
            divided by its weight, as for the mean of so many observations. Rows of weight 0
            are left out, with a warning
        noise_variance : known noise variances of the rows, in squared units of y, or one for
            all; gpfit adds the estimated variance unless ``noise="none"``. It excludes
            sample_weight

        X may be a data frame with columns of text, categories, booleans and dates, which
        gpfit encodes as the command line does: ``report_["encoding"]`` says how. Rows to
        predict then come in data frames with the same columns.

        KeyboardInterrupt stops gpfit and goes on to the caller. If there is a model by then, the
        estimator has it and ``interrupted_`` is True. A signal to gpfit itself, such as SIGTERM,
        leaves the best model so far, too, with an `InterruptedFitWarning`.
        """
        options = {name: getattr(self, name) for name in OPTIONS["fit"] if hasattr(self, name)}
        options["seed"] = _seed(self.random_state)
        given = {"weight_column": ("sample_weight", sample_weight), "noise_column": ("noise_variance", noise_variance)}
        self._mixed = _tables.mixed(X) is not None
        if self._mixed:
            options = with_categories(options, X)
            X, y = self._check_mixed(X, y)
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, y_numeric=True, multi_output=False,
                ensure_min_samples=2, ensure_all_finite=self._finite(),
            )
        with _temporary.folder() as folder:
            more = {}
            for option, (name, values) in given.items():
                if values is not None:
                    options[option] = name = _free(name, X if isinstance(X, dict) else getattr(self, "feature_names_in_", ("X", "y")))
                    more[name] = _check_sample_weight(values, y, dtype=np.float64, **_ANY)
            self._noise = options["noise_column"] if noise_variance is not None else None
            path = self._write(folder, X, y, more)
            try:
                model = fit_file(path, folder, {path: "the training data"}, options)
            except KeyboardInterrupt as stop:
                self._take(getattr(stop, "model", None))
                raise
        return self._take(model)

    def _take(self, model):
        """Hold a model with its report, if there is one, and return self."""
        if model is None or model.report is None:
            return self
        self.model_, self.report_ = model, model.report
        self.interrupted_ = self.report_.get("interrupted", False)
        self.kernel_ = self.report_["kernel"]
        self.parameters_ = self.report_["parameters"]
        self.parameters_original_units_ = self.report_.get("parameters_original_units", self.parameters_)
        self.log_marginal_likelihood_value_ = -self.report_["nlml"]
        self.n_iter_ = max(1, self.report_.get("iterations", 1))
        return self

    def _check_mixed(self, X, y=None):
        """Return the columns of a data frame with columns of any kind, and the target."""
        validate_data(self, X, skip_check_array=True, reset=y is not None)
        columns = _tables.named_columns(X)
        if columns is None or not hasattr(self, "feature_names_in_"):
            raise ValueError("the columns are not all numbers: they need a data frame, with texts as their names")
        if y is None:
            return columns
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
        check_consistent_length(X, y)
        return columns, y

    def predict(self, X, return_std=False, return_cov=False, *, observed=True, unseen="error", noise_variance=None):
        """Predict the target at rows X.

        Parameters
        ----------
        X : rows with the features of fit
        return_std : also return the standard deviation of every row
        return_cov : also return the covariance matrix of the rows
        observed : standard deviation and covariance of new observations, with noise, as
            scikit-learn gives them for a kernel with a WhiteKernel; False leaves the noise
            out
        unseen : "error", or "zero" for categories that fit has not seen: their indicators
            are then 0
        noise_variance : known noise variances of the rows, or one for all, after a fit with
            some; by default 0: the noise is then the estimated one alone

        With missing="drop", rows with gaps have the prediction NaN.

        Returns
        -------
        mean, or (mean, std), or (mean, cov)
        """
        X, missing = self._check(X)
        more = self._known_noise(noise_variance, missing)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: the diagonal of the covariance has the variances")
        options = self._where() | {"unseen": unseen}
        if missing.any():
            X, more = _without(missing, X), _without(missing, more)
            return _with_gaps(missing, self._predict(X, more, np.sum(~missing), return_std, return_cov, observed, options))
        return self._predict(X, more, len(missing), return_std, return_cov, observed, options)

    def _known_noise(self, noise_variance, rows):
        """Return the column of known noise variances to predict with, by its name."""
        name = getattr(self, "_noise", None)
        if name is None:
            if noise_variance is not None:
                raise ValueError("noise_variance needs a fit with noise_variance")
            return {}
        return {name: _check_sample_weight(0.0 if noise_variance is None else noise_variance, rows, dtype=np.float64, **_ANY)}

    def _predict(self, X, more, n, return_std, return_cov, observed, options):
        if n == 0:
            spread = np.empty((0, 0)) if return_cov else np.empty(0)
            return (np.empty(0), spread) if return_std or return_cov else np.empty(0)
        with _temporary.folder() as folder:
            path = self._write(folder, X, more=more)
            if return_cov:
                file = Path(folder) / "cov.npy"
                result = self.model_.predict(path, cov=file, observed=observed, **options)
                return result["mean"], np.load(file)
            result = self.model_.predict(path, mean_only=not return_std, **options)
        if return_std:
            return result["mean"], result["std" if observed else "std_latent"]
        return result["mean"]

    def sample_y(self, X, n_samples=1, random_state=0, *, observed=True, unseen="error"):
        """Draw from the posterior, jointly at rows X, which must have no gaps.

        The result has one column per draw. The parameters mean the same as those of predict
        and of scikit-learn's regressor.
        """
        check_is_fitted(self)
        X = self._check_mixed(X) if self._is_mixed() else validate_data(self, X, dtype=np.float64, reset=False)
        more = self._known_noise(None, next(iter(X.values())) if isinstance(X, dict) else X)
        with _temporary.folder() as folder:
            result = self.model_.sample(
                self._write(folder, X, more=more), draws=n_samples, seed=_seed(random_state), observed=observed,
                unseen=unseen, **self._where()
            )
        return np.column_stack([result[f"draw{i}"] for i in range(n_samples)])

    def log_marginal_likelihood(self):
        """Return the log marginal likelihood of the scaled targets at the tuned parameters."""
        check_is_fitted(self)
        return self.log_marginal_likelihood_value_

    def _check(self, X):
        """Return the rows and which of them have gaps."""
        check_is_fitted(self)
        if not self._is_mixed():
            X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=self._finite())
            return X, np.isnan(X).any(axis=1)
        columns = self._check_mixed(X)
        if self.missing != "drop":  # the program says where the gaps are
            return columns, np.zeros(len(X), dtype=bool)
        return columns, _tables.gaps(columns)

    def _is_mixed(self):
        """Say whether fit had columns that are not all numbers."""
        return getattr(self, "_mixed", False)  # models pickled by an earlier version have none

    def _finite(self):
        """Return what scikit-learn should check: with missing="drop" there may be gaps."""
        return "allow-nan" if self.missing == "drop" else True

    def _where(self):
        return {name: getattr(self, name) for name in _WHERE}

    def _write(self, folder, X, y=None, more={}):
        """Write rows, with more columns, in the form in which fit wrote them, and return the file's path."""
        path = Path(folder) / "data"
        if isinstance(X, dict):
            return _tables.write(path, X | more if y is None else X | more | {_free("y", X | more): y})
        names = getattr(self, "feature_names_in_", ())
        if not all(names) or len(set(names)) < X.shape[1]:  # without names, or not unique
            return _tables.write_array(path, X, y, more)
        columns = dict(zip(names, X.T)) | more
        if y is not None:
            columns[_free("y", columns)] = y
        return _tables.write(path, columns)

    def __repr__(self, N_CHAR_MAX=700):
        text = super().__repr__(N_CHAR_MAX)
        verdict = getattr(self, "report_", {}).get("verdict")
        return f"{text}\n{verdict['headline']}" if verdict else text

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


# Weights that scikit-learn lets through, also if all are 0: the program says what is wrong with them.
_ANY = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in signature(_check_sample_weight).parameters else {}


def _without(missing, X):
    """Return the rows that are not missing."""
    if isinstance(X, dict):
        return {name: values[~missing] for name, values in X.items()}
    return X[~missing]


def _with_gaps(missing, result):
    """Return a prediction of the rows without gaps as one of all rows, with NaN in gaps."""
    if isinstance(result, tuple):
        return tuple(_with_gaps(missing, part) for part in result)
    n, rows = len(missing), np.flatnonzero(~missing)
    full = np.full((n,) * result.ndim, np.nan)
    full[np.ix_(*[rows] * result.ndim)] = result
    return full


def _free(name, taken):
    while name in taken:
        name += "_"
    return name


def _seed(random_state):
    """Return a seed of gpfit, which takes whole numbers, for a random state; None for None."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))
