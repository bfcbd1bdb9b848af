"""A small dirty training set whose truth is known, shared by the tests of the classifier."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split

from graylearn.data import Contaminated, contaminate


@pytest.fixture(scope="session")
def iris():
    x, y = load_iris(return_X_y=True)
    return train_test_split(x, y, test_size=50, random_state=0, stratify=y)


@pytest.fixture(scope="session")
def digits():
    """Digits 0 to 7 belong; 8 and 9 do not: (x, y, ood_x, test_x, test_y, test_ood_x)."""
    x, y = load_digits(return_X_y=True)
    inside = y < 8
    x_train, x_test, y_train, y_test = train_test_split(
        x[inside], y[inside], test_size=500, random_state=0, stratify=y[inside]
    )
    ood = np.random.default_rng(0).permutation(x[~inside])
    return x_train[:720], y_train[:720], ood[:200], x_test, y_test, ood[200:]


@pytest.fixture(scope="session")
def dirty(digits) -> Contaminated:
    """720 digits with a fifth of OOD samples among them and a fifth of their labels flipped."""
    x, y, ood, *_ = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return contaminate(x, y, ood, alpha=0.2, flip=0.2, seed=0)
