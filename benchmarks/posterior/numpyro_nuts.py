"""Effective samples per second of gpfit and NumPyro on the same posterior.

Both draw lengthscales, signal variance and noise variance of an exact Gaussian process
(rbf with one lengthscale per column, targets standardized) under the same lognormal
priors, with four chains after the same warm-up. NumPyro compiles before its clock starts.
ArviZ computes R-hat and effective sample sizes of both, so that neither judges itself.
The runs alternate; the figures are medians.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

jax.config.update("jax_enable_x64", True)


def table(n, seed=1):
    """Friedman's function of three columns, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 3))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + rng.normal(size=n)
    return (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()


PRIORS = {"lengthscale": (0.5, 1.0), "signal_variance": (0.0, 1.0), "noise_variance": (-2.0, 1.5)}


def model(x, y):
    n, d = x.shape
    rho = numpyro.sample("lengthscale", dist.LogNormal(*PRIORS["lengthscale"]).expand([d]).to_event(1))
    tau = numpyro.sample("signal_variance", dist.LogNormal(*PRIORS["signal_variance"]))
    noise = numpyro.sample("noise_variance", dist.LogNormal(*PRIORS["noise_variance"]))
    scaled = x / rho
    square = jnp.sum((scaled[:, None] - scaled[None]) ** 2, -1)
    covariance = tau * jnp.exp(-0.5 * square) + noise * jnp.eye(n)
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(n), covariance), obs=y)


def summary(data):
    """Least effective sample size and largest R-hat over all parameters."""
    names = [v for v in data.posterior.data_vars]
    bulk = min(float(arviz.ess(data, var_names=[v], method="bulk")[v].min()) for v in names)
    tail = min(float(arviz.ess(data, var_names=[v], method="tail")[v].min()) for v in names)
    rhat = max(float(arviz.rhat(data, var_names=[v])[v].max()) for v in names)
    return bulk, tail, rhat


def run_numpyro(x, y, seed, o):
    kernel = NUTS(model, dense_mass=True)
    mcmc = MCMC(kernel, num_warmup=o.warmup, num_samples=o.draws, num_chains=4, chain_method=o.chain_method, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(seed), x, y)  # compiles
    began = time.perf_counter()
    mcmc.run(jax.random.PRNGKey(seed + 100), x, y)
    jax.block_until_ready(mcmc.get_samples())
    seconds = time.perf_counter() - began
    data = arviz.from_numpyro(mcmc)
    means = {k: np.asarray(v).mean(axis=0).tolist() for k, v in mcmc.get_samples().items()}
    return seconds, data, means


def run_gpfit(path, seed, o, folder):
    out, draws = os.path.join(folder, "m.gpfit"), os.path.join(folder, "draws.json")
    command = [o.gpfit, "fit", path, "--kernel", "rbf(ard)", "--standardize", "none", "--posterior", "hmc", "--seed", str(seed),
               "--posterior-warmup", str(o.warmup), "--posterior-draws", str(o.draws), "--posterior-out", draws,
               "--out", out, "--force", "--quiet", "--json"]
    for name, (mu, sigma) in PRIORS.items():
        command += ["--prior", f"{name}=lognormal({mu}, {sigma})"]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    report = json.loads(done.stdout)["posterior"]
    with open(draws) as f:
        text = json.load(f)
    data = arviz.from_json(draws)
    means = {k: float(np.mean(v)) for k, v in text["posterior"].items()}
    return seconds, data, means, report["divergences"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpfit", default="gpfit")
    parser.add_argument("--rows", default="50,100,200")
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--chain-method", default="sequential")
    o = parser.parse_args()
    print(json.dumps({"type": "machine", "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0],
                      "numpyro": numpyro.__version__, "jax": jax.__version__, "arviz": arviz.__version__,
                      "gpfit": subprocess.run([o.gpfit, "--version"], capture_output=True, text=True).stdout.strip(), "date": time.strftime("%Y-%m-%d")}), flush=True)
    for n in [int(v) for v in o.rows.split(",")]:
        x, y = table(n)
        rates = {"gpfit": [], "numpyro": []}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.csv")
            np.savetxt(path, np.column_stack([x, y]), delimiter=",", header="a,b,c,y", comments="", fmt="%.17g")
            for seed in range(1, o.repeat + 1):
                for program in ("gpfit", "numpyro"):
                    if program == "gpfit":
                        seconds, data, means, divergences = run_gpfit(path, seed, o, folder)
                    else:
                        seconds, data, means = run_numpyro(x, y, seed, o)
                        divergences = int(data.sample_stats["diverging"].sum())
                    bulk, tail, rhat = summary(data)
                    rates[program].append(bulk / seconds)
                    print(json.dumps({"type": "run", "n": n, "program": program, "seed": seed, "seconds": round(seconds, 3), "ess_bulk": round(bulk), "ess_tail": round(tail),
                                      "r_hat": round(rhat, 4), "divergences": divergences, "ess_per_second": round(bulk / seconds, 1), "means": means}), flush=True)
        a, b = statistics.median(rates["gpfit"]), statistics.median(rates["numpyro"])
        print(json.dumps({"type": "result", "n": n, "gpfit_ess_per_second": round(a, 1), "numpyro_ess_per_second": round(b, 1), "ratio": round(a / b, 2)}), flush=True)


if __name__ == "__main__":
    main()
