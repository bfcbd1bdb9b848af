"""How long an audit of numbers will take, before it begins: seconds of one core from N, D and K.

The constants were fitted to timings of one thread (results/judge_time.jsonl) and hold within a factor of two
or three: they tell seconds from minutes and minutes from hours.
"""

from __future__ import annotations

import math

from graylearn.audit.forest import TREES
from graylearn.audit.near import EXACT, KNOWN, PROBES
from graylearn.audit.views import FITTED, LANDMARKS, WIDTHS

PAIR, COLUMN = 1.2e-8, 6e-11
"""Seconds for two samples that are compared, and for each of their columns."""
CELL = 3e-10
"""Seconds for a cell of the kernel of a sample, per landmark and column or class."""
PLACED = 5e-7
"""Seconds for a sample in a level of a tree."""
PROBABILITY = 3e-7
"""Seconds for a class probability of a sample, in everything else."""


def expected_seconds(samples: int, columns: int, classes: int) -> float:
    """Seconds of one core that `audit` of so many samples (N), columns (D) and classes (K) takes, about."""
    others = samples if samples <= EXACT else PROBES * math.sqrt(min(samples, KNOWN)) / 2
    compared = samples * others * (PAIR + COLUMN * columns)
    fitted = min(samples, FITTED)
    kernel = CELL * len(WIDTHS) * samples * LANDMARKS * (columns + LANDMARKS + classes)
    trees = PLACED * TREES * samples * math.log2(max(fitted, 2))
    return compared + kernel + trees + PROBABILITY * samples * (classes + columns)
