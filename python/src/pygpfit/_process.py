"""Runs the program gpfit that the wheel carries."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

from ._errors import GPFitError, GPFitWarning, error_of
from ._options import OPTIONS, VARIABLES

# Variables that say where to compute hold for this package, too. Other options come from
# the caller alone.
_KEPT = {"GPFIT_DEVICE", "GPFIT_FALLBACK", "GPFIT_THREADS"}
_KEYS = {key for options in OPTIONS.values() for key in options}
# An interrupted gpfit writes its best model; this is how long it may take, in seconds.
_PATIENCE = 30


def find_program():
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
    folders = [sysconfig.get_path("scripts")]
    for scheme in ("posix_user", "nt_user"):
        if scheme in sysconfig.get_scheme_names():
            folders.append(sysconfig.get_path("scripts", scheme))
    # pip install --target and --prefix put scripts beside the packages.
    above = Path(__file__).resolve().parents
    folders += [above[1] / "bin", above[1] / "Scripts"]
    if len(above) > 4:
        folders += [above[4] / "bin", above[3] / "Scripts"]
    for folder in folders:
        program = Path(folder) / name
        if program.is_file():
            return str(program)
    searched = ", ".join(str(folder) for folder in folders)
    raise GPFitError(f"the program {name} of this package is missing; searched {searched}. Install pygpfit again")


def flags(options, command):
    """Return keyword options as flags. None leaves an option out.

    A dict gives named values: {"lengthscale": 2}, {"lengthscale": (0.1, 10)} for bounds,
    {"lengthscale": None} for a name alone.
    """
    table = OPTIONS.get(command, {})
    out = []
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        kind, default = table.get(key, ("", None))
        if value is None or isinstance(value, type(default)) and value == default:
            continue
        if isinstance(value, dict):
            out += [f"{flag}={name if v is None else f'{name}={_text(v)}'}" for name, v in value.items()]
        elif isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
            items = [_text(v) for v in value]
            if kind.startswith("NAME") or kind == "text, repeated":
                out += [f"{flag}={item}" for item in items]
            elif items:
                out.append(f"{flag}={','.join(map(_quoted, items))}")
        else:
            out.append(f"{flag}={_text(value)}")
    return out


def _text(value):
    if isinstance(value, (list, tuple)):
        return ":".join(map(_text, value))
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(item):
    if any(c in item for c in ',"\n'):
        return '"' + item.replace('"', '""') + '"'
    return item


def run(*args, names=None, accept=(0,)):
    """Run gpfit and return its standard output.

    Parameters
    ----------
    args : arguments of the program
    names : dict, file names in messages and what to call them instead
    accept : exit codes that are no error

    Its warnings become `GPFitWarning`, its errors the exceptions of this package. On
    KeyboardInterrupt gpfit gets SIGINT, and the exception continues when it has ended.
    """
    env = {k: v for k, v in os.environ.items() if k not in VARIABLES or k in _KEPT}
    # joblib tells its workers by this variable how many cores each of them has.
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        env.setdefault("GPFIT_THREADS", os.environ["OMP_NUM_THREADS"])
    separate = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}
    process = subprocess.Popen(
        [find_program(), *map(str, args)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=env, encoding="utf-8", errors="replace", **separate,
    )
    try:
        stdout, stderr = process.communicate()
    except BaseException:
        _stop(process)
        raise
    warned, last = messages(stderr, names or {})
    for text in warned:
        warnings.warn(text, GPFitWarning, stacklevel=_level())
    if process.returncode not in accept:
        if process.returncode < 0:
            last = last or f"gpfit ended by signal {-process.returncode}"
        raise error_of(process.returncode, last or f"gpfit ended with exit code {process.returncode}")
    return stdout


def _stop(process):
    """Interrupt gpfit and wait until it has ended."""
    try:
        process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)
        process.communicate(timeout=_PATIENCE)
    except BaseException:  # too slow, or a second interrupt
        process.kill()
        process.communicate()


def messages(stderr, names):
    """Return the warnings and the last other message in the text of standard error.

    Flags in the messages become keywords: --max-evals is max_evals.
    """
    texts = re.split(r"(?m)^gpfit: ", stderr)
    warned, last = [], texts[0].strip()
    for text in texts[1:]:
        text = re.sub(r"\nRun 'gpfit help' .*", "", text).rstrip("\n")
        for path, name in names.items():
            text = text.replace(str(path), name)
        text = re.sub(r"--([a-z]+(?:-[a-z]+)*)", _keyword, text)
        if text.startswith("warning: "):
            warned.append(text.removeprefix("warning: "))
        else:
            last = text
    return warned, last


def _keyword(match):
    key = match[1].replace("-", "_")
    return key if key in _KEYS else match[0]


def _level():
    """Return the stacklevel of the first caller outside this package."""
    here, level, frame = str(Path(__file__).parent), 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level
