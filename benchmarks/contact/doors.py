"""One small table in the conventions of many writers: does a model of plain CSV predict the same from each of their files?

    go build -o /tmp/doors/gpfit ./cmd/gpfit
    python3 benchmarks/contact/doors.py /tmp/doors/gpfit FOLDER > benchmarks/results/2026-11-29-doors.txt

Needs pandas, pyarrow, polars and NumPy; fastparquet and duckdb if they are there. The table has the columns x, z and y; x has one of a
dozen kinds, and its values are the same in all types that hold them. For each file, a model of the plain CSV predicts from it, and a
model of it predicts from the plain CSV. The means must agree to 1e-6. A file may be refused by an error that names an option or what to
write instead. Text that needs options, as pandas needs arguments, is tried without and with them.
"""
import collections
import datetime as dt
import decimal
import io
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

GPFIT, FOLDER = sys.argv[1:3]
N = 60
R = np.random.default_rng(5)
Z = R.integers(0, 800, N) / 8
COUNT = R.permutation(N) * 2 % 100
GAP = COUNT % 20 == 0
DAY = [dt.date(2023, 12, 1) + dt.timedelta(days=int(c) * 3) for c in COUNT]
TIME = [dt.datetime(2024, 3, 1, 6, 30) + dt.timedelta(hours=int(c) * 7, seconds=int(c)) for c in COUNT]
CLOCK = [dt.time(int(c) % 24, int(c) % 60, int(c) % 7) for c in COUNT]
VALUES = {
    "float": [float(c) * 130.5 - 4000 for c in COUNT], "half": [float(c) / 4 - 9 for c in COUNT], "int": [int(c) for c in COUNT],
    "gap": [None if g else int(c) for c, g in zip(COUNT, GAP)], "fgap": [None if g else c / 8 for c, g in zip(COUNT, GAP)],
    "bool": [bool(c % 3 == 0) for c in COUNT], "cat": ["red green blue-ä Ωmega".split()[c % 4] for c in COUNT], "date": DAY, "time": TIME,
    "clock": CLOCK, "span": [dt.timedelta(seconds=float(c) * 90.5) for c in COUNT], "big": [float(c) * 1e9 / 7 for c in COUNT],
}

def plain(v):
    if isinstance(v, dt.timedelta):
        return repr(v.total_seconds())
    if isinstance(v, bool):
        return str(v).lower()
    return "" if v is None else v.isoformat() if hasattr(v, "isoformat") else str(v)

Y = [float(np.round(np.sin(c / 9) + z / 70, 4)) for c, z in zip(COUNT, Z)]

def frame(kind, x=None, **more):
    return pd.DataFrame({"x": pd.Series(VALUES[kind] if x is None else x, **more), "z": Z, "y": Y})

def arrow(kind, of=None):
    x = VALUES[kind]
    if pa.types.is_decimal(of) if of else False:
        x = [None if v is None else decimal.Decimal(str(v)) for v in x]
    return pa.table({"x": pa.array(x, of) if not of or not pa.types.is_dictionary(of) else pa.array(x).dictionary_encode().cast(of), "z": Z, "y": Y})

def ipc(new, path, table):
    with new(path, table.schema) as out:
        out.write_table(table)

CASES = []  # kind, writer, name, function that writes to a path, options of gpfit

def case(kind, writer, name, ending, write, options=""):
    CASES.append((kind, writer, name, ending, write, options.split()))

