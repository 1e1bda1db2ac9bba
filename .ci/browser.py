"""What .ci/pages.py and .ci/site.py have in common: a browser, its widths and modes, and axe."""

import contextlib
import importlib.resources

from playwright.sync_api import TimeoutError, sync_playwright

WIDTHS = (390, 768, 1280)
MODES = ("light", "dark")
AXE = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()

# Runs axe with all its rules and returns a line for each node at fault.
RUN_AXE = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations.flatMap(v => v.nodes.map(n =>
    `axe ${v.id} (${v.impact}): ${n.target.join(' ')}: ` + (n.any[0] || n.all[0] || n.none[0] || {message: v.help}).message));
}"""

# Returns how wide the page is if it scrolls sideways.
OVERFLOW = """() => {
  const page = document.documentElement;
  return page.scrollWidth > page.clientWidth ? [`the page is ${page.scrollWidth} px wide`] : [];
}"""


@contextlib.contextmanager
def chromium():
    """Starts the browser of the system."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


def listen(view, where, faults, own):
    """Adds faults for what the page writes to the console and loads from elsewhere than own."""
    view.on("console", lambda m: faults.append(f"{where()}: console: {m.text}"))
    view.on("pageerror", lambda e: faults.append(f"{where()}: {e}"))
    view.on("request", lambda r: r.url.startswith((*own, "data:", "blob:")) or faults.append(f"{where()}: loads {r.url}"))


def examine(view):
    """Returns the faults that axe finds in the page as it is, and its overflow."""
    if view.evaluate("typeof axe === 'undefined'"):
        view.evaluate(AXE)
    return view.evaluate(RUN_AXE) + view.evaluate(OVERFLOW)
