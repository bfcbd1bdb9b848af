"""Methods: how logits, features and history become one loss per sample."""

from graylearn.methods.base import ConfidenceHistory, Method, Output, Step, Task
from graylearn.methods.registry import METHODS, as_method, make_method
from graylearn.methods.selection import mean_over

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
