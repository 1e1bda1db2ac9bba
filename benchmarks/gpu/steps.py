"""The checks of run.py, most important first, and what its parts share with them."""

import collections
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import site
import subprocess
import sys

# A step's function takes the Run. Steps with quick set also run with --quick. A step
# does not begin with less than least seconds left, and takes at most limit seconds; None
# is for the checks, which share BUDGET.
Step = collections.namedtuple("Step", "name title run quick least limit", defaults=[None])
BUDGET, HEADER = 570, 60  # seconds of all checks, and of the description of the machine

HERE = pathlib.Path(__file__).resolve().parent


def output(*command):
    """Returns the output of a quick program, or a description of its failure."""
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=20)
        return (p.stdout or p.stderr).strip()
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"not available: {e}"


def first(path, pattern):
    """Returns the first group of pattern in a file, or None."""
    try:
        m = re.search(pattern, pathlib.Path(path).read_text(errors="replace"), re.M)
    except OSError:
        return None
    return m and m.group(1).strip()


def shorten(text):
    """Removes the home folder from paths, because results are for others to read."""
    home = str(pathlib.Path.home())
    return text.replace(home, "~") if len(home) > 1 else text


def versions(*names):
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def wheels():
    """Returns the folders of NVIDIA's Python wheels that this Python finds."""
    places = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    return sorted({str(pathlib.Path(p) / "nvidia") for p in places if p and (pathlib.Path(p) / "nvidia").is_dir()})


