#!/usr/bin/env python3
"""Compares two recordings of record.py bit by bit, except times, process numbers,
versions and the names of temporary folders."""

import argparse
import difflib
import fnmatch
import io
import json
import math
import re
import struct
import sys
import zipfile
import zlib
from pathlib import Path

# Keys of JSON objects whose values differ from run to run.
DROPPED = {
    # times
    "seconds", "evaluation_seconds", "estimated_seconds", "fit_seconds", "predict_seconds", "busy_seconds", "jobs_per_second", "time",
    "changed", "created", "since", "date",
    # memory, and sums over records and models that contain it or times
    "peak_bytes", "crc32c", "model_sha256",
    # the process and the build
    "host", "pid", "version", "program", "revision", "go", "platform", "gpfit",
}
# The same for objects of one "type" only: the measurements of gpfit bench.
DROPPED_OF = {
    "model": {"bytes", "sha256"},  # of the file, which contains times
    "checkpoint": {"bytes"},
    "machine": {"cpu", "cpus", "os", "arch"},
    "bench": {"seconds_value", "seconds_value_gradient", "all_seconds_value", "all_seconds_value_gradient", "gflops", "dgemm_gflops",
              "dgemm_n", "fraction_of_dgemm", "peak_bytes", "predict_rows_per_second"},
}
# The first word of a checkpoint. Descents that are evaluated side by side take turns with its
# lines, in an order that varies.
JOURNAL = "gpfit-checkpoint "
# Columns of CSV tables.
DROPPED_COLUMNS = {"seconds", "fit_seconds", "predict_seconds", "host", "pid"}

# Replacements in texts, after those of the folders that recording.json names.
DURATION = r"\d+(?:\.\d+)?(?:ns|µs|ms|s|m(?:\d+(?:\.\d+)?s)?|h\S*)"
MASKS = [(re.compile(pattern, re.MULTILINE), replacement) for pattern, replacement in [
    # Progress appears once per interval, but the first iteration of a stage is always
    # shown.
    (rf"^gpfit: \[{DURATION}\] (?:start 0, iteration 0:|\d+ rows, start 0, iteration 0:).* %\n", ""),
    (rf"^gpfit: \[{DURATION}\] ((?:\d+ rows, )?start 0, iteration 0:.*)", r"gpfit: [time] \1"),
    (rf"^gpfit: \[{DURATION}\].*\n", ""),
    (rf" in {DURATION}[,;] (?:evaluations took )?[\d.]+ % of the time of", " in TIME of the time of"),
    (r"^seconds +[\d.]+$", "seconds TIME"), (r" after the fit, [\d.]+ s$", " after the fit, TIME"),
    (r">[\d.e-]+ seconds on (\S+), with", r">TIME on \1, with"), (r">Evaluations took [\d.e-]+ seconds", ">Evaluations took TIME"),
    (r"^(checksum +SHA-256 )[0-9a-f]+", r"\1SUM"), (r"^(model|checkpoint)( +\S+, )[\d.]+ \w+,", r"\1\2SIZE,"),
    (rf"(?:{DURATION}|-) one after another", "TIME one after another"),
    (r"\btime=\S+", "time=TIME"), (r"\bseconds=\S+", "seconds=TIME"), (r"\bhost=\S+", "host=HOST"), (r"\bpid=\d+", "pid=PID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z| UTC|[+-]\d\d:?\d\d)?", "DATE"),
    (r"[\d.]+ [MGT]iB are free", "MEMORY are free"),
    (r"\.gpfit-probe\d+", ".gpfit-probe"),
    (r"gpfit: cpu: dgemm reaches .*", "gpfit: cpu: dgemm reaches RATE"),
    (r"^gpfit \d+\.\d+\S*.*\bgo\d.*$", "gpfit VERSION"),
    (r"\bgpfit \d+\.\d+\.\d+\S*", "gpfit VERSION"),
]]
# The last columns of tables that contain times.
TIMED_HEADER = re.compile(r"(?:^|\s)(seconds|estimated time)\s*$")


def masked(text, folders):
    for folder, name in folders:
        text = text.replace(folder, name)
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    lines, timed = [], False
    for line in text.split("\n"):
        if TIMED_HEADER.search(line) and len(line.split()) > 2:
            timed = True
        elif not line.strip():
            timed = False
        elif timed:
            line = re.sub(r"\s+\S+\s*$", " TIME", line)
        lines.append(line)
    return "\n".join(lines)


