"""Runs commands of the program gpfit that the wheel carries."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from . import _words
from ._errors import GPFitError, GPFitWarning, InterruptedFitError, UsageError, error_of
from ._options import OPTIONS, VARIABLES
from ._progress import Progress, watcher
from ._server import Response, server
from ._types import Callback, Options, PathLike

# Variables that say where to compute hold for this package, too. Other options come from
# the caller alone.
_KEPT = {"GPFIT_DEVICE", "GPFIT_FALLBACK", "GPFIT_THREADS"}
_KEYS = {key for options in OPTIONS.values() for key in options}
# Commands of hours, which have a process of their own.
_ALONE = {"batch", "resume", "bench"}


def find_program() -> str:
    """Return the path of the program gpfit.

    PYGPFIT_PROGRAM names another one than the one that the wheel installed.
    """
    given = os.environ.get("PYGPFIT_PROGRAM")
    if given:
        found = shutil.which(given)
        if found is None:
            raise GPFitError(f"PYGPFIT_PROGRAM: {given} is not a program")
        return found
    name = "gpfit.exe" if os.name == "nt" else "gpfit"
    for folder in _folders():
        if (folder / name).is_file():
            return str(folder / name)
    searched = ", ".join(map(str, _folders()))
    raise GPFitError(f"the program {name} of this package is missing; searched {searched}. Install pygpfit again")


def _folders() -> list[Path]:
    """Return the folders in which pip may have put the program."""
    folders = [Path(sysconfig.get_path("scripts"))]
    for scheme in ("posix_user", "nt_user"):
        if scheme in sysconfig.get_scheme_names():
            folders.append(Path(sysconfig.get_path("scripts", scheme)))
    # pip install --target and --prefix put scripts beside the packages.
    above = Path(__file__).resolve().parents
    folders += [above[1] / "bin", above[1] / "Scripts"]
    if len(above) > 4:
        folders += [above[4] / "bin", above[3] / "Scripts"]
    return folders


def flags(options: Options, command: str) -> list[str]:
    """Return keyword options as flags. None leaves an option out.

    A dict gives named values: {"lengthscale": 2}, {"lengthscale": (0.1, 10)} for bounds,
    {"lengthscale": None} for a name alone.
    """
    table = OPTIONS[command]
    out: list[str] = []
    for key, value in options.items():
        if key not in table:
            raise UsageError(f"{command} has no option {key}{_words.option(key, table)}")
        kind, default = table[key]
        flag = "--" + key.rstrip("_").replace("_", "-")
        if value is None or isinstance(value, type(default)) and value == default:
            continue
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            out += [f"{flag}={name if v is None else f'{name}={_text(v)}'}" for name, v in named.items()]
        elif isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
            items = [_text(v) for v in cast("Iterable[Any]", value)]
            if kind.startswith("NAME") or kind == "text, repeated":
                out += [f"{flag}={item}" for item in items]
            elif items:
                out.append(f"{flag}={','.join(map(_quoted, items))}")
        else:
            out.append(f"{flag}={_text(value)}")
    return out


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ":".join(map(_text, cast("Sequence[Any]", value)))
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(item: str) -> str:
    if any(c in item for c in ',"\n'):
        return '"' + item.replace('"', '""') + '"'
    return item


class Ended:
    """How a command ended.

    Attributes
    ----------
    code : int
        its exit code
    stdout : str
    warnings : list of str
    message : str
        its last message that is no warning
    stopped : exception or None
        what stopped this package from waiting, such as KeyboardInterrupt; the command was
        interrupted then
    """

    def __init__(self, response: Response, names: Mapping[str, str]) -> None:
        self.code, self.stdout, self.stopped = response.code, response.stdout, response.stopped
        self.warnings, last = messages(response.stderr, names)
        signaled = f"gpfit ended by signal {-self.code}" if self.code < 0 else f"gpfit ended with exit code {self.code}"
        self.message = last or signaled

    def warn(self) -> None:
        """Give the warnings of the command."""
        for text in self.warnings:
            warnings.warn(text, GPFitWarning, stacklevel=caller())

    def error(self) -> BaseException | None:
        """Return what to raise: what stopped this package, an exception of it, or None."""
        return self.stopped or (error_of(self.code, self.message) if self.code else None)


def run(
    command: str, *files: PathLike, options: Sequence[str] = (), names: Mapping[str, str] | None = None, callback: Callback | None = None,
    progress: Progress = False,
) -> str:
    """Run a command of gpfit and return its standard output.

    Parameters
    ----------
    command : str, such as "kernel check"
    files : paths; a name may begin with "-"
    options : flags
    names : file names in messages and what to call them instead
    callback, progress : as in `pygpfit.fit`

    Its warnings become `GPFitWarning`, its errors the exceptions of this package. On
    KeyboardInterrupt gpfit is interrupted, and the exception continues when it has ended.
    """
    ended = call(command, *files, options=options, names=names, callback=callback, progress=progress)
    if ended.stopped is None:
        ended.warn()
    if isinstance(ended.stopped, StopIteration):
        raise InterruptedFitError(f"the callback interrupted {command}") from ended.stopped
    if error := ended.error():
        raise error
    return ended.stdout


def call(
    command: str, *files: PathLike, options: Sequence[str] = (), names: Mapping[str, str] | None = None, callback: Callback | None = None,
    progress: Progress = False,
) -> Ended:
    """Run a command of gpfit, as `run` does, and return how it ended."""
    words = [*command.split(), *options]
    if files:
        words += ["--", *("./-" if str(file) == "-" else str(file) for file in files)]
    env = _environment()
    with watcher(callback, progress) as watch:
        while True:
            with server(find_program(), env, alone=command in _ALONE) as taken:
                response = taken.request(words, watch)
            if not response.missed:
                return Ended(response, names or {})


# The variables of this process, as far as Python shows them without a copy, and what gpfit gets of them.
_seen: tuple[Any, dict[str, str]] = (None, {})


def _environment() -> dict[str, str]:
    """Return the variables of gpfit. They are read again when they have changed, because that takes longer than a short call."""
    global _seen
    data = getattr(os.environ, "_data", None)
    if data is not None and data == _seen[0]:
        return _seen[1]
    env = {k: v for k, v in os.environ.items() if k not in VARIABLES or k in _KEPT}
    # joblib tells its workers by this variable how many cores each of them has.
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        env.setdefault("GPFIT_THREADS", os.environ["OMP_NUM_THREADS"])
    _seen = (dict(data) if data is not None else None, env)
    return env


def messages(stderr: str, names: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the warnings and the last other message in the text of standard error.

    Flags in the messages become keywords: --max-evals is max_evals.
    """
    texts = re.split(r"(?m)^gpfit: ", stderr)
    warned, last = list[str](), texts[0].strip()
    for text in texts[1:]:
        text = re.sub(r"\nRun 'gpfit help' .*", "", text).rstrip("\n")
        for path, name in names.items():
            text = text.replace(path, name)
        text = re.sub(r"--([a-z]+(?:-[a-z]+)*)", _keyword, text)
        if text.startswith("warning: "):
            warned.append(text.removeprefix("warning: "))
        else:
            last = text
    return warned, last


def _keyword(match: re.Match[str]) -> str:
    key = match[1].replace("-", "_")
    return key if key in _KEYS else match[0]


def caller() -> int:
    """Return the stacklevel of the first caller outside this package."""
    here, level, frame = str(Path(__file__).parent), 1, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level
