"""Compare the wall clock of fits with restarts between two programs, in turn.

    python3 run.py BASE NEW 300,700,1500 7 5 --threads 2

runs both programs on tables of these sizes, 7 times in turn, with 5 restarts each, which race
(coarse auto) or run to their ends (coarse off). It prints seconds, the ratios NEW/BASE, the
processor time, the number of values, and how many different results there were: two, one for
each way, if both programs find the same bits.
"""

import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile


def make_table(folder, n):
    path = f"{folder}/t{n}.csv"
    with open(path, "w") as f:
        f.write("a,b,c,d,y\n")
        for _ in range(n):
            x = [random.random() for _ in range(4)]
            y = math.sin(8 * x[0]) + x[1] * x[2] * 3 + 0.3 * math.sin(30 * x[0]) + random.gauss(0, 0.1)
            f.write(",".join(repr(v) for v in [*x, y]) + "\n")
    return path


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def result(report):
    """Return what must not depend on the program: the optima and the path to them."""
    optima = [[o["objective"], o["parameters"], o["starts"]] for o in report["optima"]]
    path = [[p["objective"], p["parameters"], p["value"], p["gradient"]] for p in report.get("path", [])]
    return json.dumps([report["nlml"], report["parameters"], report["gradient_log"], optima, path], sort_keys=True)


def main(folder, programs, sizes, repetitions, restarts, more):
    for n in sizes:
        path, runs, results = make_table(folder, n), {}, set()
        print("load", os.getloadavg(), flush=True)
        for _ in range(repetitions):
            for name, program in programs.items():
                for coarse in ("auto", "off"):
                    before = processor_time()
                    command = [program, "fit", path, "--kernel", "rbf(ard)", "--restarts", restarts, "--coarse", coarse]
                    command += ["--json", "--quiet", "--force", "--out", f"{folder}/{name}.gpfit", *more]
                    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
                    run = report["seconds"], processor_time() - before, report["evaluations"]["value"]
                    runs.setdefault((name, coarse), []).append(run)
                    results.add((coarse, result(report)))
        for coarse in ("auto", "off"):
            base, new = ([list(v) for v in zip(*runs[name, coarse])] for name in ("base", "new"))
            ratios = [b / a for a, b in zip(base[0], new[0])]
            print(f"n={n} coarse={coarse} ratio: median {statistics.median(ratios):.2f}, of the best {min(new[0]) / min(base[0]):.2f}")
            for name, (seconds, processor, values) in (("base", base), ("new", new)):
                print(f"  {name}: seconds {seconds}, processor {statistics.median(processor):.2f}, values {values[0]}", flush=True)
        print(f"n={n} different results: {len(results)}", flush=True)


if __name__ == "__main__":
    random.seed(7)
    base, new, sizes, repetitions, restarts, *more = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        main(folder, {"base": base, "new": new}, [int(v) for v in sizes.split(",")], int(repetitions), restarts, more)
