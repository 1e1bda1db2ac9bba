"""Makes the tables of the parts of run.py from their records."""

import math
import statistics


def markdown(title, header, rows):
    if not rows:
        return []
    return ["", title, "", f"| {' | '.join(header)} |", "|" + "---|" * len(header), *(f"| {' | '.join(map(str, r))} |" for r in rows)]


def number(v, digits=3):
    return "-" if v is None else f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.{digits}g}"


def of(records, kind, **fields):
    return [r for r in records if r.get("type") == kind and all(r.get(k) == v for k, v in fields.items())]


def distinct(values):
    return list(dict.fromkeys(values))


def batches(records):
    found = of(records, "batch")
    names = distinct(r["variant"] for r in found)
    rows = []
    for n in distinct(r["n"] for r in found):
        rate = {r["variant"]: r["jobs_per_second"] for r in found if r["n"] == n}
        first = rate.get(names[0])
        rows.append([n, *(f"{number(rate[v])}{f' ({rate[v] / first:.2f}×)' if first and v != names[0] else ''}" if v in rate else "-" for v in names)])
    return markdown("Jobs per second of a batch", ["n", *names], rows)


def crossover(gpu, cpu):
    """Returns from which n on the GPU is faster, between the measured n by a straight line of
    logarithms; the smallest n if it always is, or None. Both map n to seconds."""
    both = sorted(set(gpu) & set(cpu))
    if not both or gpu[both[-1]] >= cpu[both[-1]]:
        return None
    ahead = [math.log(cpu[n] / gpu[n]) for n in both]
    slower = [i for i, a in enumerate(ahead) if a <= 0]
    if not slower:
        return both[0]
    i = slower[-1]
    share = -ahead[i] / (ahead[i + 1] - ahead[i])
    return round(math.exp(math.log(both[i]) * (1 - share) + math.log(both[i + 1]) * share))


def curves(records):
    """Returns (kernel, d): (seconds on the GPU by n, seconds on the CPU by n)."""
    out = {}
    for r in of(records, "stages", step="curve"):
        out.setdefault((r["kernel"], r["d"]), ({}, {}))[r["device"] == "cpu"][r["n"]] = r["seconds_value_gradient"]
    return out


def crossovers(records):
    rows = [[r["kernel"], r["d"], "-" if r["n"] is None else f"{'below ' if r['n'] == r['smallest'] else ''}{r['n']}", r["largest"], f"{r['times_faster']:.1f}×"] for r in of(records, "crossover")]
    return markdown("Value and gradient, GPU against the CPU of the machine", ["kernel", "d", "GPU faster from n", "at n", "times faster"], rows)


def peers(records):
    found = [r for r in of(records, "peer", step="peers") if r["ok"]]
    engines = distinct(r["engine"] for r in found)
    rows = []
    for kernel, d, n in distinct((r["kernel"], r["d"], r["n"]) for r in found if r["problems"] == 1):
        own = of(records, "stages", step="peers", kernel=kernel, d=d, n=n)
        own = own[0]["seconds_value_gradient"] if own else None
        row = [kernel, d, n, number(own)]
        for e in engines:
            r = [r for r in found if (r["engine"], r["kernel"], r["d"], r["n"], r["problems"]) == (e, kernel, d, n, 1)]
            t = statistics.median(r[0]["seconds"]) if r else None
            row.append("-" if t is None else number(t) + (f" ({t / own:.1f}×)" if own else ""))
        rows.append(row)
    out = markdown("Value and gradient, seconds", ["kernel", "d", "n", "gpfit", *engines], rows)
    rows = []
    for n, problems in distinct((r["n"], r["problems"]) for r in found if r["problems"] > 1):
        own = of(records, "batch", n=n)
        best = max(own, key=lambda r: r["gradients_per_second"], default=None)
        row = [problems, n, f"{number(best['gradients_per_second'])} ({best['variant']})" if best else "-"]
        for e in engines:
            r = [r for r in found if (r["engine"], r["n"], r["problems"]) == (e, n, problems)]
            row.append(number(problems / statistics.median(r[0]["seconds"])) if r else "-")
        rows.append(row)
    out += markdown("Evaluations per second of many problems at once; gpfit's are those of whole fits in a batch", ["problems", "n", "gpfit batch", *engines], rows)
    found = of(records, "agreement")
    rows = [[e, sum(r["engine"] == e for r in found), *(f"{max(r[k] for r in found if r['engine'] == e):.1e}" for k in ("nlml_difference", "gradient_difference")),
             "yes" if all(r["ok"] for r in found if r["engine"] == e) else "NO"] for e in distinct(r["engine"] for r in found)]
    return out + markdown("Agreement with gpfit", ["engine", "evaluations", "NLML", "gradient", "within 1e-8"], rows)


def fits(records):
    rows = [[r["dataset"], r["n"], r["engine"], r["optimizer"], number(r["target"], 8), number(r["gpfit_seconds"]), *(number(r["seconds_within"][k]) for k in ("1", "0.1")),
             r["evaluations"], f"{r['best'] - r['target']:+.2f}", r["stopped"]] for r in of(records, "within")]
    failed = [[r["dataset"], r["n"], r["engine"], r["optimizer"], number(r["target"], 8), "-", "-", "-", "-", "-", r["error"][:80]] for r in of(records, "peer-fit") if not r["ok"]]
    return markdown("Seconds to gpfit's NLML, rbf(ard)", ["table", "n", "engine", "optimizer", "NLML", "gpfit, whole fit", "within 1 nat", "within 0.1", "evaluations", "end", "stopped"], rows + failed)


def predictions(records):
    rows = [[r["n"], r["rows"], r["engine"], number(r["seconds_predict"]), number(r.get("seconds_factor")), number(r.get("seconds_command")),
             *(f"{r[k]:.1e}" if k in r else "" for k in ("mean_difference", "std_difference"))] for r in of(records, "predictions") if r["ok"]]
    return markdown("Predictions with standard deviations, seconds", ["n", "rows", "engine", "predictions", "factor", "whole command", "means differ", "deviations differ"], rows)


def energies(records):
    rows = [[r["device"], r["n"], r["evaluations"], number(r["joules_per_evaluation"]), number(r["watts"]), number(r["gpu_idle_watts"]), number(r["seconds"] / r["evaluations"]), r["source"]]
            for r in of(records, "energy")]
    return markdown("Energy of an evaluation", ["device", "n", "evaluations", "J each", "W", "GPU idle, W", "s each", "source"], rows)


def tiled(records):
    rows = [[r["n"], r["device"], r["way"], number(r["seconds_value_gradient"]), number(r["gflops"]), r["tiles"] or "-", r["tiles_on_host"], *(number(r[k] / 1e9) for k in ("loaded_bytes", "peer_bytes")),
             number(r["seconds_copies"] or None), number(r["hidden"], 2), f"{r['residual']:.1e}", f"{r['nlml_difference']:.1e}"] for r in of(records, "tiles")]
    return markdown("Value and gradient in tiles", ["n", "device", "way", "s", "GFLOP/s", "tiles", "on the host", "GB from the host", "GB between cards", "copies alone, s", "share hidden", "residual", "NLML differs"], rows)


def tables(records):
    """Returns the tables of all parts that have records, as Markdown."""
    return "\n".join(line for make in (batches, crossovers, peers, fits, predictions, tiled, energies) for line in make(records))
