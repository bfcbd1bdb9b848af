"""Methods: how logits, features and history become one loss per sample."""

from graylearn.methods.base import ConfidenceHistory, Method, Output, Step, Task, mean_over
from graylearn.methods.registry import METHODS, as_method, make_method

__all__ = [
    "METHODS",
    "ConfidenceHistory",
    "Method",
    "Output",
    "Step",
    "Task",
    "as_method",
    "make_method",
    "mean_over",
]
