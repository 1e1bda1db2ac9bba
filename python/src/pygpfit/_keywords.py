"""Signatures with the options of a command, for help and for completion in notebooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ._options import OPTIONS

P = ParamSpec("P")
R = TypeVar("R")
# How the result is printed is no option of a function.
_OWN = {"json", "quiet"}


def completes(command: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that gives a function with ``**options`` a signature with the options of a command."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in own}
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, (_, default) in OPTIONS[command].items()
            if name not in taken | _OWN
        ]
        function.__signature__ = signature.replace(parameters=own + options)  # type: ignore[attr-defined]
        return function

    return decorate
