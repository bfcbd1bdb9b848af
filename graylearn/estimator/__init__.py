"""The scikit-learn face: a classifier that also tells which samples of its training set do not belong."""

from graylearn.estimator.classifier import GrayClassifier
from graylearn.estimator.rejection import NONE_OF_THESE

__all__ = ["NONE_OF_THESE", "GrayClassifier"]
