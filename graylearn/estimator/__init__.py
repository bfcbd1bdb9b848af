"""The scikit-learn face: a classifier that also tells which samples of its training set do not belong."""

from graylearn.estimator.classifier import GrayClassifier

__all__ = ["GrayClassifier"]
