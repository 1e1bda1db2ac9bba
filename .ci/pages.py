"""Opens pages of gpfit in headless Chromium and checks that they can be read and used.

Usage: pages.py FOLDER PAGE:FIGURES[:MODEL]... ; FIGURES is the number of pictures of the page. With MODEL,
whose columns are numbers, the prediction that the page's controls show must be that of gpfit predict. The
folder receives a screenshot of each page in each width and mode.
"""

import csv
import pathlib
import re
import subprocess
import sys

from browser import MODES, WIDTHS, chromium, examine, listen

LEAST_TEXT = 10  # pixels, at 390
LEAST_CONTRAST = 4.5  # WCAG 2, level AA

# Runs in the page; returns a list of faults.
CHECK = """(figures) => {
  const faults = [];
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide)
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  const inside = (box, of, what) => {
    if (box.left < of.left - 1 || box.right > of.right + 1 || box.top < of.top - 1 || box.bottom > of.bottom + 1)
      faults.push(`${what} reaches out of its box`);
  };
  for (const part of document.querySelectorAll('h1, h2, p, li, figure, .scroll, details')) {
    const box = part.getBoundingClientRect();
    if (box.right > wide + 1 || box.left < -1) faults.push(`<${part.tagName}> ends at ${box.right} px`);
  }
  const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  for (const part of document.querySelectorAll('h1, h2, p, li, .advice, th, td, caption, figcaption, summary, a')) {
    let at = part;
    while (at && getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement;
    const c = contrast(luminance(getComputedStyle(part).color), at ? luminance(getComputedStyle(at).backgroundColor) : paper);
    if (c < CONTRAST) faults.push(`<${part.tagName}> ${part.className}: contrast ${c.toFixed(1)}`);
  }
  const found = document.querySelectorAll('figure svg');
  if (found.length !== figures) faults.push(`${found.length} figures, not ${figures}`);
  for (const svg of found) {
    const box = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label');
    if (!name) faults.push('a figure without a text');
    if (box.width < 200 || box.height < 60) faults.push(`${name}: ${box.width} × ${box.height} px`);
    if (!svg.querySelector('path, circle, rect, line, polyline')) faults.push(`${name}: empty`);
    const texts = svg.querySelectorAll('text');
    if (!texts.length) faults.push(`${name}: no text`);
    for (const text of texts) {
      if (!text.textContent.trim()) continue;
      const style = getComputedStyle(text), at = text.getScreenCTM();
      const size = parseFloat(style.fontSize) * Math.hypot(at.a, at.b);
      if (wide <= 390 && size < LEAST) faults.push(`${name}: '${text.textContent}' is ${size.toFixed(1)} px high`);
      inside(text.getBoundingClientRect(), box, `${name}: '${text.textContent}'`);
      const c = contrast(luminance(style.fill), paper);
      if (c < CONTRAST) faults.push(`${name}: '${text.textContent}' has contrast ${c.toFixed(1)}`);
    }
  }
  return faults;
}""".replace("LEAST", str(LEAST_TEXT)).replace("CONTRAST", str(LEAST_CONTRAST))


# Moves all sliders and returns the row with its prediction.
MOVE = """() => {
  const row = {};
  for (const slider of document.querySelectorAll('.what-if input[type=range]')) {
    slider.value = Number(slider.min) + 0.3 * (slider.max - slider.min);
    slider.dispatchEvent(new Event('input'));
    row[document.querySelector(`label[for=${slider.id}]`).textContent] = slider.value;
  }
  return [row, document.querySelector('.prediction').textContent];
}"""

# Sorts the first long table by its second column, up and down; returns faults.
SORT = """() => {
  const table = [...document.querySelectorAll('table')].find(t => t.querySelector('th button'));
  if (!table) return ['no table can be sorted'];
  const column = () => [...table.tBodies[0].rows].map(r => parseFloat(r.cells[1].textContent)).filter(v => !Number.isNaN(v));
  const head = table.tHead.rows[0].cells[1], faults = [];
  for (const [order, sign] of [['ascending', 1], ['descending', -1]]) {
    head.querySelector('button').click();
    const values = column();
    if (head.getAttribute('aria-sort') !== order || values.some((v, i) => i && sign * (values[i - 1] - v) > 0))
      faults.push(`a table is not ${order}: ${values}`);
  }
  return faults;
}"""


def use(view, model):
    """Uses the page: values under the pointer, sorted tables, and the prediction of a row."""
    faults = view.evaluate(SORT)
    marks = view.evaluate("""() => {
      const svg = document.querySelector('svg[data-marks]'), at = JSON.parse(svg.dataset.marks)[0].layers.find(l => l.at.length).at[0];
      svg.scrollIntoView({block: 'center'});
      const place = new DOMPoint(at[0], at[1]).matrixTransform(svg.getScreenCTM());
      return [place.x, place.y, at[2]];
    }""")
    view.mouse.move(marks[0], marks[1])
    tip = view.inner_text(".tip") if view.is_visible(".tip") else ""
    if not any(line.endswith(str(marks[2])) for line in tip.splitlines()):
        faults.append(f"the pointer at a value shows {tip!r}, not {marks[2]}")
    view.mouse.move(0, 0)
    if not model:
        return faults
    row, text = view.evaluate(MOVE)
    with open("row.csv", "w", newline="") as file:
        csv.writer(file).writerows([row.keys(), row.values()])
    command = ["./gpfit", "predict", model, "row.csv", "--posterior-draws", "0", "--quiet"]
    given = next(csv.DictReader(subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()))
    mean, deviation = float(given["mean"]), float(given["std_latent"])
    shown = [float(v.replace("−", "-")) for v in re.findall(r"[−-]?\d[\d.]*(?:e[+-]?\d+)?", text.split(" ", 1)[1].replace("95 %", ""))]
    wanted = [mean]
    if "function" in text:
        wanted += [mean - 1.959964 * deviation, mean + 1.959964 * deviation]
    if len(shown) < len(wanted) or any(abs(a - b) > 6e-5 * abs(b) for a, b in zip(shown, wanted)):
        faults.append(f"the row {row} has {text!r} on the page, and gpfit predict says {wanted}")
    return faults


def check(browser, path, figures, model, folder):
    """Returns the faults of a page in all widths and modes."""
    faults, here = [], [""]
    view = browser.new_page()
    listen(view, lambda: here[0], faults, ("file:",))
    for mode in MODES:
        for width in WIDTHS:
            here[0] = f"{path.name}, {width} px, {mode}"
            view.set_viewport_size({"width": width, "height": 900})
            view.emulate_media(color_scheme=mode)
            view.goto(path.as_uri())
            for part in view.query_selector_all("details"):
                part.evaluate("part => part.open = true")
            found = view.evaluate(CHECK, figures) + examine(view)
            view.screenshot(path=folder / f"{path.stem}-{width}-{mode}.png", full_page=True)
            if width == WIDTHS[-1]:
                found += use(view, model)
            faults += [f"{here[0]}: {text}" for text in found]
    view.emulate_media(color_scheme="light")
    view.pdf(path=folder / f"{path.stem}.pdf", format="A4")
    view.close()
    return faults


def main(folder, *pages):
    folder = pathlib.Path(folder)
    faults = []
    with chromium() as browser:
        for page in pages:
            name, figures, model = (page + ":").split(":")[:3]
            faults += check(browser, pathlib.Path(name).resolve(), int(figures), model, folder)
    for text in faults:
        print(text)
    print(f"{len(pages)} pages in {len(WIDTHS)} widths and {len(MODES)} modes: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
