"""Confidence next to that of the batch: max Q over its median among the labels that count, at most 1."""

import numpy as np
import pytest
import torch
from torch.func import vmap

from graylearn.losses import GrayLoss, gray_loss
from reproduction.theory import remainder

IMPLS = ["auto", "reference", "fused", "triton"]
SHAPES = [(6, 4), (7, 4), (1, 4), (3, 4, 5), (2, 4, 3, 3), (2500, 4)]
CASES = [(shape, impl) for shape in SHAPES for impl in IMPLS if (shape, impl) != ((2500, 4), "triton")]
CASES.append(((300, 4), "triton"))  # several programs, which the interpreter runs one after another


def batch(shape):
    generator = torch.Generator().manual_seed(len(shape))
    logits = 3 * torch.randn(shape, generator=generator)
    target = torch.randint(shape[1], shape[:1] + shape[2:], generator=generator)
    return logits, target


def by_hand(logits, target):
    """C in numpy: the median of an even number is the lower middle one."""
    e = np.exp(logits.double().numpy() - logits.double().numpy().max(1, keepdims=True))
    top = 1 / e.sum(1)
    kept = np.sort(top[target.numpy() != -100])
    return torch.from_numpy(np.minimum(top / kept[(len(kept) - 1) // 2], 1)).float()


def value_and_grad(logits, target, **options):
    scores = logits.clone().requires_grad_()
    value = gray_loss(scores, target, **options)
    value.sum().backward()
    return value.detach(), scores.grad


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize(("shape", "impl"), CASES, ids=str)
def test_it_is_the_loss_of_that_confidence(shape, ignored, impl):
    logits, target = batch(shape)
    if ignored:
        target.view(-1)[1::3] = -100
        logits.movedim(1, -1)[target == -100] *= 50  # the surest of all must not move the median
    confidence = by_hand(logits, target)
    for reduction in ("none", "mean"):
        options = {"reduction": reduction, "impl": impl}
        found = value_and_grad(logits, target, confidence="relative", **options)
        expected = value_and_grad(logits, target, confidence=confidence, **options)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("impl", IMPLS)
def test_ignored_rows_are_as_if_they_were_not_there(impl):
    logits, target = batch((9, 4))
    target[::2] = -100
    logits[0] = torch.nan  # as where nothing was measured
    loss = gray_loss(logits, target, confidence="relative", impl=impl)
    kept = target != -100
    torch.testing.assert_close(loss, gray_loss(logits[kept], target[kept], confidence="relative"))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("shape", [(0, 4), (3, 4, 0), (5, 4)], ids=str)
def test_nothing_to_take_a_median_of(shape, impl):
    logits, target = batch(shape)
    target.fill_(-100)
    for reduction in ("none", "sum", "mean"):
        options = {"confidence": "relative", "reduction": reduction, "impl": impl}
        value, grad = value_and_grad(logits, target, **options)
        assert value.isnan() if reduction == "mean" else not value.any()
        assert not grad.any()


@pytest.mark.parametrize("impl", IMPLS)
def test_a_nan_row_spoils_no_other(impl):
    logits, target = batch((6, 4))
    logits[2, 0] = torch.nan
    rows = gray_loss(logits, target, confidence="relative", impl=impl, reduction="none")
    assert rows.isnan().tolist() == [False, False, True, False, False, False]


def test_gradcheck_with_and_without_the_confidence():
    logits, target = batch((5, 4))
    logits = logits.double().requires_grad_()

    def literal(scores):
        return gray_loss(scores, target, confidence="relative", detach=False)

    assert torch.autograd.gradcheck(literal, logits)
    (through,) = torch.autograd.grad(literal(logits), logits)
    (constant,) = torch.autograd.grad(gray_loss(logits, target, confidence="relative"), logits)
    fixed = by_hand(logits.detach(), target)
    (expected,) = torch.autograd.grad(gray_loss(logits, target, confidence=fixed), logits)
    torch.testing.assert_close(constant, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(through, constant, atol=1e-3)


def test_the_module_mapped_batches_and_the_remainder_know_it():
    logits, target = batch((3, 8, 4))[0], torch.randint(4, (3, 8))
    criterion = GrayLoss("relative", reduction="none")
    each = torch.stack([criterion(scores, labels) for scores, labels in zip(logits, target, strict=True)])
    torch.testing.assert_close(vmap(criterion)(logits, target), each)
    given = torch.nn.functional.cross_entropy(logits[0], target[0], reduction="none")
    torch.testing.assert_close(given + remainder(logits[0], target[0], confidence="relative"), each[0])
