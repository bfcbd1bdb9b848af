"""Fits in threads neither disturb each other nor anybody else in the process."""

import copy
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn
from training_helpers import Opaque, blobs, mlp

from graylearn.estimator import GrayClassifier
from graylearn.training import seeding, train

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


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    """Many more turns than a user's fits would take."""
    monkeypatch.setattr(seeding, "TURN", 0.01)


def test_a_seed_gives_the_same_perceptron_in_any_thread():
    """With dropout, and while other threads draw from torch's one generator, and seed it."""

    def made(seed):
        torch.manual_seed(seed)
        torch.rand(100)
        return fitted(lambda: copy.deepcopy(first), seed)

    first = mlp(dropout=0.3)
    assert_same_in_threads(made, THREADS)


def test_a_seed_gives_the_same_network_in_any_thread():
    """Of any kind; its dropout draws from torch's one generator, which runs have by turns."""
    first = Opaque(mlp(dropout=0.3))

    def made(seed):
        return fitted(lambda: copy.deepcopy(first), seed)

    assert_same_in_threads(made, THREADS)


def test_classifiers_in_threads_are_those_fitted_in_a_row():
    x, y = (values.numpy() for values in blobs())

    def said(seed):
        return GrayClassifier(epochs=3, refine=True, random_state=seed).fit(x, y).predict_proba(x)

    assert_same_in_threads(said, 2, seeds=2)


def test_a_classifier_leaves_the_generators_of_the_caller_as_they_were():
    x, y = (values.numpy() for values in blobs())
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    GrayClassifier(epochs=3, refine=True, random_state=0).fit(x, y).predict(x)
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate()  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2] == after[2]


def test_the_generators_and_threads_of_the_caller_stay_as_they_were():
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    before, threads = seeding.global_state(torch.device("cpu")), torch.get_num_threads()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda seed: fitted(lambda: Opaque(nn.Linear(6, 3)), seed), range(THREADS)))
    after = seeding.global_state(torch.device("cpu"))
    # making the networks drew from torch's, as it does anywhere; nothing else did
    np.testing.assert_array_equal(after["numpy"][1], before["numpy"][1])
    np.testing.assert_array_equal(after["python"][1], before["python"][1])
    assert torch.get_num_threads() == threads
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == threads


def test_a_model_that_serves_requests_meanwhile_is_not_disturbed():
    """Tracing with torch.fx would put another nn.Module.__call__ in the place of everybody's."""
    served = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)).eval()
    x = torch.randn(1, 6)
    with torch.no_grad():
        expected = served(x)
    original, wrong = nn.Module.__call__, []
    done, answered = threading.Event(), threading.Semaphore(0)

    def serve():
        while not done.is_set():
            try:
                with torch.no_grad():
                    if not torch.equal(served(x), expected) or nn.Module.__call__ is not original:
                        wrong.append("another answer")
            except Exception as error:
                wrong.append(error)
            answered.release()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for seed in range(20):
            train(
                mlp(), blobs(), epochs=1, seed=seed, log="none",
                callbacks=[lambda end: not answered.acquire()],  # serving keeps pace
            )  # fmt: skip
    finally:
        done.set()
        thread.join()
    assert not wrong


def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have(monkeypatch):
    monkeypatch.setattr(seeding, "_line", [threading.get_ident() + 1])  # whose turn it was at the fork
    seeding._forget()
    with seeding.seeded(0, torch.device("cpu")):
        assert len(seeding._line) == 1
    assert seeding._line == []


@pytest.mark.parametrize("within", [False, True])
def test_an_interrupt_while_waiting_leaves_the_line_and_the_generators_to_the_others(monkeypatch, within):
    """Before a run begins, and where it gave way to another."""
    other = threading.get_ident() + 1
    line = [] if within else [other]
    monkeypatch.setattr(seeding, "_line", line)
    monkeypatch.setattr(seeding, "TURN", 0.0)

    def interrupted(_):
        if seeding._line[0] == threading.get_ident():
            return
        torch.manual_seed(99)  # what the other thread draws from meanwhile
        raise KeyboardInterrupt

    def run():
        with seeding.seeded(0, torch.device("cpu")):
            line.append(other)
            seeding.give_way()

    monkeypatch.setattr(seeding._turn, "wait_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert line == [other]
    assert torch.initial_seed() == 99
