"""Compares NLML and gradient of gpfit and its peers in turns; see ../README.md."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import machine

PAUSE = 0.3  # seconds between engines: idle BLAS threads spin for a while
NAMES = ["lengthscale", "signal_variance", "noise_variance"]
PARAMETERS = [2.0, 1.5, 0.1]
# Parts of the work, without a kernel, a value or a gradient: bounds, not peers.
DGEMM = {"numpy dgemm": "numpy", "mkl dgemm": "mkl"}
INVERSE = "mkl inverse"
VALUE_TOLERANCE, GRADIENT_TOLERANCE = 1e-8, 1e-6


class Peer:
    """A worker process with one engine."""

    def __init__(self, name):
        self.name = name
        here = pathlib.Path(__file__).resolve().parent
        self.process = subprocess.Popen([sys.executable, str(here / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"the process ended with status {self.process.wait()}"}
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def gpfit_bench(arguments, threads):
    """Runs `gpfit bench --json` and returns its results, one for each n."""
    command = [os.environ["GPFIT"], "bench", "--json", "--quiet", "--device", "cpu", "--threads", str(threads), *arguments]
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode:
        return [{"error": p.stderr.strip()}]
    return [r for r in map(json.loads, p.stdout.splitlines()) if r["type"] == "bench"]


def synthetic(n, d, seed):
    """Returns x ~ N(0, 1) and y = sin(2 x₀) + Σ cos(x_c + c)/√d + 0.1 N(0, 1)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = np.sin(2 * x[:, 0]) + np.cos(x + np.arange(d)).sum(axis=1) / np.sqrt(d) + 0.1 * rng.standard_normal(n)
    return x, y


