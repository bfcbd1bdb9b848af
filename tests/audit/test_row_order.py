"""The order of the rows changes no verdict, whichever way the samples come in."""

import numpy as np
import pandas as pd
import pytest
from audit_clouds import clouds
from sklearn.linear_model import LogisticRegression

from graylearn import Audit, audit
from graylearn.audit.history import train_for_history
from graylearn.audit.inputs import as_features
from graylearn.data.order import canonical_order

TELL = ("ids", "score", "confidence", "suspected", "level", "kind", "suggested", "posterior", "probabilities")


@pytest.fixture(scope="module")
def given():
    """Clouds in double precision with some wrong labels, and another order of them."""
    x, label, _ = clouds(3, n=240, k=4, d=6, spread=0.5)
    random = np.random.default_rng(1)
    label = np.where(random.random(len(label)) < 0.15, (label + random.integers(1, 4, len(label))) % 4, label)
    return x + 1e-9 * random.normal(size=x.shape), label, random.permutation(len(label))


def told(mode, x, label, ids):
    if mode == "frame":
        return audit(
            pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.where(x[:, 2] > 0, "up", "down")}),
            label,
            ids=ids,
        )
    if mode == "model":
        return audit(x, label, ids=ids, model=LogisticRegression(), folds=3)
    if mode == "history":
        return audit(x, label, ids=ids, mode="history", epochs=2)
    if mode == "predictions":
        p = np.exp(x[:, :4]) + 1e-3
        return Audit.from_predictions(p / p.sum(axis=1, keepdims=True), label, ids=ids, overlap="none")
    return audit(x, label, ids=ids, repeats=1, epochs=2)


@pytest.mark.parametrize("mode", ["held-out", "history", "frame", "model", "predictions"])
def test_rows_in_another_order_have_the_same_verdicts(given, mode):
    x, label, order = given
    ids = np.arange(len(label))
    one, other = told(mode, x, label, ids), told(mode, x[order], label[order], ids[order])
    assert one.suspected.any() or mode not in ("held-out", "model")
    for name in TELL:
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name)[order], err_msg=name)
    assert (other.notes, other.ranges) == (one.notes, one.ranges)


def test_a_history_in_another_order_has_the_same_verdicts(given):
    x, label, order = given
    history = train_for_history(as_features(x, len(label)), label, 4, epochs=2)
    turned = history.selected(lambda values: values[..., order], history.targets[order], history.ids[order])
    for features in (None, x):
        one = Audit.from_history(history, None, features)
        other = Audit.from_history(turned, None, None if features is None else features[order])
        for name in TELL:
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name)[order], err_msg=name)


def test_the_canonical_order_is_of_all_that_is_known():
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 3))
    x[25:] = x[:25]  # copies, told apart by their labels, or by what else is known of them
    also = random.normal(size=50)
    for label in (np.arange(50) // 25, np.zeros(50, dtype=np.int64)):
        first = canonical_order(x, label, also)
        turn = random.permutation(50)
        np.testing.assert_array_equal(turn[canonical_order(x[turn], label[turn], also[turn])], first)
    assert canonical_order(-0.0 * x, label).tolist() == list(range(50))  # alike: as they were given
    for kind in (np.float16, np.float32, np.longdouble, np.int8, bool):
        values = (10 * x[:25]).astype(kind)
        np.testing.assert_array_equal(
            values[canonical_order(values, label[:25])],
            values[::-1][canonical_order(values[::-1], label[:25])],
        )
    assert len(canonical_order(np.zeros((0, 2, 2)), np.zeros(0, dtype=np.int64))) == 0
