"""What every test shares, so that none depends on the machine, on its load, or on the tests before it."""

import os
import random
import signal
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # so that two workers on two cores do not fight
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is first imported, by whichever test

import numpy as np
import pytest
import torch
from find_browser import ADVICE, NO_BROWSER
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)

# The same examples everywhere, however slow they come: chance is for `make fuzz`.
settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# A shell starts what it puts in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """A test that draws without a seed draws the same, whichever ran before it."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is decoded or fetched is kept beside the tests, never in the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAYLEARN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say aloud how many tests were left out for want of a browser."""
    skipped = terminalreporter.stats.get("skipped", [])
    left_out = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_line(
            f"NOT RUN: {left_out} tests of the report, because {NO_BROWSER}: {ADVICE}", red=True, bold=True
        )