def text_cases():
    def table(kind, cell, number, sep, quote, end, index=False, header=True, gap=""):
        q = (lambda s: '"' + s.replace('"', '""') + '"') if quote else (lambda s: '"' + s + '"' if sep in s else s)
        rows = [["x", "z", "y"]] if header else []
        rows += [[gap if v is None else cell(v), number(z), number(y)] for v, z, y in zip(VALUES[kind], Z, Y)]
        if index:
            rows = [[str(i - 1) if i else ""] + r for i, r in enumerate(rows)]
        return "".join(sep.join(map(q, r)) + end for r in rows)

    def add(kind, name, cell=plain, number=repr, sep=",", quote=False, end="\n", options="", code="utf-8", head="", ending=".csv", pack=None, **more):
        number = (lambda v, f=number: f(float(v)))
        text = head + table(kind, cell, number, sep, quote, end, **more)
        data = text.encode(code)
        if pack:
            data = pack(data)
        case(kind, "text", name, ending, lambda p: open(p, "wb").write(data), options)

    for kind in VALUES:
        for name, sep in {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}.items():
            add(kind, name, sep=sep, quote=sep == "|")
        add(kind, "sep=; crlf", sep=";", end="\r\n", head="sep=;\r\n")
    comma = lambda v: plain(v).replace(".", ",")
    for sep in ";\t":
        for kind in ("float", "half", "fgap", "big", "span"):
            add(kind, "decimal comma " + repr(sep), comma, lambda v: repr(v).replace(".", ","), sep, options="--decimal ,")
    for sign, name in {",": ",", "'": "'", " ": "space", "\u00a0": "space", "\u202f": "space"}.items():
        for kind in ("float", "big"):
            add(kind, "thousands " + repr(sign), lambda v, s=sign: f"{v:,.6f}".replace(",", s), lambda v, s=sign: f"{v:,.4f}".replace(",", s), ";", options="--thousands " + name)
    german = lambda v: f"{v:,.6f}".translate(str.maketrans(",.", ".,"))
    for kind in ("float", "big"):
        add(kind, "1.234,5", german, german, ";", options="--decimal , --thousands .")
    for unit in ("${}", "{} €", "€{}", "{}%", "{} %", "£{}"):
        add("float", "unit " + unit, lambda v, u=unit: u.format(repr(v)), repr, ";", options="--strip-units")
    add("float", "(1.5) is negative", lambda v: f"({-v})" if v < 0 else str(v), options="--strip-units")
    add("float", "1.5- is negative", lambda v: f"{-v}-" if v < 0 else str(v), options="--strip-units")
    add("float", "unicode minus", lambda v: str(v).replace("-", "\u2212"), options="--strip-units")
    add("float", "exponent 1.5E+03", lambda v: f"{v:.9E}")
    add("float", "exponent 1.5D+03", lambda v: f"{v:.9E}".replace("E", "D"))
    add("float", "plus sign", lambda v: f"{v:+}")
    add("big", "exponent with comma", lambda v: f"{v:.15E}".replace(".", ","), lambda v: repr(v).replace(".", ","), ";", options="--decimal ,")
    for form in ("%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%y", "%d.%m.%y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%Y-%m-%dT00:00:00Z", "%Y-W%V-%u", "%A, %d %B %Y", "%Y.%m.%d", "%d-%b-%y"):
        order = {"%d/%m": "--date-order dmy", "%m/%d": "--date-order mdy", "%d-%m": "--date-order dmy"}.get(form[:5], "--dates x" if form == "%Y%m%d" else "")
        add("date", "date " + form, lambda v, f=form: v.strftime(f), options=order, sep=";")
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.000Z", "%Y-%m-%d %H:%M:%S+00:00", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %H:%M:%S", "%Y%m%dT%H%M%S", "%a %b %d %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S", "%Y-%m-%d %H:%M:%S UTC"):
        add("time", "time " + form, lambda v, f=form: v.strftime(f), options={"%m": "--date-order mdy", "%d/": "--date-order dmy"}.get(form[:2] if form[:2] == "%m" else form[:3] if form[:5] == "%d/%m" else "", ""))
    for form in ("%H:%M:%S", "%I:%M:%S %p", "%I:%M:%S%p", "%H.%M.%S", "%H:%M:%S.000000"):
        add("clock", "clock " + form, lambda v, f=form: v.strftime(f))
    for words in (("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("1", "0"), ("T", "F"), ("Y", "N"), ("1.0", "0.0"), ("t", "f"), ("on", "off"), ("ja", "nein")):
        add("bool", "/".join(words), lambda v, w=words: w[not v])
    for gap in ("NA", "NaN", "nan", "null", "N/A", "#N/A", "None", "-", ".", "?", "n/a", "\\N", "#DIV/0!", "--", "missing", "*", "NULL", "NaT", "<NA>", "#VALUE!", "inf", '" "', "n.a.", "k.A.", "..", "…", "–", "nd"):
        add("fgap", "gap " + gap, gap=gap)
    for code in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "iso8859-15", "cp850", "mac-roman", "cp1253", "utf-32", "iso8859-7"):
        for kind in ("cat", "int"):
            if kind == "int" or code.startswith("utf"):
                add(kind, "encoding " + code, code=code, options={"utf-16-le": "--encoding utf-16le", "utf-16-be": "--encoding utf-16be"}.get(code, ""))
    import bz2
    import gzip
    import lzma
    import zipfile

    def zipped(data):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("table.csv", data)
        return out.getvalue()

    for ending, pack in {".gz": gzip.compress, ".bz2": bz2.compress, ".zip": zipped, ".xz": lzma.compress, ".zst": lambda d: pa.compress(d, "zstd", asbytes=True)}.items():
        add("float", "packed " + ending, ending=".csv" + ending, pack=pack)
    for end in ("\r", "\r\n"):
        add("float", "line ends " + repr(end), end=end)
    add("float", "index", index=True)
    add("float", "quotes", quote=True)
    add("float", "comments", head="# made by a program\n# 2024\n")
    add("float", "no header", header=False, options="--features 0,1")
    add("float", "blanks", sep="  ", number=lambda v: f"{v:10.4f}")
    add("float", "blanks around", cell=lambda v: f"  {v} ", number=lambda v: f" {v:10.4f} ")
    add("float", "single quotes", cell=lambda v: f"'{v}'")

def frame_cases():
    kinds = {"float": ["float64", "float32", "Float64", "Float32", "object"], "half": ["float16", "float32", "float64"], "int": ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "Int64", "Int8", "UInt32", "float32", "float16"],
             "gap": ["Int64", "UInt8", "Int32", "float64", "float32", "object"], "fgap": ["float64", "Float64", "float32"], "bool": ["bool", "boolean", "category"], "cat": ["object", "str", "string", "category", "string[pyarrow]", "large_string[pyarrow]"], "date": ["object", "datetime64[ns]", "datetime64[s]", "date32[pyarrow]"],
             "time": ["datetime64[ns]", "datetime64[us]", "datetime64[ms]", "datetime64[s]", "datetime64[ns, UTC]", "timestamp[us][pyarrow]"], "span": ["timedelta64[ns]", "timedelta64[us]", "timedelta64[s]"], "clock": ["object"], "big": ["float64"]}
    for kind, types in kinds.items():
        for t in types:
            try:
                f = frame(kind, dtype=t)
            except Exception as e:
                print("cannot make", kind, t, e, file=sys.stderr)
                continue
            for ending, write in {".parquet": lambda p, f=f: f.to_parquet(p), ".feather": lambda p, f=f: f.to_feather(p), ".jsonl": lambda p, f=f: f.to_json(p, orient="records", lines=True, **({"date_format": "iso"} if f.x.dtype.kind in "Mm" else {})), ".csv": lambda p, f=f: f.to_csv(p)}.items():
                case(kind, "pandas", f"{t} {ending}", ending, write)
    f = frame("int")
    indexes = {"unnamed": f.set_index(pd.Index(range(5, 65))), "named": f.set_index(pd.Index(range(60), name="id")), "texts": f.set_index(pd.Index([f"r{i}" for i in range(60)], name="key")), "multi": f.set_index([pd.Index([i // 9 for i in range(60)], name="a"), pd.Index([i % 9 for i in range(60)], name="b")]),
               "range": f.set_index(pd.RangeIndex(0, 120, 2)), "dates": f.set_index(pd.date_range("2020-01-01", periods=60, name="day"))}
    for name, g in indexes.items():
        case("int", "pandas", f"index {name}", ".parquet", lambda p, g=g: g.to_parquet(p))
        case("int", "pandas", f"index {name}", ".csv", lambda p, g=g: g.to_csv(p))
        case("int", "pandas", f"index {name}", ".feather", lambda p, g=g: pyarrow.feather.write_feather(pa.Table.from_pandas(g), p))
    case("time", "pandas", "Berlin", ".parquet", lambda p: frame("time", pd.Series(TIME, dtype="datetime64[ns, UTC]").dt.tz_convert("Europe/Berlin")).to_parquet(p))
    case("time", "pandas", "Berlin", ".csv", lambda p: frame("time", pd.Series(TIME, dtype="datetime64[ns, UTC]").dt.tz_convert("Europe/Berlin")).to_csv(p, index=False))
    case("time", "pandas", "epoch ms", ".jsonl", lambda p: frame("time", dtype="datetime64[ms]").to_json(p, orient="records", lines=True, date_format="epoch"))
    case("float", "pandas", "records", ".json", lambda p: frame("float").to_json(p, orient="records"))
    case("float", "pandas", "columns", ".json", lambda p: frame("float").to_json(p))
    case("float", "pandas", "split", ".json", lambda p: frame("float").to_json(p, orient="split"))
    case("float", "pandas", "pickle", ".pkl", lambda p: frame("float").to_pickle(p))
    case("float", "pandas", "stata", ".dta", lambda p: frame("float").to_stata(p))
    case("float", "pandas", "excel", ".xlsx", lambda p: frame("float").to_excel(p, index=False))
    case("float", "pandas", "markdown", ".txt", lambda p: open(p, "w").write(frame("float").to_string(index=False)))

def arrow_cases():
    D = pa.dictionary
    kinds = {"float": [pa.float32(), pa.float64(), pa.decimal128(12, 3), pa.decimal256(40, 5), pa.decimal64(12, 2), pa.decimal32(9, 2), D(pa.int8(), pa.float64())], "half": [pa.float16()], "int": [pa.int8(), pa.uint8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), D(pa.int32(), pa.int64())],
             "gap": [pa.int8(), pa.int64(), pa.uint64()], "fgap": [pa.float32(), pa.decimal128(9, 3)], "bool": [pa.bool_(), pa.bool8()], "cat": [pa.string(), pa.large_string(), pa.string_view(), D(pa.int8(), pa.string()), D(pa.int32(), pa.large_string()), pa.binary()], "date": [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us")],
             "time": [pa.timestamp(u, z) for u in ("s", "ms", "us", "ns") for z in (None, "UTC", "America/New_York")], "clock": [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], "span": [pa.duration(u) for u in ("ms", "us", "ns")]}
    for kind, types in kinds.items():
        for t in types:
            try:
                table = arrow(kind, t)
            except Exception as e:
                print("cannot make", kind, t, e, file=sys.stderr)
                continue
            for ending, write in {".parquet": lambda p, t=table: pq.write_table(t, p), ".arrow": lambda p, t=table: ipc(pa.ipc.new_file, p, t), ".arrows": lambda p, t=table: ipc(pa.ipc.new_stream, p, t), ".feather": lambda p, t=table: pyarrow.feather.write_feather(t, p, compression="zstd")}.items():
                case(kind, "pyarrow", f"{t} {ending}", ending, write)
    for kind in ("float", "gap", "cat", "time", "bool"):
        for version in ("1.0", "2.4", "2.6"):
            for page in ("1.0", "2.0"):
                for packed in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
                    if packed in ("none", "snappy") or version == "2.6" and kind == "gap":
                        case(kind, "pyarrow", f"{version} page {page} {packed} plain", ".parquet", lambda p, k=kind, v=version, g=page, c=packed: pq.write_table(arrow(k), p, version=v, data_page_version=g, compression=c, use_dictionary=c != "none", row_group_size=25))
    for e in ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"):
        case("gap", "pyarrow", e, ".parquet", lambda p, e=e: pq.write_table(arrow("gap"), p, use_dictionary=False, column_encoding={"x": e}))
    for e in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
        case("cat", "pyarrow", e, ".parquet", lambda p, e=e: pq.write_table(arrow("cat"), p, use_dictionary=False, column_encoding={"x": e}))
    case("time", "pyarrow", "INT96", ".parquet", lambda p: pq.write_table(arrow("time"), p, use_deprecated_int96_timestamps=True))
    case("float", "pyarrow", "Feather 1", ".feather", lambda p: pyarrow.feather.write_feather(arrow("float"), p, version=1))
    case("float", "pyarrow", "ORC", ".orc", lambda p: __import__("pyarrow.orc").orc.write_table(arrow("float"), p))
    for kind in VALUES:
        if kind not in ("span", "big"):
            case(kind, "pyarrow", "csv", ".csv", lambda p, k=kind: pyarrow.csv.write_csv(arrow(k), p))

def other_cases():
    for kind in VALUES:
        f = pl.DataFrame({"x": VALUES[kind], "z": Z, "y": Y})
        for ending, write in {".parquet": f.write_parquet, ".arrow": f.write_ipc, ".arrows": f.write_ipc_stream, ".jsonl": f.write_ndjson, ".csv": f.write_csv}.items():
            case(kind, "polars", ending, ending, write)
    case("cat", "polars", "Categorical", ".parquet", pl.DataFrame({"x": VALUES["cat"], "z": Z, "y": Y}).with_columns(pl.col("x").cast(pl.Categorical)).write_parquet)
    case("cat", "polars", "Enum", ".arrow", pl.DataFrame({"x": VALUES["cat"], "z": Z, "y": Y}).with_columns(pl.col("x").cast(pl.Enum(sorted(set(VALUES["cat"]))))).write_ipc)
    for kind, types in {"half": "f2 f4 f8 >f8 >f4 >f2 g".split(), "int": "i1 u1 i2 >i2 u4 i8 >i8 u8 b".split()}.items():
        for t in types:
            x = np.asarray(VALUES[kind], t)
            both = np.zeros(N, [("x", t), ("z", "f8"), ("y", ">f4")])
            both["x"], both["z"], both["y"] = x, Z, Y
            matrix = np.column_stack([x, Z, Y]).astype(t if np.dtype(t).kind == "f" and np.dtype(t).itemsize > 2 else "f8")
            for name, make in {"structured": lambda p, a=both: np.save(p, a), "matrix C": lambda p, a=matrix: np.save(p, a), "matrix F": lambda p, a=matrix: np.save(p, np.asfortranarray(a))}.items():
                case(kind, "numpy", f"{t} {name}", ".npy", make, "" if name == "structured" else "--features 0,1")
            case(kind, "numpy", f"{t} columns", ".npz", lambda p, x=x: np.savez(p, x=x, z=Z, y=np.array(Y)))
            case(kind, "numpy", f"{t} X and y", ".npz", lambda p, a=matrix: np.savez_compressed(p, X=a[:, :2], y=a[:, 2]), "--features 0,1")
    case("time", "numpy", "datetime64", ".npz", lambda p: np.savez(p, x=np.array(TIME, "M8[s]"), z=Z, y=np.array(Y)))
    case("cat", "numpy", "texts", ".npz", lambda p: np.savez(p, x=np.array(VALUES["cat"]), z=Z, y=np.array(Y)))
    case("bool", "numpy", "bool", ".npz", lambda p: np.savez(p, x=np.array(VALUES["bool"]), z=Z, y=np.array(Y)))
    case("float", "numpy", "savetxt", ".txt", lambda p: np.savetxt(p, np.column_stack([VALUES["float"], Z, Y]), header="x z y"), "--features 0,1")
    case("float", "numpy", "savetxt", ".csv", lambda p: np.savetxt(p, np.column_stack([VALUES["float"], Z, Y]), delimiter=",", header="x,z,y", comments=""))
    try:
        import fastparquet
        for kind, t in {"float": "float64", "int": "int32", "gap": "Int64", "cat": "category", "time": "datetime64[ns]", "span": "timedelta64[ns]", "bool": "bool"}.items():
            for page in ("SNAPPY", "GZIP", "UNCOMPRESSED"):
                case(kind, "fastparquet", f"{t} {page}", ".parquet", lambda p, k=kind, t=t, c=page: fastparquet.write(p, frame(k, dtype=t), compression=c))
        case("time", "fastparquet", "int96", ".parquet", lambda p: fastparquet.write(p, frame("time", dtype="datetime64[ns]"), times="int96"))
    except ImportError:
        pass
    try:
        import duckdb
        for kind in VALUES:
            table = arrow(kind)
            for ending, form in {".parquet": "parquet, compression zstd", ".csv": "csv", ".jsonl": "json"}.items():
                case(kind, "duckdb", form, ending, lambda p, t=table, f=form: duckdb.sql("select * from t").write_parquet(p) if f == "parquet" else duckdb.sql(f"copy t to '{p}' (format {f})"))
    except ImportError:
        pass

def run(*words):
    done = subprocess.run([GPFIT, *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr

FIT = "--kernel matern32 --coarse off --restarts 0 --posterior none --force --missing drop".split()
CURE = re.compile(r"option |options |--\w|write |save |export|give |prints the text|convert|name the column|read it|leave it out|instead|rename|delete")

def fit(path, model, options=()):
    return run("fit", path, *FIT, *options, "--out", model)

def predict(model, path, options=()):
    if {"--date-order", "--dates"} & set(options):
        return None, "only a fit has these options"
    code, out, err = run("predict", model, path, "--mean-only", "--missing", "blank", *options)
    if code:
        return None, err.strip().splitlines()[-1] if err.strip() else "no message"
    return np.array([float(v.strip('"') or "nan") for v in out.splitlines()[1:]]), err

def agree(a, b):
    return len(a) == len(b) and np.allclose(a, b, rtol=1e-6, atol=1e-6 * np.nanmax(np.abs(b)), equal_nan=True)

def verdict(kind, got, said):
    if got is None:
        return ("read" if said.startswith("only a fit") else "cured" if CURE.search(said) else "uncured"), said
    if agree(got, MEANS[kind]):
        return "read", ""
    apart = np.nanmax(np.abs(got - MEANS[kind])) if len(got) == len(MEANS[kind]) else len(got)
    return "warned" if "warning: column" in said or "far outside" in said else "differs", f"{apart} {said}"

AGAIN = {"--decimal": ["--decimal", ".", "--thousands", ","], "--encoding": ["--encoding", "utf-8"], "--features": ["--features", "x,z"]}

def back(kind, path, options):
    """Return what a model of the file says of plain CSV."""
    model = os.path.join(FOLDER, "back.gpfit")
    code, _, err = fit(path, model, options)
    if code:
        return verdict(kind, None, err.strip().splitlines()[-1])
    return verdict(kind, *predict(model, os.path.join(FOLDER, f"plain-{kind}.csv"), [w for o in options for w in AGAIN.get(o, [])]))

os.makedirs(FOLDER, exist_ok=True)
MODELS, MEANS = {}, {}
for kind in VALUES:
    path = os.path.join(FOLDER, f"plain-{kind}.csv")
    with open(path, "w") as file:
        file.write("x,z,y\n" + "".join(f"{plain(v)},{float(z)!r},{y!r}\n" for v, z, y in zip(VALUES[kind], Z, Y)))
    MODELS[kind] = os.path.join(FOLDER, kind + ".gpfit")
    code, _, err = fit(path, MODELS[kind])
    assert code == 0, err
    MEANS[kind], said = predict(MODELS[kind], path)
    assert MEANS[kind] is not None, said
for add in (text_cases, frame_cases, arrow_cases, other_cases):
    add()
counts, only = collections.Counter(), sys.argv[3] if len(sys.argv) > 3 else ""
for i, (kind, writer, name, ending, write, options) in enumerate(CASES):
    if only not in f"{kind} {writer} {name}":
        continue
    path = os.path.join(FOLDER, f"f{i}{ending}")
    try:
        done = write(path)
        if hasattr(done, "close"):
            done.close()
    except Exception as e:
        counts["not written"] += 1
        print(f"# not written: {kind} {writer} {name}: {str(e)[:90]!r}")
        continue
    results = []
    for options in [[]] + [options] * bool(options):
        results = [verdict(kind, *predict(MODELS[kind], path, options)), back(kind, path, options)]
        if options == [] and all(r[0] == "read" for r in results):
            break
        if any(r[0] == "differs" for r in results):
            break
    worst = next(w for w in ("differs", "uncured", "warned", "cured", "read") if any(r[0] == w for r in results))
    counts[worst] += 1
    print(f"{worst:8} {kind:6} {writer:12} {name} {' '.join(options)}" + "".join(f"\n         {way}: {r[0]}: {r[1][-260:]}" for way, r in zip(("predict", "fit"), results) if r[0] != "read"), flush=True)
total = sum(n for w, n in counts.items() if w != "not written")
print(f"# {total} files: {counts['read']} read ({counts['read'] / total:.1%}), {counts['cured']} refused with a cure, {counts['uncured']} without, {counts['warned']} differences with a warning, {counts['differs']} silent differences; {counts['not written']} not written")
