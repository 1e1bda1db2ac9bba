#!/usr/bin/env python3
"""Predict with a model that "gpfit export" wrote, using NumPy, and SciPy where it is there.

    gpfit export co2.gpfit --format json --out co2.json
    python3 examples/read_model.py co2.json examples/co2_new.csv

prints the mean and standard deviation of a new observation for every row, as
"gpfit predict" does. EXPORT.md beside this file describes the format.
"""

import csv
import datetime
import itertools
import json
import re
import sys

import numpy as np
from exported import VERSIONS, Predictor

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
    if model.get("type") != "gpfit export" or model["schema_version"] not in VERSIONS:
        sys.exit(f"{path}: not a gpfit export of schema version 1 to 8")
    return model | {name: np.array(model[name], dtype=float) for name in ARRAYS if name in model}


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


def predict(model, rows, groups=None, known=None):
    """Return the mean and the standard deviations of an observation and of the function, in original units. rows has the
    columns in use (model["columns"] of the features), in original units; groups are their noise groups, known their known variances."""
    predictor = Predictor(model)
    found = predictor(np.asarray(rows, dtype=float), predictor.noise(groups, known))
    return found.mean[:, 0], found.std[:, 0], found.std_latent[:, 0]


def read_noise(table, model):
    """Return the noise groups and the known variances of the rows of a table; None without."""
    noise = model["noise"]
    if "groups" in noise and noise["group_column"] not in table[0]:
        sys.exit(f"the model has a noise variance for each group: the table needs the column {noise['group_column']!r}")
    column = noise.get("known_column")
    return (
        [row[noise["group_column"]] for row in table] if "groups" in noise else None,
        [float(row[column]) for row in table] if column in table[0] else None,
    )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, table = load(sys.argv[1]), read_table(sys.argv[2])
    try:
        found = predict(model, read_rows(table, model), *read_noise(table, model))
    except ValueError as error:
        sys.exit(f"{sys.argv[2]}: {error}")
    print("mean,std,std_latent")
    for row in zip(*found):
        print(",".join(repr(float(v)) for v in row))


if __name__ == "__main__":
    main()
