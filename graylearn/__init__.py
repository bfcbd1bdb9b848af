"""graylearn: learn from dirty training sets, and find the samples that do not belong."""

from graylearn import data, losses, metrics, nets, theory
from graylearn.audit import Audit, audit
from graylearn.data import Samples, contaminate, read
from graylearn.errors import (
    CheckpointError,
    DataError,
    DivergedError,
    GraylearnError,
    MissingExtraError,
    SettingsError,
)
from graylearn.estimator import NONE_OF_THESE, GrayClassifier
from graylearn.losses import GrayLoss, gray_loss
from graylearn.methods import METHODS, Method, make_method
from graylearn.training import History, Result, train, train_stack

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "NONE_OF_THESE",
    "Audit",
    "CheckpointError",
    "DataError",
    "DivergedError",
    "GrayClassifier",
    "GrayLoss",
    "GraylearnError",
    "History",
    "Method",
    "MissingExtraError",
    "Result",
    "Samples",
    "SettingsError",
    "audit",
    "contaminate",
    "data",
    "gray_loss",
    "losses",
    "make_method",
    "metrics",
    "nets",
    "read",
    "theory",
    "train",
    "train_stack",
]
