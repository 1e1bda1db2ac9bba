"""Messy exports of offices: are they read after at most two commands, the second one being the command that the first one printed?

    go build -o /tmp/offices/gpfit ./cmd/gpfit
    python3 benchmarks/contact/offices.py /tmp/offices/gpfit FOLDER > benchmarks/results/2026-11-29-doors-offices.txt

The tables are made up: 24 rows of a day, an amount, a share, a region and sales, written with titles, units, totals, notes, thousands,
currencies, dates and gaps as offices do. A table is read if a fit ends and its rows, and the sums of the numeric columns that are no
inputs of another kind, are those that were meant.
"""
import datetime as dt
import os

import shlex
import subprocess
import sys

import numpy as np

GPFIT, FOLDER = sys.argv[1:3]
N = 24
ROWS = [(dt.date(2024, 1, 9) + dt.timedelta(days=5 * i), 900 + 137.25 * ((i * 7) % 24), ((i * 11) % 24) / 4 - 1, ["North", "South", "West"][i % 3], 1000 + 250.5 * ((i * 5) % 24) + 3.25 * i) for i in range(N)]
EN = lambda v, d=2: f"{v:,.{d}f}"
PLAIN = lambda v, d=2: f"{v:.{d}f}"
DE = lambda v, d=2: EN(v, d).translate(str.maketrans(",.", ".,"))
CH = lambda v, d=2: EN(v, d).replace(",", "'")
FR = lambda v, d=2: EN(v, d).replace(",", "\u202f").replace(".", ",")
HEAD = ["Day", "Amount", "Share", "Region", "Sales"]


def lines(sep=",", date="%Y-%m-%d", amount=PLAIN, share=PLAIN, sales=PLAIN, head=HEAD, q=False, cell=lambda i, c, t: t):
    quote = lambda t: '"' + t + '"' if q or sep in t else t
    out = [sep.join(map(quote, head))] if head else []
    for i, (d, a, s, r, y) in enumerate(ROWS):
        texts = [d.strftime(date), amount(a), share(s), r, sales(y)]
        out.append(sep.join(quote(cell(i, c, t)) for c, t in enumerate(texts)))
    return out


def gaps(word, column=1, rows=(3, 11)):
    return lambda i, c, t: word if c == column and i in rows else t


neg = lambda f: (lambda v: f"({f(-v)})" if v < 0 else f(v))
T = {}  # name: lines, rows that are meant, further bytes
T["titles and total"] = ["Sales report 2024", "Department 7", ""] + lines() + ["Total,,,," + PLAIN(sum(r[4] for r in ROWS))], N
L = lines(";")
T["units row"] = [L[0], ";EUR;%;;EUR"] + L[1:], N
T["units row in all cells"] = [L[0], "date;EUR;%;name;EUR"] + L[1:], N
T["german"] = ["sep=;"] + lines(";", "%d.%m.%Y", DE, DE, DE), N
T["german cp1252, title"] = ["Umsätze 2024 für Köln", ""] + lines(";", "%d.%m.%Y", DE, DE, DE), N, "cp1252"
T["german, totals, notes"] = ["Umsatz", ""] + lines(";", "%d.%m.%Y", DE, DE, DE) + ["Summe;;;;" + DE(sum(r[4] for r in ROWS)), "", "Quelle: Buchhaltung; vorläufig"], N
T["us dates and dollars"] = lines(",", "%m/%d/%Y", lambda v: "$" + EN(v), lambda v: PLAIN(v * 100) + "%", lambda v: "$" + EN(v)), N
T["uk dates, pounds"] = lines(",", "%d/%m/%Y", lambda v: "£" + EN(v), sales=lambda v: "£" + EN(v)), N
T["french"] = lines(";", "%d/%m/%Y", lambda v: FR(v) + " €", FR, lambda v: FR(v) + " €"), N
T["swiss"] = lines(";", "%d.%m.%Y", CH, CH, CH), N
T["brackets"] = lines(",", share=neg(PLAIN), sales=EN), N
T["trailing minus"] = lines("\t", share=lambda v: PLAIN(-v) + "-" if v < 0 else PLAIN(v)), N
T["unicode minus"] = lines(share=lambda v: PLAIN(v).replace("-", "−")), N
T["two header rows"] = [",2024,2024,place,2024"] + lines(), N
T["repeated header"] = lines()[:13] + lines()[:1] + lines()[13:], N
T["n/a"] = lines(cell=gaps("n/a")), N - 2
T["dash and dots"] = lines(";", cell=lambda i, c, t: {(3, 1): "-", (9, 2): "..", (15, 1): "–"}.get((i, c), t)), N - 3
T["formula errors"] = lines(cell=lambda i, c, t: {(3, 1): "#DIV/0!", (9, 2): "#VALUE!"}.get((i, c), t)), N - 2
T["merged cells"] = lines(cell=lambda i, c, t: "" if c == 3 and i % 3 else t), N
T["row numbers"] = ["Nr,Day,Amount,Share,Region,Sales"] + [f"{i + 1},{t}" for i, t in enumerate(lines(head=None))], N
T["trailing separators"] = [t + ";" for t in lines(";")], N
T["quoted everything"] = lines(q=True, amount=EN, sales=EN), N
T["utf-16"] = lines("\t"), N, "utf-16"
T["bom, crlf and lf"] = [t + ("\r" if i % 2 else "") for i, t in enumerate(lines())], N, "utf-8-sig"
T["comments"] = ["# exported by the ledger", "# 2024-07-01"] + lines(";"), N
T["2-digit years"] = lines(",", "%d/%m/%y"), N
T["2-digit years, points"] = lines(";", "%d.%m.%y", DE, DE, DE), N
T["months by name"] = lines(",", "%d-%b-%y", EN, sales=EN), N
T["am and pm"] = lines(",", "%m/%d/%Y 08:30 AM"), N
T["scientific with comma"] = lines(";", amount=lambda v: f"{v:.5E}".replace(".", ","), share=DE, sales=lambda v: f"{v:.6E}".replace(".", ",")), N
T["blank lines, footnote"] = lines()[:9] + ["", ""] + lines()[9:] + ["", "* preliminary figures"], N
T["report header"] = ["Company:,ACME,,,", "Period:,2024,,,", ",,,,"] + lines() + [",,,,", "Total,,,," + PLAIN(1e6)], N
T["subtotals"] = lines()[:13] + ["Subtotal,,,," + PLAIN(5e4)] + lines()[13:] + ["Subtotal,,,," + PLAIN(5e4), "Total,,,," + PLAIN(1e5)], N
T["units within cells"] = lines(",", amount=lambda v: PLAIN(v) + " EUR", share=lambda v: PLAIN(v) + " kg"), N


