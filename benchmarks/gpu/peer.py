"""Runs PyTorch by hand and GPyTorch for run.py and prints a JSON object per line.

    peer.py evaluate --data FILE --rows ROWS --n 1000,2000    NLML and gradient
    peer.py evaluate … --problems 64                          of 64 problems at once
    peer.py predict --data FILE --rows ROWS --n 10000 --new 40000
    peer.py fit --table TABLE --mask MASK --optimizer adam

FILE is from `measure data`: ROWS rows of x, then y. The engines are in engines.py.
"""

import argparse
import csv
import gc
import gzip
import json
import math
import sys
import time

import engines


def load(path, rows, torch, device):
    """Returns x and y of a file of `measure data`."""
    with open(path, "rb") as f:
        values = torch.frombuffer(bytearray(f.read()), dtype=torch.float64)
    d = values.numel() // rows - 1
    return values[: rows * d].reshape(rows, d).to(device), values[rows * d :].to(device)


def opened(path):
    return gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)


def training(table, mask, torch, device):
    """Returns the training rows of a table with the target in its last column and of a
    mask, whose first column marks rows to hold out. Both have no header. Columns are
    scaled as gpfit scales them, and constant columns are left out."""
    with opened(table) as f, opened(mask) as g:
        rows = [list(map(float, row)) for row, held in zip(csv.reader(f), csv.reader(g)) if float(held[0]) == 0]
    values = torch.tensor(rows, dtype=torch.float64)
    deviation, mean = torch.std_mean(values, dim=0, correction=0)
    varies = (values.amax(0) > values.amin(0)).tolist()
    scaled = (values - mean) / deviation
    columns = [c for c, v in enumerate(varies[:-1]) if v]
    return scaled[:, columns].contiguous().to(device), scaled[:, -1].contiguous().to(device), columns


def start(torch, ard, d, device, lengthscale=engines.LENGTHSCALE, signal=engines.SIGNAL, noise=engines.NOISE):
    return torch.tensor([*[math.log(lengthscale)] * (d if ard else 1), math.log(signal), math.log(noise)], dtype=torch.float64, device=device)


