"""Write the tables of the examples to the folder data.

All numbers are drawn with fixed seeds. The script needs only the standard library:

    python3 make_data.py
"""

import math
import pathlib
import random

DATA = pathlib.Path(__file__).parent / "data"


def write(name, columns, rows):
    """Write a table with three decimals."""
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


def bandwidth(rng):
    """A wave with noise of standard deviation 0.3."""
    for _ in range(60):
        x = rng.uniform(0, 1)
        yield x, math.sin(4 * math.pi * x) + rng.gauss(0, 0.3)


def sites(rng):
    """A wave at 50 sites with four rows each, of which 26 sites are new.

    The errors have the standard deviation 0.4. In the first target nearly all of the error
    belongs to the row, in the second to the site.
    """
    for site in range(1, 51):
        centre, error = rng.uniform(0, 10), rng.gauss(0, 0.4)
        for _ in range(4):
            x = centre + rng.uniform(-0.1, 0.1)
            independent = math.sin(x) + rng.gauss(0, math.hypot(0.4, 0.1))
            yield site, x, independent, math.sin(x) + error + rng.gauss(0, 0.1), site > 24


def growth(rng):
    """A wave on a slope, for training sets of growing size."""
    for _ in range(260):
        x = rng.uniform(0, 10)
        yield x, 0.5 * x + math.sin(2 * x) + rng.gauss(0, 0.4)


def interpolation():
    """Seven exact values of a smooth function."""
    for x in (-3.5, -2.5, -1.2, 0.0, 0.8, 2.2, 3.5):
        yield x, math.sin(1.3 * x) + 0.3 * x


def telegraph(rng, times):
    """A random telegraph signal: 1 or -1, with changes of sign at rate 1/2 at random times.

    Its covariance is exp(-|t - t'|), and it is not Gaussian.
    """
    value, last, values = rng.choice((-1, 1)), times[0], []
    for t in times:
        if rng.random() < (1 - math.exp(-(t - last))) / 2:  # an odd number of changes
            value = -value
        values.append(value)
        last = t
    return values


def wide(rng):
    """Four rows of six columns, of which the first two have the weights 2 and -1."""
    for _ in range(4):
        x = [rng.gauss(0, 1) for _ in range(6)]
        yield x + [2 * x[0] - x[1] + rng.gauss(0, 0.5)]


def clusters(rng):
    """Three groups of places, each with a function of its own."""
    for centre, slope, wave in ((0, 1.0, 3.0), (10, -0.8, 2.0), (20, 0.3, 4.0)):
        for _ in range(70):
            x = centre + rng.uniform(-3, 3)
            yield x, slope * (x - centre) + math.sin(wave * x) + rng.gauss(0, 0.2)


DATA.mkdir(exist_ok=True)
write("columns.csv", ["x1", "x2", "x3", "x4", "x5", "x6", "y"], columns())
write("wave.csv", ["x", "y"], wave())
write("wave_grid.csv", ["x"], grid())
write("pair.csv", ["x1", "x2", "y"], pair())
write("saddle.csv", ["x", "z", "y"], saddle())
write("bandwidth.csv", ["x", "y"], bandwidth(random.Random(13)))
write("sites.csv", ["site", "x", "independent", "shared", "new"], sites(random.Random(14)))
write("growth.csv", ["x", "y"], growth(random.Random(17)))
write("interpolation.csv", ["x", "y"], interpolation())
TIMES = [0, 0.6, 1, 1.8]  # the signal is predicted at 1 from the other three times
RNG = random.Random(19)
SIGNALS = (telegraph(RNG, TIMES) for _ in range(1200))
write("telegraph.csv", ["at0", "at06", "at18", "at1"], ((a, b, d, c) for a, b, c, d in SIGNALS))
write("telegraph_units.csv", ["t", "at0", "at06", "at18"], [(0, 1, 0, 0), (0.6, 0, 1, 0), (1.8, 0, 0, 1)])
SEEN = sorted(RNG.uniform(0, 12) for _ in range(25))
write("telegraph_path.csv", ["t", "y"], zip(SEEN, telegraph(RNG, SEEN)))
write("wide.csv", [f"x{j}" for j in range(1, 7)] + ["y"], wide(random.Random(20)))
write("clusters.csv", ["x", "y"], clusters(random.Random(21)))
