"""A real browser for the report's tests: one Chromium a worker, a new context a test."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from find_browser import ADVICE, NO_BROWSER, find_browser
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright
from report_tables import make_table

from graylearn.report import ReportData, write_report

expect.set_options(timeout=30_000)  # a busy machine is slow, and no fault of the page

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def program() -> str:
    """The browser; where there is none, what needs it is left out, and counted at the end of the run."""
    found = find_browser()
    if found is None and os.environ.get("CI"):
        pytest.fail(f"no browser was found: {ADVICE}")
    if found is None:
        pytest.skip(NO_BROWSER)
    return found


@pytest.fixture(scope="session")
def playwright(program: str) -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright, program: str) -> Iterator[Browser]:
    started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
    yield started
    started.close()


# A page lays out what is out of sight when it finds the time, and until then a browser gives no text for it:
# in the tests all is laid out at once, so that nothing depends on how quick the machine is.
LAY_OUT_ALL = """
const everything = new CSSStyleSheet();
everything.replaceSync(".sample { content-visibility: visible !important; }");
document.adoptedStyleSheets.push(everything);
"""


class Watched:
    """What pages did that a report must never do: complain, fail, or ask for anything but its own file."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    made.set_default_timeout(30_000)
    made.add_init_script(LAY_OUT_ALL)
    yield made
    made.close()


@pytest.fixture
def open_report(context: BrowserContext, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Write a report and open it from disk; afterwards, nothing may have gone wrong or over a network."""
    watched = Watched()
    context.on("page", watched.watch)

    def open_it(data: ReportData, name: str = "report.html") -> Page:
        path = write_report(tmp_path / name, data)
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_it
    assert watched.complaints == []
    own = [url for url in watched.requests if url.startswith("file://") and url.endswith(".html")]
    rest = [
        url for url in watched.requests if url not in own and not url.startswith(("data:image/", "blob:"))
    ]
    assert rest == []


@pytest.fixture
def small() -> ReportData:
    """120 samples of three classes, 60 of them suspects: 40 mislabelled and 20 ood."""
    classes = ("cat", "dog", "owl")
    return ReportData(title="Pets", table=make_table(classes=classes), classes=classes, run="pets")
