#!/usr/bin/env python3
"""Measures a batch with a job for each value of a column: many short series in one table.

    benchmarks/batch/many.py GPFIT [--values 100000] [--rows 20] [--fixed]

It prints seconds, processor seconds and the most memory of each command: the plan, a run, what a
kill -9 in the middle of a run costs, tables and the page. With --fixed the fits have fixed parameters,
so that the rest of a job shows. The results of the killed run must be those of the other one.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import random
import subprocess
import tempfile
import time

FIXED = "  fix: {lengthscale: 0.3, noise_variance: 0.1, signal_variance: 1}\n"


def table(path, values, rows):
    """Write monthly sales of many shops, one after the other."""
    rng = random.Random(1)
    with open(path, "w") as f:
        f.write("shop,month,sales\n")
        for shop in range(values):
            level, slope, phase = rng.uniform(50, 200), rng.uniform(-1, 1), rng.uniform(0, 6.3)
            for t in range(rows):
                f.write(f"shop{shop:06},{t},{level + slope * t + 10 * math.sin(t * math.pi / 6 + phase) + rng.gauss(0, 3):.2f}\n")


class Run:
    """A command with its time and memory."""

    def __init__(self, folder, *command):
        self.began, self.path = time.perf_counter(), os.path.join(folder, "output")
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)

    def wait(self):
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.wall, self.cpu, self.mib = time.perf_counter() - self.began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        return self

    def tell(self, what):
        self.wait()
        print(f"{what:40} {self.wall:8.1f} s, {self.cpu:8.1f} s of processors, {self.mib:6.0f} MiB, exit code {self.process.returncode}", flush=True)
        return self


def results(run):
    """Count the results in the records of a run."""
    count = 0
    folder = os.path.join(run, "jobs")
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as f:
            count += f.read().count(b'","each":"')
    return count


def first(run, process):
    """Wait for the first result and return the seconds that it took."""
    began = time.perf_counter()
    while process.poll() is None and not results(run):
        time.sleep(0.05)
    return time.perf_counter() - began


def shown(gpfit, run):
    """Return a hash of the numbers of all jobs of a run, in little memory, which a child counts as its own."""
    digest = hashlib.sha256()
    with subprocess.Popen([gpfit, "show", run, "--format", "json"], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            job = json.loads(line)
            if job["type"] == "job":
                digest.update(repr((job["job"], job["nlml"], job["parameters"])).encode())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpfit")
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    gpfit = os.path.abspath(args.gpfit)
    print(f"# {time.strftime('%Y-%m-%d')}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    print(f"# {args.values} values of {args.rows} rows, {'fixed parameters' if args.fixed else 'fits'}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        data, spec, run, killed = (os.path.join(folder, name) for name in ("sales.csv", "sales.yaml", "run", "killed"))
        table(data, args.values, args.rows)
        with open(spec, "w") as f:
            f.write(f"kernels: [rbf]\ndata:\n- path: {data}\n  each: shop\n{FIXED if args.fixed else ''}")
        Run(folder, gpfit, "batch", spec, "--dry-run").tell("plan")
        whole = Run(folder, gpfit, "batch", spec, "--out", run, "--quiet")
        print(f"{'first result after':40} {first(run, whole.process):8.1f} s")
        while results(run) < args.values // 2 and whole.process.poll() is None:
            time.sleep(args.values / 50_000)
        with open(f"/proc/{whole.process.pid}/status") as f:
            peak = next(line.split()[1] for line in f if line.startswith("VmHWM"))
        print(f"{'most memory until half is done':40} {int(peak) / 1024:8.0f} MiB")
        whole.tell("run, with its tables")
        print(f"{'a job':40} {1000 * whole.cpu / args.values:8.2f} ms of processors")
        files = [os.path.join(at, name) for at, _, names in os.walk(run) for name in names]
        print(f"{'files of the run':40} {len(files):8}, {sum(os.path.getsize(f) for f in files) >> 20} MiB")
        part = Run(folder, gpfit, "batch", spec, "--out", killed, "--quiet")
        while results(killed) < args.values // 2:
            time.sleep(args.values / 50_000)
        part.process.kill()
        part.wait()
        print(f"{'killed with results':40} {results(killed):8}")
        Run(folder, gpfit, "resume", killed, "--quiet").tell("resume")
        print(f"{'the same results':40} {shown(gpfit, run) == shown(gpfit, killed)!s:>8}")
        Run(folder, gpfit, "resume", run, "--quiet").tell("resume of a run that is done")
        for what in ("show", "check", "report"):
            Run(folder, gpfit, what, run).tell(what)
        Run(folder, gpfit, "show", run, "--format", "csv").tell("show --format csv")
        print(f"{'page':40} {os.path.getsize(os.path.join(run, 'report.html')) / 1024:8.0f} KiB")


if __name__ == "__main__":
    main()
