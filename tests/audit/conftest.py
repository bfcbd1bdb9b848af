"""Audits that several files of tests look at."""

import numpy as np
import pytest
from audit_digits import digits

from graylearn.audit import Audit, audit


@pytest.fixture(scope="session")
def mix():
    """20 % of OOD samples and 20 % of flipped labels, and its audit."""
    data = digits(0.2, flip=0.2)
    return data, audit(data)


@pytest.fixture(scope="session")
def some():
    """A small audit with suspects, for everything that only needs one."""
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(5), size=400)
    y = p.argmax(axis=1)
    given = np.where(random.random(400) < 0.15, random.integers(5, size=400), y)
    names = np.array(["ant", "bee", "cat", "dog", "eel"], dtype=object)
    ids = np.array([f"row-{i}" for i in range(400)], dtype=object)
    return Audit.from_predictions(p, names[given], ids=ids, classes=list(names))
