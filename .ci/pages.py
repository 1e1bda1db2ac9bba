"""Opens pages of gpfit in headless Chromium and checks that they can be read.

Usage: pages.py FOLDER PAGE:FIGURES... ; FIGURES is the number of pictures of the page. The
folder receives a screenshot of each page in each width and mode.
"""

import pathlib
import sys

from playwright.sync_api import sync_playwright

WIDTHS = (390, 768, 1280)
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


def check(browser, path, figures, folder):
    """Returns the faults of a page in all widths and modes."""
    faults = []
    for mode in ("light", "dark"):
        for width in WIDTHS:
            view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=mode)
            where = f"{path.name}, {width} px, {mode}"
            view.on("console", lambda m: faults.append(f"{where}: console: {m.text}"))
            view.on("pageerror", lambda e: faults.append(f"{where}: {e}"))
            view.on("request", lambda r: r.url.startswith(("file:", "data:")) or faults.append(f"{where}: loads {r.url}"))
            view.goto(path.as_uri())
            for part in view.query_selector_all("details"):
                part.evaluate("part => part.open = true")
            faults += [f"{where}: {text}" for text in view.evaluate(CHECK, figures)]
            view.screenshot(path=folder / f"{path.stem}-{width}-{mode}.png", full_page=True)
            view.close()
    view = browser.new_page()
    view.goto(path.as_uri())
    view.pdf(path=folder / f"{path.stem}.pdf", format="A4")
    view.close()
    return faults


def main(folder, *pages):
    folder = pathlib.Path(folder)
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for page in pages:
            name, figures = page.rsplit(":", 1)
            faults += check(browser, pathlib.Path(name).resolve(), int(figures), folder)
        browser.close()
    for text in faults:
        print(text)
    print(f"{len(pages)} pages in {len(WIDTHS)} widths and 2 modes: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
