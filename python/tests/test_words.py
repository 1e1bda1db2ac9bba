"""Names of other programs in errors."""

import numpy as np
import pytest

import pygpfit
from pygpfit import GPFitRegressor, UsageError, _words
from pygpfit._options import OPTIONS

KERNELS = {
    "SE": "rbf", "gauss": "rbf", "SquaredExponential": "rbf", "squared_exponential": "rbf", "Exponential": "matern12", "RationalQuadratic": "rq",
    "ExpSineSquared": "periodic", "DotProduct": "linear", "WhiteKernel": "estimates the noise", "nugget": "estimates the noise", "ScaleKernel": "signal_variance",
    "Polynomial": "poly(2)", "Bias": "constant", "ConstantKernel": "constant", "Matern5": "matern52", "powexp": "formula(", "RBFKernel": "rbf",
    "PeriodicKernel": "periodic", "rbfdot": "rbf", "vanilladot": "linear", "anovadot": "additive(rbf)", "ChangePoints": "formula",
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_others(name, wave):
    with pytest.raises(UsageError) as caught:
        GPFitRegressor(f"rbf + {name}").fit(*wave)
    assert KERNELS[name] in str(caught.value).split("the known ones are")[0].split(f'"{name}"')[1]


def test_options_of_others():
    for name in ("nugget", "alpha", "n_restarts_optimizer", "normalize_y", "trend", "cv", "verbose", "max_iter", "max_iters", "iterations", "num_restarts", "messages", "noise_var", "lower", "upper", "n_jobs", "covar_module", "kernal", "nu", "sigma", "theta", "length_scale"):
        with pytest.raises(TypeError, match=f"no parameter {name}: did you mean"):
            GPFitRegressor(**{name: 1})
        with pytest.raises(ValueError, match="did you mean"):
            GPFitRegressor().set_params(**{name: 1})
        with pytest.raises(UsageError, match=f"fit has no option {name}: did you mean"):
            pygpfit.fit(np.eye(4), **{name: 1})
    for meant in (m for m in _words._OPTIONS.values() if m.isidentifier()):
        assert meant in OPTIONS["fit"] or meant in ("random_state", "interval"), meant
    with pytest.raises(UsageError, match="the result has std"):
        pygpfit.fit(np.column_stack([np.arange(9), np.arange(9) ** 2 / 9]), kernel="rbf", max_evals=2).predict(np.eye(1), return_std=True)


def test_gaps_name_the_option(wave):
    X, y = wave
    X = np.where(np.arange(60)[:, None] == 3, np.nan, X)
    with pytest.raises(ValueError, match="contains NaN: .*missing='drop'"):
        GPFitRegressor("rbf").fit(X, y)
    model = GPFitRegressor("rbf", max_evals=5).fit(*wave)
    with pytest.raises(ValueError, match="contains NaN: .*missing='drop'"):
        model.predict(X)
    assert set(model.relevance_) == {"x0", "x1"}
    assert pygpfit.plots.plot_fit
