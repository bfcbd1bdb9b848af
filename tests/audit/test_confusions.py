"""Which labels are given to samples of which other class."""

import numpy as np
import pytest
from planted import clusters

from graylearn import Audit, audit
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
    planted = clusters(1000, wrong=0.0)
    given = np.where((planted.true == 1) & (np.arange(1000) % 5 == 0), 3, planted.true)
    found = audit(planted.x, np.array(list("abcd"))[given])
    first, wrong = found.confusions.iloc[0], (given != planted.true).sum()
    assert (first.label, first.true_class) == ("d", "b")
    assert first.suspected >= 0.8 * wrong
    assert 0.4 * wrong <= first.samples <= 1.3 * wrong
    assert first.share == pytest.approx(first.samples / (given == 3).sum())
    assert found.confusions["samples"].sum() == pytest.approx(found.contamination["mislabelled"] * 1000)
    assert f"{first.share:.1%} of 'd' are 'b'" in found.summary()


def test_where_nothing_is_suspected_no_pair_is_told():
    p = np.eye(3)[np.arange(600) % 3] * 0.9 + 0.1 / 3
    found = Audit.from_predictions(p, np.arange(600) % 3)
    assert not found.confusions["suspected"].any()
    assert "mistaken" not in found.summary()
