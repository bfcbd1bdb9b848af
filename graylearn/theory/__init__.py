"""The paper's theory as numbers: the exact identity, the two bounds as printed, and the discrepancy."""

from graylearn.theory.bounds import (
    CROSS_ENTROPY_LIPSCHITZ,
    Assumptions,
    Bound,
    gray_bound,
    lambda_limit,
    standard_bound,
)
from graylearn.theory.estimate import Discrepancy, discrepancy
from graylearn.theory.identity import remainder
from graylearn.theory.norms import layer_norms

__all__ = [
    "CROSS_ENTROPY_LIPSCHITZ",
    "Assumptions",
    "Bound",
    "Discrepancy",
    "discrepancy",
    "gray_bound",
    "lambda_limit",
    "layer_norms",
    "remainder",
    "standard_bound",
]
