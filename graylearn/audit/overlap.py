"""Whether classes may overlap: the one thing that data cannot tell and a person can."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from graylearn.array_types import MANY_COLUMNS
from graylearn.data.inputs import as_plain, is_sparse
from graylearn.data.samples import Samples
from graylearn.options import check

Overlap = Literal["none", "possible"]
"""none: each sample has one true class that a person could tell; possible: a sample may lie between two."""


def overlap_of(setting: str, x: Any) -> Overlap:
    """What "auto" stands for, by the kind of data; None stands for probabilities without features.

    Images, texts and arrays of 32 columns or more (pixels, features of a network) have one true class each;
    tables and narrow arrays, and probabilities alone, may overlap.
    """
    check({"overlap": setting})
    if setting != "auto":
        return "none" if setting == "none" else "possible"
    if isinstance(x, Samples):
        if x.kind != "array":
            return "possible" if x.kind == "table" else "none"
        x = x.x
    plain = as_plain(x)
    if not (isinstance(plain, np.ndarray) or is_sparse(plain)) or plain.dtype.kind not in "biuf":
        return "possible"
    return "none" if math.prod(plain.shape[1:]) >= MANY_COLUMNS else "possible"
