#!/usr/bin/env python3
"""Makes the tables of large.py, with NumPy and fixed seeds:

friedman.csv  12,000 rows, 10 columns, five of them irrelevant: Friedman's
              function 1 (Annals of Statistics 19, 1991) with noise of standard
              deviation 1.
waves.csv     11,000 rows, 6 columns with very different effects: a fast wave, a
              slow wave, a ridge, a trend, and two columns with little effect.

With the folder of the reference tables also, from the training rows of split 0:

elevators.csv  all 14,940 rows
kin40k.csv     the first 12,000 rows

    make_tables.py DIRECTORY [REFERENCE]
"""
import gzip
import sys
from pathlib import Path

import numpy as np

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)


def write(name, x, y):
    header = ",".join([f"x{c}" for c in range(x.shape[1])] + ["y"])
    np.savetxt(out / name, np.column_stack([x, y]), fmt="%.9g", delimiter=",", header=header, comments="")


rng = np.random.default_rng(1991)
x = rng.uniform(size=(12000, 10))
y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
write("friedman.csv", x, y + rng.normal(size=len(y)))

rng = np.random.default_rng(2006)
x = rng.normal(size=(11000, 6))
y = (np.sin(4 * x[:, 0]) + 0.7 * np.sin(0.8 * x[:, 1]) + np.tanh(2 * (x[:, 1] + x[:, 2])) + 0.5 * x[:, 3]
     + 0.05 * x[:, 4] * x[:, 0])
write("waves.csv", x, y + 0.2 * rng.normal(size=len(y)))

for name, rows in {"elevators": None, "kin40k": 12000}.items() if len(sys.argv) > 2 else ():
    folder = Path(sys.argv[2]) / name
    with gzip.open(folder / "data.csv.gz", "rt") as table, gzip.open(folder / "test_mask.csv.gz", "rt") as mask:
        training = [row for row, held in zip(table, mask) if held.split(",")[0].strip() == "0"]
    (out / f"{name}.csv").write_text("".join(training[:rows]))
