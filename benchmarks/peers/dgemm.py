"""Compares the matrix products of gpfit and NumPy's OpenBLAS, in turns.

Each round runs NumPy, then the Go benchmark of the same order in a separate process;
the table shows the medians over the rounds, in GFLOP/s.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]


def numpy_rate(n, repeat):
    import numpy

    a, b, c = numpy.random.rand(n, n), numpy.random.rand(n, n), numpy.empty((n, n))
    numpy.matmul(a, b, out=c)
    rates = []
    for _ in range(repeat):
        begin = time.perf_counter()
        numpy.matmul(a, b, out=c)
        rates.append(2 * n**3 / (time.perf_counter() - begin) / 1e9)
    return statistics.median(rates)


def gpfit_rate(binary, n, repeat):
    command = [binary, "-test.run", "^$", "-test.bench", f"DgemmRate/n={n}$", "-test.benchtime", f"{repeat}x"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "cpu").stdout
    return float(re.search(r"([\d.]+) GFLOP/s", text).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", default="500,1000,2000,4000")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    machine.pin_threads()
    variant = os.environ.get("GPFIT_CPU", "best")
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "cpu.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./cpu"], cwd=ROOT, check=True)
        print("machine  ", machine.cpu_name())
        print("blas     ", "; ".join(machine.blas_libraries()))
        print("gpfit    ", os.environ.get("GPFIT_REVISION", "?"), "variant", variant)
        print("load     ", machine.load_average())
        print("\n     n    gpfit    numpy    ratio  (GFLOP/s, medians of", args.rounds, "rounds)")
        for n in map(int, args.n.split(",")):
            repeat = max(3, int(4e10 / n**3))
            ours, theirs = [], []
            for _ in range(args.rounds):
                theirs.append(numpy_rate(n, repeat))
                time.sleep(0.3)  # idle OpenBLAS threads spin for a while
                ours.append(gpfit_rate(binary, n, repeat))
                time.sleep(0.1)
            a, b = statistics.median(ours), statistics.median(theirs)
            print(f"{n:6d} {a:8.1f} {b:8.1f} {a / b:8.2f}  {[round(v) for v in ours]} {[round(v) for v in theirs]}", flush=True)
        print("load     ", machine.load_average())


if __name__ == "__main__":
    sys.exit(main())
