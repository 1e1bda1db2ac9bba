"""Compares whole fits of gpfit and scikit-learn from the same start; see ../README.md."""

import argparse
import gzip
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import machine
from nlml import PAUSE

# Tolerances of both optimizers: the largest component of the projected gradient, and
# the relative change of the objective (in gpfit's case over five successive
# iterations).
GRADIENT_TOLERANCE, RELATIVE_TOLERANCE, MAX_EVALUATIONS = 1e-4, 1e-10, 1000
BOUNDS = {"lengthscale": (1e-3, 1e4), "signal_variance": (1e-6, 1e6), "noise_variance": (1e-9, 1e2)}
AGREE = 1e-8  # relative difference of the NLMLs at scikit-learn's optimum


def read(path):
    """Reads a numeric CSV file, .gz or plain, with or without a header."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as f:
        lines = [line.split(",") for line in f if line.strip()]
    try:
        list(map(float, lines[0]))
    except ValueError:
        lines = lines[1:]
    return np.array(lines, dtype=float)


class Table:
    """Reads DATA[,MASK[:COL]]. The last column is the target; rows marked 1 are held
    out. It standardizes x and y by the training rows, as gpfit does."""

    def __init__(self, text):
        self.data, _, self.mask = text.partition(",")
        path, _, column = self.mask.partition(":")
        self.name = pathlib.Path(self.data).name.removesuffix(".gz").removesuffix(".csv")
        if self.name == "data":
            self.name = pathlib.Path(self.data).resolve().parent.name
        rows = read(self.data)
        held = read(path)[:, int(column or 0)] == 1 if path else np.zeros(len(rows), bool)
        train, test = rows[~held], rows[held]
        varies = np.ptp(train[:, :-1], axis=0) > 0
        mean, std = train.mean(axis=0), train.std(axis=0)
        std[:-1][~varies] = 1
        scaled, scaled_test = (train - mean) / std, (test - mean) / std
        self.x, self.y = np.ascontiguousarray(scaled[:, :-1][:, varies]), scaled[:, -1]
        self.test_x, self.test_y = scaled_test[:, :-1][:, varies], scaled_test[:, -1]
        self.columns = np.flatnonzero(varies).tolist()
        self.start = {"lengthscale": math.sqrt(len(self.columns)), "signal_variance": 1.0, "noise_variance": 0.1}


def options(table):
    """Returns gpfit's arguments for the table."""
    out = [table.data, "--kernel", "rbf(ard)", "--mean", "zero", "--device", "cpu", "--threads", os.environ["THREADS"], "--json", "--quiet"]
    for name, v in table.start.items():
        out += ["--set", f"{name}={v!r}"]
    for name, (lo, hi) in BOUNDS.items():
        out += ["--bounds", f"{name}={lo!r}:{hi!r}"]
    if table.mask:
        out += ["--split-mask", table.mask]
    return out


def gpfit(table, folder):
    began = time.perf_counter()
    p = subprocess.run([os.environ["GPFIT"], "fit", *options(table), "--noise-floor", "none", "--posterior", "none", "--max-evals", str(MAX_EVALUATIONS), "--out", str(folder / "model.gpfit")], capture_output=True, text=True)
    wall = time.perf_counter() - began
    if p.returncode:
        raise RuntimeError(p.stderr.strip())
    r = json.loads(p.stdout)
    r.pop("model_file", None)
    return {
        "nlml": r["nlml"], "parameters": r["parameters"], "values": r["evaluations"]["value"], "gradients": r["evaluations"]["gradient"],
        "seconds": r["seconds"], "seconds_process": wall, "status": r["status"],
        "rmse": r.get("test", {}).get("rmse_standardized"), "report": r,
    }


def sklearn(table):
    from scipy.optimize import minimize
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    ended = {}

    def optimizer(f, theta, bounds):
        r = minimize(f, theta, method="L-BFGS-B", jac=True, bounds=bounds,
                     options={"gtol": GRADIENT_TOLERANCE, "ftol": RELATIVE_TOLERANCE, "maxfun": MAX_EVALUATIONS, "maxiter": MAX_EVALUATIONS})
        ended.update(evaluations=int(r.nfev), status=str(r.message))
        return r.x, r.fun

    d = len(table.columns)
    kernel = (
        ConstantKernel(table.start["signal_variance"], BOUNDS["signal_variance"])
        * RBF([table.start["lengthscale"]] * d, BOUNDS["lengthscale"])
        + WhiteKernel(table.start["noise_variance"], BOUNDS["noise_variance"])
    )
    gp = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=optimizer)
    began = time.perf_counter()
    gp.fit(table.x, table.y)
    seconds = time.perf_counter() - began
    k = gp.kernel_
    parameters = {f"lengthscale[{c}]": float(v) for c, v in zip(table.columns, np.atleast_1d(k.k1.k2.length_scale))}
    parameters |= {"signal_variance": float(k.k1.k1.constant_value), "noise_variance": float(k.k2.noise_level)}
    rmse = None
    if len(table.test_y):
        rmse = float(np.sqrt(np.mean((gp.predict(table.test_x) - table.test_y) ** 2)))
    return {
        "nlml": -float(gp.log_marginal_likelihood_value_), "parameters": parameters,
        "values": ended["evaluations"], "gradients": ended["evaluations"], "seconds": seconds, "status": ended["status"], "rmse": rmse,
    }


