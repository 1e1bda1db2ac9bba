"""The parts of run.py that compare gpfit with other programs and with the cores of the
machine. Each has a time limit of its own, so that a part can run alone."""

import array
import collections
import json
import math
import random
import statistics
import sys
import time

import compare
import power
from steps import HERE, Step, measure, measure_data, tables

AGREE = 1e-8  # relative difference of NLMLs, and of gradients relative to their largest component

# Makes matrices of every size take the steps of matrices that fill the card.
LARGE_STEPS = {"GPFIT_CUDA_STEPS": "large"}

# The ways to run the jobs of a batch. device is auto, cpu, or the GPU if None; processes
# share the run directory; --gpu-jobs is the number of lanes. A new way is a new line.
Variant = collections.namedtuple("Variant", "name device flags processes environment", defaults=({},))
VARIANTS = [
    Variant("1 lane", None, ["--gpu-jobs", "1"], 1),
    Variant("4 lanes", None, ["--gpu-jobs", "4"], 1),
    Variant("16 lanes", None, ["--gpu-jobs", "16"], 1),
    Variant("64 lanes", None, ["--gpu-jobs", "64"], 1),
    Variant("chosen lanes", None, [], 1),
    Variant("no lock step", None, ["--gpu-jobs", "16"], 1, LARGE_STEPS),
    Variant("4 processes", None, ["--gpu-jobs", "1"], 4),
    Variant("cores", "cpu", [], 1),
    Variant("card and cores", "auto", [], 1),
]


def batch(run):
    """Measures jobs per second of a batch of equal fits in each way, and compares their
    results with those of the same device in the first way."""
    if not run.args.quick:  # "auto" measures once on a machine from which n the GPU is faster
        run.run([run.program("gpfit"), "devices", "--calibrate", "--device", run.args.device, "--json"], 60, keep=set(), quiet=True)
    for rows in run.each(*((1000,) if run.args.quick else (500, 1000, 2000, 5000))):
        n = run.n(rows)
        folder = run.folder / f"batch-{n}"
        folder.mkdir()
        write_table(folder / "t.csv", n)
        known = {}
        for v in (v for v in VARIANTS if v.name in run.ways(v.name)):
            # 64 jobs of n = 5000 would take the cores minutes.
            jobs = 8 if run.args.quick else 16 if v.device == "cpu" and rows >= 5000 else 64
            batch_in(run, folder, v, n, jobs, known)


def write_table(path, n):
    random.seed(n)
    points = [[random.gauss(0, 1) for _ in range(8)] for _ in range(n)]
    text = [",".join([*"abcdefgh", "y"]), *(",".join(f"{v:.6f}" for v in [*x, math.sin(2 * x[0]) + x[1] * x[2] + random.gauss(0, 0.1)]) for x in points)]
    path.write_text("\n".join(text) + "\n")


