"""Every implementation against 60 digits: values and gradients finite and right, also at logits of 1e4."""

import itertools

import pytest
import torch
from exact import exact_rows

from graylearn.losses import gpu, gray_loss
from graylearn.losses.gpu import Plan

EPS = {torch.float64: 2.3e-16, torch.float32: 1.2e-7, torch.bfloat16: 7.9e-3, torch.float16: 9.8e-4}
CASES = [
    (impl, dtype)
    for impl in ("auto", "reference", "fused", "triton")
    for dtype in EPS
    if (impl, dtype) != ("triton", torch.float64)
]


def hard_rows(num_classes, spread, dtype, seed=0):
    """Rows with the label on top, tied at the top, at the bottom, and anywhere."""
    generator = torch.Generator().manual_seed(seed)
    logits = (torch.randn(6, num_classes, generator=generator, dtype=torch.float64) * spread).to(dtype)
    target = torch.randint(num_classes, (6,), generator=generator)
    target[0] = logits[0].argmax()
    logits[1, :2] = logits[1].max() + 1
    target[1] = 1
    target[2] = logits[2].argmin()
    return logits, target


def assert_right(logits, target, confidence, impl, dtype, spread=1.0):
    loss, gradient, size = exact_rows(logits, target, confidence)
    scores = logits.clone().requires_grad_()
    rows = gray_loss(scores, target, confidence=confidence, impl=impl, reduction="none")
    rows.sum().backward()
    assert rows.dtype == scores.grad.dtype == dtype
    tiny = torch.finfo(dtype).tiny * 100
    # The reference is as exact as cross_entropy, to eps of one; the closed forms to eps of the loss
    # itself, and in the gradient to eps of Q_k and 1 - Q_y.
    far = (rows.detach().double() - loss).abs() / (
        loss.abs() + (1.0 if impl == "reference" else tiny / EPS[dtype])
    )
    scale = gradient.abs() + (1.0 if impl == "reference" else size) + tiny / EPS[dtype]
    off = (scores.grad.double() - gradient).abs() / scale
    allowed = 64 * EPS[dtype] if dtype in (torch.float32, torch.float64) else 2 * EPS[dtype]
    assert far.max() < allowed
    # exp makes the rounding of its argument, up to 745 in float64, a relative error that many times larger.
    assert off.max() < allowed + min(8 * spread, 745) * EPS[dtype] * (dtype == torch.float64)


ROWS = [
    (impl, dtype, num_classes, spread)
    for (impl, dtype), num_classes, spread in itertools.product(CASES, (2, 3, 100), (0.1, 6, 1e4))
    # the kernels compute in float32 whatever they read, and their interpreter is slow
    if impl != "triton" or dtype == torch.float32 or (num_classes in (3, 100) and spread in (6, 1e4))
]


@pytest.mark.parametrize(("impl", "dtype", "num_classes", "spread"), ROWS)
def test_rows_match_sixty_digits(impl, dtype, num_classes, spread):
    logits, target = hard_rows(num_classes, spread, dtype)
    assert torch.isfinite(logits).all()
    given = torch.tensor([0.0, 1.0, 0.3, 0.7, 1e-6, 0.5])
    for confidence in ("max", "label", given):
        assert_right(logits, target, confidence, impl, dtype, spread)


