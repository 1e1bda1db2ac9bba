"""Write two_optima.csv: 20 noisy values of a wave with a slope, for docs/tuning.md.

The likelihood of a GP has two optima there: the wave with little noise, and the slope with
the wave as noise. The script needs only the standard library:

    python3 make_two_optima.py > two_optima.csv
"""

import math
import random

random_numbers = random.Random(5)
print("x,y")
for _ in range(20):
    x = random_numbers.uniform(0, 10)
    y = math.sin(2.2 * x) + 0.25 * x + random_numbers.gauss(0, 0.6)
    print(f"{x:.3f},{y:.3f}")
