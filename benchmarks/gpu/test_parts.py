"""Tests the arithmetic of the parts of run.py, and the engines of peer.py if PyTorch is there."""

import math
import pathlib
import tempfile
import time
import types
import unittest

import compare
import parts
import power
import report
import run as script

try:
    import torch

    import engines
except ImportError:
    torch = None


class Power(unittest.TestCase):
    def test_integral(self):
        ramp = [(0.1 * i, 100.0 * i) for i in range(11)]  # 1000 W more each second
        self.assertAlmostEqual(power.integral(ramp, 0.0, 1.0), 500)
        self.assertAlmostEqual(power.integral(ramp, 0.25, 0.75), 250)
        self.assertAlmostEqual(power.integral(ramp, 0.31, 0.32), 3.15)
        self.assertIsNone(power.integral(ramp, -0.1, 0.5))
        self.assertIsNone(power.integral(ramp, 0.5, 1.1))
        self.assertIsNone(power.integral([], 0, 1))

    def test_sizes(self):
        self.assertEqual([str(report.scaled(n, s)) for n, s in ((600.0, 1), (600 / 0.5, 0.5), (100, 0.01))], ["600", "600", "40"])

    def test_counter(self):
        with tempfile.TemporaryDirectory() as folder:
            zones = [pathlib.Path(folder) / f"intel-rapl:{i}" for i in range(3)]
            for zone, name in zip(zones, ("package-0", "package-1", "psys")):
                zone.mkdir()
                (zone / "name").write_text(name)
                (zone / "max_energy_range_uj").write_text("10000000")
                (zone / "energy_uj").write_text("9000000")
            cpu = power.CPU(folder)
            self.assertTrue(cpu.readable)
            for zone, joules in zip(zones, (2, 9.5, 5)):  # the first began again at 0
                (zone / "energy_uj").write_text(str(round(1e6 * joules)))
            time.sleep(3 * power.PERIOD)
            cpu.stop()
            self.assertAlmostEqual(cpu.samples[-1][1], 3 + 0.5)
        self.assertFalse(power.CPU("/nowhere").readable)


class Comparison(unittest.TestCase):
    def test_crossover(self):
        cpu = {n: 1e-9 * n**3 for n in (250, 500, 1000, 2000)}
        gpu = {n: 1e-9 * 700**3 for n in cpu}
        self.assertEqual(compare.crossover(gpu, cpu), 700)  # straight lines in logarithms
        self.assertEqual(compare.crossover(gpu, {n: 10 for n in cpu}), 250)
        self.assertIsNone(compare.crossover(gpu, {n: 0.01 for n in cpu}))
        self.assertIsNone(compare.crossover({}, cpu))
        self.assertEqual(compare.crossover({**gpu, 20_000: 1}, cpu), 700)  # only n with both count
        # Faster, slower, faster: the last crossing counts.
        self.assertGreater(compare.crossover({100: 1, 200: 3, 400: 1}, {100: 2, 200: 2, 400: 2}), 200)

    def test_within(self):
        trajectory = [[1, 10.0], [2, 8.0], [3, 9.0], [4, 7.05]]
        self.assertEqual([parts.within(trajectory, 7 + nats) for nats in (5, 1, 0.1, 0.01)], [1, 2, 4, None])

    def test_differences(self):
        a, b = {"nlml": 100.0, "gradient_log": {"x": 10.0, "y": 1e-3}}, {"nlml": 100.1, "gradient_log": {"x": 10.0, "y": 2e-3}}
        nlml, gradient = parts.differences(a, b)
        self.assertAlmostEqual(nlml, 1e-3)
        self.assertAlmostEqual(gradient, 1e-4)


