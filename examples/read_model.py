#!/usr/bin/env python3
"""Predict with a model that "gpfit export" wrote, using only NumPy.

    gpfit export co2.gpfit --format json --out co2.json
    python3 examples/read_model.py co2.json examples/co2_new.csv

prints the mean and standard deviation of a new observation for every row, as
"gpfit predict" does. EXPORT.md beside this file describes the format.
"""

import csv
import datetime
import itertools
import json
import math
import re
import sys

import numpy as np

ARRAYS = ("X", "y", "alpha", "training_noise")


def load(path):
    """Read an export, JSON or NPZ, into a dictionary whose ARRAYS are arrays."""
    if path.endswith(".npz"):
        with np.load(path) as archive:
            model = json.loads(archive["model.json"])
            model.update({name: archive[name] for name in ARRAYS if name in archive})
    else:
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        model.update({name: np.array(model[name], dtype=float) for name in ARRAYS if name in model})
    if model.get("type") != "gpfit export" or model["schema_version"] not in (1, 2, 3, 4, 5, 6, 7, 8):
        sys.exit(f"{path}: not a gpfit export of schema version 1 to 7")
    return model


def differences(a, b):
    """Return the differences of all pairs of rows, shape (len(a), len(b), columns)."""
    return a[:, None, :] - b[None, :, :]


def feature(f, a, b):
    """Return a feature of all pairs of rows: a weighted sum over columns."""
    a, b, w = a[:, f["columns"]], b[:, f["columns"]], np.array(f["weights"])
    shape = (len(a), len(b))
    return {
        "squared_distance": lambda: differences(a, b) ** 2 @ w,
        "inner_product": lambda: (a * w) @ b.T,
        "sin_squares": lambda: np.sin(np.pi * differences(a, b) / np.array(f["periods"])) ** 2 @ w,
        "differences": lambda: differences(a, b) @ w,
        "mismatches": lambda: (differences(a, b) != 0) @ w,
        "first": lambda: np.broadcast_to((a @ w)[:, None], shape),
        "second": lambda: np.broadcast_to((b @ w)[None, :], shape),
        "first_norm": lambda: np.broadcast_to((a * a @ w)[:, None], shape),
        "second_norm": lambda: np.broadcast_to((b * b @ w)[None, :], shape),
    }[f["kind"]]()


FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "inverse_sqrt": lambda v: np.where(v == 0, 0, 1 / np.sqrt(np.where(v == 0, 1, v))),
    "log_or_0": lambda v: np.log(np.where(v == 0, 1, v)),
    "sin_turns": lambda v: np.sin(2 * np.pi * (v - np.round(v))),
    "cos_turns": lambda v: np.cos(2 * np.pi * (v - np.round(v))),
    "tanh": np.tanh,
    "asin": np.arcsin,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "sinc": lambda v: np.sinc(v / np.pi),
    "abs": np.abs,
    "positive": lambda v: np.maximum(v, 0),
    "step": lambda v: np.where(v > 0, 1.0, 0.0),
}


def operations(node, a, b):
    """Compute a leaf by its operations, each of which uses earlier results."""
    values = []
    for o in node["operations"]:
        args = [values[i] for i in o.get("of", [])]
        if o["op"] == "number":
            v = np.full((len(a), len(b)), o["number"])
        elif o["op"] == "feature":
            v = feature(node["features"][o["feature"]], a, b)
        elif o["op"] == "sum":
            v = sum((c * x for c, x in zip(o["coefficients"], args)), o.get("constant", 0.0))
        elif o["op"] == "product":
            v = np.prod([x ** float(p) for x, p in zip(args, o["powers"])], axis=0)
        elif o["op"] == "power":
            v = args[0] ** o["exponent"]
        elif o["op"] == "decay":
            t = np.sqrt(args[0])
            v = np.polynomial.polynomial.polyval(t, o["coefficients"]) * np.exp(-t)
        else:
            v = FUNCTIONS[o["op"]](args[0])
        values.append(v)
    return values[-1]


