"""How long an audit of numbers will take, before it begins: seconds of one core from N, D and K.

The constants are those of one thread of an ARM server in results/scale.jsonl and hold within a factor of two
or three: they tell seconds from minutes and minutes from hours.
"""

from __future__ import annotations

import math
from typing import Literal

from graylearn.audit.blocks import ENOUGH, LARGE
from graylearn.audit.heldout import LEAST_BATCH, epochs_by_size, schedule_by_size
from graylearn.audit.history import EPOCHS as HISTORY_EPOCHS
from graylearn.audit.kernel import LANDMARKS
from graylearn.audit.mixture import FIT_ROWS, FIT_VALUES
from graylearn.audit.neighbours import EXACT, KNOWN, LISTS, PROBES
from graylearn.audit.rounds import NETWORK_FOLDS, rounds_for

HIDDEN = 128
"""Units of each of two hidden layers of an audit's networks."""
WEIGHT, WEIGHT_LARGE, VISIT = 5e-10, 2.4e-10, 4e-6
"""Seconds a weight of a network, in steps of up to 128 samples and of more, and beside it, for one sample to
be learned from once."""
PAIR, PAIR_IN_LISTS = 8e-11, 2.4e-10
"""Seconds a column of two samples that are compared, among all and in lists."""
CELL, ASKED = 3.5e-10, 6e-11
"""Seconds a cell of the kernel of a sample that it is fitted to, and of one that it is asked about."""
FITTED, JUDGED = 3e-6, 2e-7
"""Seconds a probability that the noise mixture is fitted to, and of any for everything after that."""
VALUE, VALUE_MORE = 4e-7, 1e-7
"""Seconds a feature for scaling, centres and distances to them; the second of all beyond `LARGE` samples."""


def expected_seconds(
    samples: int,
    columns: int,
    classes: int,
    *,
    mode: Literal["held-out", "history"] = "held-out",
) -> float:
    """Seconds of one core that `audit` of so many samples (N), columns (D) and classes (K) takes, about.

    Of large sets at most: those that networks learn from a part take less, and which these are is tried.
    """
    weights, weight = HIDDEN * (columns + HIDDEN + classes), WEIGHT
    if mode == "history":
        visits = samples * HISTORY_EPOCHS
    else:
        seen = samples * (NETWORK_FOLDS - 1) // NETWORK_FOLDS
        batch, _, passes = schedule_by_size(samples, seen, epochs_by_size(samples, classes))
        visits = NETWORK_FOLDS * rounds_for(samples * classes) * seen * passes
        weight = WEIGHT if batch < LEAST_BATCH else WEIGHT_LARGE
    if samples <= EXACT:
        pairs = PAIR * samples**2
    else:
        pairs = PAIR_IN_LISTS * samples * PROBES * math.sqrt(min(samples, KNOWN)) / LISTS
    fitted = min(samples, ENOUGH)
    kernel = CELL * fitted * (columns + LANDMARKS + classes) + ASKED * (samples - fitted) * (
        columns + classes
    )
    probabilities = samples * classes
    mixture = FITTED * min(probabilities, max(FIT_VALUES, FIT_ROWS * classes), ENOUGH * classes)
    read = VALUE * min(samples, LARGE) + VALUE_MORE * max(samples - LARGE, 0)
    judged = mixture + JUDGED * probabilities + read * columns
    return visits * (VISIT + weight * weights) + pairs * columns + kernel * LANDMARKS + judged
