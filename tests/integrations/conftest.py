"""The examples stand in a folder of their own, from which tests import them."""

import os
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
sys.path.append(str(EXAMPLES))
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # it counts its users over the net
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a database wants more than mlflow-skinny brings


@pytest.fixture(scope="session")
def examples():
    """The folder."""
    return EXAMPLES