def leaf(node, a, b):
    """Return a leaf's values for all pairs of rows of a and b, in scaled units."""
    if "operations" in node:
        return operations(node, a, b)
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
    """Evaluate the covariance function, a tree of leaves, sums and products."""
    if node["type"] == "leaf":
        k = leaf(node, a, b)
    else:
        parts = [covariance(child, a, b) for child in node["children"]]
        k = sum(parts[1:], parts[0]) if node["type"] == "sum" else np.prod(parts, axis=0)
    return node.get("signal_variance", 1.0) * k


def variances(node, a):
    """Return the diagonal of covariance(node, a, a)."""
    return np.array([covariance(node, row[None, :], row[None, :])[0, 0] for row in a])


def mean_basis(mean, a):
    """Return the mean's basis functions at scaled rows, one in each column."""
    out = np.empty((len(a), len(mean["basis"])))
    for j, h in enumerate(mean["basis"]):
        x = a[:, h.get("column", 0)]
        if h["type"] == "constant":
            out[:, j] = 1
        elif h["type"] == "bump":
            out[:, j] = np.exp(-(((x - h["centre"]) / h["width"]) ** 2) / 2)
        elif h["type"] in ("cos", "sin"):
            wave = np.cos if h["type"] == "cos" else np.sin
            out[:, j] = wave(2 * np.pi * (x - h["centre"]) / h["width"])
        else:
            out[:, j] = x ** h.get("power", 1)
    return out


def expert_of(model, x):
    """Return the expert of each scaled row, the one with the nearest centre; 0 without."""
    centres = np.array(model.get("experts", {"centres": [[0.0] * x.shape[1]]})["centres"])
    return np.argmin(np.sum(differences(x, centres) ** 2, axis=2), axis=1)


def combine(model, new, prior, reductions):
    """Return the weights of the experts' means at new rows, and the variances there.
    reductions has a row for each expert."""
    if len(reductions) == 1 or model["experts"]["combine"] == "nearest":
        weights = (expert_of(model, new) == np.arange(len(reductions))[:, None]).astype(float)
        return weights, np.maximum(prior - np.sum(weights * reductions, axis=0), 0)
    variance = np.clip(prior - reductions, 1e-14 * prior, prior)
    beta = np.log(prior / variance) / 2
    precision = np.sum(beta * (1 / variance - 1 / prior), axis=0)
    weights = beta / variance / (precision + 1 / prior)
    return weights, 1 / (precision / model["experts"]["temperature"] + 1 / prior)


def uncertainty(basis, solved, r):
    """Return the variances that the coefficients add: Rasmussen & Williams, eq. 2.42."""
    return np.sum(r * np.linalg.solve(basis.T @ solved, r), axis=0)


def original(model, mean, latent, noise):
    """Return a prediction in original units. A share of the observations may have more noise."""
    s, z = model["scaling"], model["noise"]
    noise = noise + z.get("outlying_share", 0.0) * z.get("outlying_variance", 0.0)
    mean, std, std_latent = mean * s["y_scale"] + s["y_mean"], np.sqrt(latent + noise) * s["y_scale"], np.sqrt(latent) * s["y_scale"]
    if "transform" not in s:
        return mean, std, std_latent
    expected, std = moments(s["transform"], mean, std)
    return expected, std, moments(s["transform"], mean, std_latent)[1]


def transformed(x, transforms):
    """Return inputs with the transforms of their columns: those of Yeo and Johnson, or None for a column as it is."""
    x = np.array(x, dtype=float)
    for c, t in enumerate(transforms or []):
        if t is not None:
            u = (x[:, c] - t["shift"]) / t["unit"]
            size, power = np.log1p(np.abs(u)), np.where(u < 0, 2 - t["lambda"], t["lambda"])
            x[:, c] = np.sign(u) * np.where(power == 0, size, np.expm1(power * size) / np.where(power == 0, 1, power))
    return x