def without_columns(text):
    """Leaves out the columns of a CSV table that are times."""
    rows = [line.split(",") for line in text.split("\n")]
    drop = {i for i, name in enumerate(rows[0]) if name in DROPPED_COLUMNS} if len(rows[0]) > 2 else set()
    if not drop:
        return text
    # Quoted cells may contain commas. They are in the last columns of these tables, and
    # the dropped columns are counted from the front.
    return "\n".join(",".join(cell for i, cell in enumerate(row) if i not in drop) for row in rows)


def masked_page(text):
    """Leaves out times of a page of gpfit report: the plot and the columns of
    seconds."""
    text = re.sub(r"<svg\b(?:(?!</svg>).)*?seconds of a fit.*?</svg>", "<svg>TIME</svg>", text, flags=re.DOTALL)

    def table(match):
        rows = re.split(r"(?=<tr)", match.group(0))
        column = None
        for r, row in enumerate(rows):
            heads = re.findall(r"<th[^>]*>(.*?)</th>", row)
            if heads:
                column = heads.index("seconds") if "seconds" in heads else None
            elif column is not None:
                cells = re.split(r"(?=<td)", row)
                if len(cells) > column + 1:
                    cells[column + 1] = re.sub(r">.*?</td>", ">TIME</td>", cells[column + 1], count=1)
                rows[r] = "".join(cells)
        return "".join(rows)

    return re.sub(r"<table\b.*?</table>", table, text, flags=re.DOTALL)


class Number(str):
    """A number of a JSON text, as written."""


class Apart(str):
    """A difference of numbers alone. `by` is the largest difference, relative to the larger
    of 1 and the numbers."""

    def __new__(cls, text, by):
        self = super().__new__(cls, f"{text}; {by:.1g} apart")
        self.by = by
        return self


NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])")


def apart(pairs):
    """Returns the largest difference of pairs of numbers."""
    return max((abs(x - y) / max(1, abs(x), abs(y)) if x == x or y == y else 0 for x, y in pairs), default=0)


def text_apart(a, b, text):
    """Returns text as a difference of numbers if a and b are the same apart from numbers."""
    a, b = NUMBER.split(a), NUMBER.split(b)
    if [p.split() for p in a[::2]] != [p.split() for p in b[::2]]:
        return text
    return Apart(text, apart(zip(map(float, a[1::2]), map(float, b[1::2]))))


def parse_json(text):
    """Returns the values of a JSON text: one, or one per line; None if it is not JSON."""
    def parse(t):
        return json.loads(t, parse_float=Number, parse_int=Number, parse_constant=Number)
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return [parse(text)]
    except ValueError:
        pass
    try:
        return [parse(line) for line in text.splitlines()]
    except ValueError:
        return None


def json_differences(a, b, folders_a, folders_b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        drop = DROPPED | DROPPED_OF.get(a.get("type"), set())
        keys_a, keys_b = list(a), list(b)
        for key in keys_a + [k for k in keys_b if k not in a]:
            where = f"{path}.{key}" if path else key
            if key not in b:
                yield where, f"only in the first: {short(a[key])}"
            elif key not in a:
                yield where, f"only in the second: {short(b[key])}"
            elif key not in drop:
                yield from json_differences(a[key], b[key], folders_a, folders_b, where)
        if keys_a != keys_b and sorted(keys_a) == sorted(keys_b):
            yield path, "the order of the keys"
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield path, f"{len(a)} elements, then {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            yield from json_differences(x, y, folders_a, folders_b, f"{path}[{i}]")
    elif type(a) is str and type(b) is str:
        x, y = masked(a, folders_a), masked(b, folders_b)
        if x != y:
            yield path, text_apart(x, y, f"{short(a)}, then {short(b)}")
    elif type(a) is not type(b) or a != b:
        text = f"{short(a)}, then {short(b)}"
        yield path, text_apart(a, b, text) if isinstance(a, Number) and isinstance(b, Number) else text


def short(value):
    text = str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:150] + " …"


