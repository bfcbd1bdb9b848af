"""A small frame with a column of every kind, for tests of TableEncoder."""

import numpy as np
import pandas as pd

DATES = pd.to_datetime(["2024-01-01 00:00", "2024-02-29 12:00", "2025-03-31 23:00", None])
FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.0, np.nan, 4.0],
        "count": [3, 1, 2, 5],
        "colour": ["red", "blue", None, "red"],
        "flag": [True, False, True, True],
        "day": DATES,
        "same": [7, 7, 7, 7],
    }
)
