"""Hourly series with days, weeks and years."""

import numpy as np
from scipy.signal import lfilter

DAY, WEEK, YEAR = 24, 168, 8766
PROFILE = [0.62, 0.58, 0.56, 0.55, 0.57, 0.65, 0.80, 0.95, 1.02, 1.05, 1.06, 1.07, 1.06, 1.04, 1.03, 1.03, 1.06, 1.12, 1.15, 1.10, 1.02, 0.92, 0.80, 0.70]


def wander(rng, n, hours, size):
    """Returns a first-order autoregression with a time constant and a standard deviation."""
    phi = np.exp(-1 / hours)
    return lfilter([1], [1, -phi], rng.standard_normal(n) * size * np.sqrt(1 - phi**2))


def table(kind, n, seed):
    """Returns n hours of a temperature, or of the load of a power grid that follows the hour, the weekday and that temperature."""
    rng, t = np.random.default_rng(seed), np.arange(n, dtype=float)
    season = -np.cos(2 * np.pi * (t - 400) / YEAR)
    day = (3 + 2 * season) * np.cos(2 * np.pi * (t - 15) / DAY)
    temperature = 10 + 9 * season + day + wander(rng, n, 72, 3) + wander(rng, n, 6, 0.8) + 0.3 * rng.standard_normal(n)
    if kind == "temp":
        return t, temperature
    hour, weekday = (t % DAY).astype(int), (t // DAY).astype(int) % 7
    people = np.array(PROFILE)[hour] * np.where(weekday >= 5, 0.85, 1)
    air = 12 * np.maximum(0, 15 - temperature) + 9 * np.maximum(0, temperature - 20)
    return t, 1000 * people * (1 + 0.02 * t / YEAR / 5) + air + wander(rng, n, 30, 20) + 8 * rng.standard_normal(n)
