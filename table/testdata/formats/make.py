"""Writes the binary tables that tests read, beside this script.

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1
    venv/bin/python make.py

real.csv and whole.csv are what all files of those names hold: numbers of 17
digits, and small whole numbers that every type can hold.
"""
import datetime, decimal, os
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
at = lambda name: os.path.join(here, name)

n, names = 14, ["a", "b", "y"]
real = np.array([[np.sin(3 * i + j) * 10.0 ** (i - 6) for j in range(3)] for i in range(n)])
whole = np.array([[(7 * i + 3 * j) % 11 for j in range(3)] for i in range(n)])
np.savetxt(at("real.csv"), real, fmt="%.17g", delimiter=",", header="a,b,y", comments="")
np.savetxt(at("whole.csv"), whole, fmt="%d", delimiter=",", header="a,b,y", comments="")

# JSON lines, a float per number; the last ones have other types and gaps.
import json
def lines(name, rows):
    with open(at(name), "w") as f:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False), file=f)
lines("real.jsonl", [dict(zip(names, map(float, row))) for row in real])
lines("whole.jsonl", [dict(zip(names, map(int, row))) for row in whole])
lines("types.jsonl", [{"text": "aé\n\"b"[i % 2:], "truth": i % 3 == 0, "day": "2024-01-%02d" % (i + 1), "code": str(i % 2), "y": i} for i in range(12)])
lines("sparse.jsonl", [{**({"a": i} if i % 2 else {}), **({"b": None} if i == 3 else {"b": i}), "y": i / 4} for i in range(12)])
lines("nested.jsonl", [{"a": i, "list": [1, {"b": 2}], "y": i} for i in range(3)])

# NumPy arrays.
np.save(at("real.npy"), real)
np.save(at("real_fortran.npy"), np.asfortranarray(real))
np.save(at("real_big_endian.npy"), real.astype(">f8"))
with open(at("real_version2.npy"), "wb") as f:
    np.lib.format.write_array(f, real, version=(2, 0))
