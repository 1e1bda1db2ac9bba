"""Writes sklearn.json: tables and what scikit-learn finds on them.

Run: python make_sklearn.py, with scikit-learn 1.9.1, NumPy 2.4.6 and SciPy 1.17.1.
"""

import json
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.linear_model import BayesianRidge, Ridge, RidgeCV, lasso_path

rng = np.random.default_rng(14)


def table(n, d, correlation):
    shared = rng.standard_normal((n, 1))
    x = correlation * shared + np.sqrt(1 - correlation**2) * rng.standard_normal((n, d))
    x = x * np.arange(1, d + 1) + np.arange(d)
    w = np.where(np.arange(d) % 3 == 0, 1.0, 0.0) / np.arange(1, d + 1)
    y = x @ w + np.sin(x[:, 0]) + 0.4 * rng.standard_normal(n) + 2
    return x, y


def scaled(x):
    return (x - x.mean(0)) / x.std(0)


out = {"versions": {"sklearn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}}
x, y = table(60, 8, 0.9)
new = table(7, 8, 0.9)[0]
wide, wide_y = table(20, 40, 0.8)
out["x"], out["y"], out["new"] = x.tolist(), y.tolist(), new.tolist()
out["wide"], out["wide_y"] = wide.tolist(), wide_y.tolist()

# Ridge, λ = alpha; RidgeCV chooses by leave-one-out.
ridge = Ridge(alpha=3.5, solver="svd").fit(x, y)
out["ridge"] = {"lambda": 3.5, "weights": ridge.coef_.tolist(), "intercept": ridge.intercept_}
alphas = np.logspace(-3, 3, 13)
cv = RidgeCV(alphas=alphas, store_cv_results=True).fit(x, y)
out["ridge_cv"] = {"lambdas": alphas.tolist(), "chosen": cv.alpha_, "errors": cv.cv_results_.mean(0).tolist()}

# Bayesian linear regression by marginal likelihood, without hyperpriors.
bayes = BayesianRidge(fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-15, max_iter=100000, compute_score=True)
centred, centred_y = scaled(x), y - y.mean()
bayes.fit(centred, centred_y)
mean, std = bayes.predict((new - x.mean(0)) / x.std(0), return_std=True)
out["bayes"] = {
    "noise": 1 / bayes.alpha_,
    "prior": 1 / bayes.lambda_,
    "weights": bayes.coef_.tolist(),
    "covariance": bayes.sigma_.tolist(),
    "mean": mean.tolist(),
    "std": std.tolist(),
    "evidence": float(bayes.scores_[-1]),
}

# The lasso's path: columns as they are, and scaled; and with more columns than rows.
out["lasso"] = []
for name, a, b in [("x", x, y), ("scaled", centred, y), ("wide", scaled(wide), wide_y)]:
    a, b = a - a.mean(0), b - b.mean()
    alphas, weights, gaps = lasso_path(a, b, n_alphas=100, eps=1e-3, tol=1e-14, max_iter=100_000)
    out["lasso"].append({"table": name, "lambdas": alphas.tolist(), "weights": weights.T.tolist(), "gap": float(gaps.max())})

Path(__file__).with_name("sklearn.json").write_text(json.dumps(out) + "\n")
