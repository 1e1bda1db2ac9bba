"""Time and memory of fits of tables with many columns, against the plan of gpfit fit --dry-run.

    python benchmarks/columns/run.py GPFIT [ROWSxCOLUMNS ...]
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np

SIZES = ["20x20", "20x50", "20x100", "20x500", "20x1000", "20x5000", "20x10000", "20x20000",
         "200x50", "200x100", "200x500", "200x2000", "200x5000"]


def write(path, n, d):
    rng = np.random.default_rng(n * 100003 + d)
    x = rng.normal(size=(n, d))
    y = x[:, 0] + np.sin(x[:, 1]) + 0.1 * rng.normal(size=n)
    np.savetxt(path, np.column_stack([x, y]), fmt="%.6g", delimiter=",", comments="",
               header=",".join([f"x{k}" for k in range(d)] + ["y"]))


def main():
    program, sizes = sys.argv[1], sys.argv[2:] or SIZES
    print("   rows  columns  CPU seconds  peak MB  plan MB  peak <= 1.25 plan + 100 MB")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            n, d = map(int, size.split("x"))
            table = os.path.join(folder, "table.csv")
            write(table, n, d)
            planned = subprocess.run([program, "fit", table, "--dry-run"], capture_output=True, text=True).stdout
            number, unit = re.search(r"([\d.]+) (MiB|GiB) of memory \(chosen\)", planned).groups()
            plan = float(number) * {"MiB": 2**20, "GiB": 2**30}[unit] / 1e6
            child = subprocess.Popen([program, "fit", table, "--force", "--out", os.path.join(folder, "m.gpfit")],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            if status:
                print(f"{n:7} {d:8}  failed")
                continue
            peak = usage.ru_maxrss * 1024 / 1e6
            print(f"{n:7} {d:8} {usage.ru_utime + usage.ru_stime:12.2f} {peak:8.0f} {plan:8.0f}  "
                  f"{'yes' if peak <= 1.25 * plan + 100 else 'no'}", flush=True)


main()
