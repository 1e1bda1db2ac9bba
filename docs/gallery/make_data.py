"""Write the tables of examples 1 to 11 to the folder data.

All numbers are drawn with fixed seeds. The script needs only the standard library:

    python3 make_data.py
"""

import math
import pathlib
import random

DATA = pathlib.Path(__file__).parent / "data"


def write(name, columns, rows):
    lines = [",".join(columns)] + [",".join(f"{v:.3f}" for v in row) for row in rows]
    (DATA / name).write_text("\n".join(lines) + "\n")


def columns():
    """Six correlated columns, of which three have weights, after Tibshirani (1996, section 7.2)."""
    draw = random.Random(3)
    weights = [3, 1.5, 0, 0, 2, 0]
    for _ in range(30):
        x = [draw.gauss(0, 1)]
        while len(x) < 6:
            x.append(0.8 * x[-1] + 0.6 * draw.gauss(0, 1))
        yield x + [sum(w * v for w, v in zip(weights, x)) + draw.gauss(0, 3)]


def wave():
    """A sine with a growing amplitude, with noise of standard deviation 0.3 and a gap."""
    draw = random.Random(4)
    for x in sorted(draw.uniform(0, 10) for _ in range(60)):
        if not 6 < x < 7.5:
            yield [x, (0.5 + 0.15 * x) * math.sin(1.3 * x) + draw.gauss(0, 0.3)]


def pair():
    """Two columns with a correlation of 0.8 and the weights 1 and 0.5, without an intercept."""
    draw = random.Random(6)
    for _ in range(15):
        u, v = draw.gauss(0, 1), draw.gauss(0, 1)
        x = [u, 0.8 * u + 0.6 * v]
        yield x + [x[0] + 0.5 * x[1] + draw.gauss(0, 0.8)]


def saddle():
    """The product of two columns and the square of the first one."""
    draw = random.Random(7)
    for _ in range(40):
        x, z = draw.uniform(-2, 2), draw.uniform(-2, 2)
        yield [x, z, 1 + x + 2 * x * z - x * x + draw.gauss(0, 0.5)]


def grid():
    """Rows along the wave and beyond it."""
    for i in range(141):
        yield [i / 10]


DATA.mkdir(exist_ok=True)
write("columns.csv", ["x1", "x2", "x3", "x4", "x5", "x6", "y"], columns())
write("wave.csv", ["x", "y"], wave())
write("wave_grid.csv", ["x"], grid())
write("pair.csv", ["x1", "x2", "y"], pair())
write("saddle.csv", ["x", "z", "y"], saddle())
