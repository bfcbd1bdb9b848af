"""Neighbours and kernel regression asked again, with what is believed of samples instead of their labels."""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import eigh
from torch import Tensor

from graylearn.array_types import Floats, Ints, Singles
from graylearn.audit.blocks import ENOUGH, row_blocks
from graylearn.audit.kernel import RIDGES, SHARPNESS, Landmarks, left_out
from graylearn.audit.neighbours import neighbours, smooth_vote


class AskedAgain:
    """Features whose neighbours and kernel are made once, for as many beliefs as one likes, on any device.

    Of a large set the kernel regression is fitted to a part, and asked about the others as they are.
    index: (N, k) the neighbours, where they are known already.
    """

    def __init__(
        self, features: Singles, index: Ints | None = None, device: torch.device | str = "cpu"
    ) -> None:
        self.device, self.columns = device, Landmarks(features, device=device)
        index = neighbours(features, device=device)[0] if index is None else index
        self.index = torch.from_numpy(index).to(device)
        n = len(features)
        self.some = None if n <= ENOUGH else np.sort(np.random.default_rng(0).permutation(n)[:ENOUGH])
        columns = self.columns(slice(None) if self.some is None else torch.from_numpy(self.some))
        value, vector = eigh((columns.T @ columns).double().cpu().numpy())
        self.value = torch.from_numpy(np.maximum(value, 0.0).astype(np.float32)).to(device)
        self.turn = torch.from_numpy(vector.astype(np.float32)).to(device)
        self.rotated = columns @ self.turn
        self.squared = self.rotated**2

    def by_vote(self, belief: Floats) -> Floats:
        """(N, K) the mean of what is believed of each sample's neighbours, no class ruled out."""
        given = torch.from_numpy(belief).to(self.device)
        total = torch.zeros_like(given)
        for column in self.index.T:  # one neighbour of each sample at a time: (N, k, K) would not fit
            total += given[column]
        return smooth_vote((total / max(self.index.shape[1], 1)).cpu().numpy())

    def by_kernel(self, belief: Floats) -> Floats:
        """(N, K) class probabilities of each sample from what is believed of all the others.

        The ridge is the one with the least squared error on the samples left out, and the sharpness of the
        softmax the one under which the beliefs are most likely.
        """
        known = torch.from_numpy(belief if self.some is None else belief[self.some]).to(self.device)
        target = (known - 1.0 / known.shape[1]).float()
        moment = self.rotated.T @ target
        best_error, outside, slopes = np.inf, target, moment
        for ridge in RIDGES:
            inverse = 1.0 / (self.value + ridge)
            slope = moment * inverse[:, None]
            predicted = left_out(self.rotated, self.squared, inverse, slope, target)
            error = float(((target - predicted) ** 2).sum())
            if error < best_error:
                best_error, outside, slopes = error, predicted, slope
        logit = outside.double()

        def likelihood(sharpness: float) -> float:
            return float((known * ((sharpness * logit).softmax(1) + 1e-12).log()).sum())

        sharpness = max(SHARPNESS, key=likelihood)
        own: Floats = (sharpness * logit).softmax(1).cpu().numpy()
        return own if self.some is None else self._all(own, self.turn @ slopes, sharpness)

    def _all(self, own: Floats, slopes: Tensor, sharpness: float) -> Floats:
        """(N, K) what the regression says of every sample; of the part it was fitted to, `own`."""
        n = len(self.index)
        found = np.empty((n, own.shape[1]))
        for rows in row_blocks(n, max(len(self.columns.chosen), own.shape[1])):
            found[rows] = (sharpness * self.columns.by(rows, slopes)).softmax(1).cpu().numpy()
        found[self.some] = own
        return found
