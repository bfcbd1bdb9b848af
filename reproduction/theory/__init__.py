"""The paper's theory as numbers: the exact identity, the two bounds as printed, and the discrepancy."""

from reproduction.theory.bounds import (
    CROSS_ENTROPY_LIPSCHITZ,
    Assumptions,
    Bound,
    gray_bound,
    lambda_limit,
    standard_bound,
)
from reproduction.theory.estimate import Discrepancy, discrepancy
from reproduction.theory.identity import remainder
from reproduction.theory.norms import layer_norms

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
