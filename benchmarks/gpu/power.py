"""Samples the power of a GPU and the energy of the CPU while a program runs, for run.py."""

import datetime
import pathlib
import shutil
import signal
import subprocess
import threading
import time

PERIOD = 0.1  # seconds between samples


class GPU:
    """Asks nvidia-smi for the power every 100 ms and keeps (time, watts). It changes no
    setting of the card."""

    # The second field is an average over a second on recent cards.
    FIELDS = ("power.draw.instant", "power.draw")

    def __init__(self, index, kill):
        self.samples, self.kill, self.process, self.field = [], kill, None, self.supported(index)
        if self.field:
            command = ["nvidia-smi", f"--query-gpu=timestamp,{self.field}", "--format=csv,noheader,nounits", "-lms", str(round(1000 * PERIOD)), "-i", str(index)]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
            threading.Thread(target=self.read, daemon=True).start()

    def supported(self, index):
        for field in self.FIELDS if shutil.which("nvidia-smi") else ():
            try:
                p = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "-i", str(index)], capture_output=True, text=True, timeout=20)
                float(p.stdout)
                return field
            except (OSError, ValueError, subprocess.TimeoutExpired):
                pass
        return None

    def read(self):
        for line in self.process.stdout:
            at, _, watts = line.rpartition(",")
            try:
                # Its own time, because lines may arrive late.
                self.samples.append((datetime.datetime.strptime(at.strip(), "%Y/%m/%d %H:%M:%S.%f").timestamp(), float(watts)))
            except ValueError:
                pass

    def stop(self):
        if self.process:
            self.kill(self.process, signal.SIGKILL)
            self.process.wait()


class CPU:
    """Reads the energy counters of the processors (RAPL) every 100 ms and keeps (time,
    joules since the first sample), summed over the packages."""

    def __init__(self, folder="/sys/class/powercap"):
        self.samples, self.counters, self.done = [], [], threading.Event()
        for zone in sorted(pathlib.Path(folder).glob("intel-rapl:*")):
            try:
                if (zone / "name").read_text().startswith("package"):
                    joules(zone)
                    self.counters.append([zone, joules(zone), 1e-6 * int((zone / "max_energy_range_uj").read_text())])
            except (OSError, ValueError):  # often only root may read them
                pass
        self.total = 0.0
        if self.counters:
            self.thread = threading.Thread(target=self.read, daemon=True)
            self.thread.start()

    @property
    def readable(self):
        return bool(self.counters)

    def read(self):
        while True:
            for counter in self.counters:
                zone, last, most = counter
                try:
                    counter[1] = joules(zone)
                except (OSError, ValueError):
                    continue
                self.total += (counter[1] - last) % most if most else counter[1] - last  # it starts again at 0 after most
            self.samples.append((time.time(), self.total))
            if self.done.wait(PERIOD):
                return

    def stop(self):
        self.done.set()
        if self.counters:
            self.thread.join()


def joules(zone):
    return 1e-6 * int((zone / "energy_uj").read_text())


def at(samples, t):
    """Interpolates (time, value) at a time, or returns None outside of the samples."""
    for (t0, v0), (t1, v1) in zip(samples, samples[1:]):
        if t0 <= t <= t1:
            return v0 if t1 == t0 else v0 + (v1 - v0) * (t - t0) / (t1 - t0)
    return None


def integral(samples, begin, end):
    """Returns the joules of (time, watts) between two times, by the trapezoidal rule, or
    None if the samples do not reach from the one to the other."""
    first, last = at(samples, begin), at(samples, end)
    if first is None or last is None:
        return None
    points = [(begin, first), *((t, w) for t, w in samples if begin < t < end), (end, last)]
    return sum((w0 + w1) / 2 * (t1 - t0) for (t0, w0), (t1, w1) in zip(points, points[1:]))


def counted(samples, begin, end):
    """Returns the difference of (time, joules) between two times, or None."""
    first, last = at(samples, begin), at(samples, end)
    return None if first is None or last is None else last - first