def batch_in(run, folder, variant, n, jobs, known):
    what = f"batch of n = {n}, {variant.name}"
    spec, out = folder / f"{variant.name}.yaml", folder / f"run {variant.name}"
    spec.write_text(f"data: [t.csv]\nkernels: [rbf(ard)]\nseeds: [{', '.join(map(str, range(1, jobs + 1)))}]\n"
                    f"defaults: {{device: '{variant.device or run.args.device}', threads: 1, restarts: 0, max_evals: 10, coarse: 'off', noise_floor: none}}\n")
    command = [run.program("gpfit"), "batch", str(spec), "--out", str(out), "--json", "--quiet", *variant.flags]
    if variant.processes > 1:
        command = ["sh", "-c", 'n=$1; shift; i=0; while [ $i -lt $n ]; do "$@" --shard $i/$n & i=$((i + 1)); done; wait', "sh", str(variant.processes), *command]
    done = run.run(command, 60, keep=set(), quiet=True, environment=variant.environment)
    # The run directory knows the jobs of all processes, also after the time limit.
    shown = run.run([run.program("gpfit"), "show", str(out), "--format", "json"], 20, keep=set(), quiet=True)
    found = [r for r in shown.records if r.get("type") == "job" and r.get("state") == "done"]
    if not found or len(found) < jobs and not done.timed_out:
        run.fail(f"{what}: {done.why if not done.ok else f'{len(found)} of {jobs} jobs are done'}")
        return
    steps = variant.environment.get("GPFIT_CUDA_STEPS", "")
    # Lock step, which takes four lanes, rounds otherwise.
    different = [r["job"] for r in found if not math.isclose(known.setdefault((r["device"], steps, r["job"]), r["nlml"]), r["nlml"], rel_tol=1e-6, abs_tol=1e-6)]
    if different:
        run.fail(f"{what}: other results on the same device: {', '.join(different[:4])}")
    gradients = sum(r["gradient_evaluations"] for r in found)
    # The time in which jobs ran, without the start of the program.
    busy = max((d["busy_seconds"] for r in shown.records if r.get("type") == "run" for d in r.get("devices", [])), default=0) or done.seconds
    run.record({"type": "batch", "variant": variant.name, "device": variant.device or run.args.device, "processes": variant.processes, "n": n, "jobs": jobs, "jobs_done": len(found),
                "jobs_on": dict(collections.Counter(r["device"] for r in found)), "seconds": round(busy, 3), "seconds_process": round(done.seconds, 3), "timed_out": done.timed_out, "same_results": not different,
                "jobs_per_second": round(len(found) / busy, 4), "gradients": gradients, "gradients_per_second": round(gradients / busy, 2)})


KERNELS = ["rbf", "rbf(ard)", "matern32(ard)", "matern52(ard)", "rq", "periodic"]


def curve(run):
    """Measures value and gradient of six kernels on the GPU and on the CPU at growing n, and
    from which n the GPU is faster. The Go program in curve draws the results."""
    small, large = (250, 350, 500, 700, 1000, 1400, 2000, 3000), (5000, 10_000)
    if run.args.quick:
        small, large = (250, 1000), (4000,)
    pairs = [("rbf", 8), ("rbf(ard)", 26), *((k, d) for k in KERNELS for d in (8, 26) if (k, d) not in (("rbf", 8), ("rbf(ard)", 26)))]

    def stages(kernel, d, device, sizes, repeat):
        sizes = ",".join(dict.fromkeys(run.sizes(*sizes).split(",")))  # --scale makes some equal
        measure(run, "stages", sizes, 60, "--kernel", kernel, "--d", d, "--repeat", repeat, device=device)

    for kernel, d in pairs[:2] if run.args.quick else pairs:
        for device in (run.args.device, "cpu"):
            stages(kernel, d, device, small, 9)
            stages(kernel, d, device, large if device == "cpu" or run.args.quick else (*large, 20_000), 3 if device != "cpu" else 1)
    for kernel, d in () if run.args.quick else pairs[:2]:
        stages(kernel, d, "cpu", (20_000,), 1)
    for (kernel, d), (gpu, cpu) in compare.curves(run.records).items():
        both = sorted(set(gpu) & set(cpu))
        if both:
            run.record({"type": "crossover", "kernel": kernel, "d": d, "n": compare.crossover(gpu, cpu), "smallest": both[0], "largest": both[-1], "times_faster": cpu[both[-1]] / gpu[both[-1]]})


def steps(run):
    """Measures value and gradient by the steps that gpfit takes at each n, in turn with the
    steps of matrices that fill the card."""
    sizes = run.sizes(1000, 3000) if run.args.quick else run.sizes(500, 1000, 1500, 2000, 3000, 5000, 7000, 10_000, 15_000, 20_000, 30_000)
    for turn in range(1 if run.args.quick else 3):
        for name in run.ways("chosen", "large"):
            environment = LARGE_STEPS if name == "large" else {}
            measure(run, "stages", sizes, 30, "--repeat", "3", environment=environment, extra={"steps": name, "turn": turn})
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in run.records:
        if r.get("type") == "stages" and r.get("steps"):
            times[r["n"]][r["steps"]].append(r["seconds_value_gradient"])
    for n, by in sorted(times.items()):
        if len(by) == 2:
            own, large = statistics.median(by["chosen"]), statistics.median(by["large"])
            run.record({"type": "steps", "n": n, "seconds": own, "seconds_large": large, "times_faster": large / own})


