"""Processes of gpfit that stay: they run commands one after another and at the same time.

A process has the working directory and the variables of its start, so that there is a new one when
these change. It ends when this process closes its pipe, however this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import os
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from ._errors import GPFitError, InterruptedFitError

# The version of the messages, which the program must have, too.
PROTOCOL = 1
# An interrupted gpfit writes its best model; this is how long it may take, in seconds.
_PATIENCE = 30.0
# A longer message is none, in bytes.
_LARGEST = 1 << 30
_WINDOWS = os.name == "nt"
# What the runtime of Go says when the system refuses memory at its start, before gpfit can say more.
_REFUSED = ("out of memory", "cannot allocate memory", "pthread_create failed", "failed to reserve")

Message = dict[str, Any]
Watcher = Callable[[Message], object]


class Response:
    """The end of a command.

    Attributes
    ----------
    code : int
        its exit code; negative for the signal that ended the program
    stdout, stderr : str
    stopped : exception or None
        what stopped this process from waiting; the command was interrupted then
    missed : bool
        whether the server had ended before it saw the command: another one can run it
    """

    def __init__(self, message: Message, stopped: BaseException | None) -> None:
        self.code: int = message["code"]
        self.stdout: str = message["stdout"]
        self.stderr: str = message["stderr"]
        self.stopped = stopped
        self.missed: bool = stopped is None and message.get("missed", False)


class _Request:
    """A request that waits: its progress, and its end once gpfit has sent it."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()
        # Stays, so that an interrupt between two steps of the wait loses no answer.
        self._end: Message | None = None

    def put(self, message: Message) -> None:
        """Take a message of gpfit."""
        if "progress" not in message:
            self._end = self._end or message  # the end of gpfit follows
        self._queue.put(message)

    def wait(self, watch: Watcher | None, seconds: float | None = None) -> Message:
        """Return the end of the command. Raise an error in a worker whose main process has ended, and queue.Empty after the given seconds."""
        # On Windows a wait without end takes no Ctrl-C.
        step = 0.1 if _WINDOWS else 1.0 if multiprocessing.parent_process() else seconds
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._end is None:
            try:
                message = self._queue.get(timeout=step)
            except queue.Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    raise
                check_deserted()
                continue
            if watch is not None and "progress" in message:
                watch(message["progress"])
        while watch is not None and not self._queue.empty():  # the last progress, which came just before the end
            message = self._queue.get()
            if "progress" in message:
                watch(message["progress"])
        return self._end


