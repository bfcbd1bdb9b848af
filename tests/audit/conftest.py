"""Audits that several files of tests look at."""

import numpy as np
import pytest
from planted import believable, clusters, digits

from graylearn.audit import Audit, audit


@pytest.fixture(scope="session")
def mix():
    """A tenth of foreign samples and a tenth of flipped labels, and its audit."""
    data = digits(0.1, flip=0.1)
    return data, audit(data)


@pytest.fixture(scope="session")
def flips():
    """Well separated clusters with 10 % of uniform flips, and its audit."""
    planted = clusters()
    return planted, audit(planted.x, planted.y)


@pytest.fixture(scope="session")
def some():
    """A small audit with suspects, for everything that only needs one."""
    planted = clusters(400, k=5, wrong=0.15)
    names = np.array(["ant", "bee", "cat", "dog", "eel"], dtype=object)
    ids = np.array([f"row-{i}" for i in range(400)], dtype=object)
    return Audit.from_predictions(
        believable(planted), names[planted.y], planted.x, ids, classes=list(names), overlap="none"
    )
