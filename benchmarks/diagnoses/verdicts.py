"""Does the verdict agree with rows that the fit does not have? The last five tables are real ones of --data, other rows for each seed."""

import runs
import tables

REAL = ["airfoil", "concrete", "elevators", "energy", "yacht"]


def one(p, seed, a):
    number = seed - (a.seed + a.tables - len(REAL))
    if number < 0:
        return runs.judged(p, tables.varied(seed))
    try:
        return {**runs.judged(p, tables.real(a.data, REAL[number], seed)), "name": REAL[number]}
    except FileNotFoundError:
        return {"skipped": REAL[number]}


def summary(raw):
    known = [r for r in raw if "level" in r]
    good = [r for r in known if r["level"] == "good"]
    right = [r for r in known if r["error"] <= 0.5 and 0.9 <= r["cover"] <= 0.99]
    return (f"{len(known)} tables: good with an error of at least 0.9: {sum(r['error'] >= 0.9 for r in good)} of {len(good)} good; error at most 0.5 and cover of 0.90 to "
            f"0.99: {sum(r['level'] == 'good' for r in right)} of {len(right)} good; skipped {sum('skipped' in r for r in raw)}")


runs.main(__doc__, one, summary, 55, lambda a: a.add_argument("--data", default="../shared/data", help="folder of real tables"))