def peer(run, limit, *arguments):
    """Runs peer.py and returns its objects; None if PyTorch is missing."""
    done = run.run([sys.executable, "-W", "ignore", HERE / "peer.py", *arguments, "--device", run.peer_device], limit, keep={"peer", "predictions", "peer-fit"})
    missing = [r for r in done.records if r.get("type") == "missing"]
    if missing:
        run.record({"type": "skipped", "why": f"torch or gpytorch is not installed in {sys.executable}: {missing[0]['error']}"})
        return None
    if not done.records and done.ok:
        run.fail("peer.py printed nothing")
    return [r for r in done.records if r.get("ok")]


def differences(a, b):
    """Returns the relative difference of two NLMLs and of their gradients."""
    largest = max(abs(v) for v in a["gradient_log"].values())
    return abs(a["nlml"] - b["nlml"]) / abs(a["nlml"]), max(abs(v - b["gradient_log"][name]) for name, v in a["gradient_log"].items()) / largest


def agreement(run, ours, theirs, which=""):
    """Records how far a peer's NLML and gradient are from gpfit's."""
    nlml, gradient = differences(ours, theirs)
    ok = nlml <= AGREE and gradient <= AGREE
    run.record({"type": "agreement", "engine": theirs["engine"], "kernel": theirs["kernel"], "d": theirs["d"], "n": theirs["n"], "problems": theirs["problems"], "which": which,
                "nlml_difference": nlml, "gradient_difference": gradient, "ok": ok})
    if not ok:
        run.fail(f"{theirs['engine']}, {theirs['kernel']}, n = {theirs['n']}: NLML or gradient differs from gpfit's by more than {AGREE:g}")


def peers(run):
    """Measures NLML and gradient by hand in PyTorch and in GPyTorch, of one problem and of
    64 at once, and compares them with gpfit's."""
    sizes = (2000, 4000) if run.args.quick else (2000, 5000, 10_000, 20_000, 35_000)
    for kernel, d in (("rbf", 8), ("rbf(ard)", 26)):
        file, rows = run.folder / f"data-{d}.f64", run.n(max(sizes))
        if not measure_data(run, file, rows, d):
            return
        own = {r["n"]: r for r in measure(run, "stages", run.sizes(*sizes), 60, "--kernel", kernel, "--d", d).records if r.get("type") == "stages"}
        theirs = peer(run, 100, "evaluate", "--data", file, "--rows", rows, "--n", run.sizes(*sizes), "--kernel", kernel)
        if theirs is None:
            return
        for r in theirs:
            if r["n"] in own:
                agreement(run, own[r["n"]], r)
    problems = 8 if run.args.quick else 64
    sizes = (500,) if run.args.quick else (500, 1000, 2000)
    file, rows = run.folder / "problems.f64", problems * run.n(max(sizes))
    if not measure_data(run, file, rows, 8):
        return
    x, y = read_data(file, rows)
    for size in sizes:
        n = run.n(size)
        theirs = peer(run, 60, "evaluate", "--data", file, "--rows", rows, "--n", n, "--kernel", "rbf(ard)", "--problems", problems) or []
        for which, begin, suffix in (("first", 0, ""), ("last", (problems - 1) * n, "_last")):
            own = at_parameters(run, "nlml", write_rows(run.folder / "problem.csv", x[begin : begin + n], y[begin : begin + n]), "--set", "--kernel", "rbf(ard)")
            for r in theirs if own else []:
                agreement(run, own, {**r, "nlml": r["nlml" + suffix], "gradient_log": r["gradient_log" + suffix]}, which)


def read_data(file, rows):
    """Returns the rows of x and y of a file of `measure data`."""
    values = array.array("d", file.read_bytes())
    d = len(values) // rows - 1
    return [values[i * d : (i + 1) * d] for i in range(rows)], values[rows * d :]


