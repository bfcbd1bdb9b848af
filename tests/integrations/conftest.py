"""The examples stand in a folder of their own, from which tests import them."""

import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
sys.path.append(str(EXAMPLES))


@pytest.fixture(scope="session")
def examples():
    """The folder."""
    return EXAMPLES
