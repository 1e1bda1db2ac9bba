"""Formats records as lines and as the table of targets, for run.py."""

import json
import statistics

import compare

# The targets for a card of the H200 class, in float64. On another card the ratios are
# meaningful, the absolute numbers are not.
TARGETS = {
    "agree": 1e-9,  # relative, at most
    "residual": 1e-8,  # at most
    "of dgemm": {20_000: 0.70, 50_000: 0.85, 100_000: 0.85},  # at least
    "seconds at 100000": 25.0,
    "bytes at 100000": 90e9,
    "largest n": 125_000,
    "times faster than GPyTorch": 4.0,
    "largest n over GPyTorch's": 2.5,
    "outside": 0.05,  # share of a fit's evaluation outside the device's work
    "rmse": {"elevators": 0.36, "kin40k": 0.095},  # standardized
}


def scaled(n, scale):
    return round(n) if scale == 1 else max(40, round(n * scale))


def gb(count):
    return f"{count / 1e9:.2f} GB"


def line(r):
    """Returns a record as a line of text, or None."""
    kind = r.get("type")
    if kind == "device":
        return f"{r['device']}: {r['description']}"
    if kind == "kernels":
        spilled = [f"{k['name']} {k['local_bytes']} bytes" for k in r["kernels"] if k["local_bytes"] > 0]
        return f"kernels of {r.get('of', 'the module')} compiled in {r['seconds_load']:.2f} s, at most {max(k['registers'] for k in r['kernels'])} registers; spilled: {', '.join(spilled) or 'none'}"
    if kind == "dgemm":
        if r.get("sustained"):
            return f"dgemm n = {r['n']:6}, {len(r['all_gflops'])} times: {sustained(r):9.1f} GFLOP/s in the second half"
        return f"dgemm n = {r['n']:6}: {r['gflops']:9.1f} GFLOP/s"
    if kind == "stages":
        text = (f"n = {r['n']:6} on {r['device']}: value {r['seconds_value']:.4f} s, with gradient {r['seconds_value_gradient']:.4f} s, {r['gflops']:.0f} GFLOP/s; "
                f"fill {r['seconds_fill']:.4f}, potrf {r['seconds_potrf']:.4f}, alpha {r['seconds_alpha']:.4f}, inverse {r['seconds_inverse']:.4f}, contraction {r['seconds_contract']:.4f}; in use {gb(r['used_bytes'])}")
        text += {"large": "; by the steps of large matrices"}.get(r.get("steps"), "")
        return text + (f"; in a fit {r['seconds_objective']:.4f} s" if r.get("seconds_objective") else "")
    if kind == "steps":
        return f"n = {r['n']:6}: {r['seconds']:.6f} s by the steps of its size, {r['seconds_large']:.6f} s by those of large matrices, {r['times_faster']:.2f} times"
    if kind == "tiles":
        text = f"n = {r['n']:6} by {r['way']:5} on {r['device']}: {r['seconds_value_gradient']:.4f} s, {r['gflops']:.0f} GFLOP/s; residual {r['residual']:.1e}, identity {r['identity']:.1e}, NLML differs by {r['nlml_difference']:.1e}"
        text += f"; {r['tiles']} tiles of order {r['order']}, {r['tiles_on_host']} on the host" if r["tiles"] else ""
        if r["seconds_copies"]:
            text += f"; {gb(r['loaded_bytes'])} from the host, {gb(r['peer_bytes'])} between cards, copies alone {r['seconds_copies']:.4f} s"
        return text + (f", {r['hidden']:.0%} of it hidden" if r["hidden"] is not None else "") + ("" if r["ok"] else "  DIFFERS")
    if kind == "watch":
        return f"GPU while {r['program']} ran: {r.get('smi_memory_used', 0):.0f} MiB at most, {r.get('smi_clocks_sm_min', 0):.0f} to {r.get('smi_clocks_sm', 0):.0f} MHz, {r.get('smi_power_draw', 0):.0f} W, {r.get('smi_temperature_gpu', 0):.0f} °C"
    if kind == "residual":
        text = f"n = {r['n']:6}: residual {r['residual']:.1e} on {len(r['columns'])} columns ({r['seconds_solve']:.1f} s + {r['seconds_check']:.1f} s)"
        if "inverse_diagonal_difference" in r:
            text += f", diagonal of the inverse {r['inverse_diagonal_difference']:.1e}, of a middle term {r['middle_diagonal_difference']:.1e} ({r['seconds_middle']:.1f} s)"
        return text
    if kind == "agree":
        mark = "" if r["ok"] else "  DIFFERS"
        return f"n = {r['n']:5} {r['kernel']:38} NLML {r['nlml_difference']:.1e}, gradient {r['gradient_difference']:.1e} (each {r['gradient_difference_each']:.1e}){mark}"
    if kind == "largest":
        result = f"{r['seconds']:.1f} s, {gb(r['used_bytes'])} in use" if r["ok"] else "failed: " + r.get("error", "")
        return f"n = {r['n']} ({'value and gradient' if r['gradient'] else 'value'}): {result}"
    if kind == "bench":
        return f"{r['program']} on {r['device']}, n = {r['n']}: value {r['seconds_value']:.4f} s, with gradient {r['seconds_value_gradient']:.4f} s, {r['predict_rows_per_second']:.0f} predictions/s, NLML {r['nlml']:.8f}"
    if kind == "batch":
        on = ", ".join(f"{count} on {name}" for name, count in sorted(r["jobs_on"].items()))
        return f"{r['jobs_done']} of {r['jobs']} jobs of n = {r['n']:5}, {r['variant']:>14}: {r['seconds']:.1f} s, {r['jobs_per_second']:.2f} jobs/s ({on})"
    if kind == "devices" and "flags" in r:
        return f"gpfit devices {' '.join(r['flags'])}: " + json.dumps({k: x for k, x in r.items() if k not in ("type", "step", "at", "flags")})[:400]
    if kind == "conformance":
        return f"{r['program']}: {r['passed']} tests passed, {len(r['failed'])} failed, {r['skipped']} skipped"
    if kind in ("gpytorch", "peer"):  # gpytorch in results of 2026
        what = f"{r.get('engine', 'GPyTorch')} n = {r['n']:6}" + (f" × {r['problems']}" if r.get("problems", 1) > 1 else "") + (f" {r['kernel']}, d = {r['d']}" if "kernel" in r else "")
        if not r["ok"]:
            return f"{what}: {r['error']}"
        return f"{what}: value and gradient {statistics.median(r['seconds']):.4f} s, {gb(r['peak_bytes'])}, NLML {r['nlml']:.8f}"
    if kind == "agreement":
        return f"{r['engine']} n = {r['n']:6}: NLML differs from gpfit's by {r['nlml_difference']:.1e}, gradient by {r['gradient_difference']:.1e}" + ("" if r["ok"] else "  DIFFERS")
    if kind == "crossover":
        return f"{r['kernel']}, d = {r['d']}: the GPU is faster from n = {r['n']} on, {r['times_faster']:.1f} times at n = {r['largest']}"
    if kind == "within":
        return (f"{r['dataset']} by {r['engine']}, {r['optimizer']}: 1 nat {compare.number(r['seconds_within']['1'])} s, 0.1 nats {compare.number(r['seconds_within']['0.1'])} s, "
                f"{r['evaluations']} evaluations, {r['stopped']}, {r['best'] - r['target']:+.3f} nats; gpfit {r['gpfit_seconds']:.1f} s")
    if kind == "predictions":
        return f"{r['rows']} predictions by {r['engine']}, n = {r['n']}: " + (f"{r['seconds_predict']:.3f} s" if r["ok"] else r["error"])
    if kind == "energy":
        return f"{r['device']}, n = {r['n']:6}: {r['joules_per_evaluation']:.3g} J an evaluation, {r['watts']:.0f} W over {r['seconds']:.1f} s ({r['source']})"
    if kind == "fit":
        t = r.get("test") or {}
        return (f"{r['dataset']} {r['kernel']}: n = {r['n']}, {r['status']}, {r['seconds']:.1f} s, {r['evaluations']['gradient']} gradients, "
                f"RMSE {t.get('rmse', 0):.5g} (standardized {t.get('rmse_standardized', 0):.4f}), NLPD {t.get('nlpd', 0):.4f} (standardized {t.get('nlpd_standardized', 0):.4f})")
    if kind in ("error", "failure"):
        return f"FAILED  {r.get('why') or 'n = %s: %s' % (r.get('n'), r.get('error'))}"
    if kind == "skipped":
        return f"skipped: {r['why']}"
    if kind == "note":
        return r["text"]
    return None


