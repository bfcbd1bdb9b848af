"""The identity to the last digits, the bounds by hand."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from graylearn.losses import gray_loss
from reproduction.theory import Assumptions, gray_bound, lambda_limit, remainder, standard_bound

quick = settings(max_examples=60, deadline=None)


@st.composite
def labelled_logits(draw, most=12):
    classes = draw(st.integers(2, most))
    logits = draw(st.lists(st.floats(-30, 30), min_size=classes, max_size=classes))
    return logits, draw(st.integers(0, classes - 1)), draw(st.floats(0, 1))


def exact_pieces(logits, label):
    """L_G, L_C and the probabilities with sixty digits."""
    weights = [Decimal(value).exp() for value in logits]
    total = sum(weights)
    probs = [weight / total for weight in weights]
    rejected = -sum(((total - w) / total).ln() for k, w in enumerate(weights) if k != label)
    return -probs[label].ln(), rejected, probs


@quick
@given(labelled_logits())
def test_gray_loss_is_cross_entropy_plus_the_remainder_and_the_remainder_is_never_positive(case):
    values, label, level = case
    logits, target = torch.tensor([values], dtype=torch.float64), torch.tensor([label])
    with localcontext() as context:
        context.prec = 60
        given_loss, rejected, probs = exact_pieces(values, label)
        for confidence, C in (
            ("max", max(probs)),
            ("label", probs[label]),
            (torch.tensor([level], dtype=torch.float64), Decimal(level)),
        ):
            exact = (1 - C) * (rejected - given_loss)
            found = remainder(logits, target, confidence=confidence)
            size = float(given_loss + rejected)
            assert exact <= Decimal("1e-30")
            assert found.shape == (1,)
            assert found.item() == pytest.approx(float(exact), rel=1e-12, abs=1e-14 * (1 + size))
            whole = gray_loss(logits, target, confidence=confidence, reduction="none")
            split = F.cross_entropy(logits, target, reduction="none") + found
            torch.testing.assert_close(whole, split, rtol=1e-12, atol=1e-14 * (1 + size))


@pytest.mark.parametrize(("classes", "leads_up"), [(2, True), (19, True), (20, False)])
def test_without_detaching_a_uniform_start_unlearns_the_label_from_twenty_classes_on(classes, leads_up):
    logits = torch.zeros(1, classes, dtype=torch.float64, requires_grad=True)
    loss = gray_loss(logits, torch.tensor([0]), confidence="label", detach=False)
    slope = torch.autograd.grad(loss, logits)[0][0, 0].item()
    # -q(1 - q)[1 + W - (L_G - L_C)] at Q = 1/K, where W = 1
    reject = -(classes - 1) * math.log(1 - 1 / classes)
    by_hand = -(classes - 1) / classes**2 * (2 - math.log(classes) + reject)
    assert slope == pytest.approx(by_hand, rel=1e-9)
    assert (slope < 0) == leads_up
    detached = gray_loss(logits, torch.tensor([0]), confidence="label")
    assert torch.autograd.grad(detached, logits)[0][0, 0].item() < 0


# 100 in, 25 ood: alpha = .2, rate = .2/5 + .8/10 = .12. Two layers: (sqrt(4 ln 2) + 1) * 2 * 3 = 15.9906553.
WORKED = Assumptions(
    num_in=100,
    num_ood=25,
    num_classes=4,
    norms=(2.0, 3.0),
    input_norm=1.5,
    discrepancy=0.5,
    loss_bound=2.0,
    lipschitz=1.0,
    delta=0.16,
)


def test_bounds_are_the_numbers_worked_by_hand():
    standard = standard_bound(WORKED)
    assert WORKED.alpha == pytest.approx(0.2)
    assert WORKED.rate == pytest.approx((0.2 * 10 + 0.8 * 5) / 50)
    assert standard.discrepancy == pytest.approx(0.2)
    assert standard.complexity == pytest.approx(4 * 1.5 * 0.12 * 15.9906553, rel=1e-8)
    assert standard.sampling == pytest.approx(16 * 0.12 * 3.0348543, rel=1e-7)  # sqrt(2 ln 100)
    assert standard.total == pytest.approx(0.2 + 11.5132718 + 5.8269202, rel=1e-7)
    gray = gray_bound(WORKED, 1.5)  # log(2 * 1.5 - 2) = 0
    assert (gray.discrepancy, gray.sampling) == (standard.discrepancy, standard.sampling)
    assert gray.complexity == pytest.approx(4 * 1.5 * 4 * 0.12 * 2)
    assert gray_bound(WORKED, 1 + math.e / 2).complexity == pytest.approx(4 * 1.5 * 4 * 0.12 * 3)


def test_the_printed_bounds_meet_where_the_docstring_says_and_not_at_the_printed_condition():
    given_norms = replace(WORKED, norms=(1.0, 1.5), num_classes=3, input_norm=3.0)
    meeting = 1 + math.exp((math.sqrt(4 * math.log(2)) + 1) * 1.5 / 3 - 2.0) / 2
    assert gray_bound(given_norms, meeting).total == pytest.approx(standard_bound(given_norms).total)
    printed = lambda_limit(given_norms, log_sum_exp=2.0)
    assert printed > meeting
    assert gray_bound(given_norms, printed).total > standard_bound(given_norms).total