class Peer:
    def __init__(self, args, torch):
        self.args, self.torch = args, torch
        self.device = torch.device(args.device)
        self.cuda = self.device.type == "cuda"
        self.ard = args.kernel.endswith("(ard)")

    def emit(self, **fields):
        print(json.dumps(fields), flush=True)

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize(self.device)

    def clear(self):
        gc.collect()  # models of GPyTorch refer to themselves
        if self.cuda:
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats(self.device)

    def peak(self):
        return self.torch.cuda.max_memory_allocated(self.device) if self.cuda else 0

    def guarded(self, fields, f):
        """Emits fields with the results of f, or with its error."""
        self.clear()
        try:
            self.emit(**fields, ok=True, **f(), peak_bytes=self.peak(), torch=self.torch.__version__, torch_cuda=self.torch.version.cuda)
        except Exception as e:  # out of memory, a size that a library does not accept, or an error of its own
            text = " ".join(str(e).split())[:300]
            memory = "out of memory" in text.lower() or "alloc" in text.lower()
            self.emit(**fields, ok=False, memory=memory, error=text)

    def engines(self):
        return [name for name in engines.ENGINES if not self.args.engines or name in self.args.engines.split(";")]

    def evaluate(self):
        x, y = load(self.args.data, self.args.rows, self.torch, self.device)
        d, count = x.shape[1], self.args.problems
        z = start(self.torch, self.ard, d, self.device)
        for n in map(int, self.args.n.split(",")):
            for name in self.engines():
                fields = {"type": "peer", "engine": name, "kernel": self.args.kernel, "d": d, "n": n, "problems": count, "device": str(self.device)}
                if count > 1:
                    self.guarded(fields, lambda: self.timed(name, x[: count * n].reshape(count, n, d), y[: count * n].reshape(count, n), z))
                else:
                    self.guarded(fields, lambda: self.timed(name, x[:n], y[:n], z))

    def timed(self, name, x, y, z):
        large = x.shape[-2] > 20_000
        if large:  # the libraries are warm after a small problem
            engines.ENGINES[name](self.torch, x[:2000].contiguous(), y[:2000].contiguous(), self.ard).eval(z)
            self.clear()
        engine = engines.ENGINES[name](self.torch, x, y, self.ard)
        repeat, warm, seconds = (1, 0, []) if large else (self.args.repeat, 1, [])
        for i in range(-warm, repeat):
            # The last evaluation is at the parameters themselves.
            self.wait()
            began = time.perf_counter()
            value, gradient = engine.eval(z + 1e-6 * (repeat - 1 - i))
            self.wait()
            if i >= 0:
                seconds.append(time.perf_counter() - began)
        value, gradient = value.reshape(-1), gradient.reshape(value.numel(), -1)
        named = engines.names(self.ard, x.shape[-1])
        return {"seconds": seconds, "nlml": value[0].item(), "gradient_log": dict(zip(named, gradient[0].tolist())),
                "nlml_last": value[-1].item(), "gradient_log_last": dict(zip(named, gradient[-1].tolist()))}

    def predict(self):
        x, y = load(self.args.data, self.args.rows, self.torch, self.device)
        z, new = start(self.torch, self.ard, x.shape[1], self.device), x[-self.args.new :]
        expected = None
        if self.args.expect:
            with open(self.args.expect) as f:
                expected = self.torch.tensor([[float(r["mean"]), float(r["std"])] for r in csv.DictReader(f)], dtype=self.torch.float64)
        for n in map(int, self.args.n.split(",")):
            for name in self.engines():
                if name != "PyTorch, two solves":  # the inverse plays no part
                    fields = {"type": "predictions", "engine": name, "kernel": self.args.kernel, "n": n, "rows": self.args.new, "device": str(self.device)}
                    self.guarded(fields, lambda: self.predicted(name, x[:n], y[:n], z, new, expected))

    def predicted(self, name, x, y, z, new, expected):
        step = self.args.step
        warm = engines.ENGINES[name](self.torch, x[:500], y[:500], self.ard)
        warm.prepare(z)
        warm.predict(z, new[:100], 100)
        engine = engines.ENGINES[name](self.torch, x, y, self.ard)
        self.wait()
        began = time.perf_counter()
        engine.prepare(z)
        self.wait()
        factored = time.perf_counter()
        mean, deviation = (v.cpu() for v in engine.predict(z, new, step))
        out = {"seconds_factor": factored - began, "seconds_predict": time.perf_counter() - factored, "step_rows": step}
        if expected is not None:
            out["mean_difference"] = (mean - expected[:, 0]).abs().max().item()
            out["std_difference"] = (deviation - expected[:, 1]).abs().max().item()
        return out

    def fit(self):
        x, y, columns = training(self.args.table, self.args.mask, self.torch, self.device)
        n, d = x.shape
        fields = {"type": "peer-fit", "dataset": self.args.name, "engine": self.args.engines, "optimizer": self.args.optimizer,
                  "kernel": self.args.kernel, "n": n, "d": d, "target": self.args.target, "limit_s": self.args.limit, "device": str(self.device)}
        self.guarded(fields, lambda: self.fitted(x, y, columns))

    def fitted(self, x, y, columns):
        """Fits from lengthscales √d, signal variance 1 and noise variance 0.1 until the NLML
        is within 0.1 nats of the target or time is up."""
        torch, args = self.torch, self.args
        d, make = x.shape[1], engines.ENGINES[args.engines]
        z = start(torch, self.ard, d, self.device, math.sqrt(d), 1.0, 0.1)
        make(torch, x[:500].contiguous(), y[:500].contiguous(), self.ard).eval(z)  # loads the libraries
        engine, out = make(torch, x, y, self.ard), {}
        self.wait()
        began, trajectory = time.perf_counter(), []

        class Enough(Exception):
            pass

        z.requires_grad_(True)
        if args.optimizer == "adam":
            optimizer = torch.optim.Adam([z], lr=0.1)
        else:
            optimizer = torch.optim.LBFGS([z], history_size=10, max_iter=10_000, max_eval=100_000, tolerance_grad=1e-6, tolerance_change=0, line_search_fn="strong_wolfe")

        def closure():
            value, z.grad = engine.eval(z.detach())
            seconds, value = time.perf_counter() - began, value.item()
            trajectory.append([round(seconds, 4), value])
            if args.target is not None and value <= args.target + 0.1:
                raise Enough("reached")
            if seconds > args.limit:
                raise Enough("time limit")
            if len(trajectory) >= args.evaluations:
                raise Enough("evaluations")
            return value

        try:
            while True:
                before = len(trajectory)
                optimizer.step(closure)
                if args.optimizer != "adam" and len(trajectory) <= before + 1:
                    raise Enough("converged")
        except Enough as e:
            out["stopped"] = str(e)
        except Exception as e:  # such as a matrix that is not positive definite
            if not trajectory:
                raise
            out["stopped"] = " ".join(str(e).split())[:200]
        if args.at:  # the same number at gpfit's parameters
            given = json.loads(args.at)
            named = [f"lengthscale[{c}]" for c in columns] if self.ard else ["lengthscale"]
            at = torch.tensor([math.log(given[name]) for name in [*named, "signal_variance", "noise_variance"]], dtype=torch.float64, device=self.device)
            z.requires_grad_(False)
            out["nlml_at_target"] = engine.eval(at)[0].item()
        return {**out, "evaluations": len(trajectory), "trajectory": trajectory, "best": min(v for _, v in trajectory)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["evaluate", "predict", "fit"])
    p.add_argument("--data", help="file of `measure data`")
    p.add_argument("--rows", type=int, help="rows of the file")
    p.add_argument("--n", default="1000")
    p.add_argument("--kernel", default="rbf", choices=["rbf", "rbf(ard)"])
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--engines", help="names separated by semicolons, one for fit: " + "; ".join(engines.ENGINES))
    p.add_argument("--problems", type=int, default=1)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--new", type=int, default=40_000, help="predict: the last rows of the file, which are predicted")
    p.add_argument("--step", type=int, default=2000, help="predict: rows at a time")
    p.add_argument("--expect", help="predict: gpfit's predictions as CSV")
    p.add_argument("--table")
    p.add_argument("--mask")
    p.add_argument("--name", help="fit: name of the table")
    p.add_argument("--optimizer", default="adam", choices=["adam", "lbfgs"])
    p.add_argument("--limit", type=float, default=60, help="fit: seconds")
    p.add_argument("--evaluations", type=int, default=100_000, help="fit: largest number of evaluations")
    p.add_argument("--target", type=float, help="fit: gpfit's NLML")
    p.add_argument("--at", help="fit: gpfit's parameters as JSON")
    args = p.parse_args()
    try:
        import torch

        if not args.engines or "GPyTorch" in args.engines:
            import gpytorch  # noqa: F401
    except ImportError as e:
        print(json.dumps({"type": "missing", "error": str(e)}))
        return
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        getattr(Peer(args, torch), args.command)()


if __name__ == "__main__":
    sys.exit(main())