def gpfit_at(table, parameters, folder):
    """Returns gpfit's NLML of the training rows at given parameters."""
    path = folder / "train.csv"
    with open(path, "w") as f:
        for row, v in zip(table.x, table.y):
            f.write(",".join(map(repr, [*row.tolist(), float(v)])) + "\n")
    sets = []
    for name, v in parameters.items():
        if name.startswith("lengthscale["):
            name = f"lengthscale[{table.columns.index(int(name[12:-1]))}]"
        sets += ["--set", f"{name}={v!r}"]
    p = subprocess.run([os.environ["GPFIT"], "nlml", str(path), "--kernel", "rbf(ard)", "--standardize", "none", "--device", "cpu", "--quiet", "--json", *sets], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip())
    return json.loads(p.stdout)["nlml"]


def compare(table, rounds, folder, out):
    """Fits one table with both engines in turns. Returns a complaint or None."""
    runs = {"gpfit": [], "sklearn": []}
    # A small fit first loads the libraries and starts the threads.
    warm = Table.__new__(Table)
    warm.__dict__ = {**table.__dict__, "x": table.x[:60], "y": table.y[:60], "test_y": []}
    sklearn(warm)
    for round_ in range(rounds):
        machine.progress(f"{table.name}: round {round_ + 1} of {rounds}")
        for name, f in (("gpfit", lambda: gpfit(table, folder)), ("sklearn", lambda: sklearn(table))):
            time.sleep(PAUSE)
            r = f()
            out.record({"type": "fit", "engine": name, "table": table.name, "n": len(table.y), "d": len(table.columns), "kernel": "rbf(ard)", "round": round_, **r})
            runs[name].append(r)
    ours, theirs = runs["gpfit"][0], runs["sklearn"][0]
    base = statistics.median(r["seconds"] for r in runs["gpfit"])
    for name, rs in runs.items():
        r, t = rs[0], statistics.median(q["seconds"] for q in rs)
        rmse = f"{r['rmse']:.4f}" if r["rmse"] is not None else "-"
        out.text(f"{table.name:10} {len(table.y):6} {len(table.columns):3} {name:8} {r['nlml']:15.6f} {r['values']:7} {r['gradients']:9} {t:9.3f} {t / base:7.2f} {1000 * t / r['values']:10.1f}  {rmse:>7}  {r['status']}")
    again = gpfit_at(table, theirs["parameters"], folder)
    difference = abs(again - theirs["nlml"]) / max(1, abs(again))
    out.text(f"{'':10} scikit-learn's NLML minus gpfit's: {theirs['nlml'] - ours['nlml']:+.6f}; gpfit at scikit-learn's parameters differs by {difference:.0e} relative\n")
    if difference > AGREE:
        return f"{table.name}: at scikit-learn's parameters gpfit has NLML {again!r}, scikit-learn {theirs['nlml']!r}"
    return None


def main():
    p = argparse.ArgumentParser(prog="run.sh fit", description=__doc__)
    p.add_argument("tables", nargs="+", metavar="DATA[,MASK[:COL]]", help="CSV table whose last column is the target, and a file whose column COL marks held-out rows with 1")
    p.add_argument("--rounds", type=int, default=3, help="fits of each table by each engine (default: %(default)s)")
    p.add_argument("--quick", action="store_true", help="one round")
    args = p.parse_args()
    rounds = 1 if args.quick else args.rounds
    machine.pin_threads()
    tables = [Table(t) for t in args.tables]
    out = machine.Output("fit-quick" if args.quick else "fit", machine.header("fit", ["sklearn"]))
    out.text(f"fits of rbf(ard) from lengthscale = sqrt(d), signal variance 1, noise variance 0.1; medians of {rounds}")
    out.text(f"both stop at a largest gradient component of {GRADIENT_TOLERANCE:g} or a relative change of {RELATIVE_TOLERANCE:g}; bounds {BOUNDS}\n")
    out.text(f"{'table':10} {'n':>6} {'d':>3} {'engine':8} {'final NLML':>15} {'values':>7} {'gradients':>9} {'seconds':>9} {'ratio':>7} {'ms a value':>10}  {'RMSE':>7}  ended")
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for table in tables:
            if complaint := compare(table, rounds, pathlib.Path(folder), out):
                failures.append(complaint)
    for f in failures:
        out.text("FAILED: " + f)
    out.text(f"load average at the end: {machine.load_average()}")
    out.close()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
