"""Triton reads TRITON_INTERPRET when it is imported: it is set before any test of this folder is loaded."""

import os
import sys

import numpy as np
import pytest

if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True)
def _floating_point_as_on_a_gpu():
    """The interpreter computes with numpy, which warns of divisions by zero and overflows; a GPU does not."""
    with np.errstate(all="ignore"):
        yield
