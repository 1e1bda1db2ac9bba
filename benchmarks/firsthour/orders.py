"""Writes orders.csv, the table of the first hour: 300 invented deliveries with keys, texts,
dates, booleans and gaps. The target is the number of days that a delivery took.

    python3 benchmarks/firsthour/orders.py > orders.csv
"""
import datetime, math, random

random.seed(4)
print("order,customer,opened,region,express,weight_kg,distance_km,days")
for i in range(300):
    opened = datetime.date(2025, 1, 1) + datetime.timedelta(days=random.randrange(330))
    region = random.choice(["north", "south", "east", "west"])
    express = random.random() < 0.3
    weight = round(random.lognormvariate(1, 0.8), 2)
    distance = random.randrange(5, 900)
    days = 1 + distance / 250 - (1.2 if express else 0)
    days += {"north": 0.8, "south": 0, "east": 0.3, "west": -0.2}[region]
    days += 1.2 * math.exp(-(((opened - datetime.date(2025, 12, 20)).days / 20) ** 2)) + random.gauss(0, 0.3)
    customer = random.choice(["Meyer", "Kaya", "Rossi"])
    gap = "" if random.random() <= 0.05 else weight
    print(f"A{i:04d},{customer},{opened},{region},{'yes' if express else 'no'},{gap},{distance},{days:.1f}")
