"""Writes the tables that the commands read once into the folder `in` of a recording.
In commands.py `@NAME` is such a file."""

import gzip
import itertools
import math
import random
import shutil
import struct
from pathlib import Path

# Small tables, for messages and for commands that need few rows.
TABLES = {
    "t.csv": "x,y\n1,2.0\n2,2.9\n3,4.2\n4,3.1\n5,2.2\n6,1.8\n7,2.9\n8,4.1\n",
    "t_new.csv": "x\n1.5\n2.5\n9\n",
    "noheader.csv": "1,2.0\n2,2.9\n3,4.2\n4,4.8\n5,6.1\n6,7.2\n7,7.9\n8,9.0\n",
    "semicolons.csv": "a;b;y\n1;0;2.0\n2;1;2.9\n3;0;4.2\n4;1;4.8\n5;0;6.1\n",
    "tabs.tsv": "a\tb\ty\n1\t0\t2.0\n2\t1\t2.9\n3\t0\t4.2\n4\t1\t4.8\n5\t0\t6.1\n",
    "line.csv": "x,double,v,lab,y\n" + "".join(
        f"{i},{2 * i},{'0.02' if i % 3 == 2 else '0.01'},{'left' if i < 6 else 'right'},{y}\n"
        for i, y in enumerate([1, 3.1, 4.9, 7.2, 8.8, 11.1, 13.4, 14.3, 17.9, 18.1, 21.9, 22.2])),
    "line_new.csv": "lab,x,v\nleft,2.5,0.3\nright,7.5,0.1\n",
    "line_plain.csv": "x\n2.5\n",
    "line_other.csv": "lab,x,v\nleft,2.5,0.3\nrihgt,7.5,0.1\n",
    "targets.csv": "x,a,b\n0,1,100\n1,3.1,140\n2,4.9,190\n3,7.2,210\n4,8.8,260\n5,11.1,300\n",
    "targets_gap.csv": "x,a,b\n0,1,100\n1,3.1,140\n2,4.9,\n3,7.2,210\n4,8.8,260\n5,11.1,300\n",
    "gaps.csv": "a,b,y\n1,0,2.0\n2,,2.9\n3,0,4.2\n4,1,4.8\n5,0,6.1\n6,NA,7.2\n7,0,7.9\n8,1,9.0\n",
    "masked.csv": "a,y,test\n1,2.0,0\n2,2.9,0\n3,4.2,1\n4,4.8,0\n5,6.1,0\n6,7.2,1\n7,7.9,0\n8,9.0,0\n",
    "short_mask.csv": "0\n1\n",
    "constant.csv": "a,b,y\n1,5,2.0\n2,5,2.9\n3,5,4.2\n4,5,4.8\n5,5,6.4\n",
    "only_a.csv": "a\n1.5\n2.5\n",
    "flat.csv": "x,y\n1,2\n2,2\n3,2\n",
    "one.csv": "x,y\n1,2\n",
    "bad.csv": "x,y\n1,2\n2,two\n",
    "nan.csv": "x,y\n1,2\n2,NaN\n3,5\n",
    "ragged.csv": "x,y\n1,2\n2,3,4\n",
    "negative.csv": "x,v,y\n0,1,1\n1,-1,2\n2,1,3\n",
    "twice.csv": "x,y\n0,1\n1,2\n1,2.5\n2,3\n",
    "parts/1.csv": "a,b,y\n1,0,2.0\n2,1,2.9\n3,0,4.2\n4,1,4.8\n",
    "parts/2.csv": "a,b,y\n5,0,6.1\n6,1,7.2\n7,0,7.9\n8,1,9.0\n",
    "study.yaml": """\
name: two kernels
defaults: {threads: 1, device: cpu, max_evals: 40}
data:
  - {name: co2, path: few.csv}
  - {name: waves, path: waves.csv, target: a, features: [x, z], split_mask: waves_mask.csv, splits: all}
kernels:
  - rbf
  - {name: rough, kernel: matern12 + linear, fix: {noise_variance: 0.01}}
seeds: [1, 2]
exclude:
  - {data: [co2], seed: [2]}
""",
    "failing.yaml": "defaults: {threads: 1, device: cpu}\ndata: [t.csv, bad.csv]\nkernels: [rbf]\n",
    "typo.yaml": "data: [t.csv]\n# a comment\nkernel: [rbf]\n",
    "long.yaml": """\
name: long enough to be stopped
defaults: {threads: 1, device: cpu, coarse: "off"}
data: [long.csv]
kernels: ["rbf(ard)", "matern52(ard)"]
""",
    "gpu.yaml": """\
name: on a GPU
defaults: {threads: 1, device: "cuda:0", max_evals: 8}
data: [few.csv]
kernels: [rbf, matern32(ard)]
""",
}


