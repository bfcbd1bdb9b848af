"""The Gray loss and its peers: a pure function each, and a thin module over it."""

from graylearn.losses.gray import GrayLoss, gray_loss
from graylearn.losses.robust import (
    BootstrapLoss,
    ComplementaryLoss,
    GeneralizedLoss,
    MAELoss,
    NegativeLoss,
    SymmetricLoss,
    bootstrap_loss,
    complementary_loss,
    generalized_loss,
    mae_loss,
    negative_loss,
    symmetric_loss,
)

__all__ = [
    "BootstrapLoss",
    "ComplementaryLoss",
    "GeneralizedLoss",
    "GrayLoss",
    "MAELoss",
    "NegativeLoss",
    "SymmetricLoss",
    "bootstrap_loss",
    "complementary_loss",
    "generalized_loss",
    "gray_loss",
    "mae_loss",
    "negative_loss",
    "symmetric_loss",
]
