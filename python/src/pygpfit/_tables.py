"""Writes tables to files that gpfit reads, and reads its results, without loss."""

import csv
import os
from pathlib import Path

import numpy as np


def write(path, columns):
    """Write named columns of numbers or text as a table. Return the file's path.

    Numbers go into a NumPy archive. CSV, with the shortest decimals that read back to the
    same bits, takes what the archive cannot: text, and names with a meaning in archives.
    """
    columns = {str(name): np.asarray(values) for name, values in columns.items()}
    numbers = all(values.dtype.kind in "fiub" for values in columns.values())
    if numbers and len(columns) > 1 and "X" not in columns and all(map(_entry_name, columns)):
        path = Path(f"{path}.npz")
        # savez itself has a parameter called file.
        arrays = {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in columns.items()}
        np.savez(path, **arrays)
        return path
    path = Path(f"{path}.csv")
    with open(path, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(columns)
        rows.writerows(zip(*map(_cells, columns.values())))
    return path


def _entry_name(name):
    return name not in ("", "file", "allow_pickle") and "\0" not in name and not name.endswith(".npy")


def _cells(values):
    """Return the cells of a column as texts."""
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), "", np.datetime_as_string(values))
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    return [_cell(value) for value in values.tolist()]


def _cell(value):
    if value is None or value != value:  # NaN, NaT
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def write_array(path, X, y=None):
    """Write a matrix without names, and the target, as a NumPy archive."""
    path = Path(f"{path}.npz")
    arrays = {"X": np.ascontiguousarray(X, dtype=np.float64)}
    if y is not None:
        arrays["y"] = np.ascontiguousarray(y, dtype=np.float64)
    np.savez(path, **arrays)
    return path


def named_columns(data):
    """Return the columns of a table by name: of a dict, a data frame or a structured array.

    The result is None for a plain array.
    """
    if isinstance(data, dict):
        return data
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, Polars
        return {str(name): np.asarray(data[name]) for name in data.columns}
    if hasattr(data, "column_names"):  # PyArrow
        return {name: np.asarray(data[name]) for name in data.column_names}
    if getattr(getattr(data, "dtype", None), "names", None):
        return {name: data[name] for name in data.dtype.names}
    return None


def place(data, folder, name="data"):
    """Return the path of a table: data itself if it is a path, else a file in folder."""
    if isinstance(data, (str, os.PathLike)):
        return data
    columns = named_columns(data)
    if columns is not None:
        return write(Path(folder) / name, columns)
    X = np.asarray(data, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"a table needs rows and columns; this array has {X.ndim} dimensions")
    return write_array(Path(folder) / name, X)


def read_csv(path):
    """Return the columns of a CSV file that gpfit wrote, by name."""
    with open(path, newline="", encoding="utf-8") as file:
        names = next(csv.reader(file))
        values = np.loadtxt(file, delimiter=",", ndmin=2, dtype=np.float64)
    return dict(zip(names, values.reshape(-1, len(names)).T))
