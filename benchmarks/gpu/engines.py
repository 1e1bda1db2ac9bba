"""NLML, gradient and predictions of a Gaussian process in PyTorch, for peer.py: by hand
and by GPyTorch, in float64 with zero mean and kernel rbf or rbf(ard).

Both engines compute the same numbers as gpfit by a Cholesky factorization. z holds the
logarithms of the lengthscales, the signal variance and the noise variance. x has the
shape (n, d) and y the shape (n,), or (problems, n, d) and (problems, n) for a batch of
problems that share z.
"""

import math

# The parameters of measure: lengthscale, signal variance, noise variance.
LENGTHSCALE, SIGNAL, NOISE = 2.0, 1.5, 0.1


def names(ard, d):
    """Returns gpfit's names of the parameters in the order of z."""
    return [*([f"lengthscale[{c}]" for c in range(d)] if ard else ["lengthscale"]), "signal_variance", "noise_variance"]


class Hand:
    """The textbook formulas (Rasmussen & Williams, eq. 5.9) with as few operations as a
    careful user of PyTorch would write: one factorization, one inverse, and sums over
    pairs instead of a matrix for each parameter."""

    def __init__(self, torch, x, y, ard, inverse="cholesky_inverse"):
        self.torch, self.x, self.y, self.ard, self.inverse = torch, x, y, ard, inverse
        self.factor = self.alpha = None

    def kernel(self, a, b, lengthscale, signal):
        a, b = a / lengthscale, b / lengthscale
        k = self.torch.matmul(a, b.mT).mul_(-2)
        k += (a * a).sum(-1)[..., :, None]
        k += (b * b).sum(-1)[..., None, :]
        return k.clamp_min_(0).mul_(-0.5).exp_().mul_(signal)

    def split(self, z):
        p = z.exp()
        return p[:-2], p[-2], p[-1]

    def form(self, z):
        lengthscale, signal, noise = self.split(z)
        k = self.kernel(self.x, self.x, lengthscale, signal)
        a = k.clone()
        a.diagonal(dim1=-2, dim2=-1).add_(noise)
        self.factor = self.torch.linalg.cholesky(a)
        del a
        self.alpha = self.torch.cholesky_solve(self.y[..., None], self.factor)[..., 0]
        return k

    def invert(self):
        if self.inverse == "cholesky_inverse":
            return self.torch.cholesky_inverse(self.factor)
        n = self.factor.shape[-1]
        eye = self.torch.eye(n, dtype=self.factor.dtype, device=self.factor.device).expand_as(self.factor)
        half = self.torch.linalg.solve_triangular(self.factor, eye, upper=False)
        return self.torch.linalg.solve_triangular(self.factor.mT, half, upper=True)

    def eval(self, z):
        """Returns the NLML and its gradient by z, for each problem."""
        torch = self.torch
        lengthscale, _, noise = self.split(z)
        k = self.form(z)
        log_determinant = 2 * self.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        nlml = 0.5 * ((self.y * self.alpha).sum(-1) + log_determinant + self.y.shape[-1] * math.log(2 * math.pi))
        w = self.invert()
        self.factor = None
        # w = Σ⁻¹ − ααᵀ; ∂NLML/∂p is half the sum of its products with ∂Σ/∂p.
        if w.dim() == 2:
            w.addr_(self.alpha, self.alpha, alpha=-1)
        else:
            w.baddbmm_(self.alpha[..., :, None], self.alpha[..., None, :], alpha=-1)
        by_noise = 0.5 * noise * w.diagonal(dim1=-2, dim2=-1).sum(-1)
        w *= k
        rows = w.sum(-1)
        scaled = self.x / lengthscale
        # The sum over pairs of w·(a−b)², by column, without a matrix for each column.
        by_column = (rows[..., None] * scaled * scaled).sum(-2) - (scaled * torch.matmul(w, scaled)).sum(-2)
        by_lengthscale = by_column if self.ard else by_column.sum(-1, keepdim=True)
        return nlml, torch.cat([by_lengthscale, 0.5 * rows.sum(-1)[..., None], by_noise[..., None]], -1)

    def prepare(self, z):
        """Computes what all predictions share."""
        self.form(z)

    def predict(self, z, x, step):
        """Returns means and standard deviations of new observations, step rows at a time."""
        torch = self.torch
        lengthscale, signal, noise = self.split(z)
        means, deviations = [], []
        for part in x.split(step):
            k = self.kernel(part, self.x, lengthscale, signal)
            means.append(k @ self.alpha)
            half = torch.linalg.solve_triangular(self.factor, k.mT, upper=False)
            deviations.append((signal + noise - (half * half).sum(0)).sqrt())
        return torch.cat(means), torch.cat(deviations)


