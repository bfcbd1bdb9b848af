"""The metrics agree with scikit-learn and with their definitions written out by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from graylearn.metrics import auroc, average_precision, ece, fpr_at_tpr, reliability

# No deadline: a busy machine is not a wrong answer.
quick = settings(max_examples=60, deadline=None)


@st.composite
def detection_problems(draw):
    """Scores on a coarse grid, so that ties are common, with both kinds present."""
    count = draw(st.integers(2, 40))
    scores = draw(st.lists(st.integers(-5, 5), min_size=count, max_size=count))
    is_ood = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    is_ood[0], is_ood[1] = True, False
    return np.array(scores) / 4, np.array(is_ood)


@st.composite
def predictions(draw):
    """Probabilities of few decimals, so that many fall on the borders of bins."""
    count, classes = draw(st.integers(1, 40)), draw(st.integers(2, 5))
    parts = draw(
        st.lists(
            st.lists(st.integers(0, 20), min_size=classes, max_size=classes).filter(any),
            min_size=count,
            max_size=count,
        )
    )
    rows = np.array([[part / sum(row) for part in row] for row in parts])
    target = draw(st.lists(st.integers(0, classes - 1), min_size=count, max_size=count))
    return rows, np.array(target)


def ece_by_definition(rows, target, bins):
    confidence, predicted = rows.max(1), rows.argmax(1)
    total = 0.0
    for b in range(bins):
        inside = [i for i in range(len(rows)) if b / bins < confidence[i] <= (b + 1) / bins]
        if inside:
            right = sum(predicted[i] == target[i] for i in inside) / len(inside)
            total += len(inside) / len(rows) * abs(right - sum(confidence[inside]) / len(inside))
    return total


@quick
@given(detection_problems())
def test_auroc_counts_pairs_and_halves_ties(problem):
    scores, is_ood = problem
    pairs = [(a > b) + (a == b) / 2 for a in scores[is_ood] for b in scores[~is_ood]]
    assert auroc(scores, is_ood) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert auroc(scores, is_ood) == pytest.approx(roc_auc_score(is_ood, scores), abs=1e-12)


@quick
@given(detection_problems())
def test_average_precision_is_that_of_scikit_learn(problem):
    scores, is_ood = problem
    assert average_precision(scores, is_ood) == pytest.approx(
        average_precision_score(is_ood, scores), abs=1e-12
    )


@quick
@given(detection_problems(), st.sampled_from([0.05, 0.5, 0.8, 0.95, 1.0]))
def test_fpr_is_taken_at_the_largest_threshold_that_reaches_the_tpr(problem, tpr):
    scores, is_ood = problem
    reaching = [t for t in scores if np.mean(scores[is_ood] >= t) >= tpr]
    assert fpr_at_tpr(scores, is_ood, tpr) == pytest.approx(np.mean(scores[~is_ood] >= max(reaching)))
    fpr, recall, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert fpr_at_tpr(scores, is_ood, tpr) == pytest.approx(fpr[recall >= tpr].min())


@quick
@given(predictions(), st.integers(1, 25))
def test_ece_is_its_definition_with_half_open_bins(prediction, bins):
    rows, target = prediction
    assert ece(rows, target, bins) == pytest.approx(ece_by_definition(rows, target, bins), abs=1e-12)


def test_a_confidence_on_a_border_belongs_to_the_lower_bin():
    found = reliability([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]], [0, 1, 0], bins=4)
    np.testing.assert_array_equal(found.edges, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_array_equal(found.count, [0, 1, 1, 1])
    np.testing.assert_array_equal(found.confidence, [np.nan, 0.5, 0.75, 1])
    np.testing.assert_array_equal(found.accuracy, [np.nan, 0, 1, 1])
    np.testing.assert_array_equal(found.gap, [np.nan, 0.5, -0.25, 0])
    assert found.ece == pytest.approx((0.5 + 0.25) / 3)
