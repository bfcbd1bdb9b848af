"""A browser for the tests of the report: the one that is there, or one that is installed now.

`python tests/find_browser.py` is what `make test` runs first. It takes Playwright's own download, or else the
system's packages where it may install them. Where neither can be had the tests that need a browser are left
out, and counted aloud; in CI that is an error.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COMMANDS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
)  # fmt: skip
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
"""Where browsers stand that are on no path."""
ADVICE = "install Chromium or Chrome, or run: python -m playwright install --with-deps chromium"
NO_BROWSER = "no browser was found"
"""Why a test that needs one is skipped."""
INSTALL_SECONDS = 600


def find_browser() -> str | None:
    """The program of a Chromium that can be started; None where there is none."""
    for command in COMMANDS:
        if found := shutil.which(command):
            return found
    for application in APPLICATIONS:
        if Path(application).is_file():
            return application
    return _downloaded()


def _downloaded() -> str | None:
    """The Chromium that Playwright downloaded, if it starts: it may lack libraries of the system."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        program = playwright.chromium.executable_path
        if not Path(program).is_file():
            return None
        try:
            playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]).close()
        except Error:
            return None
        return program


def _download() -> None:
    _run(sys.executable, "-m", "playwright", "install", "chromium")


def _install_package() -> None:
    """From Debian's packages, as root or by a sudo that asks for no password."""
    if shutil.which("apt-get") is None:
        return
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if as_root and shutil.which("sudo") is None:
        return
    _run(*as_root, "apt-get", "update", "-q")
    no_questions = ["env", "DEBIAN_FRONTEND=noninteractive"]
    _run(*as_root, *no_questions, "apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium")


def _run(*command: str) -> None:
    """Run a command that may fail: what counts is whether a browser is there afterwards."""
    print("no browser for the tests of the report yet:", " ".join(command), flush=True)
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"that failed: {error}", flush=True)


def main(ways: tuple[Callable[[], None], ...] = (_download, _install_package)) -> int:
    """Find or install a browser; an error only in CI."""
    for way in (lambda: None, *ways):
        way()
        if program := find_browser():
            print(f"the report is tested in {program}")
            return 0
    print(f"NO BROWSER: the tests of the report in a browser will be left out. To run them, {ADVICE}")
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())
