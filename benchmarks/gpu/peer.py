"""Computes NLML and gradient for one n in GPyTorch, for run.py, and prints a JSON object.

It uses float64, ExactGP with ExactMarginalLogLikelihood, and an isotropic rbf with zero
mean and raw parameters that are logarithms. It forces Cholesky (max_cholesky_size above
n, fast computations off), so that it computes the same number as gpfit by the same n³
algorithm.
"""

import argparse
import json
import math
import time

# The parameters of measure: lengthscale, signal variance, noise variance.
PARAMETERS = [2.0, 1.5, 0.1]


def load(path, rows, n, torch, device):
    """Returns the first n rows of the file of `measure data`, which has the given rows."""
    with open(path, "rb") as f:
        values = torch.frombuffer(bytearray(f.read()), dtype=torch.float64)
    d = values.numel() // rows - 1
    x = values[: rows * d].reshape(rows, d)[:n].contiguous()
    y = values[rows * d :][:n].contiguous()
    return x.to(device), y.to(device)


class Model:
    def __init__(self, x, y, torch, gpytorch):
        self.torch, self.gpytorch, self.x, self.y = torch, gpytorch, x, y

        def log():
            return gpytorch.constraints.Positive(transform=torch.exp, inv_transform=torch.log)

        class Exact(gpytorch.models.ExactGP):
            def __init__(self, x, y, likelihood):
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ZeroMean()
                rbf = gpytorch.kernels.RBFKernel(lengthscale_constraint=log())
                self.covar_module = gpytorch.kernels.ScaleKernel(rbf, outputscale_constraint=log())

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=log())
        self.model = Exact(x, y, self.likelihood).to(x.device)
        self.likelihood.to(x.device)
        self.model.train()
        self.likelihood.train()
        self.mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        kernel = self.model.covar_module
        self.raw = [kernel.base_kernel.raw_lengthscale, kernel.raw_outputscale, self.likelihood.noise_covar.raw_noise]

    def eval(self, shift=0.0):
        """Returns the NLML and its gradient by the logarithms of the parameters."""
        s, n = self.gpytorch.settings, len(self.y)
        with self.torch.no_grad():
            for p, v in zip(self.raw, PARAMETERS):
                p.fill_(math.log(v) + shift)
                p.grad = None
        with s.fast_computations(False, False, False), s.max_cholesky_size(n + 1), s.cholesky_max_tries(1):
            loss = -self.mll(self.model(self.x), self.y) * n
            loss.backward()
        if self.x.is_cuda:
            self.torch.cuda.synchronize(self.x.device)
        return loss.item(), [p.grad.item() for p in self.raw]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", required=True)
    p.add_argument("--rows", type=int, required=True)
    p.add_argument("--n", type=int, required=True)
    p.add_argument("--device", default="cuda:0")
    args = p.parse_args()
    result = {"type": "gpytorch", "n": args.n, "ok": False}
    try:
        import gpytorch
        import torch
    except ImportError as e:
        print(json.dumps({**result, "missing": True, "error": str(e)}))
        return
    torch.set_default_dtype(torch.float64)
    device = torch.device(args.device)
    cuda = device.type == "cuda"
    try:
        x, y = load(args.data, args.rows, args.n, torch, device)
        Model(x[:2000], y[:2000], torch, gpytorch).eval()  # loads the libraries
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
        model = Model(x, y, torch, gpytorch)
        repeat = 3 if args.n <= 20_000 else 1
        warm = 1 if args.n <= 20_000 else 0
        seconds = []
        for i in range(-warm, repeat):
            start = time.perf_counter()
            value, gradient = model.eval(1e-6 * (repeat - 1 - i))  # the last evaluation is at the parameters themselves
            if i >= 0:
                seconds.append(time.perf_counter() - start)
    except (RuntimeError, ValueError) as e:  # out of memory, or a size that a library does not accept
        text = " ".join(str(e).split())[:300]
        memory = "out of memory" in text.lower() or "alloc" in text.lower()
        print(json.dumps({**result, "memory": memory, "error": text}))
        return
    result.update(ok=True, seconds=seconds, nlml=value, gradient_log=dict(zip(["lengthscale", "signal_variance", "noise_variance"], gradient)),
                  peak_bytes=torch.cuda.max_memory_allocated(device) if cuda else 0, torch=torch.__version__, torch_cuda=torch.version.cuda)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
