"""Do means far beyond the targets come with a warning? Each table has five transforms; rows lie inside and up to three widths outside."""

import numpy as np
import runs
import tables

TRANSFORMS = ["none", "auto", "log", "boxcox", "yeojohnson"]


def one(p, number, _):
    transform, seed = TRANSFORMS[number % 5], number // 5
    x, y, _, _ = tables.varied(seed, categories=False)
    y = [y, np.exp(y / y.std()), y - y.min() + 0.01 * np.ptp(y)][seed % 3]
    if transform in ("log", "boxcox") and y.min() <= 0:
        return {"transform": transform, "skipped": "targets below 0"}
    p.fit(x, y, "--target-transform", transform)
    r, low, width = np.random.default_rng(seed), x.min(0), np.ptp(x, axis=0)
    inside, outside = r.uniform(0, 1, (40, x.shape[1])), r.uniform(-3, 4, (160, x.shape[1]))
    of, warnings = p.predict(low + width * np.concatenate([inside, outside]))
    wild = np.maximum(y.min() - of["mean"], of["mean"] - y.max()) > 10 * np.ptp(y)
    return {"transform": transform, "n": len(x), "d": x.shape[1], "inside": int(wild[:40].sum()), "wild": int(wild.sum()), "warned": "warning" in warnings}


def summary(raw):
    known = [r for r in raw if "wild" in r]
    return (f"{len(known)} fits: means more than 10 ranges beyond the targets: {sum(r['wild'] > 0 for r in known)} fits (inside {sum(r['inside'] > 0 for r in known)}), "
            f"without a warning {sum(r['wild'] > 0 and not r['warned'] for r in known)} fits, {sum(r['wild'] for r in known if not r['warned'])} rows")


runs.main(__doc__, one, summary, 54 * 5)