def sustained(r):
    """Returns the rate of a product that a GPU repeats: the median of the second half."""
    rates = r["all_gflops"]
    return statistics.median(rates[len(rates) // 2 :])


class Numbers:
    """Looks up the numbers of the table in the records."""

    def __init__(self, records):
        self.records = records
        machine = self.of("machine")
        self.scale = machine[0].get("scale", 1) if machine else 1
        products = [r for r in self.of("dgemm") if r["device"] != "cpu"]
        self.dgemm = max((r["gflops"] for r in products), default=None)
        self.sustained = max((sustained(r) for r in products if r.get("sustained")), default=None)

    def of(self, kind, **fields):
        return [r for r in self.records if r.get("type") == kind and all(r.get(k) == v for k, v in fields.items())]

    def stages(self, n):
        """Returns the fastest measurement at n on the GPU."""
        found = [r for r in self.of("stages", n=n, kernel="rbf", d=8) if r["device"] != "cpu" and not r.get("steps")]
        return min(found, key=lambda r: r["seconds_value_gradient"], default=None)

    def gpytorch(self):
        """Returns GPyTorch's measurement at its largest n."""
        found = self.of("gpytorch", ok=True) + self.of("peer", step="gpytorch", ok=True)
        return max(found, key=lambda r: r["n"], default=None)

    def pair(self, n):
        """Returns the seconds of value and gradient on the CPU and on the GPU, or None."""
        found = self.of("bench", step="cpu", n=n) or self.of("stages", step="curve", kernel="rbf", d=8, n=n)
        seconds = {r["device"] == "cpu": r["seconds_value_gradient"] for r in found}
        return (seconds[True], seconds[False]) if len(seconds) == 2 else None

    def n(self, n):
        return scaled(n, self.scale)


def rows(records):
    """Returns rows (what, measured, target, whether the target is reached or None)."""
    v = Numbers(records)

    def row(what, value, target, show, at_most):
        if value is None:
            return (what, "-", f"{'≤' if at_most else '≥'} {show(target)}", None)
        return (what, show(value), f"{'≤' if at_most else '≥'} {show(target)}", value <= target if at_most else value >= target)

    out = []
    for r in v.of("conformance"):
        out.append((f"conformance suite, {r['program']}", f"{r['passed']} passed, {len(r['failed'])} failed", "0 failed", r["ok"]))
    agree = v.of("agree")
    for name, key in (("NLML", "nlml_difference"), ("gradient", "gradient_difference")):
        value = max((r[key] for r in agree), default=None)
        sizes = f", n = {min(r['n'] for r in agree)} … {max(r['n'] for r in agree)}, {len(agree)} evaluations" if agree else ""
        out.append(row(f"{name} against the CPU{sizes}", value, TARGETS["agree"], "{:.1e}".format, True))
    for n in (50_000, 70_000, 100_000):
        found = v.of("residual", n=v.n(n))
        out.append(row(f"residual, n = {v.n(n)}", found[-1]["residual"] if found else None, TARGETS["residual"], "{:.1e}".format, True))
    for n, target in TARGETS["of dgemm"].items():
        r = v.stages(v.n(n))
        value = r["gflops"] / v.dgemm if r and v.dgemm else None
        out.append(row(f"n³ flops over time, of dgemm's rate, n = {v.n(n)}", value, target, "{:.3f}".format, False))
    for n in (50_000, 100_000):
        r = v.stages(v.n(n))
        if r and v.sustained:
            out.append((f"the same, of dgemm's sustained rate, n = {v.n(n)}", f"{r['gflops'] / v.sustained:.3f}", "reported", None))
    large = v.stages(v.n(100_000))
    out.append(row(f"value and gradient, n = {v.n(100_000)}, s", large and large["seconds_value_gradient"], TARGETS["seconds at 100000"], "{:.2f}".format, True))
    watched = [r["smi_memory_used"] * 2**20 for r in v.of("watch", step="large") if "smi_memory_used" in r]
    used = max(watched + ([large["used_bytes"]] if large else []), default=None)
    out.append(row(f"memory of the card, n = {v.n(100_000)}", used, TARGETS["bytes at 100000"], gb, True))
    largest = max((r["n"] for r in v.of("largest") if r["ok"]), default=None)
    out.append(row("largest n", largest, TARGETS["largest n"], "{:d}".format, False))
    theirs = v.gpytorch()
    ours = v.stages(theirs["n"]) if theirs else None
    ratio = statistics.median(theirs["seconds"]) / ours["seconds_value_gradient"] if ours else None
    out.append(row(f"times faster than GPyTorch at its largest n{' = %d' % theirs['n'] if theirs else ''}", ratio, TARGETS["times faster than GPyTorch"], "{:.1f}".format, False))
    if ours:
        difference = abs(ours["nlml"] - theirs["nlml"]) / abs(theirs["nlml"])
        out.append((f"NLML against GPyTorch's, n = {theirs['n']}", f"{difference:.1e}", "reported", None))
    # The largest n of any measurement counts, in case the search for the largest n did
    # not run.
    most = max([r["n"] for r in v.of("stages") if r["device"] != "cpu"] + ([largest] if largest else []), default=None)
    out.append(row("largest n over GPyTorch's", most / theirs["n"] if most and theirs else None, TARGETS["largest n over GPyTorch's"], "{:.2f}".format, False))
    r = v.stages(v.n(20_000))
    outside = 1 - r["seconds_value_gradient"] / r["seconds_objective"] if r and r.get("seconds_objective") else None
    out.append(row(f"share of a fit's evaluation outside the device's work, n = {v.n(20_000)}", outside, TARGETS["outside"], "{:.3f}".format, True))
    pair = v.pair(v.n(10_000))
    value = f"{pair[0] / pair[1]:.1f} ({pair[0]:.2f} s, {pair[1]:.4f} s)" if pair else "-"
    out.append((f"times faster than the CPU of the machine, n = {v.n(10_000)}", value, "reported", None))
    for r in v.of("fit"):
        test = r.get("test") or {}
        what = f"fit of {r['dataset']}, {r['kernel']}: standardized RMSE (NLPD {test.get('nlpd', 0):.4f}; {r['seconds'] / 60:.2f} minutes, {r['status']})"
        out.append(row(what, test.get("rmse_standardized"), TARGETS["rmse"].get(r["dataset"], 1.0), "{:.4f}".format, True))
    return out


def tables(records):
    """Returns the targets and what the parts compare as Markdown tables."""
    # A run of parts alone shows only the targets that they measure.
    checks = any(r.get("type") in ("conformance", "agree", "residual", "largest") for r in records)
    shown = [r for r in rows(records) if checks or r[1] != "-"]
    lines = ["| what | measured | to reach | reached |", "|---|---|---|---|"] if shown else []
    for what, measured, target, reached in shown:
        lines.append(f"| {what} | {measured} | {target} | {'' if reached is None else 'yes' if reached else 'NO'} |")
    best = Numbers(records).dgemm
    if best:
        lines.append(f"\ndgemm's best rate: {best:.1f} GFLOP/s")
    if Numbers(records).sustained:
        lines.append(f"dgemm's sustained rate: {Numbers(records).sustained:.1f} GFLOP/s")
    return "\n".join(lines) + "\n" + compare.tables(records)