def machine(run):
    smi = "name,driver_version,memory.total,memory.used,clocks.max.sm,power.limit,ecc.mode.current,mig.mode.current,compute_mode"
    libraries = [line.split("=>")[-1].strip() for line in output("ldconfig", "-p").splitlines() if re.search(r"lib(cuda|cublas|cublasLt|cusolver|cusparse|nvJitLink)\.so", line)]
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    run.record({
        "type": "machine",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join([pathlib.Path(sys.argv[0]).name, *map(shorten, sys.argv[1:])]),
        "scale": run.args.scale,
        "nvidia_smi": output("nvidia-smi", f"--query-gpu={smi}", "--format=csv,noheader"),
        "driver": first("/proc/driver/nvidia/version", r"^(NVRM.*)$"),
        "cuda_libraries": libraries,
        "wheels": [shorten(w) for w in wheels()],
        "cuda_environment": {k: shorten(v) for k, v in os.environ.items() if k.startswith(("CUDA_", "GPFIT_")) or k == "LD_LIBRARY_PATH"},
        "nvcc": output("nvcc", "--version").splitlines()[-1:],
        "cpu": first("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.processor(),
        "cpus": cpus,
        "cgroup_cpu": first("/sys/fs/cgroup/cpu.max", r"^(.*)$"),
        "memory": first("/proc/meminfo", r"^MemTotal:\s*(.*)$"),
        "cgroup_memory": first("/sys/fs/cgroup/memory.max", r"^(.*)$"),
        "system": f"{platform.system()} {platform.machine()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}",
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
        "packages": versions("torch", "gpytorch", "linear_operator", "numpy"),
        "build": (run.programs / "BUILD").read_text().splitlines() if run.has("BUILD") else [],
        "gpfit": output(run.program("gpfit"), "version"),
        "gpfit_cu": output(run.program("gpfit-cu"), "version") if run.has("gpfit-cu") else "not built",
    })
    for key, value in run.records[-1].items():
        if key not in ("type", "step", "at", "scale"):
            run.text(f"{key:18} {value if isinstance(value, str) else json.dumps(value)}")


def header(run):
    """Describes the machine. Returns whether to continue, which is whether there is a
    GPU that gpfit accepts, even if something is wrong with it."""
    machine(run)
    run.text()
    reason = listed(run)
    if reason:
        # gpfit searches the active environment; wheels may be elsewhere.
        for folder in wheels():
            run.environment["GPFIT_CUDA_LIB"] = folder
            if listed(run) is None:
                run.record({"type": "note", "text": f"gpfit finds no CUDA libraries by itself ({reason}): GPFIT_CUDA_LIB={shorten(folder)} from here on"})
                break
        else:
            run.environment.pop("GPFIT_CUDA_LIB", None)
            run.fail(f"no usable GPU: {reason}")
            print(f"run.py: no usable GPU: {reason}", file=sys.stderr)
            return False
    run.run([run.program("measure"), "kernels", "--device", run.args.device], 60)
    done = run.run([run.program("measure"), "dgemm", "--n", "64", "--repeat", "1", "--device", run.args.device], 90, keep={"device"}, quiet=True)
    if not done.ok:  # the other steps show more
        run.fail(f"the GPU exists but cannot be opened: {done.why}")
    return True


def listed(run):
    """Returns the reason why gpfit would not use the GPU, or None."""
    done = run.run([run.program("gpfit"), "devices", "--json", "--device", run.args.device], 60, quiet=True)
    return None if done.ok else done.why


def suite(run, program, limit):
    """Runs the conformance suite of package device on the GPU."""
    command = [run.program(program), "-test.v", "-test.run=^TestConformance", f"-test.timeout={limit}s"]
    done = run.run(command, limit, environment={"GPFIT_TEST_DEVICE": run.args.device}, quiet=True)
    count = {"PASS": 0, "SKIP": 0}
    failed, messages = [], []
    for text in done.lines:
        m = re.match(r"\s*--- (PASS|FAIL|SKIP): (\S+)", text)
        if m and m[1] == "FAIL":
            failed.append(m[2])
        elif m:
            count[m[1]] += 1
        elif re.match(r"\s+\w+\.go:\d+: |panic:", text):
            messages.append(text.strip()[:300])
    ok = done.ok and not failed and count["PASS"] > 1
    run.record({"type": "conformance", "program": program, "passed": count["PASS"], "skipped": count["SKIP"], "failed": failed,
                "messages": messages[:40], "ok": ok, "seconds": round(done.seconds, 2)})
    if not ok:
        run.fail(f"{program}: {', '.join(failed[:8]) or done.why}")
        for m in messages[:12]:
            run.text("    " + m)


def conformance(run):
    suite(run, "cuda.test", 90)


def measure(run, command, sizes, limit, *flags, device=None, **options):
    return run.run([run.program("measure"), command, "--n", sizes, "--device", device or run.args.device, *flags], limit, **options)


def agree(run):
    measure(run, "agree", run.sizes(500, 1000) if run.args.quick else run.sizes(500, 1000, 2000), 90, "--d", "4")


def speed(run):
    for n in run.each(*((2000, 10_000, 20_000) if run.args.quick else (2000, 5000, 10_000, 20_000, 50_000))):
        flags = ["--objective"] if n <= 20_000 else []
        measure(run, "stages", str(run.n(n)), 60, "--repeat", "3", *flags, watch=True)


def dgemm(run):
    measure(run, "dgemm", run.sizes(4096, 8192, 12288, 16384, 24576), 60)
    # A GPU at its power limit lowers its clock within seconds.
    measure(run, "dgemm", run.sizes(24576).split(",")[-1], 60, "--repeat", "12", watch=True, extra={"sustained": True})


def devices(run):
    """Compares the GPU with the CPU as a user does, and measures from which n it is faster."""
    for flags in (["--test"], ["--calibrate"]):
        run.run([run.program("gpfit"), "devices", *flags, "--device", run.args.device, "--json"], 90, extra={"type": "devices", "flags": flags})


def large(run):
    measure(run, "stages", str(run.n(100_000)), 150, "--repeat", "1", watch=True)


def residual(run):
    for n in run.each(*((20_000,) if run.args.quick else (50_000, 70_000, 100_000))):
        measure(run, "residual", str(run.n(n)), 90, "--gradient")


def agree_large(run):
    for n in (4000, 8000):
        measure(run, "agree", str(run.n(n)), 90, "--d", "4")


def cu(run):
    if not run.has("gpfit-cu"):
        why = (run.programs / "without-cu").read_text().strip() if run.has("without-cu") else "gpfit-cu was not built"
        run.record({"type": "skipped", "why": why})
        return
    run.run([run.program("gpfit-cu"), "devices", "--json"], 30)
    run.run([run.program("gpfit-cu"), "bench", "--n", ",".join(str(run.n(n)) for n in (2000, 10_000)), "--device", run.args.device, "--repeat", "2", "--json", "--quiet"], 60,
            keep={"bench"}, extra={"program": "gpfit-cu"})
    if run.has("cuda-cu.test"):
        suite(run, "cuda-cu.test", 60)


def gpytorch(run):
    """Measures NLML and gradient in GPyTorch at growing n until its memory is full, in
    one process for each n, and then gpfit at the largest n."""
    top = 100_000
    if run.args.quick:
        top = 20_000
    file = run.folder / "data.f64"
    if not measure_data(run, file, run.n(top)):
        return
    reserve = 30  # for the later steps

    good = bad = 0

    def attempt(n):
        left = run.left() - reserve
        if left < 15:
            run.record({"type": "note", "text": f"GPyTorch: no time left for n = {n}"})
            return None
        command = [sys.executable, "-W", "ignore", HERE / "peer.py", "evaluate", "--data", file, "--rows", run.n(top), "--n", n, "--engines", "GPyTorch", "--device", run.peer_device]
        done = run.run(command, min(100, left), quiet=True, keep={"peer"})
        results = [r for r in done.records if r.get("type") in ("peer", "missing")]
        if not results:
            run.fail(f"GPyTorch at n = {n}: {done.why}")
            return None
        if results[0]["type"] == "missing":
            return "missing"
        if not results[0]["ok"] and not good and not results[0].get("memory"):
            run.fail(f"GPyTorch at n = {n}: {results[0]['error']}")
        return bool(results[0]["ok"])

    for n in map(run.n, (10_000, 20_000) if run.args.quick else (10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000)):
        answer = attempt(n)
        if answer == "missing":
            run.record({"type": "skipped", "why": "torch or gpytorch is not installed in " + sys.executable})
            return
        if answer is None:
            break
        if not answer:
            bad = n
            break
        good = n
    while bad and good and bad - good > 0.06 * bad and not run.args.quick:
        n = (good + bad) // 2
        answer = attempt(n)
        if answer is None:
            break
        good, bad = (n, bad) if answer else (good, n)
    if good:
        measure(run, "stages", str(good), 60, "--repeat", "2")


def measure_data(run, file, n, d=8):
    return run.run([run.program("measure"), "data", "--n", n, "--d", d, "--out", file], 30).ok


def tables(folder):
    """Returns (name, table, mask) of every table below a folder, small tables first."""
    found = []
    for table in [*pathlib.Path(folder).glob("*/data.csv.gz"), *pathlib.Path(folder).glob("*/data.csv")]:
        for mask in (table.parent / "test_mask.csv.gz", table.parent / "test_mask.csv"):
            if mask.is_file():
                found.append((table.parent.name, table, mask))
                break
    return sorted(found, key=lambda f: f[1].stat().st_size)


def largest(run):
    # The gradient takes three times as long as the value.
    flags = ["--gradient"] if run.left() > 150 else []
    if run.args.scale != 1:
        flags += ["--n", str(run.n(150_000))]
    run.run([run.program("measure"), "largest", "--device", run.args.device, *flags], 150, watch=True)


STEPS = [
    Step("conformance", "Conformance suite on the GPU", conformance, True, 5),
    Step("agree", "Value and gradient against the CPU, all kernels", agree, True, 5),
    Step("speed", "Value and gradient, stage by stage", speed, True, 5),
    Step("dgemm", "The rate of the matrix product", dgemm, True, 5),
    Step("large", "Value and gradient at n = 100,000", large, False, 30),
    Step("residual", "Residuals of sampled columns of the inverse", residual, True, 10),
    Step("agree-large", "Value and gradient against the CPU, larger n", agree_large, False, 10),
    Step("devices", "gpfit devices --test and --calibrate", devices, False, 30),
    Step("cu", "The driver through gorgonia.org/cu", cu, True, 10),
    Step("gpytorch", "GPyTorch, float64, Cholesky, the same data", gpytorch, True, 30),
    Step("largest", "The largest n", largest, False, 20),
]