def measure(n, d, peers, folder, args, threads, out):
    """Runs all engines at one n. Returns name → {seconds, nlml, gradient, peak}."""
    x, y = synthetic(n, d, args.seed)
    csv, npz = folder / "data.csv", folder / "data.npz"
    with open(csv, "w") as f:
        for row, v in zip(x, y):
            f.write(",".join(map(repr, [*row.tolist(), float(v)])) + "\n")
    np.savez(npz, x=x, y=y)
    z = np.log(PARAMETERS).tolist()
    sets = [s for name, v in zip(NAMES, PARAMETERS) for s in ("--set", f"{name}={v!r}")]
    results = {}
    # Short evaluations need more repetitions for a steady median.
    repeat = max(args.repeat, args.repeat * 2000 // n)

    def note(name, round_, answer):
        out.record({"type": "nlml", "engine": name, "n": n, "d": d, "kernel": "rbf", "round": round_, **answer})
        if "error" in answer:
            machine.progress(f"  {name}: {answer['error']}")
            results[name] = {"error": answer["error"]}
            return
        r = results.setdefault(name, {"seconds": [], "peak_bytes": 0})
        r["seconds"] += answer["seconds"]
        r["peak_bytes"] = max(r["peak_bytes"], answer.get("peak_bytes", 0))
        r["nlml"], r["gradient"] = answer.get("nlml"), answer.get("gradient")

    bounds = ["numpy dgemm", "mkl dgemm", INVERSE] if "mkl" in peers else ["numpy dgemm"]
    peers = [name for name in peers if name != "mkl"]
    started = {name: Peer(name) for name in [*bounds, *peers]}
    for name in peers:
        answer = started[name].ask(op="load", engine=name, data=str(npz), n=n, threads=threads)
        if "error" in answer:
            note(name, 0, answer)
    for round_ in range(args.rounds):
        machine.progress(f"n = {n}, round {round_ + 1} of {args.rounds}")
        time.sleep(PAUSE)
        g = gpfit_bench(["--data", str(csv), "--n", str(n), "--standardize", "none", "--repeat", str(repeat), *sets], threads)[0]
        if "error" not in g:
            g = {**g, "gradient": [g["gradient_log"][k] for k in NAMES], "seconds": g["all_seconds_value_gradient"]}
        note("gpfit", round_, g)
        for name, peer in started.items():
            if "error" in results.get(name, {}):
                continue
            time.sleep(PAUSE)
            if name in DGEMM:
                note(name, round_, peer.ask(op="dgemm", library=DGEMM[name], n=n, repeat=max(repeat, 3), threads=threads))
            elif name == INVERSE:
                note(name, round_, peer.ask(op="inverse", data=str(npz), n=n, z=z, repeat=repeat, threads=threads))
            else:
                note(name, round_, peer.ask(op="eval", z=z, repeat=repeat))
    for peer in started.values():
        peer.close()
    return results


def compare(results, n):
    """Checks that all engines agree. Returns a list of complaints."""
    failures = [f"n = {n}: {name}: {r['error']}" for name, r in results.items() if "error" in r]
    ours = results.get("gpfit", {})
    if "nlml" not in ours:
        return failures
    g0 = np.array(ours["gradient"])
    for name, r in results.items():
        if r.get("nlml") is None or name == "gpfit":
            continue
        r["value_error"] = abs(r["nlml"] - ours["nlml"]) / max(1, abs(ours["nlml"]))
        r["gradient_error"] = float(np.max(np.abs(np.array(r["gradient"]) - g0)) / np.max(np.abs(g0)))
        if not r["value_error"] <= VALUE_TOLERANCE:
            failures.append(f"n = {n}: NLML of {name} differs by {r['value_error']:.1e} relative")
        if not r["gradient_error"] <= GRADIENT_TOLERANCE:
            failures.append(f"n = {n}: gradient of {name} differs by {r['gradient_error']:.1e} of its largest component")
    return failures


def table(results, n, out):
    ours = statistics.median(results["gpfit"]["seconds"]) if "seconds" in results.get("gpfit", {}) else None
    products = [statistics.median(results[name]["seconds"]) for name in DGEMM if "seconds" in results.get(name, {})]
    rate = 2 * n**3 / min(products) / 1e9 if products else None
    for name, r in results.items():
        if "seconds" not in r:
            out.text(f"{n:6} {name:12} failed")
            continue
        t = statistics.median(r["seconds"])
        spread = f"{min(r['seconds']):.4g} to {max(r['seconds']):.4g}"
        flops = (2 if name in DGEMM else 1) * n**3 / t / 1e9
        ratio = f"{t / ours:8.2f}" if ours else f"{'-':>8}"
        of = f"{100 * flops / rate:7.0f} %" if rate else f"{'-':>9}"
        peak = f"{r['peak_bytes'] / 2**20:8.0f}" if r["peak_bytes"] else f"{'-':>8}"
        error = f"{r['value_error']:.0e} {r['gradient_error']:.0e}" if "value_error" in r else ""
        out.text(f"{n:6} {name:12} {t:10.5f}  {spread:22} {ratio} {flops:9.1f} {of} {peak}  {error}")
    out.text("")


def ard(sizes, args, threads, out):
    """Measures gpfit alone on rbf(ard) with 26 columns and its own synthetic data."""
    out.text("gpfit alone, rbf(ard), d = 26")
    out.text(f"{'n':>6} {'value, s':>10} {'+ gradient':>10} {'GFLOP/s':>9} {'of own dgemm':>13} {'peak MiB':>9} {'predicted/s':>12}")
    for n in sizes:
        time.sleep(PAUSE)
        r = gpfit_bench(["--n", str(n), "--d", "26", "--ard", "--repeat", str(args.rounds * max(args.repeat, args.repeat * 2000 // n))], threads)[0]
        out.record({"type": "ard", "engine": "gpfit", **r})
        if "error" in r:
            out.text(f"{n:6} failed: {r['error']}")
            continue
        out.text(f"{n:6} {r['seconds_value']:10.5f} {r['seconds_value_gradient']:10.5f} {r['gflops']:9.1f} {100 * r['fraction_of_dgemm']:11.0f} % {r['peak_bytes'] / 2**20:9.0f} {r['predict_rows_per_second']:12.0f}")
    out.text("")


def main():
    p = argparse.ArgumentParser(prog="run.sh nlml", description=__doc__)
    p.add_argument("--quick", action="store_true", help="n = 200, 500 and few repeats, to try the script; the results are not worth keeping")
    p.add_argument("--n", default="500,1000,2000,4000", help="numbers of rows (default: %(default)s)")
    p.add_argument("--d", type=int, default=8, help="columns (default: %(default)s)")
    p.add_argument("--rounds", type=int, default=3, help="number of rounds, in each of which all engines take their turn (default: %(default)s)")
    p.add_argument("--repeat", type=int, default=3, help="timed evaluations of an engine in a round (default: %(default)s)")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    if args.quick:
        args.n, args.rounds, args.repeat = "200,500", 2, 2
    sizes = [int(n) for n in args.n.split(",")]
    peers = os.environ["PEERS"].split()
    threads = int(os.environ["THREADS"])
    machine.pin_threads()
    out = machine.Output("nlml-quick" if args.quick else "nlml", machine.header("nlml", peers))
    out.text(f"NLML and gradient, rbf, d = {args.d}, lengthscale, signal variance, noise variance = {PARAMETERS}")
    out.text(f"medians of {args.rounds} rounds of {args.repeat} after warm-ups, more below n = 2000; ratio: time over gpfit's; GFLOP/s: n³ over time (2n³ for dgemm); of dgemm: of the faster one")
    out.text("differences of NLML (relative) and gradient (of its largest component) from gpfit's\n")
    out.text(f"{'n':>6} {'engine':12} {'seconds':>10}  {'smallest to largest':22} {'ratio':>8} {'GFLOP/s':>9} {'of dgemm':>9} {'peak MiB':>8}  differences")
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            results = measure(n, args.d, peers, pathlib.Path(folder), args, threads, out)
            failures += compare(results, n)
            table(results, n, out)
    ard(sizes, args, threads, out)
    for f in failures:
        out.text("FAILED: " + f)
    if not failures:
        out.text(f"all NLML agree to {VALUE_TOLERANCE:g} and all gradients to {GRADIENT_TOLERANCE:g}")
    out.text(f"load average at the end: {machine.load_average()}")
    out.close()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
