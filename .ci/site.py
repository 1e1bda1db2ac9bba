"""Opens all pages of the web site in headless Chromium: axe must find nothing, no page may scroll
sideways or load anything from elsewhere, and searches must find the pages that they should.

Usage: site.py SITE [FOLDER | search] ; FOLDER receives screenshots of some pages, and search only searches.
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
# Lines of what users type and, after a bar, the pages that answer it.
SEARCHES = pathlib.Path(__file__).with_name("searches.txt")
FIRST = 3  # hits that a user looks at
MISSES = 4  # searches that may find none of their pages


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
    """Prints the searches that do not find one of their pages among the first hits, and returns a fault if they are too many."""
    lines = [line.split("|") for line in SEARCHES.read_text().splitlines() if line and not line.startswith("#")]
    misses, at = [], serve(site)
    hits = f"[...document.querySelectorAll('.md-search-result__item')].slice(0, {FIRST}).map(item => item.querySelector('a').href)"
    with browser.chromium() as chromium:
        view = chromium.new_page()
        for words, pages in lines:
            addresses = [at + page + ".html" for page in pages.split()]
            view.goto(at + "index.html")
            view.click(".md-search__input")
            view.keyboard.type(words.strip())
            found = f"pages => {hits}.some(hit => pages.some(page => hit.startsWith(page)))"
            try:  # the results of the first letters stand there for a while
                view.wait_for_function(found, arg=addresses, timeout=5000)
            except browser.TimeoutError:
                misses.append(f"search {words.strip()!r} finds {[hit.removeprefix(at).split('?')[0] for hit in view.evaluate(hits)]}")
    print("\n".join([*misses, f"{len(lines) - len(misses)} of {len(lines)} searches find their page among {FIRST}"]))
    return [f"{len(misses)} searches fail"] if len(misses) > MISSES else []


def main(site, folder=""):
    """Checks the site with a browser for each core, at most four."""
    site = pathlib.Path(site).resolve()
    if folder == "search":
        return 1 if search(site) else 0
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
