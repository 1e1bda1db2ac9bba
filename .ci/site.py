"""Opens all pages of the web site in headless Chromium: axe must find nothing, no page may scroll
sideways or load anything from elsewhere, and searches must find the pages that they should.

Usage: site.py SITE [FOLDER] ; FOLDER receives screenshots of some pages.
"""

import contextlib
import functools
import http.server
import multiprocessing
import pathlib
import sys
import threading

import browser

PICTURED = ("index", "docs/install", "docs/gallery/index", "docs/options", "docs/first-hour", "docs/gallery/01-ridge", "docs/reference/gpfit-fit", "docs/kernels", "docs/python")
# Words that people search, and a page that must be among the first results.
SEARCHES = {
    "notebook": "docs/questions.html", "classification": "docs/questions.html", "missing values": "docs/questions.html",
    "one-hot": "docs/questions.html", "standardize": "docs/questions.html", "forecast": "docs/questions.html",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that writes no lines."""

    def log_message(self, *_):
        pass


def serve(site):
    """Serves the site on a free port and returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def check(site, folder, pages):
    """Returns the faults of some pages in all widths and modes."""
    faults, at, here = [], serve(site), []
    with browser.chromium() as chromium:
        view = chromium.new_page()
        browser.listen(view, lambda: here[0], faults, (at,))
        for page in pages:
            here[:] = [page]
            view.goto(at + page, wait_until="load")
            for mode in browser.MODES:
                view.emulate_media(color_scheme=mode, reduced_motion="reduce")
                for width in browser.WIDTHS:
                    view.set_viewport_size({"width": width, "height": 900})
                    view.wait_for_timeout(200)  # the theme's script adapts to the width
                    here[:] = [f"{page}, {width} px, {mode}"]
                    faults += [f"{here[0]}: {text}" for text in browser.examine(view)]
                    name = page.removesuffix(".html")
                    if folder and name in PICTURED:
                        view.screenshot(path=folder / f"{name.replace('/', '-')}-{width}-{mode}.png")
    return faults


def search(site):
    """Returns the searches that do not find their page among the first five."""
    faults, at = [], serve(site)
    with browser.chromium() as chromium:
        view = chromium.new_page()
        for words, page in SEARCHES.items():
            view.goto(at + "index.html")
            view.click(".md-search__input")
            view.keyboard.type(words)
            first = "[...document.querySelectorAll('.md-search-result__item > a')].slice(0, 5).map(a => a.href)"
            with contextlib.suppress(browser.TimeoutError):  # a busy machine shows the results of the first letters for a while
                view.wait_for_function(f"page => {first}.some(address => address.includes(page))", arg=page, timeout=20000)
            found = view.evaluate(first)
            if not any(page in address for address in found):
                faults.append(f"search {words!r}: {page} is not among {found}")
    return faults


def main(site, folder=""):
    """Checks the site with a browser for each core, at most four."""
    site = pathlib.Path(site).resolve()
    folder = pathlib.Path(folder).resolve() if folder else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    share = min(4, multiprocessing.cpu_count())
    with multiprocessing.Pool(share) as pool:
        jobs = [pool.apply_async(check, (site, folder, pages[i::share])) for i in range(share)]
        faults = [text for job in jobs for text in job.get()]
    faults += search(site)
    for text in faults:
        print(text)
    print(f"{len(pages)} pages in {len(browser.WIDTHS)} widths and {len(browser.MODES)} modes: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
