"""Compare approximations on a map: 18,000 training rows of two columns.

    python3 map.py GPFIT [--rows 18000] [--only tree,experts,gpboost,gpytorch]

draws two Matern fields with lengthscales 0.3 and 0.05 by 4,000 random features each, adds noise with a standard deviation
of 0.3, and fits `matern32 + matern32` by gpfit's tree and local experts, and a Matern field by GPBoost (Vecchia) and
GPyTorch (SVGP, 512 inducing points) where they are installed. It prints for each the RMSE of the mean without noise, the NLPD of 2,000 noisy
rows left out, the processor seconds of fit and predictions, and what gpfit says of its error. All seeds are fixed.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

NOISE, TEST, FEATURES = 0.3, 2000, 4000
KERNEL = "matern32 + matern32"


def field(rng, x, lengthscale):
    """A Matern-3/2 field: frequencies have Student's t distribution with 3 degrees of freedom."""
    w = rng.standard_normal((FEATURES, 2)) / np.sqrt(rng.chisquare(3, FEATURES) / 3)[:, None] / lengthscale
    b = rng.uniform(0, 2 * np.pi, FEATURES)
    weights = rng.standard_normal(FEATURES) * math.sqrt(2 / FEATURES)
    return np.concatenate([np.cos(part @ w.T + b) @ weights for part in np.array_split(x, 20)])


def make(rows):
    rng = np.random.default_rng(20261129)
    x = rng.uniform(size=(rows + TEST, 2))
    truth = field(rng, x, 0.3) + 0.5 * field(rng, x, 0.05)
    y = truth + NOISE * rng.standard_normal(rows + TEST)
    return x, truth, y


def scores(truth, y, mean, std):
    """RMSE against the fields, and NLPD of the noisy rows."""
    z = (y - mean) / std
    return math.sqrt(np.mean((mean - truth) ** 2)), float(np.mean(0.5 * z * z + np.log(std) + 0.5 * math.log(2 * math.pi)))


def processor():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def gpfit(program, options):
    def run(x, y, xs):
        with tempfile.TemporaryDirectory() as folder:
            np.savetxt(f"{folder}/t.csv", np.c_[x, y], delimiter=",", header="a,b,y", comments="")
            np.savetxt(f"{folder}/new.csv", xs, delimiter=",", header="a,b", comments="")
            command = [program, "fit", f"{folder}/t.csv", "--kernel", KERNEL, "--posterior", "none", "--out", f"{folder}/m.gpfit", "--json", "--quiet", "--device", "cpu", *options]
            report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            subprocess.run([program, "predict", f"{folder}/m.gpfit", f"{folder}/new.csv", "--out", f"{folder}/p.csv", "--quiet", "--device", "cpu"], check=True)
            with open(f"{folder}/p.csv") as f:
                heads = f.readline().strip().split(",")
                table = np.loadtxt(f, delimiter=",", ndmin=2)
            said = report.get("approximation") or (report.get("experts") or {}).get("lost")
            said = {"nlml": report["nlml"], "seconds": report["seconds"], "status": report["status"], "says": said}
            return table[:, heads.index("mean")], table[:, heads.index("std")], said

    return run


def gpboost(x, y, xs):
    import gpboost as gpb

    model = gpb.GPModel(gp_coords=x, cov_function="matern", cov_fct_shape=1.5, gp_approx="vecchia", num_neighbors=30, likelihood="gaussian", seed=1)
    model.fit(y=y - y.mean())
    p = model.predict(gp_coords_pred=xs, predict_var=True, predict_response=True)
    return p["mu"] + y.mean(), np.sqrt(p["var"]), {"version": gpb.__version__}


def gpytorch(x, y, xs):
    import gpytorch as gpt
    import torch

    torch.manual_seed(1)
    tx, ty = torch.tensor(x), torch.tensor((y - y.mean()) / y.std())

    class Model(gpt.models.ApproximateGP):
        def __init__(self, inducing):
            own = gpt.variational.CholeskyVariationalDistribution(len(inducing))
            super().__init__(gpt.variational.VariationalStrategy(self, inducing, own, learn_inducing_locations=True))
            self.mean = gpt.means.ConstantMean()
            self.kernel = gpt.kernels.ScaleKernel(gpt.kernels.MaternKernel(1.5)) + gpt.kernels.ScaleKernel(gpt.kernels.MaternKernel(1.5))

        def forward(self, at):
            return gpt.distributions.MultivariateNormal(self.mean(at), self.kernel(at))

    model, likelihood = Model(tx[torch.randperm(len(tx))[:512]].clone()).double(), gpt.likelihoods.GaussianLikelihood().double()
    loss = gpt.mlls.VariationalELBO(likelihood, model, num_data=len(ty))
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    for _ in range(50):
        for rows in torch.randperm(len(ty)).split(1024):
            optimizer.zero_grad()
            (-loss(model(tx[rows]), ty[rows])).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        p = likelihood(model(torch.tensor(xs)))
    return p.mean.numpy() * y.std() + y.mean(), p.stddev.numpy() * y.std(), {"version": gpt.__version__}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--rows", type=int, default=18000)
    arguments.add_argument("--only", default="tree,experts,gpboost,gpytorch")
    options = arguments.parse_args()
    n = options.rows
    methods = {
        "tree": gpfit(options.program, ["--method", "tree"]), "experts": gpfit(options.program, ["--experts", f"kmeans:{max(2, n // 2000)}"]),
        "gpboost": gpboost, "gpytorch": gpytorch,
    }
    x, truth, y = make(n)
    version = subprocess.run([options.program, "version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    print(json.dumps({"rows": n, "test": TEST, "noise": NOISE, "kernel": KERNEL, "gpfit": version, "cores": os.cpu_count(), "python": sys.version.split()[0]}), flush=True)
    skipped = []
    for name in options.only.split(","):
        began, cpu = time.time(), processor()
        try:
            mean, std, said = methods[name](x[:n], y[:n], x[n:])
        except ImportError as error:
            skipped.append(name)
            print(f"SKIPPED {name}: {error}", file=sys.stderr, flush=True)
            continue
        rmse, nlpd = scores(truth[n:], y[n:], np.asarray(mean), np.asarray(std))
        print(json.dumps({"method": name, "rmse": round(rmse, 5), "nlpd": round(nlpd, 5), "cpu_seconds": round(processor() - cpu, 1), "wall_seconds": round(time.time() - began, 1), **said}), flush=True)
    if skipped:
        print(f"SKIPPED, because they are not installed: {', '.join(skipped)}", flush=True)


if __name__ == "__main__":
    main()
