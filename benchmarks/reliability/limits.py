#!/usr/bin/env python3
"""Runs commands under limits on the address space (ulimit -v) and looks at how they end.

    go build ./cmd/gpfit && benchmarks/reliability/limits.py ./gpfit RESULTS.jsonl [MIB ...]

Each of ten commands runs under each limit. A run is well if it succeeds, or ends with code 12, a message and no trace of
Go's runtime, and if the files of before are as they were or pass 'gpfit check', and if 'gpfit resume' ends a batch
without the limit.
"""

import hashlib
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

LIMITS = [600, 800, 1000, 1200, 1300, 1350, 1400, 1450, 1500, 1550, 1600, 1650, 1700, 1750, 1800, 1900, 2000, 2200, 2600, 4000]
TRACES = ["goroutine ", "fatal error", "runtime:", "runtime/cgo", "SIGABRT"]
SPEC = "data:\n  - {name: t, path: t.csv}\nkernels: [rbf, matern52]\ndefaults: {target: y, restarts: 0, max_evals: 20}\n"
COMMANDS = {
    "fit": ["fit", "t.csv", "--target", "y", "--kernel", "rbf", "--restarts", "0", "--out", "new.gpfit"],
    "predict": ["predict", "m.gpfit", "n.csv", "--out", "p.csv"],
    "plot": ["predict", "m.gpfit", "n.csv", "--plot", "p.svg", "--plot-by", "a", "--out", "p.csv"],
    "nlml": ["nlml", "t.csv", "--target", "y", "--kernel", "rbf"],
    "batch": ["batch", "s.yaml", "--out", "new.run"],
    "resume": ["resume", "old.run"],
    "report": ["report", "m.gpfit", "--out", "p.html"],
    "compare": ["compare", "t.csv", "--target", "y", "--methods", "ridge,gp", "--holdout", "0.2"],
    "update": ["update", "m.gpfit", "n.csv", "--out", "u.gpfit"],
    "loo": ["loo", "m.gpfit", "--out", "l.csv"],
}


def prepare(gpfit, folder):
    draw = random.Random(1)
    for name, rows in ("t.csv", 2000), ("n.csv", 200):
        with open(os.path.join(folder, name), "w") as f:
            f.write("a,b,y\n")
            for _ in range(rows):
                a, b = draw.uniform(0, 10), draw.uniform(0, 5)
                f.write(f"{a:.5f},{b:.5f},{math.sin(a) + 0.3 * b + draw.gauss(0, 0.1):.5f}\n")
    with open(os.path.join(folder, "s.yaml"), "w") as f:
        f.write(SPEC)
    for command in COMMANDS["fit"][:-1] + ["m.gpfit"], ["batch", "s.yaml", "--out", "old.run"]:
        subprocess.run([gpfit, *command, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    jobs = os.path.join(folder, "old.run", "jobs")
    os.remove(os.path.join(jobs, sorted(os.listdir(jobs))[-1]))  # resume does this job again


def sums(folder):
    return {n: hashlib.sha256(open(os.path.join(folder, n), "rb").read()).hexdigest() for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n))}


def trial(gpfit, clean, name, mib):
    """Runs a command under a limit, and returns what went wrong; "" if nothing did."""
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "f")
        shutil.copytree(clean, folder)
        before = sums(folder)

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

        r = subprocess.run([gpfit, *COMMANDS[name]], cwd=folder, capture_output=True, text=True, preexec_fn=limit, timeout=300)
        faults = []
        if any(t in r.stderr for t in TRACES):
            faults.append("trace")
        if r.returncode not in (0, 12) and not (r.returncode == 3 and name in ("batch", "resume")):
            faults.append(f"code {r.returncode}")
        if r.returncode == 12 and "ulimit" not in r.stderr and "memory" not in r.stderr:
            faults.append("no advice")
        after = sums(folder)
        if any(after.get(n) != s for n, s in before.items()):
            faults.append("a file changed")
        check = [n for n in after if n.endswith(".gpfit")]
        if check and subprocess.run([gpfit, "check", *check], cwd=folder, capture_output=True).returncode:
            faults.append("a model is not whole")
        run = {"batch": "new.run", "resume": "old.run"}.get(name)
        if run and os.path.exists(os.path.join(folder, run)) and subprocess.run([gpfit, "resume", run], cwd=folder, capture_output=True).returncode:
            faults.append("resume fails")
        return {"command": name, "mib": mib, "code": r.returncode, "faults": faults, "message": r.stderr.strip().splitlines()[-1:] if r.returncode else []}


def main():
    gpfit, results, limits = os.path.abspath(sys.argv[1]), sys.argv[2], [int(v) for v in sys.argv[3:]] or LIMITS
    well = traces = done = 0
    with tempfile.TemporaryDirectory() as clean, open(results, "w") as f:
        prepare(gpfit, clean)
        for mib in limits:
            ends = [trial(gpfit, clean, name, mib) for name in COMMANDS]
            f.writelines(json.dumps(e) + "\n" for e in ends)
            f.flush()
            done += len(ends)
            well += sum(not e["faults"] for e in ends)
            traces += sum("trace" in e["faults"] for e in ends)
            print(f"{mib:5} MiB:", *(f"{e['command']} {e['code']}{' (' + ', '.join(e['faults']) + ')' if e['faults'] else ''}" for e in ends), flush=True)
    print(f"{well} of {done} ends are well, {traces} have a trace")


main()
