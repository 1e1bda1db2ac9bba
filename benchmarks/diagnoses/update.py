"""Are the p-values of an update right for tables drawn from the model itself, and are its scores the ones of predict --score before it?"""

import numpy as np
import runs
import tables

KINDS = {
    "mean constant": ["--mean", "constant", "--posterior", "none"],
    "mean linear": ["--mean", "linear", "--posterior", "none"],
    "mean quadratic": ["--mean", "poly(2)", "--posterior", "none"],
    "mean none": ["--mean", "zero", "--posterior", "none"],
    "mean with a prior": ["--kernel", "matern32(ard)", "--mean", "linear", "--mean-prior", "tuned", "--posterior", "none"],
    "transform": ["--target-transform", "yeojohnson"],
    "robust": ["--robust"],
    "draws auto": ["--posterior", "auto"],
    "draws laplace": ["--posterior", "laplace", "--posterior-draws", "50"],
    "two targets": ["--target", "y0,y1", "--kernel", "rbf"],
    "noise groups": ["--noise-group", "label"],
    "known noise": ["--noise-column", "known"],
    "experts": ["--experts", "kmeans:2", "--kernel", "rbf"],
    "markov": ["--kernel", "matern32", "--method", "markov"],
    "finite": ["--kernel", "linear", "--method", "finite"],
    "merged": ["--kernel", "matern32", "--method", "merged"],
    "grid": ["--kernel", "rbf(ard)", "--method", "grid"],
}


def p_value(p, seed):
    x, y = tables.drawn(seed)
    fixed = [f"{n}={v}" for n, v in (("lengthscale", tables.LENGTHSCALE), ("signal_variance", tables.SIGNAL), ("noise_variance", tables.NOISE))]
    model = ["--standardize", "none", "--kernel", "matern32", "--mean", "linear", "--posterior", "none"]
    p.fit(x[:40], y[:40], *model, *(a for f in fixed for a in ("--fix", f)))
    return p.report("update", "model.gpfit", p.table("new", x[40:], y[40:]), "--out", "updated.gpfit")["new_rows"][0]["p_value"]


def difference(p, seed, kind):
    """Returns the largest relative difference of the scores."""
    x, y = tables.drawn(seed)
    r, more, options = np.random.default_rng(seed), {}, KINDS[kind]
    known = slice(0, 40)
    match kind:
        case "two targets":
            y = np.column_stack([y, y + 0.1 * r.normal(size=len(y))])
        case "noise groups":
            more = {"label": np.array(["a", "b"], object)[r.integers(0, 2, len(x))]}
        case "known noise":
            more = {"known": r.uniform(0.01, 0.1, len(x))}
        case "robust":
            y[::9] += 5
        case "merged":
            x[10:20] = x[:10]
        case "markov":
            x = x[:, :1]
        case "grid":
            x = np.concatenate([tables.grid(36, 2), r.uniform(size=(15, 2))])
            y, known = np.sin(3 * x).sum(1) + 0.1 * r.normal(size=len(x)), slice(0, 36)
    new = slice(known.stop, None)
    train, rest = (p.table(name, x[of], y[of], **{k: v[of] for k, v in more.items()}) for name, of in (("train", known), ("new", new)))
    p.report("fit", train, "--out", "model.gpfit", *(options if kind == "two targets" else ["--target", "y", *options]))
    before = p.report("predict", "model.gpfit", rest, "--score", "--out", "predictions.csv")["scores"]
    after = p.report("update", "model.gpfit", rest, "--out", "updated.gpfit")["new_rows"]
    pairs = [(a[key], b[key]) for a, b in zip(after, before) for key in ("rmse", "nlpd")] + [(a["coverage95"], b["coverage"]["95"]) for a, b in zip(after, before)]
    return max(abs(a - b) / max(abs(b), 0.1) for a, b in pairs)


def one(p, seed, _):
    kind = list(KINDS)[seed % len(KINDS)]
    out = {"p_value": p_value(p, seed), "kind": kind}
    try:
        return {**out, "difference": difference(p, seed, kind)}
    except runs.Failed as e:
        return {**out, "refused": str(e)}


def summary(raw):
    values = sorted(r["p_value"] for r in raw if "p_value" in r)
    from_uniform = max(abs(v - (i + 0.5) / len(values)) for i, v in enumerate(values))
    known = [r for r in raw if "difference" in r]
    worst = max(known, key=lambda r: r["difference"])
    return (f"{len(values)} tables: p below 0.001: {sum(v < 0.001 for v in values)}, distance from the uniform distribution {from_uniform:.3f}; scores of {len(known)} models "
            f"of {len({r['kind'] for r in known})} kinds: largest relative difference {worst['difference']:.2g} ({worst['kind']}); "
            f"refused {sorted({r['kind'] for r in raw if 'refused' in r})}")


runs.main(__doc__, one, summary, 100)
