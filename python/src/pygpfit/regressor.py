"""The scikit-learn estimator."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _tables
from ._options import OPTIONS
from ._parameters import FitParameters
from .model import Model, fit_file

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

    def fit(self, X, y):
        """Tune the parameters on rows X with the targets y, one number each."""
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=False,
            ensure_min_samples=2, ensure_all_finite=self._finite(),
        )
        options = {name: getattr(self, name) for name in OPTIONS["fit"] if hasattr(self, name)}
        options["seed"] = _seed(self.random_state)
        with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
            path = self._write(folder, X, y)
            names = {path: "the training data"}
            self.model_ = fit_file(path, folder, names, options)
        self.report_ = self.model_.report
        self.kernel_ = self.report_["kernel"]
        self.parameters_ = self.report_["parameters"]
        self.parameters_original_units_ = self.report_.get("parameters_original_units", self.parameters_)
        self.log_marginal_likelihood_value_ = -self.report_["nlml"]
        self.n_iter_ = max(1, self.report_.get("iterations", 1))
        return self

    def predict(self, X, return_std=False, return_cov=False, *, observed=True):
        """Predict the target at rows X.

        Parameters
        ----------
        X : rows with the features of fit
        return_std : also return the standard deviation of every row
        return_cov : also return the covariance matrix of the rows
        observed : standard deviation and covariance of new observations, with noise, as
            scikit-learn gives them for a kernel with a WhiteKernel; False leaves the noise
            out

        With missing="drop", rows with gaps have the prediction NaN.

        Returns
        -------
        mean, or (mean, std), or (mean, cov)
        """
        X = self._check(X)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: the diagonal of the covariance has the variances")
        missing = np.isnan(X).any(axis=1)
        if missing.any():
            return _with_gaps(missing, self._predict(X[~missing], return_std, return_cov, observed))
        return self._predict(X, return_std, return_cov, observed)

    def _predict(self, X, return_std, return_cov, observed):
        if len(X) == 0:
            spread = np.empty((0, 0)) if return_cov else np.empty(0)
            return (np.empty(0), spread) if return_std or return_cov else np.empty(0)
        with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
            path = self._write(folder, X)
            if return_cov:
                file = Path(folder) / "cov.npy"
                result = self.model_.predict(path, cov=file, observed=observed, **self._where())
                return result["mean"], np.load(file)
            result = self.model_.predict(path, **self._where())
        if return_std:
            return result["mean"], result["std" if observed else "std_latent"]
        return result["mean"]

    def sample_y(self, X, n_samples=1, random_state=0, *, observed=True):
        """Draw from the posterior, jointly at rows X, which must have no gaps.

        The result has one column per draw. The parameters mean the same as those of predict
        and of scikit-learn's regressor.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with tempfile.TemporaryDirectory(prefix="pygpfit-") as folder:
            result = self.model_.sample(
                self._write(folder, X), draws=n_samples, seed=_seed(random_state), observed=observed, **self._where()
            )
        return np.column_stack([result[f"draw{i}"] for i in range(n_samples)])

    def log_marginal_likelihood(self):
        """Return the log marginal likelihood of the scaled targets at the tuned parameters."""
        check_is_fitted(self)
        return self.log_marginal_likelihood_value_

    def _check(self, X):
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=self._finite())

    def _finite(self):
        """Return what scikit-learn should check: with missing="drop" there may be gaps."""
        return "allow-nan" if self.missing == "drop" else True

    def _where(self):
        return {name: getattr(self, name) for name in _WHERE}

    def _write(self, folder, X, y=None):
        """Write rows in the form in which fit wrote them, and return the file's path."""
        path = Path(folder) / "data"
        names = getattr(self, "feature_names_in_", ())
        if not all(names) or len(set(names)) < X.shape[1]:  # without names, or not unique
            return _tables.write_array(path, X, y)
        columns = dict(zip(names, X.T))
        if y is not None:
            columns[_free("y", columns)] = y
        return _tables.write(path, columns)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


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
