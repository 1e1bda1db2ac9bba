"""Names of other programs and what gpfit calls them, for hints in errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_OPTIONS: dict[str, str] = {
    "nugget": "noise, or fix={'noise_variance': …}", "alpha": "noise_variance of fit for known variances, or fix={'noise_variance': …}", "jitter": "max_jitter",
    "sigma2": "fix={'noise_variance': …}", "noise_level": "fix={'noise_variance': …}", "noise_variance": "fix={'noise_variance': …}", "likelihood": "noise",
    "n_restarts_optimizer": "restarts", "n_restarts": "restarts", "multistart": "restarts", "normalize_y": "standardize", "normalize": "standardize", "scale": "standardize",
    "trend": "mean", "mean_function": "mean", "mean_module": "mean", "covar_module": "kernel", "covtype": "kernel", "cov": "kernel", "covariance": "kernel",
    "cv": "scores=['cv'] and folds", "n_folds": "folds", "max_iter": "max_evals", "maxiter": "max_evals", "n_iter": "max_evals", "tol": "tolerance_nats",
    "verbose": "progress=True of fit", "n_jobs": "threads", "num_threads": "threads", "seed": "random_state", "random_state": "seed", "gpu": "device='cuda'",
    "weights": "sample_weight or precision of fit", "sample_weight": "weight_column", "length_scale": "set={'lengthscale': …}", "lengthscale": "set={'lengthscale': …}",
    "length_scale_bounds": "bounds={'lengthscale': (…, …)}", "return_std": "-the result has std by itself", "quantiles": "interval",
    "nu": "kernel='matern32' or 'matern52'", "sigma": "fix={'noise_variance': …}", "theta": "set={'lengthscale': …}",
    "max_iters": "max_evals", "iterations": "max_evals", "num_restarts": "restarts", "messages": "progress=True of fit", "noise_var": "fix={'noise_variance': …}",
    "lr": "-a search along lines sets the steps", "lower": "bounds={'lengthscale': (…, …)}", "upper": "bounds={'lengthscale': (…, …)}",
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