class Server:
    """A running ``gpfit serve``."""

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._write_lock = threading.Lock()
        self._next, self._waiting = 0, dict[int, _Request]()
        self._ended: Message | None = None
        self._lost = ""
        theirs, self._requests = os.pipe()
        self._answers, out = os.pipe()
        self._crash, errors = os.pipe()
        parent, self._parent = os.pipe()
        self._open = [self._requests, self._parent]
        # How many callers have it in hand.
        self.users = 0
        try:
            self._process = subprocess.Popen(
                [program, "serve"], stdin=theirs, stdout=out, stderr=errors, **_follows(parent, env)
            )
        except BaseException:
            self.close()
            os.close(self._answers)
            os.close(self._crash)
            raise
        finally:
            for end in (theirs, out, errors, parent):
                os.close(end)
        self._errors = threading.Thread(target=self._listen_to_errors, daemon=True)
        self._errors.start()
        self._greet(program)
        threading.Thread(target=self._listen, daemon=True).start()

    def _greet(self, program: str) -> None:
        hello = self._read()
        if hello is not None and hello["protocol"] == PROTOCOL:
            return
        self.close()
        os.close(self._answers)
        if hello is not None:
            raise GPFitError(f"{program} is of another version, {hello['version']}, than this package; unset PYGPFIT_PROGRAM, or install pygpfit again")
        code = self._process.wait()
        self._errors.join(1)
        lost = self._lost.removeprefix("gpfit: ").strip() or f"exit code {code}"
        if any(words in lost for words in _REFUSED):
            lost = "the limit on the memory of this process (ulimit -v, resource.RLIMIT_AS) leaves it too little; raise it to 2 GiB or more, or remove it"
        raise GPFitError(f"{program} does not start: {lost}")

    @property
    def alive(self) -> bool:
        """Whether it takes requests."""
        return self._ended is None

    def close(self) -> None:
        """Close the pipes: gpfit interrupts what it does and ends."""
        ends, self._open = self._open, []
        for end in ends:
            os.close(end)
        self._ended = self._ended or {"code": 0, "stdout": "", "stderr": ""}

    def forget(self) -> None:
        """Close the copies of the pipes in a process that was forked from the owner of this server.

        Only descriptors may be closed here: threads of the owner may have held any lock.
        """
        self.close()
        for end in (self._answers, self._crash):
            with contextlib.suppress(OSError):  # -1 if a thread has closed it
                os.close(end)
        self._process.returncode = 0  # its child is not ours to wait for

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def request(self, command: list[str], watch: Watcher | None = None) -> Response:
        """Run a command and return how it ended.

        watch gets the progress. If it raises an error, or something else interrupts the wait, such as
        KeyboardInterrupt, the command is interrupted, and the result has its end and the exception.
        """
        answers = _Request()
        with self._write_lock:
            self._next += 1
            number = self._next
            self._waiting[number] = answers
        try:
            try:
                self._send({"id": number, "command": command, "progress": watch is not None})
                return Response(answers.wait(watch), None)
            except BaseException as error:
                self._send({"id": number, "cancel": True})
                return Response(self._interrupted(answers), error)
        finally:
            self._waiting.pop(number, None)

    def _interrupted(self, answers: _Request) -> Message:
        """Return the end of a command that was interrupted, or end gpfit if that takes too long."""
        try:
            return answers.wait(None, _PATIENCE)
        except BaseException:  # too slow, or a second interrupt
            self._process.kill()
            return answers.wait(None, _PATIENCE)

    def _send(self, message: Message) -> None:
        text = json.dumps(message).encode()
        with self._write_lock:
            if self._ended is not None:
                for answers in self._waiting.values():
                    answers.put(self._ended)
                return
            with contextlib.suppress(OSError):  # it has ended; the reader says how
                _write(self._requests, struct.pack(">I", len(text)) + text)

    def _listen(self) -> None:
        """Give every message to the request that waits for it, until gpfit ends or sends what is no message."""
        try:
            while (message := self._read()) is not None:
                answers = self._waiting.get(message["id"])
                if answers is not None:
                    answers.put(message)
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._lost += f"\ngpfit sent what is no message: {error!r}"
            self._process.kill()
        end, self._answers = self._answers, -1
        os.close(end)
        code = self._process.wait()
        self._errors.join(1)
        with self._write_lock:
            # A server that was asked to end answers all that it has begun.
            self._ended = {"code": code or 1, "stdout": "", "stderr": self._lost, "missed": code == 0}
            for answers in self._waiting.values():
                answers.put(self._ended)

    def _listen_to_errors(self) -> None:
        """Keep the end of what gpfit prints outside of commands, such as a crash."""
        while part := os.read(self._crash, 1 << 16):
            self._lost = (self._lost + part.decode(errors="replace"))[-20000:]
        end, self._crash = self._crash, -1
        os.close(end)

    def _read(self) -> Message | None:
        """Return the next message, or None at the end."""
        head = self._bytes(4)
        if head is None:
            return None
        length = struct.unpack(">I", head)[0]
        if length > _LARGEST:
            raise ValueError(f"a message of {length} bytes")
        text = self._bytes(length)
        return None if text is None else json.loads(text)

    def _bytes(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            try:
                part = os.read(self._answers, min(count - len(parts), 1 << 20))
            except OSError:
                part = b""
            if not part:
                return None
            parts += part
        return bytes(parts)


def _write(end: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(end, view):]


# The parent of this process. A worker of joblib is a child of its main process, which may have ended by now.
_main = multiprocessing.parent_process()
_parent = _main.pid if _main and not _main.sentinel else os.getppid()


def check_deserted() -> None:
    """Raise an error in a worker, of multiprocessing or joblib, whose main process has ended: nobody waits for its results.

    Such a worker would end after its task only.
    """
    if _deserted():
        raise InterruptedFitError("the main process of this worker has ended")


def _deserted() -> bool:
    main = multiprocessing.parent_process()
    return main is not None and (os.getppid() != _parent or bool(main.sentinel) and not main.is_alive())


def _watch_main() -> None:
    """End the servers of a worker whose main process has ended: the worker may live on."""
    while not _deserted():
        time.sleep(1)
    for one in list(_all):
        one.close()


def _follows(end: int, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of Popen for a gpfit that ends with this process, which has the other end of a pipe."""
    if sys.platform != "win32":
        import resource

        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            env = {**env, "MALLOC_ARENA_MAX": "1"}  # the C library reserves 64 MiB for each thread otherwise
        return {"env": {**env, "GPFIT_PARENT": f"{os.getpid()}:{end}"}, "pass_fds": (end,), "start_new_session": True}
    import msvcrt

    handle = msvcrt.get_osfhandle(end)
    os.set_handle_inheritable(handle, True)
    return {
        "env": {**env, "GPFIT_PARENT": f"{os.getpid()}:{handle}"}, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP,
        "startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]}),
    }


Key = tuple[str, str, tuple[tuple[str, str], ...]]
# The server that calls share, with what it was started for.
_shared: tuple[Key, Server] | None = None
# All servers that may still run.
_all: list[Server] = []
_guard = threading.Lock()
_WATCH = "pygpfit: watch the main process"


@contextlib.contextmanager
def server(program: str, env: Mapping[str, str], alone: bool) -> Generator[Server]:
    """Give a server for the body of a with statement: the shared one, or one of its own."""
    check_deserted()
    with _guard:
        taken = _start(program, env) if alone else _take(program, env)
        taken.users += 1
    try:
        yield taken
    finally:
        with _guard:
            taken.users -= 1
            _retire()
        if alone:
            taken.wait(_PATIENCE)


def _start(program: str, env: Mapping[str, str]) -> Server:
    if multiprocessing.parent_process() and not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_watch_main, name=_WATCH, daemon=True).start()
    started = Server(program, env)
    _all.append(started)
    return started


def _take(program: str, env: Mapping[str, str]) -> Server:
    """Return the shared server, and start it if there is none for these variables and this folder."""
    global _shared
    relevant = (item for item in env.items() if item[0].startswith(("GPFIT_", "CUDA_", "GO")))
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        raise GPFitError("the working directory is gone: os.chdir() to another one") from None
    key = (program, folder, tuple(sorted(relevant)))
    if _shared is None or _shared[0] != key or not _shared[1].alive:
        _shared = (key, _start(program, env))
        _retire()
    return _shared[1]


def _retire() -> None:
    """End the servers that nobody uses, except the shared one."""
    for one in [one for one in _all if one.users == 0 and (_shared is None or one is not _shared[1])]:
        one.close()
        _all.remove(one)


def _forked() -> None:
    """Give up the servers of the process from which this one was forked."""
    global _guard, _parent, _shared
    _guard, _parent, _shared = threading.Lock(), os.getppid(), None
    for copy in _all:
        copy.forget()
    _all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def _end() -> None:
    """End the servers."""
    for one in _all:
        one.close()
    for one in _all:
        one.wait(5)