def table(header, rows):
    return header + "\n" + "".join(",".join(row) + "\n" for row in rows)


def waves(n):
    """Returns columns for every form of noise: known variances, labels, two targets,
    and a mask. Texts have six digits, so that they do not depend on the machine's
    sine."""
    rng = random.Random(3)
    for i in range(n):
        x, z = 6 * rng.random() - 3, 2 * rng.random() - 1
        noise = 0.4 * (rng.random() - 0.5)
        yield (f"{x:.6f}", f"{z:.6f}", f"{0.01 * (1 + i % 3):.2f}", f"lab{i % 2}",
               f"{math.sin(2 * x) + z + noise:.6f}", f"{2 * x - math.cos(z) + noise:.6f}", f"{int(i % 7 == 3)}")


def long(n):
    rng = random.Random(5)
    for _ in range(n):
        x = [2 * rng.random() - 1 for _ in range(6)]
        y = math.sin(3 * x[0]) + x[1] * x[2] + math.cos(2 * x[3]) + 0.1 * (rng.random() - 0.5)
        yield [f"{v:.6f}" for v in x] + [f"{y:.6f}"]


def npy(rows, order="<", fortran=False):
    """Returns a NumPy file of two dimensions."""
    n, d = len(rows), len(rows[0])
    head = f"{{'descr': '{order}f8', 'fortran_order': {fortran}, 'shape': ({n}, {d}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    values = [rows[i][j] for j in range(d) for i in range(n)] if fortran else itertools.chain(*rows)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"{order}{n * d}d", *values)


def write(folder: Path, repository: Path, shared: Path | None):
    """Writes all inputs, except the tables of the shared data if these are missing."""
    examples = repository / "examples"
    for name, text in TABLES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "waves.csv").write_text(table("x,z,v,lab,a,b,test", waves(150)))
    (folder / "waves_mask.csv").write_text("".join(f"{int(i % 7 == 3)},{int(i % 5 == 1)}\n" for i in range(150)))
    (folder / "long.csv").write_text(table("a,b,c,d,e,f,y", long(1400)))

    for name in ["co2.csv", "co2_mask.csv", "co2_new.csv", "passengers.csv", "passengers_new.csv"]:
        shutil.copyfile(examples / name, folder / name)
    (folder / "batch").mkdir(exist_ok=True)
    for name in ["co2.yaml", "full.yaml"]:
        shutil.copyfile(examples / "batch" / name, folder / "batch" / name)
    lines = (examples / "co2.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text("".join(lines[:85]))
    (folder / "few_mask.csv").write_text("".join(f"{int(i % 4 == 1)}\n" for i in range(80)))

    numbers = [[float(v) for v in row] for row in itertools.islice(long(1400), 60)]
    (folder / "table.npy").write_bytes(npy(numbers))
    (folder / "table_big_fortran.npy").write_bytes(npy(numbers, ">", True))
    with gzip.GzipFile(folder / "t.csv.gz", "wb", mtime=0) as f:
        f.write(TABLES["t.csv"].encode())
    formats = next(p for p in sorted(repository.rglob("testdata/formats")) if p.is_dir())
    for name in ["whole_uint16.parquet", "real_zstd.parquet", "real_yx.npz", "real_compressed_fortran.npz", "real_columns.npz",
                 "types.parquet", "words.npz"]:
        shutil.copyfile(formats / name, folder / name)

    if shared is None:
        return
    data = shared / "data"
    for name in ["yacht", "concrete", "airfoil", "energy"]:
        shutil.copyfile(data / name / "data.csv.gz", folder / f"{name}.csv.gz")
        shutil.copyfile(data / name / "test_mask.csv.gz", folder / f"{name}_mask.csv.gz")
    for name, n in [("kin40k", 2500), ("elevators", 2200)]:
        with gzip.open(data / name / "data.csv.gz", "rt") as f:
            (folder / f"{name}.csv").write_text("".join(itertools.islice(f, n)))
    x, y = ((data / "snelson" / f"train_{kind}.dat").read_text().split() for kind in ["inputs", "outputs"])
    (folder / "snelson.csv").write_text(table("x,y", zip(x, y)))
    x = (data / "snelson" / "test_inputs.dat").read_text().split()
    (folder / "snelson_new.csv").write_text(table("x", ((v,) for v in x)))
