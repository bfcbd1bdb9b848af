"""A real browser for the report's tests: one Chromium and one page a worker.

To start the process behind a page costs more than most tests do, so each test loads its report into the same
page, whose storage, size and looks are as new. What needs a context of its own takes `context`.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from find_browser import ADVICE, NO_BROWSER, find_browser
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright
from report_pages import PATIENCE, SIZE, Watched, load, new_context
from report_tables import make_table

from graylearn.report import ReportData, write_report

expect.set_options(timeout=1000 * PATIENCE)

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=SpareRendererForSitePerProcess",
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
    started = playwright.chromium.launch(
        executable_path=program, args=list(ARGUMENTS), timeout=1000 * PATIENCE
    )
    yield started
    started.close()


@pytest.fixture(scope="session")
def stage(browser: Browser) -> Iterator[tuple[Page, Watched]]:
    """The one page of this worker, and what it did."""
    context = new_context(browser)
    watched = Watched(context)
    yield context.new_page(), watched
    context.close()


@pytest.fixture
def open_file(stage: tuple[Page, Watched]) -> Iterator[Callable[[Path], Page]]:
    """Open a report from disk in a page as new; afterwards nothing may have gone wrong, or over a network."""
    page, watched = stage
    watched.forget()
    opened: list[Path] = []

    def open_it(path: Path) -> Page:
        opened.append(path)
        return load(page, path, anew=len(opened) == 1)

    yield open_it
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.goto("about:blank")  # nothing of this report goes on during the next test
    page.mouse.move(0, 0)
    page.set_viewport_size(SIZE)
    page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    watched.assert_clean()


@pytest.fixture
def open_report(open_file: Callable[[Path], Page], tmp_path: Path) -> Callable[..., Page]:
    """Write a report and open it."""
    return lambda data, name="report.html": open_file(write_report(tmp_path / name, data))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context of this test's own, for scripts that run before the page's."""
    made = new_context(browser)
    yield made
    made.close()


@pytest.fixture(scope="session")
def small() -> ReportData:
    """120 samples of three classes, 60 of them suspects: 40 mislabelled and 20 ood."""
    classes = ("cat", "dog", "owl")
    return ReportData(title="Pets", table=make_table(classes=classes), classes=classes, run="pets")
