"""What the mathematics promises for any logits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from graylearn.losses import gray_loss

IMPLS = ["auto", "reference", "fused", "triton"]
CONFIDENCE = st.sampled_from(["max", "label", "given"])


@st.composite
def batches(draw, min_classes=2, max_classes=12):
    """Logits of any spread up to 1e3, labels, and a confidence rule."""
    num_classes = draw(st.integers(min_classes, max_classes))
    num_rows = draw(st.integers(1, 5))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    spread = draw(st.sampled_from([0.01, 1.0, 5.0, 30.0, 1000.0]))
    logits = torch.randn(num_rows, num_classes, generator=generator) * spread
    target = torch.randint(num_classes, (num_rows,), generator=generator)
    rule = draw(CONFIDENCE)
    confidence = torch.rand(num_rows, generator=generator) if rule == "given" else rule
    return logits, target, confidence


def rows_and_grad(logits, target, confidence, impl):
    """In float32; the reference, whose logarithms of 1e3 keep four digits behind the point, in float64."""
    scores = (logits.double() if impl == "reference" else logits.clone()).requires_grad_()
    rows = gray_loss(scores, target, confidence=confidence, impl=impl, reduction="none")
    rows.sum().backward()
    return rows.detach(), scores.grad


@pytest.mark.parametrize("impl", IMPLS)
@settings(max_examples=12, deadline=None)
@given(batch=batches(max_classes=2))
def test_two_classes_are_cross_entropy(impl, batch):
    logits, target, confidence = batch
    scores = logits.double().requires_grad_()
    expected = F.cross_entropy(scores, target, reduction="none")
    expected.sum().backward()
    rows, grad = rows_and_grad(logits, target, confidence, impl)
    torch.testing.assert_close(rows.double(), expected.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(grad.double(), scores.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("impl", IMPLS)
@settings(max_examples=12, deadline=None)
@given(batch=batches())
def test_never_above_cross_entropy(impl, batch):
    """L_M = L_G + r with r <= 0."""
    logits, target, confidence = batch
    rows, _ = rows_and_grad(logits, target, confidence, impl)
    cross_entropy = F.cross_entropy(logits.double(), target, reduction="none")
    assert (rows.double() <= cross_entropy * (1 + 1e-5) + 1e-6).all()
    assert (rows >= 0).all()


@pytest.mark.parametrize("impl", IMPLS)
@settings(max_examples=12, deadline=None)
@given(batch=batches(), shift=st.integers(-50, 50))
def test_a_shift_of_all_logits_changes_nothing(impl, batch, shift):
    logits, target, confidence = batch
    logits = (logits * 16).round() / 16  # so that the shift is exact
    rows, grad = rows_and_grad(logits, target, confidence, impl)
    moved_rows, moved_grad = rows_and_grad(logits + shift, target, confidence, impl)
    torch.testing.assert_close(moved_rows, rows, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(moved_grad, grad, rtol=1e-5, atol=1e-6)
    assert (grad.double().sum(1).abs() < 2e-6).all()  # and so the gradient sums to zero


@pytest.mark.parametrize("impl", IMPLS)
@settings(max_examples=12, deadline=None)
@given(batch=batches(), seed=st.integers(0, 2**31))
def test_the_order_of_classes_does_not_matter(impl, batch, seed):
    logits, target, confidence = batch
    order = torch.randperm(logits.shape[1], generator=torch.Generator().manual_seed(seed))
    rows, grad = rows_and_grad(logits, target, confidence, impl)
    shuffled_rows, shuffled_grad = rows_and_grad(logits[:, order], order.argsort()[target], confidence, impl)
    torch.testing.assert_close(shuffled_rows, rows, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(shuffled_grad, grad[:, order], rtol=1e-5, atol=1e-6)
