#!/usr/bin/env python3
"""Runs two builds of benchmarks/rows in turn and compares what a pair costs.

    python3 benchmarks/rows/compare.py BEFORE AFTER [--rounds 5] [--only TEXT]

Each round runs both, in changing order. A ratio is before/after of one round's
times, so above 1 the second is faster; medians over rounds are printed. Kernels that one of them lacks are left out.
"""
import argparse
import json
import platform
import statistics
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("before")
parser.add_argument("after")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--only", default="")
parser.add_argument("--seconds", default="0.03")
a = parser.parse_args()


def measure(program):
    out = subprocess.run([program, "-only", a.only, "-seconds", a.seconds], check=True, capture_output=True, text=True).stdout
    return {(r["kernel"], r["d"]): r for r in map(json.loads, out.splitlines())}


ratios, times = {}, {}
for k in range(a.rounds):
    order = [a.before, a.after] if k % 2 == 0 else [a.after, a.before]
    got = {p: measure(p) for p in order}
    for key in (k for k in got[a.after] if k in got[a.before]):
        for what in ("fill", "contract"):
            before, after = got[a.before][key][what], got[a.after][key][what]
            ratios.setdefault((*key, what), []).append(before / after)
            times.setdefault((*key, what), []).append((before, after))
model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
print(f"# {platform.node() and platform.machine()} {model}; {a.rounds} rounds")
print(f"{'kernel':34} {'d':>3} {'what':9} {'before ns':>10} {'after ns':>9} {'ratio':>6}")
for (text, d, what), r in ratios.items():
    before, after = (statistics.median(t[i] for t in times[text, d, what]) for i in (0, 1))
    print(f"{text:34} {d:3} {what:9} {before:10.3f} {after:9.3f} {statistics.median(r):6.3f}{'  <' if statistics.median(r) < 0.95 else ''}")
