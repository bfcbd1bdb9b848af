"""What a number was measured on: hardware, versions and commit, as every row of results tells them."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch


def provenance() -> dict[str, Any]:
    """hardware, versions, commit and time: all it takes to judge a number later."""
    return {
        "hardware": hardware(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "commit": commit(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@cache
def hardware() -> dict[str, Any]:
    """What the numbers are measured on."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name(0)
    return found


@cache
def commit() -> str | None:
    """The commit of this checkout, with a plus where files differ from it; None outside a checkout.

    GRAYLEARN_COMMIT names it where the files were copied without their history.
    """
    if named := os.environ.get("GRAYLEARN_COMMIT"):
        return named
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # an installed package: another project's checkout may surround it
        return None

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