def text_differences(a, b):
    """Yields differing lines; the key is a sign and the line. The sign is ~ for a line in
    which only numbers differ."""
    a, b = a.split("\n"), b.split("\n")
    for op, i, j, k, l in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if op == "replace" and j - i == l - k:
            pairs = [(f"line {n}", x, y, text_apart(x, y, "")) for n, (x, y) in enumerate(zip(a[i:j], b[k:l]), i + 1)]
            if all(isinstance(p[3], Apart) for p in pairs):
                for where, x, y, found in pairs:
                    yield "~ " + x, Apart(f"{where}: then {short(y)}", found.by)
                continue
        if op != "equal":
            for number, line in enumerate(a[i:j], i + 1):
                yield "- " + line, f"line {number} of the first"
            for number, line in enumerate(b[k:l], k + 1):
                yield "+ " + line, f"line {number} of the second"


def npy(data):
    """Returns description, size of an element and elements of a NumPy file."""
    wide = data[6] > 1
    n = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + n
    head = data[start - n:start].decode("latin-1").strip()
    kind = re.search(r"'descr': '[<>|=]?\w(\d+)'", head)
    return head, int(kind.group(1)) if kind else 1, data[start:]


def binary_differences(a, b):
    if a[:6] == b[:6] == b"\x93NUMPY":
        (head_a, size, a), (head_b, _, b) = npy(a), npy(b)
        if head_a != head_b:
            yield "header", f"{head_a}, then {head_b}"
            return
        differing = [i for i in range(0, max(len(a), len(b)), size) if a[i:i + size] != b[i:i + size]]
        if differing:
            i = differing[0]
            x, y = a[i:i + size], b[i:i + size]
            floats = "<f8" in head_a and len(a) == len(b)
            values = f" ({struct.unpack('<d', x)[0]!r}, then {struct.unpack('<d', y)[0]!r})" if floats else ""
            text = f"{x.hex()}, then {y.hex()}{values}; {len(differing)} of {len(a) // size} elements differ"
            yield f"element {i // size}", Apart(text, apart(zip(*(struct.unpack(f"<{len(v) // 8}d", v) for v in (a, b))))) if floats else text
        return
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    yield f"byte {i}", f"{a[i:i + 8].hex() or 'end'}, then {b[i:i + 8].hex() or 'end'}; {len(a)} and {len(b)} bytes"


def archive_differences(a, b, folders_a, folders_b):
    try:
        (a, comment_a, names_a), (b, comment_b, names_b) = archive(a), archive(b)
    except (zipfile.BadZipFile, zlib.error):  # damaged on purpose
        yield from binary_differences(a, b)
        return
    if names_a != names_b:
        yield "members", f"{names_a}, then {names_b}"
    for name in [n for n in names_a if n in b]:
        for key, detail in differences(name, a[name], b[name], folders_a, folders_b):
            yield f"{name}: {key}", detail
    # The comment is a checksum of all members, so it also differs if only a dropped key
    # does.
    if a == b:
        yield ("comment", f"{comment_a}, then {comment_b}") if comment_a != comment_b else ("archive", "other bytes around the same members")


def archive(data):
    z = zipfile.ZipFile(io.BytesIO(data))
    return {i.filename: z.read(i) for i in z.infolist()}, z.comment, [i.filename for i in z.infolist()]


def differences(name, a, b, folders_a, folders_b):
    """Yields all differences of two contents of a file, as pairs of key and detail."""
    if a == b:
        return
    if a[:5] == b[:5] == b"%PDF-":
        a, b = (re.sub(rb"Date \(D:\d{14}\)", b"Date (TIME)", x) for x in (a, b))
        if a == b:
            return
    if a[:4] == b[:4] == b"PK\x03\x04":
        yield from archive_differences(a, b, folders_a, folders_b)
        return
    try:
        x, y = a.decode(), b.decode()
    except UnicodeDecodeError:
        yield from binary_differences(a, b)
        return
    if "\x00" in x + y:
        yield from binary_differences(a, b)
        return
    values, others = parse_json(x), parse_json(y)
    if values is not None and others is not None:
        if len(values) == len(others) == 1:
            yield from json_differences(values[0], others[0], folders_a, folders_b)
        else:
            yield from json_differences(values, others, folders_a, folders_b)
        return
    if x.startswith(JOURNAL) and y.startswith(JOURNAL):
        x, y = ("\n".join(sorted(v.split("\n"))) for v in (x, y))
    x, y = masked(x, folders_a), masked(y, folders_b)
    if "<html" in x and "<html" in y:
        x, y = masked_page(x), masked_page(y)
    elif x.partition("\n")[0].count(",") > 1:
        x, y = without_columns(x), without_columns(y)
    yield from text_differences(x, y)


def files(folder):
    return {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file() or p.is_symlink() and not p.is_dir()}


