"""Temporary folders and files, which go with the process that made them.

The process holds a lock on each, which the system releases however the process ends. The next
call, of any process of the same user, removes what has no lock. systemd-tmpfiles knows such locks, too.
Folders are in shared memory if the system has it and the user names no other place.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from ._types import PathLike

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where nobody can remove an open file
    fcntl = None

_MEMORY = "/dev/shm"

_FOLDER = ("pygpfit-", ".tmp")
_FILE = (".pygpfit-", ".tmp.yaml")


@contextlib.contextmanager
def folder(large: bool = False) -> Generator[str]:
    """Give the path of a new folder for the body of a with statement. Large files are kept out of memory."""
    home = _enter(large)
    try:
        path = f"{home.path}{os.sep}{next(_number)}"
        os.mkdir(path, 0o700)
        try:
            yield path
        finally:
            _discard(path)
    finally:
        _leave(home)


# Numbers of the folders of calls.
_number = itertools.count()


def _discard(path: str) -> None:
    """Remove a folder, which mostly has a few files."""
    try:
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def holds(path: PathLike) -> bool:
    """Say whether a path is below a temporary folder of this process."""
    return any(str(path).startswith(home.path + os.sep) for home in list(_homes.values()))


class File:
    """A temporary file with contents, which goes with its object."""

    def __init__(self, data: bytes, suffix: str) -> None:
        self._home = _enter(len(data) > _LARGE)
        handle, self.path = tempfile.mkstemp(suffix=suffix, dir=self._home.path)
        with open(handle, "wb") as out:
            out.write(data)
        weakref.finalize(self, _remove, self._home, self.path)

    def usable(self) -> bool:
        """Say whether this process made the file, which a forked one shares, and it is still there."""
        return self._home.owner == os.getpid() and os.path.exists(self.path)


# Larger files are not kept in memory.
_LARGE = 64 << 20


def _remove(home: _Home, path: str) -> None:
    if home.owner == os.getpid():
        Path(path).unlink(missing_ok=True)
    _leave(home)


class _Home:
    """The folder of this process, which is there as long as it has users."""

    def __init__(self, base: str) -> None:
        self.base, self.users, self.owner = base, 0, os.getpid()
        self.path, self.lock = _locked(lambda: tempfile.mkdtemp(suffix=_FOLDER[1], prefix=_FOLDER[0], dir=base))

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):  # closed already, by another thread at the end of Python
            os.close(self.lock)
        shutil.rmtree(self.path, ignore_errors=True)  # Windows removes no open file


# A finalizer can run at any line of the thread that holds the guard.
_guard = threading.RLock()
_homes: dict[str, _Home] = {}
_swept: dict[str, float] = {}


def _base(large: bool) -> str:
    """Return where temporary folders go."""
    if large or any(name in os.environ for name in ("TMPDIR", "TEMP", "TMP")) or not os.access(_MEMORY, os.W_OK):
        return tempfile.gettempdir()
    space = os.statvfs(_MEMORY)
    return _MEMORY if space.f_bavail * space.f_frsize > 16 * _LARGE else tempfile.gettempdir()


def _enter(large: bool) -> _Home:
    """Return the folder of this process with one more user."""
    base = _base(large)
    if time.monotonic() - _swept.get(base, -1.0) >= 1:  # a second apart, for calls that take less
        sweep(base, *_FOLDER)
        _swept[base] = time.monotonic()
    with _guard:
        if base not in _homes:
            _homes[base] = _Home(base)
        _homes[base].users += 1
        return _homes[base]


def _leave(home: _Home) -> None:
    with _guard:
        home.users -= 1
        if home.users == 0 and home.owner == os.getpid():
            if _homes.get(home.base) is home:
                del _homes[home.base]
            home.close()


def _forked() -> None:
    """Forget the folders in a process that was forked: they belong to the other one."""
    global _guard
    _guard = threading.RLock()  # another thread may have held it
    for home in _homes.values():
        os.close(home.lock)
    _homes.clear()
    _swept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def _end() -> None:
    """Remove the folders although threads still use them: their programs end with this process."""
    for home in _homes.values():
        if home.owner == os.getpid():
            home.close()


@contextlib.contextmanager
def beside(directory: PathLike) -> Generator[Path]:
    """Give the path of a new empty file in a directory, for the body of a with statement."""
    sweep(directory, *_FILE)

    def make() -> str:
        path = os.path.join(directory, secrets.token_hex(4).join(_FILE))
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # as the umask allows
        return path

    path, lock = _locked(make)
    try:
        yield Path(path)
    finally:
        if fcntl is None:
            os.close(lock)
        Path(path).unlink(missing_ok=True)
        if fcntl is not None:
            os.close(lock)


def replace(path: PathLike, data: bytes) -> None:
    """Write a file whole or not at all. A file that is replaced keeps its mode."""
    target = Path(os.path.realpath(path))
    if fcntl is None or target.exists() and not target.is_file():  # Windows renames no open file
        target.write_bytes(data)
        return
    with beside(target.parent) as new:
        if target.exists():
            new.chmod(target.stat().st_mode & 0o7777)
        with open(new, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, target)


def sweep(directory: PathLike, prefix: str, suffix: str) -> None:
    """Remove the folders and files with such names, of this user, whose process has ended."""
    name = re.compile(re.escape(prefix) + "[a-z0-9_]{8}" + re.escape(suffix))
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_dead(entry)


def _remove_dead(entry: os.DirEntry[str]) -> None:
    if fcntl is None:
        if entry.is_dir(follow_symlinks=False):
            Path(entry.path, "lock").unlink(missing_ok=True)  # an error if its process lives
        _delete(entry)
        return
    if sys.platform == "win32" or entry.stat(follow_symlinks=False).st_uid != os.getuid():
        return
    lock = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its process lives
        _delete(entry)
    finally:
        os.close(lock)


def _delete(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        os.unlink(entry.path)


def _locked(make: Callable[[], str]) -> tuple[str, int]:
    """Make a folder or a file and lock it. Return its path and the descriptor that has the lock."""
    while True:
        path = make()
        with contextlib.suppress(FileNotFoundError):  # another process swept it before it was locked
            if fcntl is None:
                kept = os.path.join(path, "lock") if os.path.isdir(path) else path
                return path, os.open(kept, os.O_RDWR | os.O_CREAT)
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError:  # a file system without locks: nobody gets one, and nobody sweeps
                return path, lock
            if _same(path, lock):
                return path, lock
            os.close(lock)


def _same(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