class Largest(unittest.TestCase):
    """The choice of the largest matrix in tiles."""

    class Run:
        def __init__(self, left=250):
            self.args, self.time, self.records = types.SimpleNamespace(device="cuda:0", scale=1), left, []

        def n(self, n):
            return n

        def left(self):
            return self.time

        def record(self, r):
            self.records.append(r)

        def program(self, name):
            return name

        def run(self, command, limit, **options):
            self.records.append(command)

    def choose(self, free, rate, **options):
        run = self.Run(**options)
        parts.largest_tiles(run, [{"type": "device", "memory_free": free}, {"type": "tiles", "way": "tiles", "gflops": rate}, {"type": "tiles", "way": "dense", "gflops": 1e6}], [])
        (found,) = run.records
        return found["why"] if isinstance(found, dict) else found[3]

    def test_choice(self):
        self.assertEqual(self.choose(149.8e9, 50e3), 188_000)
        self.assertEqual(self.choose(84.4e9, 50e3), 140_000)
        self.assertIn("39.0 GB are free, and 140000 rows take 81.5 GB", self.choose(39e9, 50e3))
        self.assertIn("n = 140000 would take about 589 s", self.choose(84.4e9, 5e3))
        self.assertIn("90 s are left", self.choose(84.4e9, 50e3, left=90))


class Limits(unittest.TestCase):
    def test_sum(self):
        self.assertLessEqual(script.budget(parts.PARTS), 30 * 60)
        self.assertTrue(all(s.least <= s.limit <= 600 for s in parts.PARTS))
        self.assertIn(f"{script.budget(parts.PARTS)} s", script.plan())


@unittest.skipUnless(torch, "SKIPPED, no torch and gpytorch in this Python")
class Engines(unittest.TestCase):
    def test_gradients(self):
        torch.manual_seed(1)
        torch.set_default_dtype(torch.float64)
        x, y = torch.randn(3, 30, 4), torch.randn(3, 30)
        for ard in (False, True):
            z = torch.randn(6 if ard else 3) * 0.3
            for name, make in engines.ENGINES.items():
                with self.subTest(engine=name, ard=ard), torch.no_grad():
                    value, gradient = make(torch, x, y, ard).eval(z)
                    self.assertEqual(list(gradient.shape), [3, len(engines.names(ard, 4))])
                    for k in range(len(z)):
                        step = torch.zeros_like(z)
                        step[k] = 1e-5
                        central = (make(torch, x, y, ard).eval(z + step)[0] - make(torch, x, y, ard).eval(z - step)[0]) / 2e-5
                        torch.testing.assert_close(gradient[:, k], central, rtol=1e-6, atol=1e-6)
                    # A problem of a batch is a problem alone, and its NLML is the density's.
                    alone, by_one = make(torch, x[2], y[2], ard).eval(z)
                    torch.testing.assert_close(alone, value[2])
                    torch.testing.assert_close(by_one, gradient[2])
                    p = z.exp()
                    k = p[-2] * torch.exp(-0.5 * ((x[2][:, None] - x[2][None]) / p[:-2]).square().sum(-1)) + p[-1] * torch.eye(30)
                    density = torch.distributions.MultivariateNormal(torch.zeros(30), k).log_prob(y[2])
                    self.assertTrue(math.isclose(alone.item(), -density.item(), rel_tol=1e-10))

    def test_predictions(self):
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(2)
        x, y, new = torch.randn(30, 4), torch.randn(30), torch.randn(7, 4)
        z = torch.log(torch.tensor([1.1, 1.5, 0.1]))
        k = lambda a, b: 1.5 * torch.exp(-0.5 * ((a[:, None] - b[None]) / 1.1).square().sum(-1))  # noqa: E731
        inverse = torch.linalg.inv(k(x, x) + 0.1 * torch.eye(30))
        mean, deviation = k(new, x) @ inverse @ y, (1.6 - (k(new, x) @ inverse * k(new, x)).sum(1)).sqrt()
        for name, make in engines.ENGINES.items():
            with self.subTest(engine=name), torch.no_grad():
                engine = make(torch, x, y, False)
                engine.prepare(z)
                got = engine.predict(z, new, 3)
                torch.testing.assert_close(got[0], mean)
                torch.testing.assert_close(got[1], deviation)


if __name__ == "__main__":
    unittest.main()
