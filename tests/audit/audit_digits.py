"""Digits with faults that are known, to audit."""

from sklearn.datasets import load_digits

from graylearn.data import contaminate


def digits(alpha, flip=0.0, seed=0):
    """Digits 0..7 as classes, 8 and 9 as out-of-distribution samples."""
    x, y = load_digits(return_X_y=True)
    inside = y < 8
    return contaminate(x[inside][:1000], y[inside][:1000], x[~inside], alpha=alpha, flip=flip, seed=seed)
