"""What every test shares: one thread a worker, so that two workers on two cores do not fight."""

import os
import signal
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is first imported, by whichever test

import torch
from find_browser import ADVICE, NO_BROWSER

torch.set_num_threads(1)

# A shell starts what it puts in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say aloud how many tests were left out for want of a browser."""
    skipped = terminalreporter.stats.get("skipped", [])
    left_out = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_line(
            f"NOT RUN: {left_out} tests of the report, because {NO_BROWSER}: {ADVICE}", red=True, bold=True
        )
