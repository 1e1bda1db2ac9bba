"""Kernels of scikit-learn as expressions of gpfit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._errors import UsageError


class Converted(NamedTuple):
    """A kernel of scikit-learn in the words of gpfit.

    Attributes
    ----------
    kernel : expression
    start : values of the parameters by name
    bounds : bounds by name
    fixed : names of parameters that are not tuned
    noise : whether there is a WhiteKernel
    """

    kernel: str
    start: dict[str, float]
    bounds: dict[str, tuple[float, float]]
    fixed: list[str]
    noise: bool

    def options(self) -> dict[str, Any]:
        """Return the options of a fit that mean what scikit-learn means: inputs and target as they are, and mean 0."""
        fix = {name: self.start[name] for name in self.fixed}
        return {
            "kernel": self.kernel, "set": {k: v for k, v in self.start.items() if k not in fix}, "fix": fix, "bounds": self.bounds,
            "noise": "estimated" if self.noise else "none", "standardize": "none", "mean": "zero", "mean_fit": "auto",
        }


class _Parameter(NamedTuple):
    value: float
    bounds: tuple[float, float] | None  # None if it is fixed


class _Leaf(NamedTuple):
    """A family of gpfit with its options in brackets, and its parameters."""

    family: str
    parameters: dict[str, _Parameter]


class _Term(NamedTuple):
    """A product of leaves with a variance."""

    leaves: list[_Leaf]
    variance: _Parameter


def from_sklearn(kernel: Any, columns: Sequence[str]) -> Converted:
    """Return a kernel of scikit-learn in the words of gpfit.

    Parameters
    ----------
    kernel : object of sklearn.gaussian_process.kernels
    columns : names of the columns of X

    Raises
    ------
    UsageError
        if gpfit has no such kernel
    """
    terms, noise = list[_Term](), list[_Parameter]()
    for factors in _sum(kernel):
        names = {type(factor).__name__ for factor in factors}
        if "WhiteKernel" in names:
            noise.append(_white(factors))
        else:
            terms += _products(factors, columns)
    if not terms:
        raise UsageError("the kernel has noise alone: add a kernel such as RBF()")
    if len(noise) > 1:
        raise UsageError("the kernel has several WhiteKernel terms: keep one")
    return _named(terms, noise)


def _sum(kernel: Any) -> Iterator[list[Any]]:
    """Give the terms of a sum of products, each as the list of its factors."""
    name = type(kernel).__name__
    if name == "Sum":
        yield from _sum(kernel.k1)
        yield from _sum(kernel.k2)
    elif name == "Product":
        left, right = list(_sum(kernel.k1)), list(_sum(kernel.k2))
        for terms, factor in ((left, right), (right, left)):
            if len(terms) > 1 and not _fixed(factor):
                raise UsageError(f"{kernel}: a product with a sum: gpfit's terms have variances and lengthscales of their own; multiply out, as in C()*RBF() + C()*Matern()")
        for one in left:
            for other in right:
                yield one + other
    else:
        yield [kernel]


def _fixed(terms: list[list[Any]]) -> bool:
    """Say whether terms are one constant that is not tuned."""
    return len(terms) == 1 and all(type(f).__name__ == "ConstantKernel" and isinstance(f.constant_value_bounds, str) for f in terms[0])


def _white(factors: list[Any]) -> _Parameter:
    """Return the variance of a WhiteKernel, with constants."""
    others = [f for f in factors if type(f).__name__ not in ("WhiteKernel", "ConstantKernel")]
    if others or len(factors) > 1 and not all(f.constant_value_bounds == "fixed" for f in factors if type(f).__name__ == "ConstantKernel"):
        raise UsageError("a WhiteKernel times another kernel: gpfit's noise is a term by itself, WhiteKernel(noise_level)")
    white = next(f for f in factors if type(f).__name__ == "WhiteKernel")
    scale = float(np.prod([f.constant_value for f in factors if f is not white]))
    p = _parameter(white, "noise_level")
    return _Parameter(p.value * scale, p.bounds and (p.bounds[0] * scale, p.bounds[1] * scale))


def _products(factors: list[Any], columns: Sequence[str]) -> list[_Term]:
    """Return the terms of a product: the constants are the variance. A DotProduct has two terms."""
    constants = [_parameter(f, "constant_value") for f in factors if type(f).__name__ == "ConstantKernel"]
    others = [f for f in factors if type(f).__name__ != "ConstantKernel"]
    free = [c for c in constants if c.bounds is not None]
    if len(free) > 1:
        raise UsageError("a product has several free ConstantKernel factors, of which only the product matters: keep one")
    value = float(np.prod([c.value for c in constants]))
    if value == 0:
        raise UsageError("a ConstantKernel of 0 removes its term: leave the term out")
    scale = float(np.prod([c.value for c in constants if c.bounds is None]))
    variance = _Parameter(value, None)
    if free and free[0].bounds is not None:
        variance = _Parameter(value, (free[0].bounds[0] * scale, free[0].bounds[1] * scale))
    if len(others) == 1 and type(others[0]).__name__ == "DotProduct":
        shift = _parameter(others[0], "sigma_0")
        if free and shift.bounds is None:
            raise UsageError(f"{others[0]}: gpfit cannot tie its fixed sigma_0 to a free ConstantKernel: leave one of them out, or free sigma_0")
        if shift.value == 0:
            if shift.bounds is None:
                return [_Term([_Leaf("linear", {})], variance)]
            raise UsageError(f"{others[0]}: a sigma_0 that starts at 0 stays there: give another start, or sigma_0_bounds='fixed'")
        bounds = shift.bounds and (value * shift.bounds[0] ** 2, value * shift.bounds[1] ** 2)
        return [_Term([_Leaf("constant", {})], _Parameter(value * shift.value**2, bounds)), _Term([_Leaf("linear", {})], variance)]
    return [_Term([_leaf(f, columns) for f in others] or [_Leaf("constant", {})], variance)]


def _parameter(kernel: Any, name: str) -> _Parameter:
    """Return a parameter of a kernel of scikit-learn that is one number."""
    bounds = getattr(kernel, name + "_bounds")
    value = float(getattr(kernel, name))
    return _Parameter(value, None if isinstance(bounds, str) else _pair(bounds, 0))


def _pair(bounds: Any, i: int) -> tuple[float, float]:
    rows = np.atleast_2d(np.asarray(bounds, dtype=np.float64))
    low, high = rows[min(i, len(rows) - 1)]
    return float(low), float(high)


def _lengthscales(kernel: Any, columns: Sequence[str]) -> tuple[bool, dict[str, _Parameter]]:
    """Return whether there is a lengthscale per column, and the parameters by name."""
    values = np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    bounds = kernel.length_scale_bounds
    if np.ndim(kernel.length_scale) == 0 or len(values) == 1 and len(columns) == 1:
        return False, {"lengthscale": _Parameter(float(values[0]), None if isinstance(bounds, str) else _pair(bounds, 0))}
    if len(values) != len(columns):
        raise UsageError(f"the kernel {kernel} has {len(values)} lengthscales, and X has {len(columns)} columns")
    return True, {
        f"lengthscale[{i}]": _Parameter(float(v), None if isinstance(bounds, str) else _pair(bounds, i)) for i, v in enumerate(values)
    }


_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52", np.inf: "rbf"}


def _leaf(kernel: Any, columns: Sequence[str]) -> _Leaf:
    """Return a kernel of scikit-learn without constants as a family of gpfit."""
    name = type(kernel).__name__
    if name in ("RBF", "Matern"):
        ard, parameters = _lengthscales(kernel, columns)
        family = _MATERN.get(kernel.nu, f"matern({kernel.nu!r})") if name == "Matern" else "rbf"
        if ard:
            family = family[:-1] + ", ard)" if family.endswith(")") else family + "(ard)"
        return _Leaf(family, parameters)
    if name == "RationalQuadratic":
        _, parameters = _lengthscales(kernel, columns)
        return _Leaf("rq", parameters | {"alpha": _parameter(kernel, "alpha")})
    if name == "ExpSineSquared" and len(columns) == 1:
        _, parameters = _lengthscales(kernel, columns)
        return _Leaf("periodic", parameters | {"period": _parameter(kernel, "periodicity")})
    advice = {"ExpSineSquared": "for several columns write 'periodic', whose sum over columns differs", "DotProduct": "in a product write 'linear' or 'poly(2)'"}
    raise UsageError(
        f"gpfit has no kernel with the meaning of {kernel}: {advice.get(name, 'write an expression')}, such as 'rbf(ard) + linear'; docs/kernels.md lists the families"
    )


def _named(terms: list[_Term], noise: list[_Parameter]) -> Converted:
    """Return the expression of a sum of products, with its parameters by their paths."""
    text = " + ".join("*".join(leaf.family for leaf in term.leaves) for term in terms)
    start, bounds, fixed = dict[str, float](), dict[str, tuple[float, float]](), list[str]()

    def add(path: list[str], name: str, parameter: _Parameter) -> None:
        name = ".".join([*path, name])
        start[name] = parameter.value
        if parameter.bounds is None:
            fixed.append(name)
        else:
            bounds[name] = parameter.bounds

    for i, term in enumerate(terms):
        path = [f"k{i + 1}"] * (len(terms) > 1)
        add(path, "signal_variance", term.variance)
        for j, leaf in enumerate(term.leaves):
            inner = [f"k{j + 1}"] * (len(term.leaves) > 1)
            for name, parameter in leaf.parameters.items():
                add(path + inner, name, parameter)
    for parameter in noise:
        add([], "noise_variance", parameter)
    return Converted(text, start, bounds, fixed, bool(noise))
