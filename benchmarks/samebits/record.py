#!/usr/bin/env python3
"""Runs the commands of commands.py with one gpfit program and keeps everything that
they print and write, for compare.py."""

import argparse
import fnmatch
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import commands
import inputs

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LIMIT = 120  # seconds per step


def emulator_variables(folder: Path):
    """Returns the variables with which gpfit finds the emulated GPU that its tests
    built under folder, their cache directory."""
    roots = sorted(p for p in (folder / "gpfit-emulator").glob("*") if (p / "driver" / "libcuda.so.1").exists())
    kernels = sorted((folder / "gpfit").glob("emulator-*/libgpfitemu.so"))
    if len(roots) != 1 or len(kernels) > 1:
        sys.exit(f"record.py: --emulator {folder}: there must be one gpfit-emulator/*/driver/libcuda.so.1, and of "
                 f"older versions one gpfit/emulator-*/libgpfitemu.so, there are {len(roots)} and {len(kernels)}")
    variables = {
        "GPFIT_CUDA_DRIVER": str(roots[0] / "driver" / "libcuda.so.1"),
        "GPFIT_CUDA_LIB": str(roots[0] / "cuda12"),
    }
    if kernels:  # older versions had the kernels in a separate library
        variables["GPFIT_EMU_KERNELS"] = str(kernels[0])
    return variables


