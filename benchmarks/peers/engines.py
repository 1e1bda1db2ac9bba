"""The peers' computations of NLML and gradient, one class each.

An engine is constructed from x (n×d), y and threads. eval(z) returns the NLML and its
gradient by z = (log lengthscale, log signal variance, log noise variance), in float64
and exactly: all engines compute the same number by the same n³ algorithm.
"""

import numpy as np


class Scipy:
    """Uses LAPACK's potrf and potri in place, as a careful user would by hand."""

    def __init__(self, x, y, threads):
        from scipy.linalg import blas, lapack

        self.blas, self.lapack = blas, lapack
        self.x, self.y = x, y
        norms = np.einsum("ij,ij->i", x, x)
        d2 = x @ x.T
        d2 *= -2
        d2 += norms[:, None]
        d2 += norms[None, :]
        np.maximum(d2, 0, out=d2)
        np.fill_diagonal(d2, 0)
        self.d2 = d2

    def eval(self, z):
        ell2, sf2, sn2 = np.exp(2 * z[0]), np.exp(z[1]), np.exp(z[2])
        n = len(self.y)
        k = np.exp(self.d2 * (-0.5 / ell2))
        k *= sf2
        sigma = k.copy()
        sigma.flat[:: n + 1] += sn2
        # Transposing a symmetric C-order matrix makes it Fortran-order.
        chol, info = self.lapack.dpotrf(sigma.T, lower=1, overwrite_a=1, clean=0)
        if info:
            raise np.linalg.LinAlgError(f"potrf: info {info}")
        alpha, _ = self.lapack.dpotrs(chol, self.y, lower=1)
        value = 0.5 * self.y @ alpha + np.log(np.diag(chol)).sum() + 0.5 * n * np.log(2 * np.pi)
        inv, _ = self.lapack.dpotri(chol, lower=1, overwrite_c=1)
        # inv holds the lower triangle in Fortran order, which is the upper triangle of
        # inv.T in C order. The whole sum is twice the triangle minus its diagonal.
        g = np.triu(inv.T)
        diag = np.diag(g).copy()
        g *= k
        trace_k = 2 * g.sum() - diag @ np.diag(k)
        g *= self.d2
        trace_kd = 2 * g.sum()
        ka = k @ alpha
        kd = k * self.d2
        grad = np.array([
            0.5 * (trace_kd - alpha @ (kd @ alpha)) / ell2,
            0.5 * (trace_k - alpha @ ka),
            0.5 * sn2 * (diag.sum() - alpha @ alpha),
        ])
        return value, grad


class Sklearn:
    """Uses GaussianProcessRegressor.log_marginal_likelihood."""

    def __init__(self, x, y, threads):
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
        self.gp = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        # These are the attributes that fit sets before it optimizes. fit would also
        # factor the matrix, which is not needed here.
        self.gp.kernel_, self.gp.X_train_, self.gp.y_train_ = kernel, x, y

    def eval(self, z):
        # theta is in the order of the expression: constant, lengthscale, noise.
        value, grad = self.gp.log_marginal_likelihood(np.array([z[1], z[0], z[2]]), eval_gradient=True, clone_kernel=False)
        return -value, -grad[[1, 0, 2]]


class Gpytorch:
    """Uses ExactGP with Cholesky at any n, float64; raw parameters are logarithms."""

    def __init__(self, x, y, threads):
        import gpytorch
        import torch

        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float64)
        self.torch, self.gpytorch = torch, gpytorch
        log = lambda: gpytorch.constraints.Positive(transform=torch.exp, inv_transform=torch.log)  # noqa: E731
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)

        class Model(gpytorch.models.ExactGP):
            def __init__(self, x, y, likelihood):
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ZeroMean()
                rbf = gpytorch.kernels.RBFKernel(lengthscale_constraint=log())
                self.covar_module = gpytorch.kernels.ScaleKernel(rbf, outputscale_constraint=log())

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        self.likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=log())
        self.model = Model(self.x, self.y, self.likelihood)
        self.model.train()
        self.likelihood.train()
        self.mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        kernel = self.model.covar_module
        self.raw = [kernel.base_kernel.raw_lengthscale, kernel.raw_outputscale, self.likelihood.noise_covar.raw_noise]

    def eval(self, z):
        s = self.gpytorch.settings
        n = len(self.y)
        with self.torch.no_grad():
            for p, v in zip(self.raw, z):
                p.fill_(float(v))
                p.grad = None
        with s.fast_computations(False, False, False), s.max_cholesky_size(n + 1), s.cholesky_max_tries(1):
            loss = -self.mll(self.model(self.x), self.y) * n
            loss.backward()
        return loss.item(), np.array([p.grad.item() for p in self.raw])


class Tinygp:
    """Uses tinygp under jit, with gradients by JAX, in float64."""

    def __init__(self, x, y, threads):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        import jax.numpy as jnp
        import tinygp

        x, y = jnp.asarray(x), jnp.asarray(y)

        def nlml(z):
            kernel = jnp.exp(z[1]) * tinygp.kernels.ExpSquared(scale=jnp.exp(z[0]), distance=tinygp.kernels.distance.L2Distance())
            return -tinygp.GaussianProcess(kernel, x, diag=jnp.exp(z[2])).log_probability(y)

        self.f = jax.jit(jax.value_and_grad(nlml))

    def eval(self, z):
        value, grad = self.f(np.asarray(z))
        return float(value), np.asarray(grad)


ENGINES = {"scipy": Scipy, "sklearn": Sklearn, "gpytorch": Gpytorch, "tinygp": Tinygp}
