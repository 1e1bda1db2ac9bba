#!/usr/bin/env python3
"""Make co2.csv, co2_mask.csv and co2_new.csv from the weekly CO2 record of
Mauna Loa in the Python package statsmodels.

    pip download --no-deps statsmodels
    unzip -p statsmodels-*.whl statsmodels/datasets/co2/co2.csv > weekly.csv
    python3 make_co2.py weekly.csv

The script writes the files to its own folder. README.md describes them.

Source, according to statsmodels/datasets/co2/data.py: "Data obtained from
http://cdiac.ornl.gov/trends/co2/sio-keel-flask/sio-keel-flaskmlo_c.html,
obtained on 3/15/2014." Citation: Keeling, C.D. and T.P. Whorf. 2004.
Atmospheric CO2 concentrations derived from flask air samples at sites in the
SIO network. In Trends: A Compendium of Data on Global Change. Carbon Dioxide
Information Analysis Center, Oak Ridge National Laboratory, U.S. Department of
Energy, Oak Ridge, Tennessee, U.S.A. SIO is the Scripps Institution of
Oceanography. Copyright, according to the same file: "This is public domain."
"""

import csv
import math
import random
import sys
from pathlib import Path

FORECAST_MONTHS = 5 * 12
NEW_MONTHS = 24
RANDOM_SHARE = 0.1
SEED = 1958

COMMENT = """\
# Atmospheric CO2 at Mauna Loa, Hawaii{what}.
# From the weekly record in statsmodels (datasets/co2), made by make_co2.py.
# Keeling, C.D. and T.P. Whorf. 2004. Carbon Dioxide Information Analysis Center;
# Scripps Institution of Oceanography. Public domain. See README.md.
"""


def monthly_means(path):
    """Return the months with a value in order, as (months since year 0, ppm)."""
    weeks = {}
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["co2"].strip():
                year, month = int(row["date"][:4]), int(row["date"][4:6])
                weeks.setdefault(12 * year + month - 1, []).append(float(row["co2"]))
    return [(m, math.fsum(v) / len(v)) for m, v in sorted(weeks.items())]


def inputs(month):
    """Return the input columns at the middle of a month, counted since year 0."""
    part = (month % 12 + 0.5) / 12
    angle = 2 * math.pi * part
    # Adding 0 turns a rounded -0.0 into 0.0.
    return [
        f"{month // 12 + part:.6f}",
        f"{round(math.cos(angle), 6) + 0:.6f}",
        f"{round(math.sin(angle), 6) + 0:.6f}",
    ]


def write(path, what, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        f.write(COMMENT.format(what=what))
        w = csv.writer(f, lineterminator="\n")
        w.writerow(header)
        w.writerows(rows)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_co2.py WEEKLY_CSV")
    out = Path(__file__).resolve().parent
    means = monthly_means(sys.argv[1])
    last = means[-1][0]

    columns = ["year", "season_cos", "season_sin"]
    write(out / "co2.csv", ", monthly means in ppm", columns + ["co2"],
          [inputs(m) + [f"{ppm:.3f}"] for m, ppm in means])

    # random.random is the same in all versions of Python; shuffles are not.
    rng = random.Random(SEED)
    keys = [rng.random() for _ in means]
    held_out = set(sorted(range(len(means)), key=keys.__getitem__)[:round(RANDOM_SHARE * len(means))])
    write(out / "co2_mask.csv", ": which rows of co2.csv are held out (1)", ["forecast", "random"],
          [[int(m > last - FORECAST_MONTHS), int(i in held_out)] for i, (m, _) in enumerate(means)])

    write(out / "co2_new.csv", ": the 24 months after co2.csv, inputs only", columns,
          [inputs(last + k) for k in range(1, NEW_MONTHS + 1)])


if __name__ == "__main__":
    main()
