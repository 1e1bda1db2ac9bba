"""How long does a default fit of an hourly load take, from 1,000 to 200,000 rows, and how many values of all rows?"""

import sys
import tempfile
from pathlib import Path

from forecasts import forecast
from tables import table

for n in [1000, 1500, 2000, 4000, 9328, 20_000, 50_000, 99_328, 200_000]:
    t, y = table("load", n, 5)
    with tempfile.TemporaryDirectory() as folder:
        _, _, report, cpu = forecast(str(Path(sys.argv[1]).resolve()), Path(folder), t, y, t[-2:])
    seconds, values = report["seconds"], report["evaluations"]["full_size_value"]
    print(f"{n:7} rows: {seconds:6.1f} s, {cpu:6.1f} CPU s, {values} values of all rows, {report['kernel']}, mean {report['mean']}", flush=True)