def inverse(transform, v):
    """Return the targets with transformed values."""
    lam, shift, unit = transform["lambda"], transform["shift"], transform["unit"]

    def root(power, v):
        return v if power == 0 else np.log1p(np.maximum(power * v, -1)) / power

    with np.errstate(divide="ignore"):  # below the range of Box and Cox the target is 0
        if transform["kind"] != "yeojohnson":
            return unit * np.exp(root(lam, v))
        up, down = np.expm1(root(lam, np.maximum(v, 0))), -np.expm1(root(2 - lam, np.maximum(-v, 0)))
    return shift + unit * np.where(v < 0, down, up)


def moments(transform, mean, std):
    """Return the mean and the standard deviation of targets whose transformed values are normal, by quadrature
    over 9 standard deviations: between the ends and the value 0, where Yeo and Johnson's transform changes, and -1/lambda."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    first, second = np.empty(len(mean)), np.empty(len(mean))
    for i, (m, s) in enumerate(zip(mean, std)):
        kinks = [0.0] + ([-1 / transform["lambda"]] if transform["lambda"] else [])
        ends = np.unique(np.clip([-9, 9, *np.linspace(-8, 8, 9), *((k - m) / s for k in kinks)], -9, 9))
        half = np.diff(ends)[:, None] / 2
        z = (ends[:-1, None] + half) + half * nodes
        p = half * weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        off = inverse(transform, m + s * z) - inverse(transform, np.array([m]))
        first[i], second[i] = np.sum(p * off), np.sum(p * off**2)
    return inverse(transform, np.asarray(mean)) + first, np.sqrt(second - first**2)


def predict(model, rows, noise=None):
    """Return the mean and the standard deviations of an observation and of the
    function, in original units. rows has the columns in use (model["columns"] of the
    features), in original units. noise is the rows' noise variance in scaled units;
    None means the model's."""
    s, diagonal = model["scaling"], model["noise"]
    to_scaled = lambda x: (transformed(x, s.get("x_transforms")) - np.array(s["x_mean"])) / np.array(s["x_scale"])
    x, new = to_scaled(model["X"]), to_scaled(np.asarray(rows, dtype=float))
    noise = np.full(len(new), float(diagonal["variance"])) if noise is None else noise
    training_noise = np.broadcast_to(model.get("training_noise", diagonal["variance"]), len(x)) + diagonal["jitter"]
    blocks = []  # rows, factor of their covariance, covariance with the new rows
    for own in np.unique(expert_of(model, x)):
        part = np.flatnonzero(expert_of(model, x) == own)
        sigma = covariance(model["kernel"], x[part], x[part]) + np.diag(training_noise[part])
        blocks.append((part, np.linalg.cholesky(sigma), covariance(model["kernel"], x[part], new)))
    reductions = [np.sum(np.linalg.solve(factor, cross) ** 2, axis=0) for _, factor, cross in blocks]
    weights, latent = combine(model, new, variances(model["kernel"], new), np.array(reductions))

    def project(columns):
        """Return the sum over experts of their weights times K*' times columns."""
        return sum(w[:, None] * (cross.T @ columns[part]) for w, (part, _, cross) in zip(weights, blocks))

    h = mean_basis(model["mean"], new)
    mean = h @ [b["coefficient"] for b in model["mean"]["basis"]] + project(model["alpha"][:, None])[:, 0]
    if model["mean"]["least_squares"] and h.shape[1]:
        basis, solved = mean_basis(model["mean"], x), np.empty((len(x), h.shape[1]))
        for part, factor, _ in blocks:
            solved[part] = np.linalg.solve(factor.T, np.linalg.solve(factor, basis[part]))
        latent = latent + uncertainty(basis, solved, (h - project(solved)).T)
    return original(model, mean, latent, noise)


