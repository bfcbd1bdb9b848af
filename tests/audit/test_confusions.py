"""Which labels are given to samples of which other class."""

import numpy as np
import pytest

from graylearn import Audit
from graylearn.audit.confusions import confusion_table


def test_pairs_are_counted_by_what_is_expected_and_by_what_is_flagged():
    label = np.array([0, 0, 0, 0, 1, 1, 2])
    wrong = np.array([0.9, 0.8, 0.1, 0.0, 0.7, 0.0, 0.2])
    found = np.array([1, 1, -1, -1, 2, -1, -1])
    probabilities = np.array([[0.2, 0.5, 0.3]] * 7)
    table = confusion_table(label, wrong, probabilities, found, ("wolf", "husky", "lorry"))
    # the doubt about the third wolf goes to husky, its likeliest other class; a fifth of a
    # lorry is too little for a row of its own
    assert table[["label", "true_class", "suspected"]].values.tolist() == [
        ["wolf", "husky", 2],
        ["husky", "lorry", 1],
        ["lorry", None, 0],
    ]
    np.testing.assert_allclose(table["samples"], [1.8, 0.7, 0.2])
    np.testing.assert_allclose(table["share"], [1.8 / 4, 0.7 / 2, 0.2])
    assert probabilities[0, 0] == 0.2  # what is handed in stays as it is


def test_an_audit_names_the_pair_that_is_confused_and_how_often():
    random = np.random.default_rng(0)
    true = np.arange(1200) % 4
    given = np.where((true == 1) & (random.random(1200) < 0.2), 3, true)
    p = np.full((1200, 4), 0.02)
    p[np.arange(1200), true] = 0.94
    p *= random.uniform(0.8, 1.2, p.shape)
    names = np.array(list("abcd"))
    p /= p.sum(axis=1, keepdims=True)
    audit = Audit.from_predictions(p, names[given], classes=list(names), overlap="none")
    first = audit.confusions.iloc[0]
    assert (first.label, first.true_class) == ("d", "b")
    wrong = (given != true).sum()
    assert first.suspected >= 0.8 * wrong
    assert first.samples == pytest.approx(wrong, rel=0.2)
    assert first.share == pytest.approx(first.samples / (given == 3).sum())
    assert audit.confusions["samples"].sum() == pytest.approx(audit.contamination["mislabelled"] * 1200)
    assert f"{first.share:.1%} of 'd' are 'b'" in audit.summary()


def test_where_nothing_is_suspected_no_pair_is_told():
    p = np.eye(3)[np.arange(600) % 3] * 0.9 + 0.1 / 3
    audit = Audit.from_predictions(p, np.arange(600) % 3)
    assert not audit.confusions["suspected"].any()
    assert "mistaken" not in audit.summary()
