"""What notebooks show of a model: its verdict, its parameters and how well its intervals hold."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import NormalDist

from ._types import Report

_STYLE = (
    ".gpfit{font:14px/1.4 system-ui,sans-serif;display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start}"
    ".gpfit table{border-collapse:collapse}.gpfit th,.gpfit td{text-align:left;padding:.1em .8em .1em 0}"
    ".gpfit td.n{text-align:right;font-variant-numeric:tabular-nums}.gpfit p{margin:0 0 .5em;max-width:44em}"
    ".gpfit svg{color:inherit}"
)


def report_of(about: Report) -> Report:
    """Return the report of the fit in what ``gpfit inspect`` says, empty without one."""
    record: Report = about.get("fit") or {}
    return record.get("report") or {}


def model(about: Report, standardized: Sequence[float] = ()) -> str:
    """Return a piece of HTML about a model.

    about is what ``gpfit inspect`` says, and standardized are the residuals of leave-one-out over their standard
    deviations; without them there is no picture.
    """
    report = report_of(about)
    verdict: Report = report.get("verdict") or {}
    lines = [f"<strong>{escape(about['kernel'])}</strong> on {about['n']} rows of {escape(', '.join(about['features']))}"]
    if verdict.get("headline"):
        lines.append(escape(_sentence(verdict["headline"])))
    warned: list[str] = verdict.get("warnings") or []
    lines += [escape(f"Warning: {one}") for one in warned]
    following: Report = verdict.get("next") or {}
    advice = following.get("text")
    if advice:
        lines.append(escape(f"Next: {advice}"))
    sentences = "".join(f"<p>{line}</p>" for line in lines)
    return f"<div class='gpfit'><style>{_STYLE}</style><div>{sentences}{_parameters(about, report)}</div>{_calibration(standardized)}</div>"


def text(plain: str) -> str:
    """Return a text as HTML."""
    return f"<p>{escape(plain)}</p>"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parameters(about: Report, report: Report) -> str:
    """Return the table of the parameters in both units."""
    scaled: dict[str, float] = about.get("parameters") or {}
    original: dict[str, float] = report.get("parameters_original_units") or {}
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td class='n'>{value:.6g}</td><td class='n'>{_number(original.get(name))}</td></tr>"
        for name, value in scaled.items()
    )
    return (
        "<table><thead><tr><th scope='col'>parameter</th><th scope='col'>scaled</th><th scope='col'>original units</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def coverage(standardized: Sequence[float]) -> list[tuple[float, float]]:
    """Return for each probability of an interval the share of rows in it."""
    n, inverse = len(standardized), NormalDist().inv_cdf
    sizes = sorted(abs(z) for z in standardized)
    points, inside = list[tuple[float, float]](), 0
    for percent in range(2, 100, 2):
        widest = inverse(0.5 + percent / 200)
        while inside < n and sizes[inside] <= widest:
            inside += 1
        points.append((percent / 100, inside / n))
    return points


def _calibration(standardized: Sequence[float]) -> str:
    """Return a picture of the share of rows in intervals of each probability."""
    if not standardized:
        return ""
    line = " ".join(f"{30 + 140 * p:.1f},{150 - 140 * share:.1f}" for p, share in [(0.0, 0.0), *coverage(standardized), (1.0, 1.0)])
    about = f"Rows in leave-one-out intervals of each probability, {len(standardized)} rows"
    return (
        f"<svg width='200' height='190' viewBox='0 0 200 190' role='img' aria-label='{about}'><title>{about}</title>"
        "<g fill='none' stroke='currentColor'><path d='M30 10V150H170' opacity='.5'/><path d='M30 150L170 10' stroke-dasharray='4 3' opacity='.6'/>"
        f"<polyline points='{line}' stroke='#3b7dd8' stroke-width='2'/></g>"
        "<g fill='currentColor' font-size='11' font-family='system-ui,sans-serif'><text x='100' y='168' text-anchor='middle'>probability of the interval</text>"
        "<text x='30' y='182' text-anchor='middle'>0</text><text x='170' y='182' text-anchor='middle'>1</text>"
        "<text transform='translate(20 80) rotate(-90)' text-anchor='middle'>share of rows</text></g></svg>"
    )
