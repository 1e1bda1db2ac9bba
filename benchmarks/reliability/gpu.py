#!/usr/bin/env python3
"""Runs whole jobs on a real GPU and disturbs them: repeats, interrupts, kills, resumes,
fills the memory of the card, hides the card.

    python3 gpu.py --gpfit GPFIT --data DIR

GPFIT is a program from benchmarks/gpu/build.sh; DIR holds kin40k/data.csv.gz. It needs
Python 3.9, and PyTorch to fill the card. Each line says what was done and what came out;
the exit status is 1 if something was wrong.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HOLD = """
import sys, torch
free, total = torch.cuda.mem_get_info()
block = torch.empty(int(free - float(sys.argv[1])), dtype=torch.uint8, device="cuda")
print("held", flush=True)
sys.stdin.readline()
"""


class Jobs:
    def __init__(self, args):
        self.gpfit, self.folder, self.wrong = args.gpfit, pathlib.Path(tempfile.mkdtemp()), 0
        self.table = pathlib.Path(args.data) / "kin40k" / "data.csv.gz"
        self.rows, self.device = str(args.rows), args.device

    def command(self, name, *more, device=None, rows=None):
        return [self.gpfit, "fit", self.table, "--kernel", "rbf(ard)", "--coarse", "off", "--subsample", rows or self.rows, "--max-evals", "25", "--device", device or self.device,
                "--out", self.folder / f"{name}.gpfit", "--json", *more]

    def run(self, command, **environment):
        begin = time.monotonic()
        p = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})
        return p, time.monotonic() - begin

    def say(self, what, ok, result):
        self.wrong += not ok
        print(f"{'ok   ' if ok else 'WRONG'} {what}: {result}", flush=True)

    def fit(self, name, *more, **options):
        p, seconds = self.run(self.command(name, *more, **options))
        if p.returncode:
            self.say(name, False, f"exit code {p.returncode}: {p.stderr[-500:]}")
            return {}
        return {**json.loads(p.stdout), "wall": seconds}

    def repeat(self):
        """The same job twice, and on the CPU."""
        first, again = self.fit("first"), self.fit("again")
        same = first.get("nlml") == again.get("nlml") and first.get("parameters") == again.get("parameters")
        self.say("the same fit twice", same and bool(first), f"{'the same bits' if same else 'other bits'}, NLML {first.get('nlml')}, {first.get('wall', 0):.1f} s and {again.get('wall', 0):.1f} s")
        less = str(int(self.rows) // 4)
        card, host = self.fit("less", rows=less), self.fit("host", rows=less, device="cpu")
        difference = abs(host.get("nlml", 0) - card.get("nlml", 1))
        self.say(f"a fit of {less} rows on the CPU, too", difference < 1e-3, f"NLML differs by {difference:.1e}, {host.get('wall', 0):.1f} s, on the GPU {card.get('wall', 0):.1f} s")
        return first

    def disturb(self, expected, number, delay):
        """Interrupts or kills a fit, then runs the same command to its end."""
        name = f"{signal.Signals(number).name} after {delay} s"
        command = self.command(name.replace(" ", "-"), "--checkpoint", self.folder / f"{name}.ckpt")
        p = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        p.send_signal(number)
        begin = time.monotonic()
        p.communicate()
        took = time.monotonic() - begin
        want = 130 if number == signal.SIGINT else -signal.SIGKILL
        done, _ = self.run([*command, "--force"] if number == signal.SIGINT else command)
        result = json.loads(done.stdout) if done.returncode == 0 else {}
        same = result.get("nlml") == expected.get("nlml") and result.get("parameters") == expected.get("parameters")
        self.say(name, same and p.returncode == want, f"exit code {p.returncode} after {took:.2f} s; the same command then ended with {done.returncode}, {'the same bits' if same else 'other bits ' + done.stderr[-300:]}")

    def hide(self):
        p, seconds = self.run(self.command("hidden", device="auto", rows="500"), CUDA_VISIBLE_DEVICES="")
        self.say("no visible card, --device auto", p.returncode == 0, f"exit code {p.returncode}, {seconds:.2f} s")
        p, _ = self.run(self.command("hidden2"), CUDA_VISIBLE_DEVICES="")
        self.say("no visible card, --device cuda:0", p.returncode == 12, f"exit code {p.returncode}: {p.stderr.strip().splitlines()[-1:]}")

    def small(self):
        p, seconds = self.run(self.command("small", device="auto", rows="500"))
        device = json.loads(p.stdout).get("device") if p.returncode == 0 else p.stderr[-300:]
        self.say("500 rows, --device auto", p.returncode == 0 and seconds < 3, f"on {device} in {seconds:.2f} s")

    def full(self):
        """Another process holds all but 1 GB, then all but 100 MB, of the card."""
        for rest in ("1e9", "1e8"):
            holder = subprocess.Popen([sys.executable, "-c", HOLD, rest], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if holder.stdout.readline().strip() != "held":
                print("skipped: PyTorch cannot hold the memory of the card")
                return
            p, seconds = self.run(self.command("full" + rest, rows="20000"))
            self.say(f"a card with {float(rest) / 1e6:.0f} MB free", p.returncode == 12, f"exit code {p.returncode} in {seconds:.1f} s: {p.stderr.strip()[-220:]}")
            holder.communicate("\n")

    def together(self):
        """Four fits at once on one card."""
        running = [subprocess.Popen(list(map(str, self.command(f"at-once-{i}"))), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(4)]
        results = [(p.communicate()[0], p.returncode) for p in running]
        values = {json.loads(text)["nlml"] for text, code in results if code == 0}
        self.say("four fits at once", len(values) == 1 and all(code == 0 for _, code in results), f"exit codes {[code for _, code in results]}, {len(values)} value of the NLML")

    def predict(self):
        outputs = []
        for device in (self.device, "cpu"):
            p, seconds = self.run([self.gpfit, "predict", self.folder / "first.gpfit", self.table, "--device", device])
            outputs.append([line.split(",") for line in p.stdout.splitlines()[1:]])
            print(f"      predictions on {device}: exit code {p.returncode}, {seconds:.1f} s")
        pairs = [(float(a), float(b)) for x, y in zip(*outputs) for a, b in zip(x, y)]
        worst = max((abs(a - b) / (1 + abs(b)) for a, b in pairs), default=float("nan"))
        self.say("predictions of the GPU against the CPU's", worst < 1e-8 and len(outputs[0]) == len(outputs[1]) > 0, f"{len(outputs[0])} rows differ by at most {worst:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpfit", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, default=16_000, help="rows of the fits (default: %(default)s)")
    parser.add_argument("--device", default="cuda:0")
    jobs = Jobs(parser.parse_args())
    jobs.small()
    jobs.hide()
    first = jobs.repeat()
    for number, delay in ((signal.SIGINT, 2.2), (signal.SIGKILL, 2.2), (signal.SIGKILL, 2.5)):
        jobs.disturb(first, number, delay)
    jobs.predict()
    jobs.full()
    jobs.together()
    return 1 if jobs.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
