"""Does the verdict know designs? Even numbers are full grids, odd ones Latin hypercubes."""

import runs
import tables


def one(p, seed, _):
    return {**runs.judged(p, tables.design(seed)), "hypercube": seed % 2}


def summary(raw):
    grids, cubes = ([r for r in raw if r.get("hypercube") == kind] for kind in (0, 1))
    return (f"{len(grids)} grids: cover below 0.7 {sum(r['cover'] < 0.7 for r in grids)}, and good {sum(r['cover'] < 0.7 and r['level'] == 'good' for r in grids)}; "
            f"{len(cubes)} hypercubes: error at most 0.5, cover at least 0.9 and not good {sum(r['error'] <= 0.5 and r['cover'] >= 0.9 and r['level'] != 'good' for r in cubes)}")


runs.main(__doc__, one, summary, 200)
