#!/usr/bin/env python3
"""Checks and measures gpfit on a machine with a GPU, most important steps first.

Without --only it runs the checks; --only parts runs the comparisons with other programs,
and --only NAME one of them. --plan shows all with their limits. It runs the programs that build.sh made and needs only Python 3.9 and a GPU; see
README.md. Every command has a time limit, the script writes each result at once, and
a step that fails or hangs does not prevent the others.

Exit status: 0, 1 if a step failed, 2 wrong usage, 3 no usable GPU, 130 interrupted.
"""

import argparse
import collections
import ctypes
import datetime
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import parts
import report
import steps

HERE = pathlib.Path(__file__).resolve().parent
STEPS = steps.STEPS + parts.PARTS
GROUPS = {"checks": steps.STEPS, "parts": parts.PARTS}
GRACE = 5  # seconds between the interrupt and the end of a program


class Done(collections.namedtuple("Done", "code timed_out seconds records lines errors peak")):
    """How a program ended: its exit code (None if it could not be started),
    the JSON objects that it printed, its other lines, the end of its standard error,
    and the watched GPU's peaks."""

    @property
    def ok(self):
        return self.code == 0 and not self.timed_out

    @property
    def why(self):
        if self.timed_out:
            return f"stopped at its time limit after {self.seconds:.0f} s"
        panic = [e for e in self.errors if e.startswith(("panic:", "fatal error:", "SIG", "runtime error"))]
        tail = " | ".join(panic[:2] or self.errors[-3:])
        return f"exit code {self.code}{': ' + tail if tail else ''}"


class Watch:
    """Asks nvidia-smi twice a second and keeps the peaks, such as the memory in use."""

    QUERY = "memory.used,clocks.sm,power.draw,temperature.gpu"

    def __init__(self, index):
        self.process, self.peak = None, {}
        if shutil.which("nvidia-smi"):
            command = ["nvidia-smi", f"--query-gpu={self.QUERY}", "--format=csv,noheader,nounits", "-lms", "500", "-i", str(index)]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, preexec_fn=end_with_parent)
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            for name, text in zip(self.QUERY.split(","), line.split(",")):
                try:
                    value = float(text)
                except ValueError:
                    continue
                key = "smi_" + name.replace(".", "_")
                self.peak[key] = max(self.peak.get(key, value), value)
                if name == "clocks.sm" and value > 0:  # the smallest clock shows throttling
                    self.peak["smi_clocks_sm_min"] = min(self.peak.get("smi_clocks_sm_min", value), value)

    def stop(self):
        if self.process:
            kill(self.process, signal.SIGKILL)
        return dict(self.peak)


def end_with_parent():
    """Lets a program end with this script, also if that is killed (Linux)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        pass


def kill(process, number):
    """Sends a signal to a program that this script started and to its children."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