@pytest.mark.parametrize("lead", [1e3, 1e10, 1e30])
@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
def test_the_others_are_told_apart_however_far_one_logit_leads(impl, lead):
    """Its Q is one; what is taken from the others is their softmax, whatever they are below it."""
    scores = torch.tensor([[lead, 0.0, 3.0, 1.0]], requires_grad=True)
    given = torch.tensor([0.25])
    gray_loss(scores, torch.tensor([1]), confidence=given, impl=impl, reduction="sum").backward()
    top, label = torch.eye(4, dtype=torch.float64)[:2]
    others = torch.tensor([-torch.inf, 0.0, 3.0, 1.0], dtype=torch.float64).softmax(0)
    expected = 0.25 * (top - label) + 0.75 * (top - others)
    torch.testing.assert_close(scores.grad[0].double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spread", [3, 1e4])
@pytest.mark.parametrize(("impl", "dtype"), CASES)
def test_many_classes_match_sixty_digits(impl, dtype, spread):
    logits, target = hard_rows(600, spread, dtype)  # from 513 on a kernel has one row a program
    for confidence in ("max", "label"):
        assert_right(logits[:3], target[:3], confidence, impl, dtype, spread)


@pytest.mark.parametrize("spread", [1, 4, 1e4])
@pytest.mark.parametrize("block", [512, 128])
def test_kernel_for_large_rows_matches_sixty_digits(monkeypatch, block, spread):
    """The one-row kernel, with the row in registers (512) and in blocks with a running maximum (128).

    The interpreter takes as long for an operation on a small block as on a large one: blocks are few.
    """
    monkeypatch.setattr(gpu, "plan", lambda *_: Plan(rows=1, block=block, warps=4, chunk=256))
    logits, target = hard_rows(300, spread, torch.float32, seed=1)
    logits[3, ::2] = logits[3, 1]  # many ties below the top
    for confidence in ("max", torch.tensor([0.0, 1.0, 0.3, 0.7])):
        assert_right(logits[:4], target[:4], confidence, "triton", torch.float32)


@pytest.mark.parametrize("num_classes", [9999, 40000])
def test_many_classes_keep_the_precision_of_float32(num_classes):
    """Small errors of many classes must not add up; the reference in float64 is right to 1e-12 here."""
    logits = torch.randn(3, num_classes, generator=torch.Generator().manual_seed(3))
    target = torch.tensor([0, 5, num_classes - 1])
    exact = logits.double().requires_grad_()
    expected = gray_loss(exact, target, impl="reference", reduction="none")
    expected.sum().backward()
    scores = logits.requires_grad_()
    rows = gray_loss(scores, target, impl="fused", reduction="none")
    rows.sum().backward()
    torch.testing.assert_close(rows.double(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(scores.grad.double(), exact.grad, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
@pytest.mark.parametrize("confidence", ["max", "label"])
def test_what_is_not_a_number_is_not_hidden(impl, confidence):
    logits = torch.randn(3, 70)
    logits[0, 4] = float("nan")
    logits[1, 5] = float("inf")
    scores = logits.requires_grad_()
    rows = gray_loss(scores, torch.tensor([1, 2, 3]), confidence=confidence, impl=impl, reduction="none")
    rows.sum().backward()
    assert rows.isnan().tolist() == [True, True, False]
    assert scores.grad[0].isnan().any()
    assert scores.grad[1].isnan().any()
    assert scores.grad[2].isfinite().all()


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
@pytest.mark.parametrize("confidence", ["max", "label"])
def test_masked_classes_are_as_if_absent(impl, confidence):
    logits = torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    masked = torch.tensor([[1.0, float("-inf"), -2.0, 0.5, float("-inf"), 3.0]])
    few, many = logits.requires_grad_(), masked.requires_grad_()
    short = gray_loss(few, torch.tensor([2]), confidence=confidence, impl=impl)
    long = gray_loss(many, torch.tensor([3]), confidence=confidence, impl=impl)
    short.backward()
    long.backward()
    torch.testing.assert_close(long, short)
    torch.testing.assert_close(many.grad[:, [0, 2, 3, 5]], few.grad)
    assert (many.grad[:, [1, 4]] == 0).all()


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
def test_a_row_with_one_class_left_is_certain(impl):
    """All but one class masked: no loss for that label, an infinite one for another, as in cross_entropy."""
    masked = torch.full((2, 4), float("-inf"))
    masked[:, 1] = 2.0
    scores = masked.requires_grad_()
    rows = gray_loss(scores, torch.tensor([1, 0]), impl=impl, reduction="none")
    rows[0].backward()
    assert rows.tolist() == [0.0, float("inf")]
    assert (scores.grad[0] == 0).all()