def write_rows(path, x, y=None):
    """Writes numbers as CSV that gpfit reads back to the bit."""
    names = [f"x{c}" for c in range(len(x[0]))] + (["y"] if y is not None else [])
    with open(path, "w") as f:
        f.write(",".join(names) + "\n")
        for i, row in enumerate(x):
            f.write(",".join(map(repr, [*row, *([y[i]] if y is not None else [])])) + "\n")
    return path


def at_parameters(run, command, table, flag, *more):
    """Runs gpfit nlml or fit at the parameters of measure and returns the report, or None."""
    given = [text for name, v in (("lengthscale", 2.0), ("signal_variance", 1.5), ("noise_variance", 0.1)) for text in (flag, f"{name}={v}")]
    done = run.run([run.program("gpfit"), command, table, "--mean", "zero", "--standardize", "none", *given, "--device", run.args.device, "--json", "--quiet", *more], 60, keep=set())
    return done.records[0] if done.ok and done.records else None


def fits(run):
    """Fits tables with gpfit and scores the rows held out, and measures how long GPyTorch
    and PyTorch by hand take to gpfit's NLML with rbf(ard)."""
    found = tables(run.args.data) if run.args.data else []
    chosen = [t for t in found if t[0] in ("elevators", "kin40k")] or found
    if not chosen:
        run.fail(f"no NAME/data.csv.gz with NAME/test_mask.csv.gz in {run.args.data}" if run.args.data else "SKIPPED: no --data with the tables elevators and kin40k")
        return
    for name in sorted({"elevators", "kin40k"} - {t[0] for t in chosen}):
        run.fail(f"SKIPPED: {name} is not in {run.args.data}")
    targets = {}
    for name, table, mask in chosen:
        for kernel in ("rbf(ard)",) if run.args.quick else ("rbf(ard)", "matern32(ard)"):
            # The options make the objective the same as the peers'. The script interrupts a
            # fit at the limit, which then reports its progress so far.
            done = run.run([run.program("gpfit"), "fit", table, "--split-mask", f"{mask}:0", "--kernel", kernel, "--mean", "zero", "--noise-floor", "none", "--posterior", "none",
                            "--device", run.args.device, "--out", run.folder / "model.gpfit", "--force", "--json", "--quiet"], 60, extra={"type": "fit", "dataset": name}, grace=15)
            if done.ok and kernel == "rbf(ard)":
                targets[name] = done.records[0]
                run.record({"type": "fit-wall", "dataset": name, "seconds": round(done.seconds, 3)})
    turns = [(t, e, o) for t in chosen if t[0] in targets for e, o in (("GPyTorch", "lbfgs"), ("GPyTorch", "adam"), ("PyTorch", "lbfgs"))]
    for i, ((name, table, mask), engine, optimizer) in enumerate(turns):
        limit = min(60.0, run.left() / (len(turns) - i) - 12)  # loading takes seconds
        r = targets[name]
        flags = ["--evaluations", 6] if run.args.quick else []
        theirs = peer(run, max(limit, 5) + 25, "fit", "--table", table, "--mask", mask, "--name", name, "--engines", engine, "--optimizer", optimizer, "--kernel", "rbf(ard)",
                      "--limit", max(limit, 5), f"--target={r['nlml']!r}", "--at", json.dumps(r["parameters"]), *flags)
        if theirs is None:
            return
        for p in theirs:
            difference = abs(p["nlml_at_target"] - r["nlml"]) / abs(r["nlml"])
            run.record({"type": "within", "dataset": name, "engine": engine, "optimizer": optimizer, "n": p["n"], "target": r["nlml"], "best": p["best"], "stopped": p["stopped"],
                        "seconds_within": {f"{nats:g}": within(p["trajectory"], r["nlml"] + nats) for nats in (1, 0.1)}, "gpfit_seconds": r["seconds"],
                        "evaluations": p["evaluations"], "nlml_difference": difference, "ok": difference <= AGREE})
            if difference > AGREE:
                run.fail(f"{name}, {engine}: the NLML at gpfit's parameters differs by {difference:.1e}: not the same problem")


