"""Several annotators: consensus, quality, agreement, whom to ask again; with gaps and in long form."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from graylearn.audit.annotators import consensus
from graylearn.errors import DataError


@pytest.fixture(scope="module")
def crowd():
    """(labels (400, 6) with gaps, truth): five good annotators, and one who says the next class."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=400)
    labels = np.full((400, 6), np.nan)
    for person in range(6):
        rows = random.random(400) < 0.5
        right = random.random(400) < (0.85 if person < 5 else 0.1)
        said = np.where(right, truth, (truth + 1) % 3)
        labels[rows, person] = said[rows]
    labels[np.isnan(labels).all(axis=1), 0] = 0
    return labels, truth


def test_the_consensus_knows_who_is_wrong(crowd):
    labels, truth = crowd
    found = consensus(labels)
    votes = np.stack([(labels == k).sum(axis=1) for k in range(3)], axis=1).argmax(axis=1)
    assert (found.consensus == truth).mean() > (votes == truth).mean() + 0.03
    given = ~np.isnan(labels)
    right = (labels == truth[:, None]).sum(axis=0) / given.sum(axis=0)
    np.testing.assert_allclose(found.quality, right, atol=0.08)
    assert found.annotator_table["annotator"][0] == 5
    doubted = found.ask_again[:50]
    assert (found.consensus != truth)[doubted].mean() > 3 * (found.consensus != truth).mean()


def test_long_form_is_the_same(crowd):
    labels, _ = crowd
    row, column = np.nonzero(~np.isnan(labels))
    names = np.array(["cat", "dog", "owl"])[labels[row, column].astype(int)]
    long = pd.DataFrame({"sample": [f"s{r}" for r in row], "annotator": column, "label": names})
    found, wide = consensus(long), consensus(labels)
    assert found.samples[:2].tolist() == ["s0", "s1"]
    np.testing.assert_allclose(found.probabilities, wide.probabilities)
    assert set(found.table["consensus"]) == {"cat", "dog", "owl"}
    for other in (pl.from_pandas(long), pa.Table.from_pandas(long)):
        np.testing.assert_array_equal(consensus(other).probabilities, found.probabilities)
    with pytest.raises(DataError, match="labels a sample twice"):
        consensus(pd.concat([long, long.head(1)]))


def test_a_model_settles_what_one_person_said(crowd):
    _, truth = crowd
    random = np.random.default_rng(1)
    single = np.where(random.random(400) < 0.7, truth, random.integers(3, size=400))[:, None]
    model = np.full((400, 3), 0.2)
    said = np.where(random.random(400) < 0.9, truth, random.integers(3, size=400))
    model[np.arange(400), said] = 0.6  # right more often than it is sure
    alone, helped = consensus(single), consensus(single, pred_probs=model)
    assert (alone.consensus == single[:, 0]).all()
    assert (helped.consensus == truth).mean() > (single[:, 0] == truth).mean() + 0.1


def test_features_are_asked_through_the_views(crowd):
    _, truth = crowd
    random = np.random.default_rng(2)
    x = np.eye(3)[truth] * 4 + random.normal(size=(400, 3))
    single = np.where(random.random(400) < 0.7, truth, random.integers(3, size=400))
    found = consensus(single[:, None], X=x)
    assert (found.consensus == truth).mean() > 0.95
    other = random.permutation(400)
    again = consensus(single[other, None], X=x[other])
    np.testing.assert_array_equal(again.probabilities, found.probabilities[other])


def test_the_order_of_the_samples_changes_nothing(crowd):
    labels, truth = crowd
    random = np.random.default_rng(3)
    other = random.permutation(len(truth))
    model = random.dirichlet((1, 1, 1), len(truth))
    for given in ({}, {"pred_probs": model}):
        found = consensus(labels, **given)
        again = consensus(labels[other], **{name: each[other] for name, each in given.items()})
        np.testing.assert_array_equal(again.probabilities, found.probabilities[other])
        np.testing.assert_array_equal(again.confusion, found.confusion)


def test_agreement_is_krippendorffs():
    """The example of Krippendorff (2011), Computing Krippendorff's Alpha-Reliability: nominal data, .743."""
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    found = consensus(pd.DataFrame(rows, dtype=object).T)
    assert found.agreement == pytest.approx(0.743, abs=0.0005)


@pytest.mark.parametrize("dtype", [object, "str"])
def test_blank_text_is_no_label(dtype):
    wide = pd.DataFrame({"a": ["x", "y", "", "x"], "b": ["x", " ", "y", "x"]}, dtype=dtype)
    found = consensus(wide)
    assert found.classes == ("x", "y")
    np.testing.assert_array_equal(found.label, [[0, 0], [1, -1], [-1, 1], [0, 0]])
    np.testing.assert_array_equal(consensus(wide.to_numpy()).label, found.label)
    long = wide.reset_index(names="sample").melt("sample", var_name="annotator", value_name="label")
    np.testing.assert_array_equal(consensus(long.sort_values("sample")).label, found.label)


def test_what_is_no_table_of_labels_is_refused():
    for shape in ((4,), (2, 2, 2), (0, 2)):
        with pytest.raises(DataError, match="one column per annotator"):
            consensus(np.zeros(shape))
    with pytest.raises(DataError, match="labels hold no label"):
        consensus([[None, None]])
    with pytest.raises(DataError, match="labels 7 are not among the 2 known classes"):
        consensus([[7]], classes=[1, 2])
    with pytest.raises(DataError, match="pred_probs has 2 columns for 3 classes"):
        consensus([[0], [1], [2]], pred_probs=[[0.5, 0.5]] * 3)


@pytest.mark.parametrize("name", ["sample", "annotator"])
def test_a_label_of_nobody_or_of_nothing_is_refused(name):
    long = pd.DataFrame({"sample": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxyx")})
    with pytest.raises(DataError, match=f"1 of 4 labels have no {name}: fill it in"):
        consensus(long.assign(**{name: long[name].astype(object).mask(long.index == 3, None)}))


def test_one_class_needs_no_network():
    found = consensus([["a", "a"]] * 40, X=np.eye(40))
    assert set(found.consensus) == {"a"}
