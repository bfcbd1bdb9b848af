"""Pages of a browser with a report in them: how to load one, what it shows, and what it must never do."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

# A page lays out what is out of sight when it finds the time, and until then a browser gives no text for it:
# in the tests all is laid out at once, so that nothing depends on how quick the machine is.
LAY_OUT_ALL = """
const everything = new CSSStyleSheet();
everything.replaceSync(".sample { content-visibility: visible !important; }");
document.adoptedStyleSheets.push(everything);
"""


# A page that says so in its address begins with an empty storage, before its own scripts run.
BEGIN_ANEW = """
if (location.hash === "#anew") {
  localStorage.clear();
  history.replaceState(null, "", location.href.slice(0, -"#anew".length));
}
"""

SIZE = {"width": 1200, "height": 900}
PATIENCE = 600  # seconds: a busy machine is slow, and no fault of the page


class Watched:
    """What pages did that a report must never do: complain, fail, or ask for anything but its own file."""

    def __init__(self, context: BrowserContext) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context.on("page", self._watch)

    def _watch(self, page: Page) -> None:
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def assert_clean(self) -> None:
        """Nothing went wrong or over a network."""
        assert self.complaints == []
        allowed = re.compile(r"file://.*\.html(#anew)?|data:image/.*|blob:.*|about:blank", re.DOTALL)
        assert [url for url in self.requests if not allowed.fullmatch(url)] == []

    def forget(self) -> None:
        """Begin anew."""
        self.complaints.clear()
        self.requests.clear()


def new_context(browser: Browser) -> BrowserContext:
    # without motion what is scrolled to is there at once
    made = browser.new_context(viewport=SIZE, accept_downloads=True, reduced_motion="reduce")
    made.set_default_timeout(1000 * PATIENCE)
    made.add_init_script(LAY_OUT_ALL)
    made.add_init_script(BEGIN_ANEW)
    return made


def load(page: Page, path: Path, *, anew: bool = False) -> Page:
    """The page with this report in it, drawn; anew: with nothing kept from before."""
    page.goto(path.as_uri() + ("#anew" if anew else ""))
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def photo(index: int) -> str:
    """What `make_table` calls a sample."""
    return f"photo-{index:05d}.jpg"


def verdicts(page: Page) -> list[str]:
    """What is decided of the samples shown, in order."""
    return page.locator(".sample").evaluate_all("items => items.map(item => item.dataset.decided)")


def expect_first_ids(page: Page, *wanted: str) -> None:
    """The list begins with these samples, or soon will."""
    _soon(page, lambda: page.locator(".sample .id").all_inner_texts()[: len(wanted)], list(wanted))


def expect_verdicts(page: Page, *wanted: str) -> None:
    """These are decided of the first samples shown, or soon will be."""
    _soon(page, lambda: verdicts(page)[: len(wanted)], list(wanted))


def _soon(page: Page, read: Callable[[], Any], wanted: Any) -> None:
    """What an action changes may be there a moment later, and on a busy machine many moments."""
    end = time.monotonic() + PATIENCE
    while read() != wanted and time.monotonic() < end:
        page.wait_for_timeout(20)
    assert read() == wanted


def download(page: Page, folder: Path) -> Path:
    """The file of decisions, as the button gives it."""
    with page.expect_download() as started:
        page.locator("#download").click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def press(page: Page, *keys: str) -> None:
    """Keys one after the other."""
    for key in keys:
        page.keyboard.press(key)
