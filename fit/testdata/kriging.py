"""Reference values for TestKriging, by explicit inverses in NumPy:

    python3 kriging.py > kriging.json

Universal kriging (Rasmussen & Williams, eq. 2.41 and 2.42) with a quadratic
mean, known noise variances and two groups, in original units; only the
parameters are those of the standardized problem.
"""
import json
import sys

import numpy as np

n, m, targets = 14, 5, 2
i = np.arange(n)
x = np.stack([10 * np.sin(3.1 * i + 1), 300 + 0.7 * i + np.cos(2.3 * i)], axis=1)
y = np.stack([50 + 2 * x[:, 0] + 8 * np.sin(x[:, 1]), -3 + 0.1 * x[:, 0] ** 2 + np.cos(i)], axis=1)
known = 0.5 + (i % 3)
group = i * i % 5 % 2
j = np.arange(m)
new = np.stack([8 * np.cos(1.7 * j), 303 + 3.0 * j], axis=1)
new_known = 0.25 * (j + 1.0)
new_group = j % 2

lengthscale, signal, noise = 1.1, 0.8, np.array([0.05, 0.2])
xs, xm = x.std(axis=0), x.mean(axis=0)


def kernel(a, b, scale):
    d2 = (((a[:, None, :] - b[None, :, :]) / xs / lengthscale) ** 2).sum(axis=2)
    return signal * scale**2 * np.exp(-d2 / 2)


def basis(a):
    return np.stack([a[:, 0], a[:, 0] ** 2, np.ones(len(a))], axis=1)


def solve(y, known, new_known):
    scale = y.std()
    sigma = kernel(x, x, scale) + np.diag(noise[group] * scale**2 + known)
    inv = np.linalg.inv(sigma)
    h, hn, k = basis(x), basis(new), kernel(x, new, scale)
    m_inv = np.linalg.inv(h.T @ inv @ h)
    beta = m_inv @ h.T @ inv @ y
    r = y - h @ beta
    nlml = 0.5 * r @ inv @ r + 0.5 * np.linalg.slogdet(sigma)[1] + n / 2 * np.log(2 * np.pi)
    mean = hn @ beta + k.T @ inv @ r
    big_r = hn.T - h.T @ inv @ k
    latent = np.diag(kernel(new, new, scale) - k.T @ inv @ k + big_r.T @ m_inv @ big_r)
    return {
        "nlml_original_units": nlml,
        "beta": list(beta),
        "standard_error": list(np.sqrt(np.diag(m_inv))),
        "mean": list(mean),
        "std_latent": list(np.sqrt(latent)),
        "std": list(np.sqrt(latent + noise[new_group] * scale**2 + new_known)),
    }


out = {
    "numpy": np.__version__, "lengthscale": lengthscale, "signal_variance": signal, "noise_variance": list(noise),
    "x": list(x.ravel()), "y": [list(c) for c in y.T], "known": list(known), "group": list(map(int, group)),
    "new": list(new.ravel()), "new_known": list(new_known), "new_group": list(map(int, new_group)),
    "one": solve(y[:, 0], known, new_known),
    "several": [solve(y[:, t], np.zeros(n), np.zeros(m)) for t in range(targets)],
}
json.dump(out, sys.stdout, indent=1)
print()
