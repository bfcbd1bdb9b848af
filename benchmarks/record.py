"""One JSON line a measurement: what was measured, on what machine, with which versions and commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import torch


def hardware() -> dict[str, Any]:
    """What the numbers were measured on."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name(0)
    return found


def commit() -> str | None:
    """The commit of this checkout, with a plus where files differ from it; None outside a checkout.

    GRAYLEARN_COMMIT names it where the files were copied without their history.
    """
    if named := os.environ.get("GRAYLEARN_COMMIT"):
        return named
    root = Path(__file__).resolve().parent.parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def record(experiment: str, **measured: Any) -> dict[str, Any]:
    """A row: the experiment, what was measured, and all it takes to judge the numbers later."""
    return {
        "experiment": experiment,
        **measured,
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "commit": commit(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def append(row: dict[str, Any], path: str | Path) -> None:
    """Add a row to a file of JSON lines."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
