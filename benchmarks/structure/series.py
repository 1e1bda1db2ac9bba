"""One evaluation of the likelihood of a series of a million rows, by celerite2 (the value) and tinygp (the value with its
gradient). run.sh calls it once a round:

    series.py N KERNEL     KERNEL is matern12 or matern32

It prints the seconds of celerite2 and of tinygp, each the least of three calls, and both likelihoods.
"""

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import celerite2
import jax
import jax.numpy as jnp
import numpy as np
from celerite2 import terms
from tinygp import GaussianProcess, kernels

jax.config.update("jax_enable_x64", True)
n, kernel = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(7)
x = np.cumsum(0.1 + 0.1 * rng.exponential(size=n))
y = rng.standard_normal(n)
noise, scale = 0.1, 1.3


def least(f, calls=3):
    f()
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        value = f()
        times.append(time.perf_counter() - began)
    return min(times), float(value)


def celerite():
    term = terms.RealTerm(a=1.0, c=1 / scale) if kernel == "matern12" else terms.Matern32Term(sigma=1.0, rho=scale)
    gp = celerite2.GaussianProcess(term, mean=0.0)
    gp.compute(x, diag=noise, check_sorted=False)
    return gp.log_likelihood(y)


kind = {"matern12": kernels.quasisep.Exp, "matern32": kernels.quasisep.Matern32}[kernel]


@jax.jit
@jax.value_and_grad
def tiny(p):
    gp = GaussianProcess(jnp.exp(p[0]) * kind(scale=jnp.exp(p[1])), x, diag=jnp.exp(p[2]), assume_sorted=True)
    return gp.log_probability(y)


p = jnp.log(jnp.array([1.0, scale, noise]))
seconds, value = least(celerite)
print(f"celerite2 {seconds:.4f} {value:.6f}")
seconds, value = least(lambda: tiny(p)[0].block_until_ready())
print(f"tinygp {seconds:.4f} {value:.6f}")