def run(words):
    done = subprocess.run([GPFIT, *words], cwd=FOLDER, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def wrong(meant, words):
    """Say what is wrong with the numbers of a fit, "" if they are those that were meant, up to a unit of each column."""
    code, _, err = run(["fit", *words, "--kernel", "rbf", "--restarts", "0", "--posterior", "none", "--force", "--out", "m.gpfit"])
    if code:
        return err.strip().splitlines()[-1]
    run(["export", "m.gpfit", "--out", "m.npz", "--force"])
    arrays = np.load(os.path.join(FOLDER, "m.npz"))
    rows = [r for i, r in enumerate(ROWS) if i not in meant]
    if len(arrays["y"]) != len(rows):
        return f"{len(arrays['y'])} rows, not {len(rows)}"
    for c, name in enumerate(HEAD):
        values = [r[c].toordinal() if c == 0 else r[c] for r in rows]
        if c == 3:
            continue
        have = arrays["y"].reshape(len(rows), -1).T if c == 4 else arrays["X"].T
        if not any(np.ptp(x) > 0 and np.corrcoef(x, values)[0, 1] > 1 - 1e-7 for x in have):
            return "no column holds the values of " + name
    return ""


def tried(path, meant):
    """Fit, then run the command that the error or the check prints; return the number of commands and what is wrong."""
    code, _, err = run(["fit", path, "--kernel", "rbf", "--restarts", "0", "--posterior", "none", "--force", "--out", "m.gpfit"])
    if code == 0:
        return 1, wrong(meant, [path])
    _, out, _ = run(["check", path])
    last = out.strip().splitlines()[-1] if out.strip() else ""
    if ": a fit reads it: gpfit fit " not in ":" + last or "change the lines" in last:
        return 0, " / ".join(out.strip().splitlines()[-3:])[-300:]
    words = shlex.split(last.split("gpfit fit ", 1)[1])
    return 2, wrong(meant, words) + " by " + shlex.join(words) if wrong(meant, words) else ""


counts = [0, 0, 0, 0]
os.makedirs(FOLDER, exist_ok=True)
for k, (name, (text, n, *code)) in enumerate(T.items()):
    path = f"t{k}.csv"
    with open(os.path.join(FOLDER, path), "wb") as file:
        file.write(("\n".join(text) + "\n").encode(*code))
    meant = set() if n == N else {3, 11} if name == "n/a" else {3, 9} if n == N - 2 else {3, 9, 15}
    commands, fault = tried(path, meant)
    kind = 3 if commands and fault else commands
    counts[kind] += 1
    print(f"{['not read', 'read at once', 'read by the command', 'WRONG'][kind]}: {name}{': ' + fault if fault else ''}", flush=True)
print(f"# {len(T)} tables: {counts[1]} read at once, {counts[2]} by the command of the check, {counts[0]} not read, {counts[3]} read wrongly")
