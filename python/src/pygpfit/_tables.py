"""Writes tables to files that gpfit reads, and reads its results, without loss."""

import csv
import os
import re
from pathlib import Path

import numpy as np


def write(path, columns):
    """Write named columns as a table. Return the file's path.

    Numbers go into a NumPy archive. CSV, with the shortest decimals that read back to the
    same bits, takes what the archive cannot: text, booleans, dates, gaps among them, and
    names with a meaning in archives.
    """
    columns = {str(name): _plain(np.asarray(values)) for name, values in columns.items()}
    numbers = all(values.dtype.kind in "fiu" for values in columns.values())
    if numbers and len(columns) > 1 and "X" not in columns and all(map(_entry_name, columns)):
        path = Path(f"{path}.npz")
        # savez itself has a parameter called file.
        arrays = {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in columns.items()}
        np.savez(path, **arrays)
        return path
    path = Path(f"{path}.csv")
    with open(path, "w", newline="", encoding="utf-8") as out:
        # Quotes around all names tell a header of numbers from a row, and a # from a comment.
        csv.writer(out, quoting=csv.QUOTE_ALL).writerow(columns)
        out.writelines(",".join(map(_quoted, row)) + "\n" for row in zip(*map(_cells, columns.values())))
    return path


def _quoted(cell):
    """Return a cell in quotes if it needs them, also for blanks at its ends."""
    return cell if _BARE.fullmatch(cell) else '"' + cell.replace('"', '""') + '"'


_BARE = re.compile(r'[^\s,"](?:[^,"\r\n]*[^\s,"])?')


def _entry_name(name):
    return name not in ("", "file", "allow_pickle") and "\0" not in name and not name.endswith(".npy")


def _plain(values):
    """Return durations as numbers of days, other columns as they are."""
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "D")
    return values


def _cells(values):
    """Return the cells of a column as texts."""
    if values.dtype.kind == "M":
        days = np.isnat(values) | (values == values.astype("datetime64[D]"))
        unit = "D" if days.all() else "auto"
        return np.where(np.isnat(values), "", np.datetime_as_string(values, unit=unit))
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    return [_cell(value) for value in values.tolist()]


def _cell(value):
    # NaN, NaT and NA of pandas are not equal to themselves; NA is not even comparable.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    if hasattr(value, "isoformat"):  # a date, or a time with a zone
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def write_array(path, X, y=None, more={}):
    """Write a matrix without names, the target, and named columns that are no inputs, as a NumPy archive."""
    path = Path(f"{path}.npz")
    arrays = {"X": np.ascontiguousarray(X, dtype=np.float64)}
    if y is not None:
        arrays["y"] = np.ascontiguousarray(y, dtype=np.float64)
    arrays |= more
    np.savez(path, **arrays)
    return path


def named_columns(data):
    """Return the columns of a table by name: of a dict, a data frame or a structured array.

    The result is None for a plain array.
    """
    if isinstance(data, dict):
        return data
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, Polars
        _distinct([str(name) for name in data.columns])
        return {str(name): np.asarray(data[name]) for name in data.columns}
    if hasattr(data, "column_names"):  # PyArrow
        _distinct(data.column_names)
        return {name: np.asarray(data[name]) for name in data.column_names}
    if getattr(getattr(data, "dtype", None), "names", None):
        return {name: data[name] for name in data.dtype.names}
    return None


def _distinct(names):
    """Raise an error if two columns have one name."""
    first = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            raise ValueError(f"the columns at the positions {first[name]} and {i} are both called {name!r}: rename or drop one")


def categories(data):
    """Return the names of the columns of a data frame that its types call categories."""
    types = getattr(data, "dtypes", None)
    if not hasattr(types, "items"):  # Polars has a list
        types = dict(zip(getattr(data, "columns", ()), types or ()))
    return [str(name) for name, dtype in types.items() if type(dtype).__name__ in _CATEGORIES]


# The types of categories in pandas and Polars.
_CATEGORIES = {"CategoricalDtype", "Categorical", "Enum"}


def mixed(data):
    """Return the columns of a data frame by name if some are not numbers, else None."""
    if not (hasattr(data, "columns") and hasattr(data, "dtypes")):
        return None
    if len({*map(str, data.columns)}) < len(data.columns) and all(getattr(t, "kind", "O") in "fiu" for t in data.dtypes):
        return None  # numbers, in the order of their positions
    columns = named_columns(data)
    if not categories(data) and all(_numeric(values) for values in columns.values()):
        return None
    return columns


def _numeric(values):
    """Say whether a column holds numbers: also numbers beside NA, which NumPy calls objects."""
    if values.dtype.kind in "fiu":
        return True
    return values.dtype.kind == "O" and all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_)) or _cell(v) == ""
        for v in values.tolist()
    )


def gaps(columns):
    """Return which rows of named columns have an empty cell."""
    return np.any([[cell == "" for cell in _cells(_plain(values))] for values in columns.values()], axis=0)


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
    """Return the columns of a CSV file that gpfit wrote, by name: numbers, NaN in empty cells,
    and text where a column has any."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = list(zip(*rows)) or [()] * len(names)
    return {name: _numbers_or_text(cells) for name, cells in zip(names, columns)}


def _numbers_or_text(cells):
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=object)


def read_npy(path, names):
    """Return the columns of an array that gpfit wrote, by name, each in memory of its own."""
    values = np.load(path)
    return {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)}