class Recorder:
    def __init__(self, gpfit: Path, out: Path, emulator: Path | None):
        self.gpfit, self.out = gpfit, out
        self.emulator = emulator_variables(emulator) if emulator else {}

    def environment(self, entry: Path, needs: str):
        env = {
            "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
            "HOME": str(entry / "home"), "XDG_CACHE_HOME": str(entry / "home" / "cache"), "TMPDIR": str(entry / "home"),
            "GPFIT_DEVICE": "cpu", "GPFIT_THREADS": "2", "GPFIT_FORCE": "true",
        }
        if "GPFIT_CPU" in os.environ:
            env["GPFIT_CPU"] = os.environ["GPFIT_CPU"]
        # Without the emulated GPU a command finds no GPU, even if the machine has one.
        return env | (self.emulator if needs == "emulator" else {"GPFIT_CUDA_DRIVER": "none"})

    def entry(self, name, steps, needs):
        folder = self.out / name
        (folder / "work").mkdir(parents=True)
        (folder / "home" / "cache").mkdir(parents=True)
        env, uncompared = self.environment(folder, needs), []
        for number, step in enumerate(steps, 1):
            words = shlex.split(step)
            uncompared += [w[1:] for w in words if w.startswith("#")]
            words = [w for w in words if not w.startswith("#")]
            result = self.helper(words, folder, env) if words and words[0].startswith("!") else self.command(words, folder, env)
            if result is not None:
                for kind, content in zip(["args", "exit", "stdout", "stderr"], [step.encode() + b"\n", *result]):
                    (folder / f"{number:02}.{kind}").write_bytes(content)
        shutil.rmtree(folder / "home")
        (folder / "uncompared").write_text("".join(p + "\n" for p in uncompared))

    def parse(self, words, env):
        """Splits the words of a command into its arguments, environment and input."""
        env = dict(env)
        cuda = Path(self.emulator.get("GPFIT_CUDA_LIB", "/none"))
        words = [w.replace("{cuda13}", str(cuda.parent / "cuda13")) for w in words]
        words = ["../../in/" + w[1:] if w.startswith("@") else w for w in words]
        while words and re.match(r"[A-Z_0-9]+=", words[0]):
            name, _, env[name] = words.pop(0).partition("=")
        stdin = None
        if len(words) > 1 and words[-2] == "<":
            stdin, words = words[-1], words[:-2]
        return words, env, stdin

    def command(self, words, folder, env):
        words, env, stdin = self.parse(words, env)
        work = folder / "work"
        with open(work / stdin if stdin else os.devnull, "rb") as f:
            try:
                p = subprocess.run([self.gpfit, *words], cwd=work, env=env, stdin=f, capture_output=True, timeout=LIMIT)
            except subprocess.TimeoutExpired as e:
                return b"timeout\n", e.stdout or b"", e.stderr or b""
        return b"%d\n" % p.returncode, p.stdout, p.stderr

    def helper(self, words, folder, env):
        what, work = words[0][1:], folder / "work"
        match what, words[1:]:
            case "copy", [source, target]:
                shutil.copyfile(work / source, work / target)
            case "keep-lines", [name, n]:
                lines = (work / name).read_bytes().splitlines(keepends=True)
                if len(lines) <= int(n):
                    return f"{name} has {len(lines)} lines only\n".encode(), b"", b""
                (work / name).write_bytes(b"".join(lines[:int(n)]))
            case "damage-line", [name, n]:
                lines = (work / name).read_bytes().splitlines(keepends=True)
                line = lines[int(n) - 1]
                lines[int(n) - 1] = line[:-3] + (b"0" if line[-3:-2] != b"0" else b"1") + line[-2:]
                (work / name).write_bytes(b"".join(lines))
            case "know-crossover", [n]:
                self.know_crossover(folder, env, int(n))
            case "interrupt", [name, n, *command]:
                return self.interrupt(work, name, int(n), command, env), b"", b""
            case _:
                raise ValueError(f"{folder.name}: no helper {what} {words[1:]}")
        return None

    def interrupt(self, work, name, n, words, env):
        words, env, _ = self.parse(words, env)
        p = subprocess.Popen([self.gpfit, *words], cwd=work, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + LIMIT
        while p.poll() is None and time.monotonic() < deadline:
            files = glob.glob(str(work / name))
            if any(Path(f).read_bytes().count(b"\n") >= n for f in files):
                break
            time.sleep(0.002)
        p.send_signal(signal.SIGINT)
        return b"%d\n" % p.wait(LIMIT)

    def know_crossover(self, folder, env, n):
        described = []
        for device in ["cuda:0", "cpu"]:
            _, _, stderr = self.command(["nlml", "@t.csv", "--device", device], folder, env)
            match = re.search(rf"device {device}: (.*) \(asked for\)", stderr.decode())
            described.append(match.group(1) if match else "unknown")
        cache = folder / "home" / "cache" / "gpfit"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "crossover.json").write_text(json.dumps({" | ".join(described): n}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpfit", required=True, type=Path, help="the program to record")
    parser.add_argument("--out", required=True, type=Path, help="a new folder for the recording")
    parser.add_argument("--shared", type=Path, help="folder with data/yacht, data/kin40k, …")
    parser.add_argument("--emulator", type=Path, help="cache directory in which the tests have built the emulated GPU")
    parser.add_argument("--only", default="*", help="pattern of names, such as 'kernel-*'")
    args = parser.parse_args()
    out, gpfit = args.out.resolve(), args.gpfit.resolve()
    if not os.access(gpfit, os.X_OK):
        sys.exit(f"record.py: {gpfit} is not a program")
    if out.exists() and any(out.iterdir()):
        sys.exit(f"record.py: {out} is not empty")
    if args.shared and not (args.shared / "data").is_dir():
        sys.exit(f"record.py: {args.shared} has no folder data")
    (out / "in").mkdir(parents=True)
    inputs.write(out / "in", REPOSITORY, args.shared)
    recorder = Recorder(gpfit, out, args.emulator.resolve() if args.emulator else None)
    there = {"": True, "shared": args.shared is not None, "emulator": args.emulator is not None}

    # compare.py replaces these in texts, because they differ from recording to
    # recording or from machine to machine.
    folders = {str(out): "{recording}", str(gpfit): "{gpfit}", str(REPOSITORY): "{repository}"}
    if recorder.emulator:
        folders[str(Path(recorder.emulator["GPFIT_CUDA_LIB"]).parent)] = "{emulator}"
        folders[recorder.emulator.get("GPFIT_EMU_KERNELS", "/none")] = "{kernels}"
    if args.shared:
        folders[str(args.shared.resolve())] = "{shared}"
    processor = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE) if os.path.exists("/proc/cpuinfo") else None
    if processor:
        folders[processor.group(1).strip()] = "{processor}"
    names = [name for name, _, _ in commands.ENTRIES]
    if len(set(names)) != len(names):
        sys.exit("record.py: two entries of commands.py have the same name")
    record = {"folders": folders, "host": os.uname().nodename, "seconds": {}, "skipped": {}}
    began = time.monotonic()
    for name, steps, needs in commands.ENTRIES:
        if not fnmatch.fnmatchcase(name, args.only):
            continue
        if not there[needs]:
            record["skipped"][name] = needs
            continue
        start = time.monotonic()
        recorder.entry(name, steps, needs)
        record["seconds"][name] = round(time.monotonic() - start, 3)
        print(f"{record['seconds'][name]:7.2f} s  {name}", flush=True)
    (out / "recording.json").write_text(json.dumps(record, indent=1) + "\n")
    for name, needs in record["skipped"].items():
        print(f"SKIPPED: {name} needs --{needs}")
    print(f"{len(record['seconds'])} commands recorded in {time.monotonic() - began:.0f} s, {len(record['skipped'])} skipped")


if __name__ == "__main__":
    main()