def within(trajectory, nlml):
    """Returns the seconds until a trajectory is at most at an NLML, or None."""
    return next((seconds for seconds, value in trajectory if value <= nlml), None)


def predictions(run):
    """Measures 40,000 predictions with standard deviations: gpfit predict as a command, and
    the peers without start and reading."""
    new = run.n(40_000)
    sizes = [run.n(n) for n in ((2000,) if run.args.quick else (10_000, 20_000))]
    rows = max(sizes) + new
    file = run.folder / "predict.f64"
    if not measure_data(run, file, rows, 8):
        return
    x, y = read_data(file, rows)
    many, few = write_rows(run.folder / "new.csv", x[-new:]), write_rows(run.folder / "few.csv", x[-40:])
    for n in sizes:
        model, out = run.folder / f"model-{n}.gpfit", run.folder / "predictions.csv"
        if not at_parameters(run, "fit", write_rows(run.folder / "train.csv", x[:n], y[:n]), "--fix", "--kernel", "rbf", "--posterior", "none", "--noise-floor", "none", "--out", model, "--force"):
            continue
        seconds = {}
        for name, table in (("few", few), ("many", many)):
            times = []
            for _ in range(1 if run.args.quick else 3):
                done = run.run([run.program("gpfit"), "predict", model, table, "--out", out, "--force", "--device", run.args.device, "--quiet"], 60)
                if not done.ok:
                    return
                times.append(done.seconds)
            seconds[name] = statistics.median(times)
        run.record({"type": "predictions", "engine": "gpfit", "kernel": "rbf", "n": n, "rows": new, "device": run.args.device, "ok": True, "seconds_command": round(seconds["many"], 4),
                    "seconds_few": round(seconds["few"], 4), "seconds_predict": round(seconds["many"] - seconds["few"], 4)})
        theirs = peer(run, 60, "predict", "--data", file, "--rows", rows, "--n", n, "--new", new, "--kernel", "rbf", "--expect", out)
        if theirs is None:
            return
        for r in theirs:
            if max(r["mean_difference"], r["std_difference"]) > AGREE:
                run.fail(f"predictions of {r['engine']}, n = {n}, differ from gpfit's by {r['mean_difference']:.1e} and {r['std_difference']:.1e}")


def energy(run):
    """Measures the joules of evaluations on the GPU, and on the CPU where its counters can be
    read. It only reads: no setting of the card changes."""
    index = run.args.device.partition(":")[2] or 0
    plan = [(run.args.device, n, repeat) for n, repeat in (((4000, 50),) if run.args.quick else ((10_000, 250), (20_000, 45), (50_000, 4)))]
    plan += [("cpu", n, repeat) for n, repeat in (((4000, 2),) if run.args.quick else ((10_000, 6), (20_000, 1)))]
    idle = 0.6 if run.args.quick else 2  # seconds without work before a measurement
    for device, n, repeat in plan:
        if run.args.scale != 1:
            repeat = 2
        gpu, cpu = power.GPU(index, run.kill), power.CPU(run.args.powercap)
        readable = cpu.readable if device == "cpu" else gpu.field
        if not readable:
            gpu.stop()
            cpu.stop()
            run.record({"type": "skipped", "why": f"energy of {device}: " + (f"no readable counter in {run.args.powercap}" if device == "cpu" else "nvidia-smi reports no power")})
            continue
        time.sleep(idle)
        try:
            done = measure(run, "stages", run.n(n), 60, "--repeat", repeat, device=device)
            time.sleep(3 * power.PERIOD)
        finally:
            gpu.stop()
            cpu.stop()
        for r in done.records:
            if r.get("type") == "stages":
                record_energy(run, r, gpu, cpu, idle)


