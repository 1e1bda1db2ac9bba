"""Progress bars and callbacks."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

from ._server import Watcher
from ._types import Callback


class Bar(Protocol):
    """A progress bar, as tqdm has it."""

    total: Any
    n: Any

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """Show a text after the bar."""

    def refresh(self) -> Any:
        """Draw the bar."""

    def close(self) -> None:
        """End the bar."""


# True shows a bar of tqdm, if tqdm is installed, and otherwise a line of text. A function that
# makes bars, such as tqdm.notebook.tqdm, gets the keywords total, desc and leave.
Progress: TypeAlias = bool | Callable[..., Bar]


@contextlib.contextmanager
def watcher(callback: Callback | None, progress: Progress) -> Generator[Watcher | None]:
    """Give the function that shows the progress of a command, or None, for the body of a with statement."""
    if callback is None and not progress:
        yield None
        return
    bar = _bar(progress) if progress else None

    def watch(status: dict[str, Any]) -> None:
        if bar is not None:
            bar.total = status.get("total") or bar.total
            bar.n = round(status.get("done", bar.n), 2)
            bar.set_postfix_str(_about(status), refresh=False)
            bar.refresh()
        if callback is not None:
            callback(status)

    try:
        yield watch
        if bar is not None and bar.total:
            bar.n = bar.total
            bar.refresh()
    finally:
        if bar is not None:
            bar.close()


def _about(status: dict[str, Any]) -> str:
    """Return what a bar says after its numbers."""
    if status.get("best") is not None:
        return f"best {status['best']:.6g}"
    return "" if status.get("total") else str(status["text"])


def _bar(progress: Progress) -> Bar:
    if callable(progress):
        return progress(total=None, desc="gpfit", leave=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm's advice to install widgets
            made: Bar = importlib.import_module("tqdm.auto").tqdm(total=None, desc="gpfit", leave=False)
    except ImportError:
        return _Line()
    return made


class _Line:
    """A line of text on standard error in place of a bar."""

    def __init__(self) -> None:
        self.total: float | None = None
        self.n = 0.0
        self._text = ""

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        self._text = s

    def refresh(self) -> None:
        of = f" of about {self.total:g}" if self.total else ""
        sys.stderr.write(f"\rgpfit: {self.n:g}{of} {self._text}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
