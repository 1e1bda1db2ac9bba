"""Do the diagnoses of a fit have consequences? One line a measure, raw results as JSON lines.

python measure.py GPFIT exact|digits|averages|designs|verdicts|far [--tables N] [--seed N] [--raw FILE]
"""

import argparse
import json

import numpy as np
import tables


def scores(of, y):
    """Returns the error of predictions in standard deviations, and the share of targets in their intervals."""
    scale = y.std()
    return float(np.sqrt(np.mean((of["mean"] - y) ** 2)) / scale), float(np.mean((of["lower95"] <= y) & (y <= of["upper95"])))


def exact(p, seed):
    kind, x, f, new = tables.exact(seed)
    if f(x).std() == 0:
        return {"constant": True}
    report = p.fit(x, f(x))
    of, _ = p.predict(new)
    off = np.abs(of["mean"] - f(new))
    try:
        p.run("check", p.folder / "model.gpfit")
        refused = False
    except tables.Failed:
        refused = True
    return {"kind": kind, "n": len(x), "refused": refused, "data_fit": report["data_fit"], "error": float(off.max() / f(x).std()),
            "deviations": float((off / np.maximum(of["std"], 1e-300)).max())}


def exact_summary(raw):
    linear = [r for r in raw if r.get("kind") in ("linear", "column", "unit", "leaked")]
    fitted = [r for r in raw if "kind" in r]
    return (f"{len(fitted)} tables: linear ones off by more than 1e-6: {sum(r['error'] > 1e-6 for r in linear)} of {len(linear)}; others off by "
            f"more than 20 predicted and 0.01 standard deviations: {sum(r['deviations'] > 20 and r['error'] > 0.01 for r in fitted)}; failed "
            f"{sum('failed' in r for r in raw)}; refused by check {sum(r['refused'] for r in fitted)}; negative data fits {sum(r['data_fit'] < 0 for r in fitted)}")


def digits(p, seed):
    import sixty

    kind, x, f, new = tables.exact(seed + 5000)
    y = f(x)
    if len(x) > 20 or y.std() == 0:
        return {}
    report = p.fit(x, y, "--posterior", "none")
    of, _ = p.predict(new[:6])
    wanted = sixty.predictions(report, x, y, new[:6])
    return {"kind": kind, "n": len(x), "kernel": report["kernel"], "digits": report.get("digits"), "error": float(np.max(np.abs(of["mean"] - wanted)) / y.std())}


def digits_summary(raw):
    known = [r for r in raw if "error" in r]
    return f"{len(known)} tables: off by more than 1e-6 standard deviations: {sum(r['error'] > 1e-6 for r in known)}; worst {max(r['error'] for r in known):.2g}"


def judged(p, table, *options):
    x, y, new, target = table
    report = p.fit(x, y, *options)
    of, warnings = p.predict(new)
    error, cover = scores(of, target)
    return {"n": len(x), "d": x.shape[1], "error": error, "cover": cover, "level": report["verdict"]["level"], "judged": report["verdict"]["rmse_standardized"], "parameters": len(report["gradient_log"]), "kernel": report["kernel"]}, report


def averages(p, seed):
    noisy, seed = seed % 2, seed // 2
    table = tables.small(seed, noisy)
    out, report = judged(p, table)
    best, _ = judged(p, table, "--posterior", "none")
    return {**out, "noisy": noisy, "k_hat": (report.get("posterior") or {}).get("pareto_k"), "optimum": best["error"], "optimum_cover": best["cover"]}


def averages_summary(raw):
    text = []
    for noisy in (0, 1):
        some = [r for r in raw if r.get("noisy") == noisy]
        far = sum(r["error"] > 3 * r["optimum"] + 0.02 for r in some)
        text.append(f"{len(some)} {['noise-free', 'noisy'][noisy]}: error above 3 x the optimum's + 2 %: {far}; intervals hold {np.mean([r['cover'] for r in some]):.3f} "
                    f"(optimum {np.mean([r['optimum_cover'] for r in some]):.3f})")
    return "; ".join(text) + f"; failed {sum('failed' in r for r in raw)}"


def designs(p, seed):
    return {**judged(p, tables.design(seed))[0], "hypercube": seed % 2}


def designs_summary(raw):
    grids, cubes = [r for r in raw if r.get("hypercube") == 0], [r for r in raw if r.get("hypercube") == 1]
    return (f"{len(grids)} grids: good with intervals that hold less than 0.7: {sum(r['level'] == 'good' and r['cover'] < 0.7 for r in grids)} (all levels {sum(r['cover'] < 0.7 for r in grids)}); "
            f"{len(cubes)} hypercubes: error <= 0.5, intervals > 0.9 and not good: {sum(r['level'] != 'good' and r['error'] <= 0.5 and r['cover'] > 0.9 for r in cubes)}")


def verdicts(p, seed):
    return judged(p, tables.varied(seed))[0]


def verdicts_summary(raw):
    known = [r for r in raw if "level" in r]
    right = [r for r in known if r["error"] <= 0.5 and 0.9 <= r["cover"] <= 0.99]
    return (f"{len(known)} tables: good with an error >= 0.9: {sum(r['level'] == 'good' and r['error'] >= 0.9 for r in known)} of {sum(r['level'] == 'good' for r in known)} good; "
            f"error <= 0.5 and intervals of 0.90 to 0.99: {sum(r['level'] == 'good' for r in right)} of {len(right)} good; failed {sum('failed' in r for r in raw)}")


def far(p, seed):
    transform, seed = ["none", "auto", "log", "boxcox", "yeojohnson"][seed % 5], seed // 5
    x, y, new, _ = tables.varied(seed)
    if transform in ("log", "boxcox"):
        y = np.exp(y / y.std())
    p.fit(x, y, *([] if transform == "none" else ["--target-transform", transform]))
    new = np.concatenate([new[:20], x.mean(0) + 3 * (new[20:40] - x.mean(0)), x.mean(0) + 8 * (new[40:60] - x.mean(0))])
    of, warnings = p.predict(new)
    wild = np.abs(of["mean"] - np.median(y)) > 10 * (y.max() - y.min())
    return {"transform": transform, "n": len(x), "wild": int(wild.sum()), "warned": "warning" in warnings}


def far_summary(raw):
    known = [r for r in raw if "wild" in r]
    return f"{len(known)} fits: means beyond 10 ranges of the targets: {sum(r['wild'] > 0 for r in known)}, without a warning: {sum(r['wild'] > 0 and not r['warned'] for r in known)}; failed {sum('failed' in r for r in raw)}"


MEASURES = {"exact": (exact, exact_summary, 2000), "digits": (digits, digits_summary, 100), "averages": (averages, averages_summary, 1000),
            "designs": (designs, designs_summary, 200), "verdicts": (verdicts, verdicts_summary, 55), "far": (far, far_summary, 270)}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("measure", choices=MEASURES)
    a.add_argument("--tables", type=int)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--raw")
    a = a.parse_args()
    one, summary, count = MEASURES[a.measure]
    raw = tables.measure(a.program, one, range(a.seed, a.seed + (a.tables or count)))
    print(f"{a.measure}: {summary(raw)}")
    if a.raw:
        with open(a.raw, "w") as file:
            file.writelines(json.dumps(r) + "\n" for r in raw)


main()
