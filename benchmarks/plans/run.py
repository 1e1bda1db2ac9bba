"""Compare the times that --dry-run plans with the processor seconds of the same commands.

    python3 run.py GPFIT

runs 58 fits and batches of 50 to 100,000 rows on one thread, each once, and prints the rows, the options, the planned
and the measured processor seconds, and their ratio. The last lines have the ratios out of a factor of 2 and the extremes.
"""

import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile

PLANS = (
    [("fit", n, 4, k) for n in (50, 100, 200, 290, 310, 500, 1000, 2500) for k in ("rbf", "matern52(ard) + linear", "auto")]
    + [("batch", n, 4, k) for n in (50, 100, 200, 310, 1000) for k in ("rbf(ard)", "auto")]
    + [("fit", n, 1, k) for n in (20000, 100000) for k in ("matern32", "auto")]
    + [("fit", 4000, 4, "rbf(ard)"), ("fit", 300, 1, "auto")]
)
# Tables of other forms, all by default fits: series with a season of 12 or 7 steps, one that grows with its level, and skewed targets.
FORMS = [(form, n) for n in (60, 150, 350, 700, 1500) for form in ("monthly", "growing", "daily")] + [("skewed", n) for n in (80, 250, 700)]
JOBS = 10  # of a batch


def make_table(folder, n, columns):
    path = f"{folder}/t{n}x{columns}.csv"
    with open(path, "w") as f:
        f.write(",".join("abcd"[:columns]) + ",y\n")
        for i in range(n):
            x = [random.random() for _ in range(columns)] if columns > 1 else [i / 20]
            y = math.sin(8 * x[0]) + 3 * x[-1] * x[columns // 2] * (columns > 1) + 0.3 * math.sin(0.3 * x[0]) + random.gauss(0, 0.1)
            f.write(",".join(repr(v) for v in [*x, y]) + "\n")
    return path


def make_form(folder, form, n):
    path = f"{folder}/{form}{n}.csv"
    level = 0
    with open(path, "w") as f:
        f.write("t,y\n" if form != "skewed" else "a,b,c,y\n")
        for t in range(n):
            level += random.gauss(0, 0.1)
            season = math.sin(2 * math.pi * t / 12) + 0.4 * math.cos(4 * math.pi * t / 12)
            x = [random.random() for _ in range(3)]
            y = {
                "monthly": 50 + level + 2 * season + random.gauss(0, 0.3),
                "growing": math.exp(4 + 1.5 * t / n + 0.2 * season + random.gauss(0, 0.05)),
                "daily": 20 + level + (-3 if t % 7 > 4 else 1) + random.gauss(0, 0.3),
                "skewed": math.exp(2 * math.sin(5 * x[0]) + x[1] * x[2] + random.gauss(0, 0.3)),
            }[form]
            f.write(",".join(repr(v) for v in [*([t] if form != "skewed" else x), y]) + "\n")
    return path


def run(*command):
    """Return the output of a command and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, capture_output=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(gpfit, folder, kind, n, columns, kernel):
    """Return the planned and the measured seconds; of a batch, those of one job."""
    table = make_table(folder, n, columns) if kind in ("fit", "batch") else make_form(folder, kind, n)
    if kind != "batch":
        command = [gpfit, "fit", table, "--kernel", kernel, "--threads", "1", "--quiet", "--json", "--force", "--out", folder + "/m.gpfit"]
        plan, start = run(*command, "--dry-run")
        return json.loads(plan)["seconds"], run(*command)[1] - start
    spec = f"{folder}/{n}.yaml"
    with open(spec, "w") as f:
        json.dump({"defaults": {"threads": 1}, "data": [table], "kernels": [kernel], "seeds": list(range(1, JOBS + 1))}, f)
    plan, start = run(gpfit, "batch", spec, "--dry-run", "--json")
    took = run(gpfit, "batch", spec, "--quiet", "--out", f"{folder}/{n}{kernel}.run")[1] - start
    return json.loads(plan.splitlines()[0])["estimated_seconds"], took / JOBS


def main(gpfit):
    random.seed(7)
    ratios = []
    print("load", os.getloadavg())
    print("kind     rows columns  kernel                    plan s  measured s  ratio")
    with tempfile.TemporaryDirectory() as folder:
        for kind, n, columns, kernel in PLANS + [(form, n, 3 if form == "skewed" else 1, "auto") for form, n in FORMS]:
            plan, took = measure(gpfit, folder, kind, n, columns, kernel)
            ratios.append(plan / max(took, 1e-3))
            print(f"{kind:7} {n:5} {columns:7}  {kernel:24} {plan:8.3f}  {took:10.3f}  {ratios[-1]:5.2f}", flush=True)
    print(f"{len(ratios)} plans, {sum(not 0.5 <= r <= 2 for r in ratios)} out of a factor of 2, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
