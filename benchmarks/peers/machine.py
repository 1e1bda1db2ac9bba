"""Describes the machine and the programs of a measurement, and writes its output.

`machine.py has-avx512-kernels` exits 0 if OpenBLAS has chosen AVX-512 kernels.
"""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

AVX512 = {"SkylakeX", "Cooperlake", "SapphireRapids"}
RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"


def blas_libraries():
    """Returns the BLAS libraries that NumPy and SciPy load, with the kernels chosen."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
    import threadpoolctl

    found = []
    for info in threadpoolctl.threadpool_info():
        if info.get("user_api") == "blas":
            owner = pathlib.Path(info["filepath"]).parent.name
            found.append(f"{owner} {info['internal_api']} {info['version']} {info.get('architecture', '')}, {info['num_threads']} threads")
    return found


def cpu_name():
    """Returns the processor's name, family and model."""
    fields = {}
    try:
        for line in open("/proc/cpuinfo"):
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        return platform.processor()
    return f"{fields.get('model name', '?')} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})"


def shorten(argument):
    """Shortens DATA,MASK to the last folder and the name of each file."""
    return ",".join("/".join(pathlib.Path(part).parts[-2:]) for part in argument.split(","))


def load_average():
    return ", ".join(f"{v:.2f}" for v in os.getloadavg())


def header(what, peers):
    """Returns a dictionary that describes the machine and programs of a result."""
    packages = {"scipy": ["numpy", "scipy"], "sklearn": ["scikit-learn"], "gpytorch": ["gpytorch", "torch"], "tinygp": ["tinygp", "jax"], "mkl": ["mkl"]}
    versions = {}
    for peer in ["scipy", *peers]:
        for name in packages.get(peer, []):
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                versions[name] = "missing"
    gpfit = json.loads(subprocess.run([os.environ["GPFIT"], "version", "--json"], capture_output=True, text=True, check=True).stdout)
    return {
        "type": "machine",
        "what": what,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "threads": int(os.environ["THREADS"]),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": load_average(),
        "gpfit": f"{gpfit['version']} {os.environ['GPFIT_REVISION']}",
        "go": gpfit["go"],
        "python": platform.python_version(),
        "packages": versions,
        "blas": blas_libraries(),
        "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
        "command": "benchmarks/peers/run.sh " + " ".join([what, *map(shorten, sys.argv[1:])]),
    }


class Output:
    """Writes raw lines to results/<date>-<what>.jsonl, and text to standard output and
    to a file of the same name in .txt."""

    def __init__(self, what, head):
        RESULTS.mkdir(exist_ok=True)
        stem = f"{head['date'][:16].replace(':', '').replace('T', '-')}-{what}"
        self.paths = [RESULTS / f"{stem}.jsonl", RESULTS / f"{stem}.txt"]
        self.raw, self.txt = (open(p, "w") for p in self.paths)
        self.record(head)
        for key, value in head.items():
            if key not in ("type", "what"):
                self.text(f"{key:18} {value if not isinstance(value, (dict, list)) else json.dumps(value)}")
        self.text("")

    def record(self, obj):
        self.raw.write(json.dumps(obj) + "\n")
        self.raw.flush()

    def text(self, line):
        print(line, flush=True)
        self.txt.write(line + "\n")
        self.txt.flush()

    def close(self):
        self.raw.close()
        self.txt.close()
        print("written: " + ", ".join(str(p.relative_to(RESULTS.parent.parent)) for p in self.paths), file=sys.stderr)


def progress(line):
    print(line, file=sys.stderr, flush=True)


def pin_threads():
    """Limits this process and its children to as many CPUs as there are threads."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[: int(os.environ["THREADS"])])


if __name__ == "__main__":
    if sys.argv[1:] != ["has-avx512-kernels"]:
        sys.exit(__doc__)
    libraries = blas_libraries()
    sys.exit(0 if all(any(a in lib for a in AVX512) for lib in libraries) else 1)
