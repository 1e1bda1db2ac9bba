"""Does the average over draws predict as well as the optimum on small tables? Even numbers have no noise, odd ones have noise."""

import numpy as np
import runs
import tables


def one(p, seed, _):
    table = tables.small(seed // 2, seed % 2)
    if np.ptp(table[1]) == 0:
        return {}
    average, optimum = runs.judged(p, table), runs.judged(p, table, "--posterior", "none")
    return {**average, "noisy": seed % 2, "optimum_error": optimum["error"], "optimum_cover": optimum["cover"]}


def summary(raw):
    parts = []
    for noisy, name in enumerate(["without noise", "with noise"]):
        some = [r for r in raw if r.get("noisy") == noisy]
        worse = sum(r["error"] > 3 * r["optimum_error"] + 0.02 for r in some)
        cover, optimum = (np.mean([r[c] for r in some]) for c in ("cover", "optimum_cover"))
        parts.append(f"{len(some)} tables {name}: error above 3 times the optimum's and 0.02: {worse}, cover {cover:.3f} (optimum {optimum:.3f})")
    return "; ".join(parts)


runs.main(__doc__, one, summary, 1000)