def record_energy(run, r, gpu, cpu, idle):
    begin, end, count = r["began"], r["ended"], len(r["all_seconds_value_gradient"])
    own = power.counted(cpu.samples, begin, end) if r["device"] == "cpu" else power.integral(gpu.samples, begin, end)
    if own is None:
        run.fail(f"energy of {r['device']}, n = {r['n']}: no samples over the whole measurement of {end - begin:.2f} s")
        return
    before = [w for t, w in gpu.samples if t < gpu.samples[0][0] + 0.7 * idle]
    run.record({"type": "energy", "device": r["device"], "n": r["n"], "evaluations": count, "seconds": round(end - begin, 4), "joules": own, "joules_per_evaluation": own / count,
                "watts": own / (end - begin), "source": "RAPL, packages" if r["device"] == "cpu" else "nvidia-smi " + gpu.field,
                "gpu_idle_watts": statistics.median(before) if before else None, "cpu_joules": power.counted(cpu.samples, begin, end), "began": begin, "ended": end,
                "gpu_samples": [[round(t, 3), w] for t, w in gpu.samples], "cpu_samples": [[round(t, 3), round(j, 3)] for t, j in cpu.samples]})


# Rows of a matrix in tiles that fills a card, the most first: of 141 GB and of 80 GB.
LARGEST = (188_000, 140_000)


def tiles(run):
    """Measures the method tiles: beside the method dense, with most tiles in the memory of the
    host, at the largest n of the card, and on two cards."""
    small = ["--order", 16] if run.args.scale != 1 else []  # several tiles also for few rows
    ways = ["--ways", ",".join(run.ways("dense", "tiles", "host")), *small]
    sizes = run.sizes(20_000) if run.args.quick else run.sizes(20_000, 40_000)
    done = measure(run, "tiles", sizes, 110, *ways)
    if not run.args.quick:
        largest_tiles(run, done.records, small)
    name, _, index = run.args.device.partition(":")
    both = f"{run.args.device},{name}:{1 if index in ('', '0') else 0}"
    done = measure(run, "tiles", sizes, 50, *ways, device=both, quiet=True)
    if done.code == 12:
        run.record({"type": "skipped", "why": f"{both}: {done.errors[-1] if done.errors else 'one card'}"})
    elif not done.ok:
        run.fail(f"measure on {both}: {done.why}")


def largest_tiles(run, records, small):
    """Measures one value with gradient at the largest n whose tiles fill the card."""
    free = next((r["memory_free"] for r in records if r.get("type") == "device"), 0)
    n = next((n for n in map(run.n, LARGEST) if 4.16 * n * n <= free), None)
    if n is None:
        run.record({"type": "skipped", "why": f"{run.args.device}: {free / 1e9:.1f} GB are free, and {run.n(LARGEST[-1])} rows take {4.16e-9 * run.n(LARGEST[-1]) ** 2:.1f} GB"})
        return
    rate = max((r["gflops"] for r in records if r.get("type") == "tiles" and r["way"] == "tiles"), default=0)
    limit = 190
    expected = n**3 / rate / 1e9 + 40 if rate and run.args.scale == 1 else 0  # 40 s to lock memory and to warm up
    if expected > min(limit, run.left() - 10):
        run.record({"type": "skipped", "why": f"n = {n} would take about {expected:.0f} s at {rate:.0f} GFLOP/s, and {min(limit, run.left()):.0f} s are left"})
        return
    measure(run, "tiles", n, limit, "--ways", "tiles", "--repeat", 1, *small, watch=True)


# The limits together, with the header's, are at most 30 minutes.
PARTS = [
    Step("batch", "Batches of small jobs: lanes, processes, cores, card and cores", batch, True, 60, 260),
    Step("steps", "The steps of small and medium matrices beside those of large ones", steps, True, 30, 60),
    Step("curve", "GPU and CPU from n = 250 to 20,000", curve, True, 60, 270),
    Step("peers", "PyTorch by hand and GPyTorch, one problem and 64 at once", peers, True, 60, 200),
    Step("fits", "Whole fits, and GPyTorch's time to the same NLML", fits, False, 60, 450),
    Step("predictions", "40,000 predictions with standard deviations", predictions, True, 30, 90),
    Step("tiles", "The method tiles on one card, beside the host's memory, and on two cards", tiles, True, 60, 300),
    Step("energy", "Joules of an evaluation", energy, True, 30, 110),
]