def read_table(path):
    """Read a CSV file with a header as dictionaries; above it, "#" begins a comment line. The header shows what
    separates the columns: ";", a tab, "|" or a comma."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = list(itertools.dropwhile(lambda line: line.startswith("#") or not line.strip(), file))
    header = re.sub('"[^"]*"', "", lines[0] if lines else "")
    return list(csv.DictReader(lines, delimiter=next((s for s in ";\t|" if s in header), ",")))


SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800, "years": 31556952}


def utc(text):
    """Return an ISO 8601 date; without a zone it is UTC."""
    date = datetime.datetime.fromisoformat(text)
    return date if date.tzinfo else date.replace(tzinfo=datetime.timezone.utc)


THOUSANDS = {".": ".", ",": ",", "'": "'’", "space": " \u00a0\u202f\u2009"}


def number(text, encoding):
    """Return a number of text as the encoding of the model writes it."""
    left_out = THOUSANDS.get(encoding.get("thousands"), "") + ("$€£¥₹% " if encoding.get("units") else "")
    return float(text.translate({ord(c): None for c in left_out}).replace(encoding.get("decimal", "."), "."))


def iso(text, order):
    """Return a date of digits in the form of ISO 8601. With points and four digits of the year, the day comes first;
    of other dates that do not begin with the year, the order says so."""
    text = re.sub(r"^(\d{4})[/.](\d\d)[/.](\d\d)", r"\1-\2-\3", text)
    if re.fullmatch(r"\d{4}-\d\d", text):
        return text + "-01"
    found = re.match(r"(\d\d?)([/.-])(\d\d?)\2(\d{4}|\d\d)(?!\d)(.*)", text)
    if not found:
        return text
    first, point, second, year, rest = found.groups()
    if len(year) == 2:  # of 1969 to 2068
        year = str(int(year) + (1900 if int(year) >= 69 else 2000))
    elif point == ".":
        order = "dmy"
    day, month = (second, first) if order == "mdy" else (first, second)
    return f"{year}-{int(month):02d}-{int(day):02d}{rest}"


def encode(column, text, encoding):
    """Return the features that a column of the encoding makes of a text."""
    kind = column["kind"]
    if text not in column.get("categories", []):  # a category in quotes keeps its blanks
        text = text.strip()
    if kind == "number":
        return [number(text, encoding)]
    if kind == "boolean":
        return [{"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}[text.lower()]]
    if kind == "category":
        code = column["categories"].index(text)
        return [float(code)] if column.get("codes") else [float(k == code) for k in range(len(column["categories"]))]
    if kind == "date":
        passed = utc(iso(text, column.get("order"))) - utc(column["origin"])
    else:
        clock = datetime.time.fromisoformat(text)
        passed = datetime.datetime.combine(datetime.date.min, clock) - datetime.datetime.min
    return [passed.total_seconds() / SECONDS[column["unit"]]]


def read_rows(table, model):
    """Return the columns in use as an array."""
    names = model["feature_names"]
    encoding = model.get("encoding", {"columns": [{"name": name, "kind": "number"} for name in names]})
    rows = []
    sizes = [1 if c.get("codes") else len(c.get("categories", [0])) for c in encoding["columns"]]
    starts = np.cumsum([0] + sizes)
    for row in table:
        features = np.zeros(len(names))
        for column, start, size in zip(encoding["columns"], starts, sizes):
            if any(start <= c < start + size for c in model["columns"]):  # the table may lack others
                features[start : start + size] = encode(column, row[column["name"]], encoding)
        rows.append(features[model["columns"]])
    return np.array(rows)


def read_noise(table, model, rows):
    """Return the noise variance of each row in scaled units: the variance of its
    group if the model has groups, plus the known variance if the table has one."""
    scaling = model["scaling"]
    noise, square = model["noise"], scaling["y_scale"] ** 2
    if "groups" in noise and noise["group_column"] not in table[0]:
        sys.exit(f"the model has a noise variance for each group: the table needs the column {noise['group_column']!r}")
    out = np.full(len(rows), float(noise["variance"]))
    for i, row in enumerate(table):
        if "groups" in noise:
            out[i] = noise["groups"][row[noise["group_column"]]]
        if noise.get("known_column") in row:
            out[i] += float(row[noise["known_column"]]) / square
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, table = load(sys.argv[1]), read_table(sys.argv[2])
    print("mean,std,std_latent")
    rows = read_rows(table, model)
    for row in zip(*predict(model, rows, read_noise(table, model, rows))):
        print(",".join(repr(float(v)) for v in row))


if __name__ == "__main__":
    main()
