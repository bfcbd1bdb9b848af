"""How long an audit of numbers will take, before it begins: seconds of one core from N, D and K.

The constants are those of one thread of an ARM server in results/scale.jsonl and hold within a factor of two
or three: they tell seconds from minutes and minutes from hours.
"""

from __future__ import annotations

import math
from typing import Literal

from graylearn.audit.heldout import epochs_by_size, schedule_for
from graylearn.audit.history import EPOCHS as HISTORY_EPOCHS
from graylearn.audit.kernel import LANDMARKS
from graylearn.audit.neighbours import EXACT, LISTS, PROBES
from graylearn.audit.rounds import NETWORK_FOLDS, rounds_for

HIDDEN = 128
"""Units of each of two hidden layers of an audit's networks."""
WEIGHT, VISIT = 5e-10, 4e-6
"""Seconds a weight of a network, and beside it, for one sample to be learned from once."""
PAIR, PAIR_IN_LISTS, CELL = 8e-11, 2.4e-10, 3.5e-10
"""Seconds a column of two samples that are compared, among all and in lists, and of a sample's kernel."""
JUDGED = 1e-5
"""Seconds a probability for everything after that."""


def expected_seconds(
    samples: int,
    columns: int,
    classes: int,
    *,
    mode: Literal["held-out", "history"] = "held-out",
    epochs: int | None = None,
) -> float:
    """Seconds of one core that `audit` of so many samples (N), columns (D) and classes (K) takes, about."""
    weights = HIDDEN * (columns + HIDDEN + classes)
    if mode == "history":
        visits = samples * (epochs or HISTORY_EPOCHS)
    else:
        seen = samples * (NETWORK_FOLDS - 1) // NETWORK_FOLDS
        passes = schedule_for(seen, epochs or epochs_by_size(samples))[2]
        visits = NETWORK_FOLDS * rounds_for(samples * classes) * seen * passes
    if samples <= EXACT:
        pairs = PAIR * samples**2
    else:
        pairs = PAIR_IN_LISTS * samples * PROBES * math.sqrt(samples) / LISTS
    kernel = CELL * samples * LANDMARKS * (columns + LANDMARKS + classes)
    return visits * (VISIT + WEIGHT * weights) + pairs * columns + kernel + JUDGED * samples * classes
