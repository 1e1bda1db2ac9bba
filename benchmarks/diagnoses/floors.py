"""Is the noise of every path to a model at least 1e-9 of the variance of its targets? The tables are exact: a plane and a smooth function."""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import runs

FLOOR = 1e-9 * (1 - 1e-6)  # the last digits of a variance
SMALLER = ["--bounds", "noise_variance=1e-13:1e-12", "--kernel", "matern12", "--noise-floor", "none"]
PYTHON = Path(__file__).parents[2] / "python" / "src"


def fitted(*options):
    return lambda p, table, new: p.report("fit", table, "--out", "model.gpfit", *options) and ["model.gpfit"]


def after(*command, first=()):
    """Returns a path that fits with the options first, and runs a command with that model."""

    def path(p, table, new):
        p.report("fit", table, "--out", "first.gpfit", *first)
        p.report(*({"TABLE": table, "NEW": new}.get(a, a) for a in command), "--out", "model.gpfit")
        return ["model.gpfit"]

    return path


def selected(p, table, new):
    p.run("select", table, "--out", "chosen.gpfit", "--quiet")
    p.run("select", table, "--kernels", "rbf", "--kernels", "matern32(ard)", "--out", "model.gpfit", "--quiet")
    return ["chosen.gpfit", "model.gpfit"]


def batched(p, table, new):
    (p.folder / "spec.yaml").write_text(f"data:\n  - {{name: t, path: {table}}}\nkernels: [auto, rbf, 'rbf(ard) + matern12']\n")
    p.run("batch", "spec.yaml", "--out", "batch.run", "--quiet")
    return sorted((p.folder / "batch.run").glob("**/*.gpfit"))


def python(p, table, new):
    """Fits with the Python package of this checkout or, if it is not there, the installed one."""
    sys.path.insert(0, str(PYTHON))
    os.environ |= {"PYGPFIT_PROGRAM": p.path, "GPFIT_THREADS": "1"}
    import pygpfit

    warnings.simplefilter("ignore", pygpfit.GPFitWarning)
    pygpfit.fit(str(table)).save(str(p.folder / "model.gpfit"))
    return ["model.gpfit"]


PATHS = {
    "fit": fitted(),
    "fit rbf": fitted("--kernel", "rbf", "--posterior", "none"),
    "fit unscaled": fitted("--standardize", "none", "--kernel", "rbf"),
    "fit restarts": fitted("--restarts", "5", "--kernel", "rbf"),
    "fit transform": fitted("--target-transform", "yeojohnson"),
    "fit robust": fitted("--robust"),
    "fit loo": fitted("--objective", "loo", "--kernel", "rbf"),
    "fit draws": fitted("--posterior", "laplace", "--posterior-draws", "50", "--kernel", "rbf"),
    "fit finite": fitted("--kernel", "poly(2)", "--method", "finite"),
    "fit from": after("fit", "TABLE", "--from", "first.gpfit"),
    "fit from a smaller noise": after("fit", "TABLE", "--from", "first.gpfit", first=SMALLER),
    "update": after("update", "first.gpfit", "NEW"),
    "update, tuned": after("update", "first.gpfit", "NEW", "--retune"),
    "update, tuned, of a smaller noise": after("update", "first.gpfit", "NEW", "--retune", first=SMALLER),
    "experts": fitted("--experts", "kmeans:2", "--kernel", "rbf"),
    "select": selected,
    "batch": batched,
    "python": python,
}


def one(p, number, _):
    names, form = list(PATHS), number % 3
    r = np.random.default_rng(number)
    x = r.uniform(size=(50, 2))
    y = [100 * x[:, 0] - 30 * x[:, 1] + 7, np.sin(3 * x[:, 0]) * x[:, 1], 1e-3 * np.exp(x.sum(1))][form]
    name = names[number // 3 % len(names)]
    try:
        models = PATHS[name](p, p.table("known", x[:40], y[:40]), p.table("more", x[40:], y[40:]))
    except ImportError as e:
        print(f"{name} skipped: {e}", file=sys.stderr)
        return {"path": name, "skipped": str(e)}
    noise = []
    for model in models:
        of = p.run("inspect", model, "--json")
        parameters = json.loads(of.stdout)["parameters"]
        variance = y[:40].var() if name == "fit unscaled" else 1
        noise += [v / variance for k, v in parameters.items() if k.split(".")[-1].startswith("noise_variance")]
    return {"path": name, "models": len(models), "noise": min(noise)}


def summary(raw):
    known = [r for r in raw if "noise" in r]
    below = [r for r in known if r["noise"] < FLOOR]
    return (f"{len(known)} runs of {len({r['path'] for r in known})} paths: noise below 1e-9 {len(below)} {sorted({r['path'] for r in below})}; "
            f"least {min(r['noise'] for r in known):.4g}; skipped {sorted({r['path'] for r in raw if 'skipped' in r})}")


runs.main(__doc__, one, summary, 3 * len(PATHS))
