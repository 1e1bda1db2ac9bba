"""Compares gpfit and scikit-learn on the CO2 model of Rasmussen & Williams (2006),
§5.4.3, with examples/co2.csv: at the book's parameters, at each other's optimum, and in
the time of both fits from the book's parameters. run.sh co2 calls this script."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, RationalQuadratic, WhiteKernel

KERNEL = "rbf + rbf*periodic + rq + rbf"
# Each entry has gpfit's name, then the parameter's location in scikit-learn's theta.
NAMES = ["k1.signal_variance", "k1.lengthscale", "k2.signal_variance", "k2.k1.lengthscale", "k2.k2.lengthscale",
         "k2.k2.period", "k3.signal_variance", "k3.alpha", "k3.lengthscale", "k4.signal_variance", "k4.lengthscale",
         "noise_variance"]
BOOK = [66.0**2, 67.0, 2.4**2, 90.0, 1.3, 1.0, 0.66**2, 0.78, 1.2, 0.18**2, 0.134, 0.19**2]


def sklearn_kernel(p):
    return (p[0] * RBF(p[1]) + p[2] * RBF(p[3]) * ExpSineSquared(p[4], p[5])
            + p[6] * RationalQuadratic(length_scale=p[8], alpha=p[7]) + p[9] * RBF(p[10]) + WhiteKernel(p[11]))


def gpfit(command, csv, parameters, *more):
    sets = [arg for name, v in zip(NAMES, parameters) for arg in ("--set", f"{name}={float(v)!r}")]
    out = subprocess.run([os.environ["GPFIT"], command, csv, "--kernel", KERNEL, "--mean", "zero", "--standardize", "none", "--json",
                          "--quiet", "--device", "cpu", *sets, *more], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def main():
    table = Path(__file__).resolve().parents[2] / "examples" / "co2.csv"
    rows = [line.split(",") for line in table.read_text().splitlines() if not line.startswith("#")][1:]
    x, y = np.array([[float(r[0])] for r in rows]), np.array([float(r[3]) for r in rows])
    y -= y.mean()
    folder = tempfile.mkdtemp()
    csv = os.path.join(folder, "co2.csv")
    np.savetxt(csv, np.column_stack([x, y]), fmt="%.17g", delimiter=",", header="year,co2", comments="")
    print(f"# {len(y)} months, scikit-learn {sklearn.__version__}, numpy {np.__version__}, "
          f"gpfit {os.environ.get('GPFIT_REVISION', '')}")

    def compare(what, p):
        k = sklearn_kernel(p)
        model = GaussianProcessRegressor(k, optimizer=None, alpha=0).fit(x, y)
        theirs, grad = model.log_marginal_likelihood(k.theta, eval_gradient=True)
        ours = gpfit("nlml", csv, p)
        # scikit-learn orders hyperparameters as gpfit does, except alpha and length_scale; see
        # NAMES.
        worst = max(abs(ours["gradient_log"][n] + g) for n, g in zip(NAMES, grad)) / max(abs(grad))
        print(f"{what:28s} NLML gpfit {ours['nlml']:.12f}  scikit-learn {-theirs:.12f}  "
              f"relative difference {abs(ours['nlml'] + theirs) / abs(theirs):.1e}, of the gradient {worst:.1e}")

    compare("book's parameters", BOOK)
    began = time.perf_counter()
    ours = gpfit("fit", csv, BOOK, "--out", os.path.join(folder, "m.gpfit"))
    our_time = time.perf_counter() - began
    compare("gpfit's optimum", [ours["parameters"][n] for n in NAMES])
    began = time.perf_counter()
    theirs = GaussianProcessRegressor(sklearn_kernel(BOOK), alpha=0).fit(x, y)
    their_time = time.perf_counter() - began
    compare("scikit-learn's optimum", np.exp(theirs.kernel_.theta))
    print(f"fit from the book's parameters: gpfit {ours['nlml']:.6f} in {our_time:.2f} s, {ours['evaluations']['value']} "
          f"values and {ours['evaluations']['gradient']} gradients, {ours['status']}; "
          f"scikit-learn {-theirs.log_marginal_likelihood_value_:.6f} in {their_time:.2f} s")


sys.exit(main())
