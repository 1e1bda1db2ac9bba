"""Reads tables by pandas, with the settings in a JSON file, and prints what they hold as JSON."""

import json
import sys
import warnings

import pandas as pd

warnings.simplefilter("ignore")  # pandas 4 may drop float_precision


def read(s):
    """Return the names and the rows of a table: numbers, texts, days since 1970, or None."""
    with open(s["file"], "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    types = {name: "float64" if kind == "number" else str for name, kind in zip(s["names"], s["kinds"])}
    frame = pd.read_csv(
        s["file"], encoding=s["encoding"], sep=r"\s+" if s["sep"] == " " else s["sep"], decimal=s["decimal"],
        header=0 if s["header"] else None, names=None if s["header"] else s["names"], skiprows=s["skip"],
        index_col=0 if s["index"] else False, na_values=s["missing"], keep_default_na=False, skipinitialspace=s["strip"],
        float_precision="round_trip", compression="gzip" if packed else None, dtype=None if s["strip"] else types,
    )
    frame.columns = [str(name).strip() for name in frame.columns]
    columns = []
    for name, kind in zip(frame.columns, s["kinds"]):
        values = frame[name]
        if s["strip"] and kind != "number":
            values = values.str.strip().replace(s["missing"], None)
        elif s["strip"] and values.dtype.kind not in "fiu":
            texts = values.str.strip().str.replace(s["decimal"], ".")
            values = texts.mask(texts.isin([m.replace(s["decimal"], ".") for m in s["missing"]])).map(float, na_action="ignore")
        if kind == "date":
            values = (pd.to_datetime(values) - pd.Timestamp(0)) / pd.Timedelta(days=1)
        columns.append([None if pd.isna(v) else v if kind == "text" else float(v) for v in values])
    return {"names": list(frame.columns), "rows": list(zip(*columns))}


with open(sys.argv[1]) as file:
    print(json.dumps([read(s) for s in json.load(file)]))
