"""Neighbours and kernel regression asked again, with what is believed of samples instead of their labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import softmax

from graylearn.audit.kernel import RIDGES, SHARPNESS, landmark_features
from graylearn.audit.neighbours import neighbours, smooth_vote

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class AskedAgain:
    """Features whose neighbours and kernel are made once, for as many beliefs as one likes."""

    def __init__(self, features: Singles) -> None:
        self.index, _ = neighbours(features)
        columns = landmark_features(features)
        value, vector = eigh((columns.T @ columns).astype(np.float64))
        self.value: Singles = np.maximum(value, 0.0).astype(np.float32)
        self.rotated: Singles = columns @ vector.astype(np.float32)
        self.squared: Singles = self.rotated**2

    def by_vote(self, belief: Floats) -> Floats:
        """(N, K) the mean of what is believed of each sample's neighbours, no class ruled out."""
        total = np.zeros_like(belief)
        for column in self.index.T:  # one neighbour of each sample at a time: (N, k, K) would not fit
            total += belief[column]
        return smooth_vote(total / max(self.index.shape[1], 1))

    def by_kernel(self, belief: Floats) -> Floats:
        """(N, K) class probabilities of each sample from what is believed of all the others.

        The ridge is the one with the least squared error on the samples left out, and the sharpness of the
        softmax the one under which the beliefs are most likely.
        """
        target = (belief - 1.0 / belief.shape[1]).astype(np.float32)
        moment = self.rotated.T @ target
        best_error, outside = np.inf, target
        for ridge in RIDGES:
            inverse = (1.0 / (self.value + ridge)).astype(np.float32)
            leverage = np.minimum(self.squared @ inverse, 0.999)[:, None]
            predicted = (self.rotated @ (moment * inverse[:, None]) - leverage * target) / (1.0 - leverage)
            error = float(((target - predicted) ** 2).sum())
            if error < best_error:
                best_error, outside = error, predicted
        logit = outside.astype(np.float64)
        said = [np.asarray(softmax(sharpness * logit, axis=1)) for sharpness in SHARPNESS]
        return max(said, key=lambda p: float((belief * np.log(p + 1e-12)).sum()))
