"""A pipeline and a search of scikit-learn with GPFitRegressor, and a kernel of scikit-learn."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pygpfit import GPFitRegressor


def main() -> None:
    """Search the kernel of a function of two columns."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (80, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(80)
    kernels = ["rbf(ard)", "matern52(ard)", 1.0 * RBF([1.0, 1.0]) + WhiteKernel(0.1)]
    search = GridSearchCV(make_pipeline(StandardScaler(), GPFitRegressor()), {"gpfitregressor__kernel": kernels}, cv=3)
    search.fit(X, y)
    print(search.best_params_, round(search.best_score_, 3))


if __name__ == "__main__":
    main()