def entry_differences(a, b, folders_a, folders_b):
    """Yields all differences of an entry, as (file, key, detail)."""
    files_a, files_b = files(a), files(b)
    skip = set()
    for folder in (a, b):
        if (folder / "uncompared").exists():
            skip |= set((folder / "uncompared").read_text().split())
    for name in sorted(files_a.keys() | files_b.keys()):
        if name not in files_b or name not in files_a:
            yield name, "file", "only in the " + ("first" if name in files_a else "second")
        elif not any(fnmatch.fnmatchcase(name.removeprefix("work/"), p) for p in skip):
            for key, detail in differences(name, files_a[name].read_bytes(), files_b[name].read_bytes(), folders_a, folders_b):
                yield name, key, detail


class Intended:
    """A line of intended.txt."""

    def __init__(self, line, number):
        parts = [p.strip() for p in line.split("|", 3)]
        if len(parts) != 4 or not all(parts):
            sys.exit(f"compare.py: line {number} of the intended differences is not NAME | FILE | KEY | reason: {line}")
        self.line, self.used = line, 0
        parts[2], _, most = parts[2].partition("≈")
        self.most = float(most) if most else None
        parts[2] = parts[2].strip()
        self.patterns = [re.compile(".*".join(re.escape(x) for x in p.split("*")), re.DOTALL) for p in parts[:3]]

    def match(self, *parts):
        if not all(p.fullmatch(x.strip()) for p, x in zip(self.patterns, parts)):
            return False
        if self.most is not None and not getattr(parts[3], "by", math.inf) <= self.most:
            return False
        self.used += 1
        return True


def read_intended(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [Intended(l, i) for i, l in enumerate(lines, 1) if l.strip() and not l.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", type=Path, help="a recording")
    parser.add_argument("b", type=Path, help="another one")
    parser.add_argument("--allow", type=Path, default=Path(__file__).with_name("intended.txt"), help="file of intended differences (default: intended.txt)")
    parser.add_argument("--only", default="*", help="pattern of names")
    parser.add_argument("--most", type=int, default=12, help="differences to print of each command (default 12)")
    args = parser.parse_args()
    records = []
    for folder in (args.a, args.b):
        if not (folder / "recording.json").exists():
            sys.exit(f"compare.py: {folder} is not a complete recording")
        records.append(json.loads((folder / "recording.json").read_text()))
    # Longer names come first, because a folder may lie within another one.
    folders_a, folders_b = (sorted(r["folders"].items(), key=lambda f: -len(f[0])) for r in records)
    intended = read_intended(args.allow)

    names = list(dict.fromkeys([*records[0]["seconds"], *records[0]["skipped"], *records[1]["seconds"], *records[1]["skipped"]]))
    names = [n for n in names if fnmatch.fnmatchcase(n, args.only)]
    skipped, equal, differ, allowed = [], 0, 0, 0
    for name in ["in", *names]:
        there = [name == "in" or name in r["seconds"] for r in records]
        if not any(there):
            skipped.append(f"{name} (needs --{records[0]['skipped'].get(name) or records[1]['skipped'].get(name)})")
            continue
        if not all(there):
            found = [("", "recorded", "only in the " + ("first" if there[0] else "second"))]
        else:
            found = list(entry_differences(args.a / name, args.b / name, folders_a, folders_b))
        meant = [any([i.match(name, file, key, detail) for i in intended]) for file, key, detail in found]
        allowed += sum(meant)
        left = [f for f, m in zip(found, meant) if not m]
        for file, key, detail in left[:args.most]:
            print(f"{name}: {file}: {key}: {detail}")
        if len(left) > args.most:
            print(f"{name}: … and {len(left) - args.most} differences more")
        if name == "in":
            if left:
                print("THE INPUTS OF THE RECORDINGS DIFFER, so that their results cannot be compared")
                differ += 1
        elif left:
            differ += 1
        else:
            equal += 1
    for s in skipped:
        print(f"SKIPPED in both: {s}")
    for i in intended:
        if not i.used and args.only == "*":
            print(f"nothing differs as intended here: {i.line}")
    if allowed:
        print(f"{allowed} differences are intended")
    print(f"{len(names)} commands, {equal} compared equal, {differ} differ" + (f", {len(skipped)} SKIPPED" if skipped else ""))
    sys.exit(1 if differ or not equal else 0)


if __name__ == "__main__":
    main()
