"""Types of arrays, under the words that signatures use for them, and what their width tells."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MANY_COLUMNS = 32
"""From so many numbers a sample on, an array is taken for what a camera, a microphone or a network gave, and
not for a table of measured quantities."""
