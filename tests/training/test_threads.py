"""Fits in threads neither disturb each other nor anybody else in the process."""

import copy
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn
from training_helpers import Opaque, blobs, mlp

from graylearn.estimator import GrayClassifier
from graylearn.training import train

THREADS = 4


def weights(model):
    return torch.cat([value.detach().flatten() for value in model.parameters()])


def fitted(make, seed):
    return weights(train(make(), blobs(), method="gl", epochs=3, seed=seed, log="none").model)


def assert_same_in_threads(make, threads, seeds=2 * THREADS):
    """What is made by each seed, is the same in threads as one after the other."""
    alone = [make(seed) for seed in range(seeds)]
    with ThreadPoolExecutor(threads) as pool:
        for found, expected in zip(pool.map(make, range(seeds)), alone, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_seed_gives_the_same_network_in_any_thread():
    """Of any kind; its dropout draws from torch's one generator."""
    first = Opaque(mlp(dropout=0.3))

    def made(seed):
        return fitted(lambda: copy.deepcopy(first), seed)

    assert_same_in_threads(made, THREADS)


def test_classifiers_in_threads_are_those_fitted_in_a_row():
    x, y = (values.numpy() for values in blobs())

    def said(seed):
        return GrayClassifier(epochs=3, refine=True, random_state=seed).fit(x, y).predict_proba(x)

    assert_same_in_threads(said, 2, seeds=2)


def test_the_generators_and_threads_of_the_caller_stay_as_they_were():
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    numbers, words, threads = np.random.get_state()[1], random.getstate(), torch.get_num_threads()  # noqa: NPY002
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda seed: fitted(lambda: Opaque(nn.Linear(6, 3)), seed), range(THREADS)))
    # making the networks drew from torch's, as it does anywhere; nothing else did
    np.testing.assert_array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002
    assert random.getstate() == words
    assert torch.get_num_threads() == threads
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == threads
