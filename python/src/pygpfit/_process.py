"""Runs the program gpfit that the wheel carries."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

from ._errors import GPFitError, GPFitWarning, InterruptedFitError, error_of
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


class Ended:
    """How a program ended.

    Attributes
    ----------
    code : int
        its exit code
    stdout : str
    warnings : list of str
    message : str
        its last message that is no warning
    stopped : exception or None
        what stopped this package from waiting, such as KeyboardInterrupt; the program was
        interrupted then
    """

    def __init__(self, code, stdout, stderr, names, stopped):
        self.code, self.stdout, self.stopped = code, stdout, stopped
        self.warnings, last = messages(stderr, names)
        signaled = f"gpfit ended by signal {-code}" if code < 0 else f"gpfit ended with exit code {code}"
        self.message = last or signaled

    def warn(self):
        """Give the warnings of the program."""
        for text in self.warnings:
            warnings.warn(text, GPFitWarning, stacklevel=caller())

    def error(self):
        """Return what to raise: what stopped this package, an exception of it, or None."""
        return self.stopped or (error_of(self.code, self.message) if self.code else None)


def run(command, *files, options=(), names=None):
    """Run a command of gpfit and return its standard output.

    Parameters
    ----------
    command : str
    files : paths; a name may begin with "-"
    options : list of str, flags
    names : dict, file names in messages and what to call them instead

    Its warnings become `GPFitWarning`, its errors the exceptions of this package. On
    KeyboardInterrupt gpfit gets SIGINT, and the exception continues when it has ended.
    """
    ended = call(command, *files, options=options, names=names)
    if ended.stopped is None:
        ended.warn()
    if error := ended.error():
        raise error
    return ended.stdout


def call(command, *files, options=(), names=None):
    """Run a command of gpfit, as `run` does, and return how it ended."""
    program = [find_program(), command, *options]
    if files:
        program += ["--", *("./-" if str(file) == "-" else str(file) for file in files)]
    env = {k: v for k, v in os.environ.items() if k not in VARIABLES or k in _KEPT}
    # joblib tells its workers by this variable how many cores each of them has.
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        env.setdefault("GPFIT_THREADS", os.environ["OMP_NUM_THREADS"])
    _check_deserted()
    theirs, ours = os.pipe()
    _held.add(ours)
    process = stopped = None
    try:
        process = subprocess.Popen(
            program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace", **_follows(theirs, env),
        )
        stdout, stderr = _wait(process)
    except BaseException as error:
        if process is None:
            raise
        stopped, (stdout, stderr) = error, _stop(process)
    finally:
        os.close(theirs)
        _held.discard(ours)
        os.close(ours)  # ends a gpfit that still runs
    return Ended(process.returncode, stdout, stderr, names or {}, stopped)


# Ends of pipes. When the system closes them, because this process has ended in whatever way, gpfit
# ends, too (GPFIT_PARENT). Processes that are forked from this one must not hold them open.
_held = set()
# The parent of this process. A worker of joblib is a child of its main process, which may have ended by now.
_main = multiprocessing.parent_process()
_parent = _main.pid if _main and _main.sentinel is None else os.getppid()


def _forked():
    global _parent
    _parent = os.getppid()
    for end in _held:
        os.close(end)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _wait(process):
    """Wait until gpfit has ended, and return its output. Raise an error in a worker whose main process has ended."""
    while True:
        try:
            return process.communicate(timeout=1 if multiprocessing.parent_process() else None)
        except subprocess.TimeoutExpired:
            _check_deserted()


def _check_deserted():
    """Raise an error in a worker, of multiprocessing or joblib, whose main process has ended: nobody waits for its results.

    Such a worker would end after its task only.
    """
    main = multiprocessing.parent_process()
    if main and (os.getppid() != _parent or main.sentinel is not None and not main.is_alive()):
        raise InterruptedFitError("the main process of this worker has ended")


def _follows(end, env):
    """Return the arguments of Popen for a gpfit that ends with this process, which has the other end of a pipe."""
    if os.name != "nt":
        return {"env": env | {"GPFIT_PARENT": f"{os.getpid()}:{end}"}, "pass_fds": (end,), "start_new_session": True}
    import msvcrt

    handle = msvcrt.get_osfhandle(end)
    os.set_handle_inheritable(handle, True)
    return {
        "env": env | {"GPFIT_PARENT": f"{os.getpid()}:{handle}"}, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP,
        "startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]}),
    }


def _stop(process):
    """Interrupt gpfit, wait until it has ended, and return its output."""
    try:
        process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)
        return process.communicate(timeout=_PATIENCE)
    except BaseException:  # too slow, or a second interrupt
        process.kill()
        return process.communicate()


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


def caller():
    """Return the stacklevel of the first caller outside this package."""
    here, level, frame = str(Path(__file__).parent), 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level
