"""Compares how many values gpfit and scikit-learn need for a fit from one start; see ../README.md."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import fit
import machine

TABLES = {"concrete": 1000, "airfoil": 1200, "energy": 768, "kin40k": 1000, "elevators": 1000}
AGREE = 0.01  # nats by which gpfit may end above scikit-learn


def starts(columns):
    """Returns the starts: scikit-learn's own, and the start of `run.sh fit`."""
    return {
        "ones": {"lengthscale": 1.0, "signal_variance": 1.0, "noise_variance": 1.0},
        "wide": {"lengthscale": columns**0.5, "signal_variance": 1.0, "noise_variance": 0.1},
    }


def thinned(path, rows):
    """Returns random rows of a table, standardized, without constant columns."""
    table = fit.read(path)
    table = table[np.sort(np.random.default_rng(1).permutation(len(table))[:rows])]
    table = table[:, np.ptp(table, axis=0) > 0]
    return (table - table.mean(axis=0)) / table.std(axis=0)


def gpfit(path, *options):
    command = [os.environ["GPFIT"], "fit", path, "--kernel", "rbf(ard)", "--mean", "zero", "--noise-floor", "none", "--posterior", "none", "--standardize", "none", "--device", "cpu", "--json", "--quiet", "--force", "--out", path + ".gpfit", *options]
    for name, (low, high) in fit.BOUNDS.items():
        command += ["--bounds", f"{name}={low!r}:{high!r}"]
    r = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"nlml": r["nlml"], "values": r["evaluations"]["full_size_value"], "gradients": r["evaluations"]["full_size_gradient"], "status": r["status"], "parameters": r["parameters"]}


def sklearn(table, start):
    """Fits with scikit-learn's own optimizer and counts its calls with gradient."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    class Counting(GaussianProcessRegressor):
        calls = 0

        def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
            self.calls += bool(eval_gradient)
            return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)

    x, y = table[:, :-1], table[:, -1]
    kernel = (
        ConstantKernel(start["signal_variance"], fit.BOUNDS["signal_variance"])
        * RBF([start["lengthscale"]] * x.shape[1], fit.BOUNDS["lengthscale"])
        + WhiteKernel(start["noise_variance"], fit.BOUNDS["noise_variance"])
    )
    gp = Counting(kernel, alpha=0.0, n_restarts_optimizer=0).fit(x, y)
    return {"nlml": -float(gp.log_marginal_likelihood_value_), "values": gp.calls, "gradients": gp.calls, "parameters": str(gp.kernel_)}


def main():
    p = argparse.ArgumentParser(prog="run.sh values", description=__doc__)
    p.add_argument("--data", default="../shared/data", help="folder of the reference tables")
    args = p.parse_args()
    machine.pin_threads()
    out = machine.Output("values", machine.header("values", ["sklearn"]))
    out.text("fits of rbf(ard) on standardized tables, from one start within the same bounds, with each program's own limits of convergence")
    out.text(f"starts: lengthscale, signal and noise variance 1, scikit-learn's own (ones); sqrt(d), 1 and 0.1 (wide). bounds {fit.BOUNDS}")
    out.text("values of gpfit and, in brackets, gradients; scikit-learn computes both together. tuned: gpfit fit without further options, values over all rows\n")
    out.text(f"{'table':10} {'n':>5} {'d':>3} start {'scikit-learn':>13} {'NLML':>12} {'gpfit':>12} {'NLML':>12} {'difference':>11} {'tuned':>11} {'NLML':>12}")
    above = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in TABLES.items():
            table = thinned(pathlib.Path(args.data) / name / "data.csv.gz", rows)
            path = f"{folder}/{name}.csv"
            pathlib.Path(path).write_text("".join(",".join(map(repr, row)) + "\n" for row in table.tolist()))
            tuned = gpfit(path)
            for label, start in starts(table.shape[1] - 1).items():
                machine.progress(f"{name}, {label}")
                theirs = sklearn(table, start)
                ours = gpfit(path, "--coarse", "off", "--restarts", "0", *(f"--set={k}={v!r}" for k, v in start.items()))
                for engine, r in (("sklearn", theirs), ("gpfit", ours), ("gpfit tuned", tuned)):
                    out.record({"type": "values", "engine": engine, "table": name, "n": len(table), "d": table.shape[1] - 1, "start": label, **r})
                difference = ours["nlml"] - theirs["nlml"]
                above += difference > AGREE
                counts = [f"{r['values']} ({r['gradients']})" for r in (ours, tuned)]
                out.text(f"{name:10} {len(table):5} {table.shape[1] - 1:3} {label:5} {theirs['values']:13} {theirs['nlml']:12.4f} {counts[0]:>12} {ours['nlml']:12.4f} {difference:+11.4f} {counts[1]:>11} {tuned['nlml']:12.4f}")
    out.text(f"\n{above} of {2 * len(TABLES)} fits of gpfit ended more than {AGREE} nats above scikit-learn; load average {machine.load_average()}")
    out.close()
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
