"""Writes passengers.csv and passengers_new.csv beside this script, and the same passengers
in other forms for tests to cmd/gpfit/testdata/passengers.

    python3 -m venv venv && venv/bin/pip install pandas==3.1.1 pyarrow==26.0.1
    venv/bin/python examples/make_passengers.py

The passengers are invented. The tables have numbers, booleans, categories, dates with a
time, times of day, gaps, and names that identify rows.
"""
import datetime, json, math, os, random

import pandas as pd

here = os.path.dirname(os.path.abspath(__file__))
tests = os.path.join(here, "..", "cmd", "gpfit", "testdata", "passengers")
names = ["name", "class", "sex", "age", "alone", "port", "booked", "dinner", "fare"]


def passengers(count, seed):
    pick, rows = random.Random(seed), []
    for i in range(count):
        berth = pick.choice([1, 2, 2, 3, 3, 3])
        sex = pick.choice(["female", "male"])
        age = None if pick.random() < 0.1 else pick.randint(1, 75)
        alone = pick.random() < 0.4
        port = pick.choices(["Southampton", "Cherbourg", "Queenstown"], [6, 3, 2])[0]
        booked = datetime.datetime(1912, 1, 10) + datetime.timedelta(minutes=pick.randrange(90 * 24 * 60))
        dinner = datetime.time(18 + pick.randrange(3), pick.choice([0, 15, 30, 45]))
        fare = 90 / berth**1.5 + (6 if port == "Cherbourg" else 0) - (4 if alone else 0)
        fare += 5 * math.sin((booked - datetime.datetime(1912, 1, 1)).days / 15) + (30 - abs(30 - (age or 30))) / 10
        fare += pick.gauss(0, 1)
        rows.append([f"Passenger, {'Mrs' if sex == 'female' else 'Mr'} {i:03d}", berth, sex, age, alone, port, booked, dinner, round(fare, 2)])
    return rows


def text(value, decimal):
    if value is None:
        return "NA"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, datetime.time):
        return value.strftime("%H:%M")
    if isinstance(value, float):
        return str(value).replace(".", decimal)
    return str(value)


def write(path, rows, separator, decimal):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        print(separator.join(names), file=file)
        for row in rows:
            cells = [text(v, decimal) for v in row]
            print(separator.join(f'"{c}"' if separator in c else c for c in cells), file=file)


train, new = passengers(120, 1), passengers(12, 2)
for i, row in enumerate(new):
    row[0], row[3] = f"{row[0][:-3]}{len(train) + i}", row[3] or 30
write(os.path.join(here, "passengers.csv"), train, ",", ".")
write(os.path.join(here, "passengers_new.csv"), new, ",", ".")
write(os.path.join(tests, "decimal.csv"), train, ";", ",")
with open(os.path.join(tests, "lines.jsonl"), "w", encoding="utf-8", newline="\n") as file:
    for row in train:
        cells = {name: v if v is None or isinstance(v, (bool, int, float)) else text(v, ".") for name, v in zip(names, row)}
        print(json.dumps({name: v for name, v in cells.items() if v is not None}), file=file)
frame = pd.DataFrame(train, columns=names)
frame["age"], frame["sex"] = frame["age"].astype("Int64"), frame["sex"].astype("category")
frame.to_feather(os.path.join(tests, "frame.feather"))
frame.to_parquet(os.path.join(tests, "table.parquet"))
