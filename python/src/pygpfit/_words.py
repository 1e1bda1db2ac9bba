"""Names of other programs and what gpfit calls them, for hints in errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# What is meant, and the names of others, without capitals, blanks, hyphens and the word kernel.
_MEANT = {
    "'rbf'": "se sqexp squaredexp squaredexponential expquad exponentiatedquadratic gauss gaussian radialbasis", "'rbf(ard)'": "rbfard seard",
    "'matern12'": "exponential exp ou ornsteinuhlenbeck absoluteexponential laplacian matern1", "'matern32'": "matern3 mat32", "'matern52'": "matern5 mat52",
    "'rq'": "rationalquadratic rationalquad ratquad", "'periodic'": "expsinesquared stdperiodic locallyperiodic seasonal", "'poly(2)'": "polynomial quadratic",
    "'linear', or 'linear + constant'": "dotproduct", "'constant'": "bias const constant", "'hamming'": "categorical overlap", "'arcsine'": "neuralnetwork nn arccos",
    "'wendland(1)'": "piecewisepolynomial", "'additive(rbf)'": "additivestructure", "'formula(exp(-r^p/a), a=1, p=1.5)'": "powexp",
    "-gpfit estimates the noise by itself, and noise='none' leaves it out": "white whitenoise nugget noise eye delta",
    "-every term has a signal_variance by itself": "scale",
}
_KERNELS: dict[str, str] = {name: meant for meant, names in _MEANT.items() for name in names.split()}

_OPTIONS: dict[str, str] = {
    "nugget": "noise, or fix={'noise_variance': …}", "alpha": "noise_variance of fit for known variances, or fix={'noise_variance': …}", "jitter": "max_jitter",
    "sigma2": "fix={'noise_variance': …}", "noise_level": "fix={'noise_variance': …}", "noise_variance": "fix={'noise_variance': …}", "likelihood": "noise",
    "n_restarts_optimizer": "restarts", "n_restarts": "restarts", "multistart": "restarts", "normalize_y": "standardize", "normalize": "standardize", "scale": "standardize",
    "trend": "mean", "mean_function": "mean", "mean_module": "mean", "covar_module": "kernel", "covtype": "kernel", "cov": "kernel", "covariance": "kernel",
    "cv": "scores=['cv'] and folds", "n_folds": "folds", "max_iter": "max_evals", "maxiter": "max_evals", "n_iter": "max_evals", "tol": "tolerance_nats",
    "verbose": "progress=True of fit", "n_jobs": "threads", "num_threads": "threads", "seed": "random_state", "random_state": "seed", "gpu": "device='cuda'",
    "weights": "sample_weight or precision of fit", "sample_weight": "weight_column", "length_scale": "set={'lengthscale': …}", "lengthscale": "set={'lengthscale': …}",
    "length_scale_bounds": "bounds={'lengthscale': (…, …)}", "return_std": "-the result has std by itself", "quantiles": "interval",
    "warp": "target_transform", "transform": "target_transform", "na_action": "missing", "nan": "missing", "dropna": "missing='drop'", "y": "target", "x": "features",
}


def option(key: str, known: Iterable[str]) -> str:
    """Return a hint for an option that is not known."""
    known = list(known)
    meant = _OPTIONS.get(key.lower())
    if meant and (meant not in ("seed", "random_state") or meant in known):
        return ": " + _hint(meant)
    near = difflib.get_close_matches(key.lower(), known, 1)
    return ": " + _hint(near[0]) if near else ""


def _hint(meant: str) -> str:
    """Return a question, or the sentence that a hyphen begins."""
    return meant[1:] if meant.startswith("-") else f"did you mean {meant}?"


def kernels(text: str) -> str:
    """Return a message with a hint beside each kernel that is not known and has none."""
    return re.sub(r'unknown kernel "([^"]*)"(?! \(did)', lambda m: m[0] + _kernel(m[1]), text)


def _kernel(name: str) -> str:
    plain = re.sub(r"[\W_]|(?i:kernel)$", "", name.lower())
    meant = _KERNELS.get(plain) or _KERNELS.get(plain.removesuffix("kernel"))
    return f" ({_hint(meant)})" if meant else ""