class Run:
    """Holds the time, outputs and programs of one run of this script."""

    def __init__(self, args):
        self.args, self.begin, self.deadline = args, time.monotonic(), None
        self.step, self.records, self.failures = "header", [], []
        self.environment, self.said = dict(os.environ), set()
        self.child = self.watcher = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpfit-gpu-"))
        self.programs = find_programs(args.programs, self.folder)
        out = pathlib.Path(args.out)
        out.mkdir(parents=True, exist_ok=True)
        stem = f"gpu-{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d-%H%M%S}"
        self.paths = [out / f"{stem}.jsonl", out / f"{stem}.txt"]
        self.raw, self.txt = (open(p, "w") for p in self.paths)

    def left(self):
        """Returns the seconds left to the step."""
        now = time.monotonic()
        return min(self.args.budget - (now - self.begin), self.deadline - now if self.deadline else math.inf)

    @property
    def peer_device(self):
        return self.args.peer_device or self.args.device

    @staticmethod
    def kill(process, number):
        kill(process, number)

    def n(self, n):
        """Returns n after --scale."""
        return report.scaled(n, self.args.scale)

    def sizes(self, *sizes):
        """Returns the sizes after --scale, or those of --n."""
        return self.args.n or ",".join(str(self.n(n)) for n in sizes)

    def each(self, *sizes):
        """Returns the sizes one by one: those of --n as they are, of the others before --scale."""
        return [int(n) / self.args.scale for n in self.args.n.split(",")] if self.args.n else sizes

    def ways(self, *ways):
        """Returns the ways of a step that --ways does not leave out."""
        return [w for w in ways if not self.args.ways or w in self.args.ways.split(",")]

    def program(self, name):
        return str(self.programs / name)

    def has(self, name):
        return (self.programs / name).is_file()

    def record(self, obj):
        obj = {"type": "", "step": self.step, "at": round(time.monotonic() - self.begin, 2), **obj}
        self.records.append(obj)
        self.raw.write(json.dumps(obj) + "\n")
        self.raw.flush()
        line = report.line(obj)
        if line and not (obj["type"] == "device" and line in self.said):  # every program prints the device
            self.said.add(line)
            self.text("  " + line)
        return obj

    def text(self, line=""):
        print(line, flush=True)
        self.txt.write(line + "\n")
        self.txt.flush()

    def fail(self, why):
        self.failures.append(f"{self.step}: {why}")
        self.record({"type": "failure", "why": why})

    def run(self, command, limit, watch=False, keep=None, extra=None, environment=None, grace=GRACE, quiet=False):
        """Runs a program for at most limit seconds, and no longer than the time left.

        It records the JSON objects in the output at once, with extra added to them
        (all objects, or those whose type is in keep). With quiet the caller handles
        a failure."""
        limit = min(limit, self.args.limit or limit, self.left() - grace - 1)
        if limit < 3:
            done = Done(None, True, 0.0, [], [], ["no time left"], {})
            if not quiet:
                self.fail("no time left for " + pathlib.Path(command[0]).name)
            return done
        records, lines, beginning, errors = [], [], [], collections.deque(maxlen=40)

        def read_output(pipe):
            for line in pipe:
                try:
                    obj = json.loads(line) if line.startswith("{") else None
                except ValueError:
                    obj = None
                if isinstance(obj, dict):
                    obj.update(extra or {})
                    records.append(obj)
                    if keep is None or obj.get("type") in keep:
                        self.record(obj)
                else:
                    lines.append(line.rstrip("\n"))

        def read_errors(pipe):
            for line in pipe:
                text = line.rstrip("\n").split("\r")[-1][:400]
                (beginning if len(beginning) < 40 else errors).append(text)

        watcher = self.watcher = Watch(self.args.device.partition(":")[2] or 0) if watch else None
        start, timed_out = time.monotonic(), False
        try:
            p = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", start_new_session=True, preexec_fn=end_with_parent, env={**self.environment, **(environment or {})})
        except OSError as e:
            if watcher:
                watcher.stop()
            done = Done(None, False, 0.0, [], [], [str(e)], {})
        else:
            self.child = p
            readers = [threading.Thread(target=read_output, args=(p.stdout,), daemon=True), threading.Thread(target=read_errors, args=(p.stderr,), daemon=True)]
            for r in readers:
                r.start()
            try:
                p.wait(limit)
            except subprocess.TimeoutExpired:
                timed_out = True
                kill(p, signal.SIGINT)
                try:
                    p.wait(grace)
                except subprocess.TimeoutExpired:
                    pass
            kill(p, signal.SIGKILL)  # including what it may have left behind
            try:
                p.wait(3)
            except subprocess.TimeoutExpired:
                errors.append("it did not end after SIGKILL")
            for r in readers:
                r.join(2)
            self.child = None
            peak = watcher.stop() if watcher else {}
            done = Done(p.returncode, timed_out, time.monotonic() - start, records, lines, beginning + list(errors), peak)
            if peak:
                self.record({"type": "watch", "program": pathlib.Path(command[0]).name, **peak, **(extra or {})})
        if not done.ok and not quiet:
            self.fail(f"{pathlib.Path(command[0]).name}: {done.why}")
            if done.code == 2:  # Go's exit code for a panic
                self.record({"type": "stack", "lines": done.errors[:60]})
        return done

    def close(self, interrupted=False):
        if self.child:
            kill(self.child, signal.SIGKILL)
        if self.watcher:
            self.watcher.stop()
        self.step = "end"
        self.record({"type": "end", "seconds": round(time.monotonic() - self.begin, 1), "failures": self.failures, "interrupted": interrupted})
        self.text()
        self.text(report.tables(self.records))
        for f in self.failures:
            self.text("FAILED  " + f)
        self.raw.close()
        self.txt.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        print("written: " + ", ".join(map(str, self.paths)), file=sys.stderr)


