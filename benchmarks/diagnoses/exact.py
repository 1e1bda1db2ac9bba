"""Does a fit of an exact relation return it? Linear relations, polynomials, products, rounded targets, leaked columns and units."""

import numpy as np
import runs
import tables

LINEAR = ("linear", "column", "unit", "leaked")


def one(p, seed, _):
    kind, x, f, new = tables.exact(seed)
    y = f(x)
    if np.ptp(y) == 0:
        return {}
    report = p.fit(x, y)
    of, _ = p.predict(new)
    off = np.abs(of["mean"] - f(new))
    try:
        p.run("check", "model.gpfit")
        refused = False
    except runs.Failed:
        refused = True
    return {"kind": kind, "n": len(x), "d": x.shape[1], "kernel": report["kernel"], "mean": report["mean"], "level": report["verdict"]["level"], "draws": "posterior" in report,
            "refused": refused, "data_fit": report["data_fit"],
            "error": float(off.max() / y.std()), "deviations": float((off / np.maximum(of["std"], 1e-300)).max())}


def wrong(r):
    return r["error"] > 1e-6 if r["kind"] in LINEAR else r["deviations"] > 20 and r["error"] > 0.01


def summary(raw):
    fits = [r for r in raw if "kind" in r]
    linear = [r for r in fits if r["kind"] in LINEAR]
    others = [r for r in fits if r["kind"] not in LINEAR]
    return (f"{len(fits)} tables: wrong means {sum(map(wrong, linear))} of {len(linear)} linear, {sum(map(wrong, others))} of {len(others)} others "
            f"(called good {sum(wrong(r) and r['level'] == 'good' for r in others)}); refused by check {sum(r['refused'] for r in fits)}; negative data fits {sum(r['data_fit'] < 0 for r in fits)}")


runs.main(__doc__, one, summary, 2000)
