"""Writes tables to files that gpfit reads, and reads its results, without loss."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ._types import Column, Floats, PathLike, Table

Columns = Mapping[str, ArrayLike]
# Text of so few rows is written and read faster than an archive.
_FEW = 4


def write(path: PathLike, columns: Columns) -> Path:
    """Write named columns as a table. Return the file's path.

    Numbers go into a NumPy archive. CSV, with the shortest decimals that read back to the
    same bits, takes what the archive cannot: text, booleans, dates, gaps among them, and
    names with a meaning in archives.
    """
    plain = {str(name): _plain(_array(values)) for name, values in columns.items()}
    numbers = all(values.dtype.kind in "fiu" for values in plain.values())
    few = all(len(values) <= _FEW for values in plain.values())
    if numbers and not few and len(plain) > 1 and "X" not in plain and all(map(_entry_name, plain)):
        return _archive(path, {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in plain.items()})
    path = Path(f"{path}.csv")
    with open(path, "w", newline="", encoding="utf-8") as out:
        # Quotes around all names tell a header of numbers from a row, and a # from a comment.
        csv.writer(out, quoting=csv.QUOTE_ALL).writerow(plain)
        out.writelines(",".join(map(_in_quotes, row)) + "\n" for row in zip(*map(_cells, plain.values()), strict=True))
    return path


def unmasked(values: Any) -> Any:
    """Return values as they are, but with missing values in place of the masked cells of a masked array."""
    if not np.ma.is_masked(values):
        return values
    numbers = values.dtype.kind in "fiub"
    return values.astype(np.float64 if numbers else object).filled(np.nan if numbers else None)


def _array(values: Any) -> Column:
    return np.asarray(unmasked(values))


def _archive(path: PathLike, arrays: dict[str, Floats]) -> Path:
    path = Path(f"{path}.npz")
    np.savez(path, **arrays)  # type: ignore[arg-type, unused-ignore]  # a parameter of savez is no array
    return path


def _in_quotes(cell: str) -> str:
    """Return a cell in quotes if it needs them, also for blanks at its ends."""
    return cell if _BARE.fullmatch(cell) else '"' + cell.replace('"', '""') + '"'


_BARE = re.compile(r'[^\s,"](?:[^,"\r\n]*[^\s,"])?')


def _entry_name(name: str) -> bool:
    # savez itself has a parameter called file.
    return name not in ("", "file", "allow_pickle") and "\0" not in name and not name.endswith(".npy")


def _plain(values: Column) -> Column:
    """Return durations as numbers of days, other columns as they are."""
    if values.dtype.kind == "m":
        days: Floats = values / np.timedelta64(1, "D")
        return days
    return values


def _cells(values: Column) -> Sequence[str]:
    """Return the cells of a column as texts."""
    if values.dtype.kind == "M":
        days = np.isnat(values) | (values == values.astype("datetime64[D]"))
        texts = np.datetime_as_string(values, unit="D") if days.all() else np.datetime_as_string(values, unit="auto")
        return [str(text) for text in np.where(np.isnat(values), "", texts)]
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    return [_cell(value) for value in values.tolist()]


def _cell(value: Any) -> str:
    # NaN, NaT and NA of pandas are not equal to themselves; NA is not even comparable.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    if hasattr(value, "isoformat"):  # a date, or a time with a zone
        return str(value.isoformat())
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def write_array(path: PathLike, X: Column, y: Column | None = None, more: Columns | None = None) -> Path:
    """Write a matrix without names, the target, and named columns that are no inputs, as a NumPy archive."""
    arrays = {"X": np.ascontiguousarray(X, dtype=np.float64)}
    if y is None and not more:
        np.save(f"{path}.npy", arrays["X"])
        return Path(f"{path}.npy")
    if y is not None:
        arrays["y"] = np.ascontiguousarray(y, dtype=np.float64)
    for name, values in (more or {}).items():
        arrays[name] = np.ascontiguousarray(values, dtype=np.float64)
    return _archive(path, arrays)


def named_columns(data: Any) -> dict[str, Column] | None:
    """Return the columns of a table by name: of a dict, a data frame or a structured array.

    The result is None for a plain array.
    """
    if isinstance(data, Mapping):
        given = cast("Mapping[Any, ArrayLike]", data)
        return {str(name): _array(values) for name, values in given.items()}
    if hasattr(data, "column_names"):  # PyArrow
        _distinct(data.column_names)
        return {str(name): np.asarray(data[name]) for name in data.column_names}
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # pandas, Polars
        _distinct([str(name) for name in data.columns])
        return {str(name): np.asarray(data[name]) for name in data.columns}
    names = getattr(getattr(data, "dtype", None), "names", None)
    return {name: _array(data[name]) for name in names} if names else None


def _distinct(names: Iterable[str]) -> None:
    """Raise an error if two columns have one name."""
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            raise ValueError(f"the columns at the positions {first[name]} and {i} are both called {name!r}: rename or drop one")


def categories(data: Any) -> list[str]:
    """Return the names of the columns of a data frame that its types call categories."""
    types = getattr(data, "dtypes", None)
    if not hasattr(types, "items"):  # Polars has a list
        types = dict(zip(getattr(data, "columns", ()), types or (), strict=False))
    return [str(name) for name, dtype in types.items() if type(dtype).__name__ in _CATEGORIES]  # type: ignore[union-attr, unused-ignore]


# The types of categories in pandas and Polars.
_CATEGORIES = {"CategoricalDtype", "Categorical", "Enum"}


def mixed(data: Any) -> dict[str, Column] | None:
    """Return the columns of a data frame by name if some are not numbers, else None."""
    if not (hasattr(data, "columns") and hasattr(data, "dtypes")):
        return None
    kinds = [getattr(t, "kind", "O") for t in data.dtypes]
    if not categories(data) and all(kind in "fiu" for kind in kinds):
        return None
    columns = named_columns(data)
    if columns is None or not categories(data) and all(_numeric(values) for values in columns.values()):
        return None
    return columns


def _numeric(values: Column) -> bool:
    """Say whether a column holds numbers: also numbers beside NA, which NumPy calls objects."""
    if values.dtype.kind in "fiu":
        return True
    return values.dtype.kind == "O" and all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_)) or _cell(v) == ""
        for v in values.tolist()
    )


def gaps(columns: Columns) -> Column:
    """Return which rows of named columns have an empty cell."""
    empty = [[cell == "" for cell in _cells(_plain(_array(values)))] for values in columns.values()]
    which: Column = np.any(empty, axis=0)
    return which


def place(data: Table, folder: PathLike, name: str = "data") -> PathLike:
    """Return the path of a table: data itself if it is a path, else a file in folder."""
    if isinstance(data, (str, os.PathLike)):
        return cast("PathLike", data)
    columns = named_columns(data)
    if columns is not None:
        return write(Path(folder) / name, columns)
    X = np.asarray(_array(data), dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"a table needs rows and columns; this array has {X.ndim} dimensions")
    return write_array(Path(folder) / name, X)


def read_csv(lines: Iterable[str], texts: Sequence[str]) -> dict[str, Column]:
    """Return the columns of a table that gpfit wrote, by name: numbers, NaN in empty cells,
    and text in columns with these names and where a column has any."""
    rows = csv.reader(lines)
    names = next(rows)
    columns: list[tuple[str, ...]] = list(zip(*rows, strict=True)) or [()] * len(names)
    return {
        name: np.array(cells, dtype=object) if name in texts else _numbers_or_text(cells) for name, cells in zip(names, columns, strict=True)
    }


def _numbers_or_text(cells: Sequence[str]) -> Column:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=object)


def read_npy(path: PathLike, names: Sequence[str]) -> dict[str, Column]:
    """Return the columns of an array that gpfit wrote, by name, each in memory of its own."""
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + int.from_bytes(data[8:10], "little")  # after the header of NumPy's format, version 1.0
    values = np.frombuffer(data, dtype="<f8", offset=start).reshape(-1, len(names))
    return {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)}
