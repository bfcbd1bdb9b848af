"""graylearn: learn from dirty training sets, and find the samples that do not belong.

Names are imported when they are asked for: `graylearn --help` need not wait the seconds that torch takes.
"""

from typing import TYPE_CHECKING

from graylearn.lazy import getter, keep_functions

if TYPE_CHECKING:
    from graylearn import data, losses, metrics, nets
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
    from graylearn.report import write_report
    from graylearn.training import History, Recorder, Result, train, train_stack

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
    "Recorder",
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
    "train",
    "train_stack",
    "write_report",
]

_MODULES = (
    "data",
    "errors",
    "estimator",
    "losses",
    "methods",
    "metrics",
    "nets",
    "training",
)
_NAMES = {
    "audit": ("Audit", "audit"),
    "data": ("Samples", "contaminate", "read"),
    "errors": (
        "CheckpointError",
        "DataError",
        "DivergedError",
        "GraylearnError",
        "MissingExtraError",
        "SettingsError",
    ),
    "estimator": ("NONE_OF_THESE", "GrayClassifier"),
    "losses": ("GrayLoss", "gray_loss"),
    "methods": ("METHODS", "Method", "make_method"),
    "report": ("write_report",),
    "training": ("History", "Recorder", "Result", "train", "train_stack"),
}

if not TYPE_CHECKING:  # a type checker that saw it would believe in any name
    __getattr__ = getter(__name__, _NAMES, _MODULES)


def __dir__() -> list[str]:
    return sorted({*_MODULES, *__all__, "__version__"})


keep_functions(__name__, "audit")