for kind in ["<f4", ">f4", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u1", "<u2", "<u4", "<u8", ">u8"]:
    dtype = np.dtype(kind)
    for order in "CF":
        name = "whole_%s_%s_%s.npy" % (dtype.name, {">": "big"}.get(kind[0], "little"), order)
        np.save(at(name), np.array(whole.astype(dtype), order=order))
np.save(at("mask.npy"), whole[:, 0] > 5)
np.save(at("nan.npy"), np.array([[1, 2, 3], [4, np.nan, 6], [7, 8, np.inf]]))
np.save(at("three.npy"), np.zeros((2, 2, 2)))
np.save(at("complex.npy"), np.zeros((2, 2), complex))
np.save(at("text.npy"), np.array([["a", "b"]]))
np.save(at("scalar.npy"), np.float64(1))
np.save(at("empty.npy"), np.zeros((0, 3)))

# Archives.
X, y, sd = real[:, :2], real[:, 2], np.arange(n) + 1.0
np.savez(at("real_one.npz"), anything=real)
np.savez(at("real_xy.npz"), X=X, y=y)
np.savez(at("real_yx.npz"), y=y[:, None], X=np.asfortranarray(X))
np.savez_compressed(at("real_compressed.npz"), X=X, y=y)
np.savez_compressed(at("real_compressed_fortran.npz"), X=np.asfortranarray(X), y=y)
np.savez(at("real_columns.npz"), a=real[:, 0], b=real[:, 1], y=y)
np.savez(at("aside.npz"), X=X, sd=sd, y=y, test=whole[:, 0] > 5, other=np.zeros((2, 2)), words=np.array(["a"]))
np.savez(at("lengths.npz"), X=X, y=y[:-1])
np.savez(at("unclear.npz"), A=X, b=y)
np.savez(at("words.npz"), X=X, y=np.array(["a"] * n))

# Parquet.
frame, whole_frame = pd.DataFrame(real, columns=names), pd.DataFrame(whole, columns=names)
frame.to_parquet(at("real_pandas.parquet"))
plain = pa.Table.from_pandas(frame, preserve_index=False)
for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    pq.write_table(plain, at("real_%s.parquet" % codec), compression=codec)
pq.write_table(plain, at("real_groups.parquet"), row_group_size=5, data_page_size=16, write_batch_size=2, data_page_version="2.0")
pq.write_table(plain, at("real_split.parquet"), use_dictionary=False, column_encoding="BYTE_STREAM_SPLIT")
pq.write_table(plain.cast(pa.schema([pa.field(c, pa.float64(), False) for c in names])), at("real_required.parquet"))
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"]:
    columns = {c: pa.array(whole[:, j].astype(kind)) for j, c in enumerate(names)}
    pq.write_table(pa.table(columns), at("whole_%s.parquet" % kind))
pq.write_table(pa.table({c: pa.array(whole[:, j]) for j, c in enumerate(names)}), at("whole_delta.parquet"),
               use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
frame.set_index("a", drop=False).rename_axis(None).to_parquet(at("index.parquet"))
day = datetime.date(2000, 1, 2)
pq.write_table(pa.table({
    "x": [1.5, 2.5, 3.5, 4.5], "gap": [1.0, None, float("nan"), 4.0], "big": pa.array([2**64 - 1, 0, 1, 2], pa.uint64()),
    "site": ["north", None, "", "é"], "kind": pa.array(["u", "v", "u", "v"]).dictionary_encode(), "test": [True, False, True, False],
    "day": [day] * 4, "when": pa.array([datetime.datetime(2000, 1, 2)] * 4), "price": [decimal.Decimal("1.25")] * 4,
    "list": [[1.0], [2.0], [], [3.0]], "pair": [{"u": 1, "v": 2}] * 4, "half": pa.array(np.zeros(4, np.float16)),
    "inf": [1.0, 2.0, float("inf"), 4.0], "y": [1, 2, 3, 4],
}), at("types.parquet"))
pq.write_table(plain.slice(0, 0), at("empty.parquet"))
latin1 = pa.table({"site": pa.array([b"north", b"caf\xe9"]).view(pa.string()), "y": [1, 2]})
pq.write_table(latin1, at("latin1.parquet"))

# Arrow files, which are Feather files of version 2.
import pyarrow.feather as feather
def arrow(name, table, batch=None, **options):
    with pa.OSFile(at(name), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=batch)
for codec in [None, "lz4", "zstd"]:
    arrow("real_%s.arrow" % (codec or "none"), plain, compression=codec)
arrow("real_batches.arrow", plain, batch=5)
arrow("real_version4.arrow", plain, metadata_version=pa.ipc.MetadataVersion.V4, use_legacy_format=True)
feather.write_feather(frame, at("real_pandas.feather"))
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"]:
    arrow("whole_%s.arrow" % kind, pa.table({c: pa.array(whole_frame[c].to_numpy(getattr(np, kind))) for c in names}))
arrow("latin1.arrow", latin1)
arrow("whole_decimal.arrow", pa.table({c: pa.array([decimal.Decimal(int(v)) for v in whole_frame[c]], pa.decimal128(9, 2)) for c in names}))
arrow("whole_dictionary.arrow", pa.table({c: pa.array(whole_frame[c]).dictionary_encode() for c in names}))
day = [datetime.date(2024, 1, 30) + datetime.timedelta(i) for i in range(4)]
when = [datetime.datetime(1969, 12, 31, 23, 59, 58, 750000) + datetime.timedelta(seconds=i) for i in range(4)]
word = ["left", "right", "left", None]
arrow("types.arrow", pa.table({
    "word": word, "large": pa.array(word, pa.large_string()), "view": pa.array(word, pa.string_view()), "dictionary": pa.array(word).dictionary_encode(),
    "truth": [True, False, None, True], "day": day, "day64": pa.array(day, pa.date64()), "second": pa.array([w.replace(microsecond=0) for w in when], pa.timestamp("s")),
    "nano": pa.array(when, pa.timestamp("ns")), "zone": pa.array(when, pa.timestamp("us", "Europe/Berlin")),
    "clock32": pa.array([w.time().replace(microsecond=0) for w in when], pa.time32("s")), "clock64": pa.array([w.time() for w in when], pa.time64("us")),
    "gap": [1.5, None, float("nan"), 2.0], "list": [[1], [2], [3], [4]], "nothing": pa.nulls(4), "y": [1.0, 2.0, 3.0, 4.0]}))
arrow("empty.arrow", plain.slice(0, 0))
frame.index = list("abcdefghijklmn")
arrow("index.arrow", pa.Table.from_pandas(frame))

# What programs write besides: durations of all units, streams, timestamps of 96 bits, decimals in bytes, an index with a name, names of
# more digits than a float, numbers of 16 bits. Numbers of s seconds, and the targets y, are those of span.csv.
seconds = np.array([0, 1, -90, 86400, 3, 7, 12345, 60])
np.savetxt(at("span.csv"), np.column_stack([seconds, np.arange(8)]), fmt="%d", delimiter=",", header="s,y", comments="")
for unit in ["s", "ms", "us", "ns"]:
    span = pd.DataFrame({"s": seconds.astype("timedelta64[s]").astype("timedelta64[%s]" % unit), "y": np.arange(8)})
    span.to_parquet(at("span_%s.parquet" % unit))
    span.to_feather(at("span_%s.feather" % unit))
decimals = pa.table({"s": pa.array([decimal.Decimal(int(v)) for v in seconds], pa.decimal128(30, 4)), "y": np.arange(8)})
pq.write_table(decimals, at("span_decimal.parquet"))
pq.write_table(pa.table({"s": pa.array([decimal.Decimal(int(v)) for v in seconds], pa.decimal128(9, 2)), "y": np.arange(8)}), at("span_decimal_int.parquet"), store_decimal_as_integer=True)
with pa.OSFile(at("span_stream.arrows"), "wb") as sink, pa.ipc.new_stream(sink, decimals.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
    writer.write_table(decimals, max_chunksize=3)
pq.write_table(pa.table({"when": pa.array(when, pa.timestamp("ns")), "y": [1.0, 2.0, 3.0, 4.0]}), at("int96.parquet"), use_deprecated_int96_timestamps=True)
named = pd.DataFrame({"a": [1.5, 2.5, 3.5], "y": [1.0, 2.0, 3.0]}, index=pd.Index([7, 8, 9], name="id"))
named.to_parquet(at("named.parquet"))
named.to_feather(at("named.feather"))
account = pd.DataFrame({"id": 2**53 + np.arange(3) % 2, "a": [1.5, 2.5, 3.5], "y": [1.0, 2.0, 3.0]})
account.to_parquet(at("account.parquet"))
account.to_feather(at("account.feather"))
np.save(at("account.npy"), 2**53 + np.arange(6).reshape(3, 2))
np.save(at("whole_float16_little_C.npy"), whole.astype("<f2"))
np.save(at("half.npy"), np.array([[65504, 2.0**-24, -0.1, np.nan, -np.inf]], "<f2"))
