"""Write five years of a made-up hourly load, in MW, with a trend, days, weeks and two weeks without data:

    python3 docs/gallery/make_hourly.py > hourly.csv
    python3 docs/gallery/make_hourly.py 10 > around.csv

The first command leaves out the last two weeks. The second one writes the last ten days of the first and these two
weeks. Time is in days. The numbers are drawn with a fixed seed; the script needs only the standard library.
"""

import math
import random
import sys

END = 5 * 365
FORECAST = END - 14
first, last = 0, FORECAST
if len(sys.argv) > 1:
    first, last = FORECAST - float(sys.argv[1]), END
DAY = 2 * math.pi
draw = random.Random(22)
level, day, week = 0.0, 1.0, 1.0
print("day,load")
for hour in range(24 * END):
    t = hour / 24
    level += draw.gauss(0, 0.12) - 0.002 * level
    day += draw.gauss(0, 0.005) - 0.001 * (day - 1)
    week += draw.gauss(0, 0.005) - 0.001 * (week - 1)
    noise = draw.gauss(0, 1.5)
    if 700 <= t < 714 or not first <= t < last:
        continue
    shape = 9 * day * math.sin(DAY * (t - 0.35)) + 4 * day * math.sin(2 * DAY * (t - 0.1))
    weekly = 5 * week * math.sin(DAY * t / 7) + 2 * week * math.sin(2 * DAY * t / 7 + 1)
    print(f"{t:.4f},{80 + 0.01 * t + level + shape + weekly + noise:.2f}")