def find_programs(folder, temporary):
    """Returns the folder with the programs; unpacks programs.tar.gz if necessary."""
    for place in [pathlib.Path(folder)] if folder else [HERE, HERE / "programs"]:
        if (place / "gpfit").is_file():
            return place.resolve()
        packed = place / "programs.tar.gz"
        if packed.is_file():
            with tarfile.open(packed) as t:
                t.extraction_filter = getattr(tarfile, "data_filter", None)
                t.extractall(temporary / "programs")
            return temporary / "programs"
    shutil.rmtree(temporary, ignore_errors=True)
    print(f"run.py: neither gpfit nor programs.tar.gz is in {folder or HERE}; run build.sh to make them", file=sys.stderr)
    sys.exit(2)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(s.name for s in STEPS)
    p.add_argument("--quick", action="store_true", help="fewer and smaller n and no long steps; the checks take two minutes")
    p.add_argument("--plan", action="store_true", help="only print the steps with their time limits")
    p.add_argument("--budget", type=float, help=f"time limit in seconds for all steps (default: {steps.BUDGET} for the checks, and the limits of the parts)")
    p.add_argument("--limit", type=float, help="time limit in seconds for each program, to try the script")
    p.add_argument("--only", default="", help="run only these steps, separated by commas: checks, parts, " + names)
    p.add_argument("--skip", default="", help="run all steps except these")
    p.add_argument("--n", default="", help="the sizes of the steps agree, speed, dgemm, residual, steps, tiles and batch, separated by commas, as they are")
    p.add_argument("--ways", default="", help="only these ways of the steps steps (chosen, large), tiles (dense, tiles, host) and batch (the names of its variants), separated by commas")
    p.add_argument("--out", default="results", help="folder for the output (default: %(default)s)")
    p.add_argument("--data", help="folder with tables to fit: NAME/data.csv.gz and NAME/test_mask.csv.gz")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--peer-device", help="device of PyTorch (default: --device); cpu tries the script")
    p.add_argument("--powercap", default="/sys/class/powercap", help="folder of the energy counters of the CPU (default: %(default)s)")
    p.add_argument("--programs", help="folder with gpfit, or with programs.tar.gz (default: beside run.py)")
    p.add_argument("--scale", type=float, default=1.0, help="multiply every n by this factor, to try the script")
    p.add_argument("--table", metavar="FILE.jsonl", help="only print the tables of an earlier run")
    args = p.parse_args()
    args.only, args.skip = (named(p, text) for text in (args.only, args.skip))
    args.steps = [s for s in (args.only or steps.STEPS) if s not in args.skip and (args.only or s.quick or not args.quick)]
    args.budget = args.budget or budget(args.steps)
    return args


def named(p, text):
    """Returns the steps that a list of names and groups names, in its order."""
    known, found = {s.name: [s] for s in STEPS} | GROUPS, []
    for name in filter(None, text.split(",")):
        if name not in known:
            p.error(f"no step {name!r}: {', '.join(known)}")
        found += known[name]
    return list(dict.fromkeys(found))


def budget(chosen):
    """Returns the seconds that steps may take together, with the description of the machine."""
    return (steps.BUDGET if any(s.limit is None for s in chosen) else steps.HEADER) + sum(s.limit or 0 for s in chosen)


def plan():
    """Returns the steps with their limits, and the sums."""
    lines = [f"checks: at most {steps.BUDGET} s together", *(f"  {s.name:12} {s.title}" for s in steps.STEPS)]
    lines += [f"parts: the header at most {steps.HEADER} s, and", *(f"  {s.name:12} {s.limit:4} s  {s.title}" for s in parts.PARTS)]
    total = budget(parts.PARTS)
    return "\n".join([*lines, f"all parts: at most {total} s = {total / 60:g} minutes"])


def main():
    args = arguments()
    if args.table:
        with open(args.table) as f:
            print(report.tables([json.loads(line) for line in f]))
        return 0
    if args.plan:
        print(plan())
        return 0

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    run = Run(args)
    try:
        if not steps.header(run):
            return 3
        for s in args.steps:
            run.step, run.deadline = s.name, time.monotonic() + s.limit if s.limit else None
            run.text(f"\n{s.title}  [{time.monotonic() - run.begin:.0f} s]")
            if run.left() < s.least:
                run.fail(f"no time left: {run.left():.0f} s")
                continue
            try:
                s.run(run)
            except Exception as e:  # a mistake in one step must not end the others
                run.fail(f"{type(e).__name__}: {e}")
    except KeyboardInterrupt:
        run.close(interrupted=True)
        return 130
    finally:
        if not run.raw.closed:
            run.close()
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
