"""Every method learns digits from a training set with a tenth of strangers in it.

Digits 0 to 7 are the classes; 8 and 9 come with random labels. The test set is clean, chance is 1 in 8.
Cross entropy reaches about .97, so .95 says that a method gives nothing away here.
"""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from graylearn.data.contaminate import contaminate
from graylearn.methods import METHODS, make_method
from graylearn.nets import MLP
from graylearn.training import train

EPOCHS = {"nlnl": 20, "decoupling": 16, "mentornet-pd": 16, "il": 9}
"""The others have 8: nlnl needs its three phases, and the two after it leave out much of each epoch."""
LEAST = {"decoupling": 0.92, "mentornet-pd": 0.92}
"""The others must reach .95. Decoupling learns from what its networks disagree on, strangers above all,
and mentornet-pd leaves out three samples in ten, where one in ten is strange."""
OPTIONS = {"il": {"first": 3, "every": 3}, "co-teaching": {"ramp": 4}}
"""Two rounds, or the full noise rate, within those epochs."""


@pytest.fixture(scope="module")
def digits():
    """Training samples, their labels, clean test samples and their labels."""
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    inside = np.random.default_rng(0).permutation(np.flatnonzero(y < 8))
    test, rest = inside[:400], inside[400:]
    dirty = contaminate(x[rest], y[rest], x[y >= 8], alpha=0.1, labels="random", seed=0)
    return dirty.x, dirty.y, x[test], y[test]


def accuracy_of(method, epochs, digits):
    x, y, test_x, test_y = digits
    torch.manual_seed(0)
    result = train(
        MLP(8, (64,)), (x, y), method=method, epochs=epochs, batch_size=32, seed=0, device="cpu", log="none"
    )
    assert len(result.log) == epochs
    return result.evaluate(test_x, test_y)["accuracy"]


@pytest.mark.parametrize("name", METHODS)
def test_learns_contaminated_digits(name, digits):
    method = make_method(name, **OPTIONS.get(name, {}))
    assert accuracy_of(method, EPOCHS.get(name, 8), digits) >= LEAST.get(name, 0.95)


def test_negative_learning_of_drawn_labels_learns_too(digits):
    assert accuracy_of(make_method("nl", sampled=True), 20, digits) >= 0.94


def test_a_second_run_with_the_same_method_object_starts_afresh(digits):
    method = make_method("spl")
    assert accuracy_of(method, 3, digits) == accuracy_of(method, 3, digits)


def test_many_classes_in_a_short_run_need_relative_confidence():
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(60, 12)).astype(np.float32)
    y = np.arange(3000) % 60
    x = centres[y] + 0.3 * draw.normal(size=(3000, 12)).astype(np.float32)
    found = {}
    for method in ("standard", "gl", "gl-relative"):
        torch.manual_seed(0)
        result = train(
            torch.nn.Linear(12, 60), (x[:2000], y[:2000]), method=method, epochs=3, batch_size=50,
            optimizer="sgd", learning_rate=0.5, log="none",
        )  # fmt: skip
        found[method] = (result.predict_logits(x[2000:]).argmax(1) == y[2000:]).mean()
    assert found["gl"] < 0.5 * found["standard"]
    assert found["gl-relative"] > 0.8 * found["standard"]
