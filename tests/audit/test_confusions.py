"""Which labels are given to samples of which other class."""

import numpy as np
import pytest
from planted import clusters

from graylearn import Audit, audit


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
