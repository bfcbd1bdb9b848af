"""How many networks an audit asks: folds, and rounds of them."""

NETWORK_FOLDS, MODEL_FOLDS = 2, 5
"""Folds unless told: of our networks, which are repeated; of a model of the user's."""
REPEATS, MANY = 3, 1 << 26
"""Rounds of held-out networks up to so many class probabilities (N x K); beyond, one round."""


def rounds_for(probabilities: int) -> int:
    """Rounds of folds for so many class probabilities."""
    return REPEATS if probabilities <= MANY else 1
