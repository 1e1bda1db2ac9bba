#!/usr/bin/env python3
"""Predict with a model that "gpfit export" wrote, with NumPy alone.

    gpfit export co2.gpfit --format json --out co2.json
    python3 examples/read_model.py co2.json examples/co2_new.csv

prints mean and standard deviation of a new observation for every row, as
"gpfit predict" does. The format is described in EXPORT.md beside this file.
"""

import csv
import json
import sys

import numpy as np


def load(path):
    """Read an export, JSON or NPZ, to a dictionary; X, y and alpha are arrays."""
    if path.endswith(".npz"):
        with np.load(path) as archive:
            model = json.loads(archive["model.json"])
            model.update({name: archive[name] for name in ("X", "y", "alpha")})
    else:
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        for name in ("X", "y", "alpha"):
            model[name] = np.array(model[name], dtype=float)
    if model.get("type") != "gpfit export" or model["schema_version"] != 1:
        sys.exit(f"{path}: not a gpfit export of schema version 1")
    return model


def differences(a, b):
    """Differences of all pairs of rows by column, shape (len(a), len(b), columns)."""
    return a[:, None, :] - b[None, :, :]


def leaf(node, a, b):
    """A leaf's values for all pairs of rows of a and b, in scaled units."""
    a, b = a[:, node["columns"]], b[:, node["columns"]]
    p = {name: np.array(v) for name, v in node.get("parameters", {}).items()}
    family = node["family"]
    if family in ("rbf", "matern12", "matern32", "matern52", "rq"):
        r2 = np.sum((differences(a, b) / p["lengthscale"]) ** 2, axis=2)
        if family == "rbf":
            return np.exp(-r2 / 2)
        if family == "rq":
            return (1 + r2 / (2 * p["alpha"])) ** -p["alpha"]
        t = np.sqrt({"matern12": 1, "matern32": 3, "matern52": 5}[family] * r2)
        return {"matern12": 1, "matern32": 1 + t, "matern52": 1 + t + t * t / 3}[family] * np.exp(-t)
    if family == "periodic":
        s = np.sin(np.pi * differences(a, b) / p["period"]) / p["lengthscale"]
        return np.exp(-2 * np.sum(s * s, axis=2))
    if family == "cosine":
        return np.cos(2 * np.pi * np.sum(differences(a, b) / p["period"], axis=2))
    if family in ("linear", "poly"):
        scale = p.get("lengthscale", 1.0)
        inner = (a / scale) @ (b / scale).T
        return inner if family == "linear" else (p["offset"] + inner) ** node["degree"]
    if family == "constant":
        return np.ones((len(a), len(b)))
    sys.exit(f"this reader does not know the kernel {family!r}")


def covariance(node, a, b):
    """The covariance function, a tree of leaves, sums and products."""
    if node["type"] == "leaf":
        k = leaf(node, a, b)
    else:
        parts = [covariance(child, a, b) for child in node["children"]]
        k = sum(parts[1:], parts[0]) if node["type"] == "sum" else np.prod(parts, axis=0)
    return node.get("signal_variance", 1.0) * k


def variances(node, a):
    """The diagonal of covariance(node, a, a)."""
    return np.array([covariance(node, row[None, :], row[None, :])[0, 0] for row in a])


def mean_function(terms, a):
    """The mean function's values at scaled rows."""
    out = np.zeros(len(a))
    for term in terms:
        x = a[:, term["column"]] if "column" in term else None
        out += term["coefficient"] * {
            "constant": lambda: 1.0,
            "linear": lambda: x,
        }[term["type"]]()
    return out


def predict(model, rows):
    """Mean, deviation of an observation and of the function at rows of the columns
    in use (model["columns"] of the features), all in original units."""
    s = model["scaling"]
    to_scaled = lambda x: (x - np.array(s["x_mean"])) / np.array(s["x_scale"])
    x, new = to_scaled(model["X"]), to_scaled(np.asarray(rows, dtype=float))
    noise = model["noise"]
    sigma = covariance(model["kernel"], x, x)
    sigma[np.diag_indices_from(sigma)] += noise["variance"] + noise["jitter"]
    cross = covariance(model["kernel"], x, new)
    mean = mean_function(model["mean"], new) + cross.T @ model["alpha"]
    v = np.linalg.solve(np.linalg.cholesky(sigma), cross)
    latent = np.maximum(variances(model["kernel"], new) - np.sum(v * v, axis=0), 0)
    observed = latent + noise["variance"]
    return mean * s["y_scale"] + s["y_mean"], np.sqrt(observed) * s["y_scale"], np.sqrt(latent) * s["y_scale"]


def read_rows(path, model):
    """The columns in use of a CSV file with a header; "#" begins a comment line."""
    names = [model["feature_names"][c] for c in model["columns"]]
    with open(path, encoding="utf-8", newline="") as file:
        table = csv.DictReader(line for line in file if not line.startswith("#"))
        return np.array([[float(row[name]) for name in names] for row in table])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = load(sys.argv[1])
    print("mean,std,std_latent")
    for row in zip(*predict(model, read_rows(sys.argv[2], model))):
        print(",".join(repr(float(v)) for v in row))


if __name__ == "__main__":
    main()
