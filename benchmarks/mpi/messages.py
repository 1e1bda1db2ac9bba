#!/usr/bin/env python3
"""Counts the messages and bytes that the ranks of the method mpi send in a value with gradient.

    go build -o gpfit ./cmd/gpfit
    python3 benchmarks/mpi/messages.py gpfit > benchmarks/results/DATE-mpi-messages.json

It runs `gpfit nlml` on random tables under mpirun of Open MPI, whose component "monitoring" counts. The model: on a
square grid of P ranks, the parts of a panel go to the other √P − 1 ranks of a row or a column of the grid, so that all ranks
send c·8n²·(√P − 1) bytes. c rises with n, because small tables have few panels: it fits c = limit − slope/n, and takes the limit
for large tables.
"""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^([EI])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs")


def table(path, n, rng):
    rows = ([rng.random() * 4, rng.random() * 4] for _ in range(n))
    with open(path, "w") as f:
        f.write("a,b,y\n")
        for a, b in rows:
            f.write(f"{a:.6f},{b:.6f},{math.sin(2 * a) + math.cos(b) + 0.1 * rng.gauss(0, 1):.6f}\n")


def count(program, folder, data, ranks):
    """Returns the bytes and the messages that each rank sends."""
    prefix = folder / f"p{ranks}"
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none",
               "--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
               "--mca", "pml_monitoring_filename", str(prefix), "-n", str(ranks),
               program, "nlml", str(data), "--kernel", "rbf(ard)", "--method", "mpi", "--set", "noise_variance=0.01"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, GPFIT_MPI_BLOCK="64"))
    sent = []
    for rank in range(ranks):
        size = messages = 0
        for line in pathlib.Path(f"{prefix}.{rank}.prof").read_text().splitlines():
            if m := LINE.match(line):
                size += int(m[4])
                messages += int(m[5])
        sent.append((size, messages))
    return sent


def main():
    program, rng, rows = os.path.abspath(sys.argv[1]), random.Random(1), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for n in (1000, 2000, 4000):
            table(folder / "t.csv", n, rng)
            for ranks in (4, 9, 16) if n < 4000 else (4,):
                sent = count(program, folder, folder / "t.csv", ranks)
                most = max(size for size, _ in sent)
                rows.append({"n": n, "ranks": ranks, "bytes_sent": sum(s for s, _ in sent), "most_of_a_rank": most,
                             "messages": sum(m for _, m in sent), "c": round(sum(s for s, _ in sent) / (math.sqrt(ranks) - 1) / (8 * n * n), 3)})
                print(rows[-1], file=sys.stderr)
    c = {r["n"]: r["c"] for r in rows if r["ranks"] == 4}
    limit = (4000 * c[4000] - 1000 * c[1000]) / 3000
    fitted = {n: round(limit - (limit - c[1000]) * 1000 / n, 3) for n in c}
    model = [{"n": n, "ranks": p, "gigabytes": round(limit * 8 * n * n * (math.sqrt(p) - 1) / 1e9),
              "gigabytes_of_a_rank": round(limit * 8 * n * n * (math.sqrt(p) - 1) / p / 1e9, 1)}
             for n in (250_000, 500_000) for p in (4, 16, 64)]
    json.dump({"block": 64, "counted": rows, "limit_of_c": round(limit, 2), "fitted_c": fitted, "model": model}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