class GPyTorch:
    """ExactGP with ExactMarginalLogLikelihood, with raw parameters that are logarithms."""

    def __init__(self, torch, x, y, ard):
        import gpytorch

        self.torch, self.gpytorch, self.x, self.y, self.ard = torch, gpytorch, x, y, ard
        batch, d = x.shape[:-2], x.shape[-1]

        def log():
            return gpytorch.constraints.Positive(transform=torch.exp, inv_transform=torch.log)

        class Exact(gpytorch.models.ExactGP):
            def __init__(self, x, y, likelihood):
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ZeroMean(batch_shape=batch)
                rbf = gpytorch.kernels.RBFKernel(ard_num_dims=d if ard else None, batch_shape=batch, lengthscale_constraint=log())
                self.covar_module = gpytorch.kernels.ScaleKernel(rbf, batch_shape=batch, outputscale_constraint=log())

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch, noise_constraint=log()).to(x.device)
        self.model = Exact(x, y, self.likelihood).to(x.device)
        self.mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        kernel = self.model.covar_module
        self.raw = [kernel.base_kernel.raw_lengthscale, kernel.raw_outputscale, self.likelihood.noise_covar.raw_noise]

    def exact(self):
        """Forces Cholesky, so that GPyTorch computes the same number by the same n³ algorithm."""
        s = self.gpytorch.settings
        contexts = [s.fast_computations(False, False, False), s.max_cholesky_size(self.y.shape[-1] + 1), s.cholesky_max_tries(1), s.fast_pred_var(False)]

        class All:
            def __enter__(self):
                for c in contexts:
                    c.__enter__()

            def __exit__(self, *error):
                for c in reversed(contexts):
                    c.__exit__(*error)

        return All()

    def set(self, z):
        with self.torch.no_grad():
            for p, v in zip(self.raw, (z[:-2], z[-2], z[-1])):
                p.copy_(v.expand_as(p))
                p.grad = None

    def eval(self, z):
        self.model.train()
        self.likelihood.train()
        self.set(z)
        with self.torch.enable_grad(), self.exact():
            loss = -self.mll(self.model(self.x), self.y) * self.y.shape[-1]
            loss.sum().backward()
        shape = self.x.shape[:-2]
        return loss.detach(), self.torch.cat([p.grad.reshape(*shape, -1) for p in self.raw], -1)

    def prepare(self, z):
        self.model.eval()
        self.likelihood.eval()
        self.set(z)
        self.predict(z, self.x[:1], 1)

    def predict(self, z, x, step):
        means, deviations = [], []
        with self.torch.no_grad(), self.exact():
            for part in x.split(step):
                p = self.likelihood(self.model(part))
                means.append(p.mean)
                deviations.append(p.stddev)
        return self.torch.cat(means), self.torch.cat(deviations)


ENGINES = {
    "PyTorch": Hand,
    "PyTorch, two solves": lambda torch, x, y, ard: Hand(torch, x, y, ard, inverse="two solves"),
    "GPyTorch": GPyTorch,
}
