"""The conventions of cross_entropy. With two classes the loss is cross entropy: torch is the reference."""

import pytest
import torch
from torch.nn import functional as F

from graylearn.losses import GrayLoss, fused, gray_loss, mae_loss, negative_loss

IMPLS = ["auto", "reference", "fused", "triton"]


def batch(shape, seed=0, ignored=0.3):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape, generator=generator)
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.randint(shape[1 if len(shape) > 1 else 0], rows, generator=generator)
    if rows:
        target[torch.rand(rows, generator=generator) < ignored] = -100
    return logits, target


def value_and_grad(loss, logits, *args, **kwargs):
    scores = logits.clone().requires_grad_()
    value = loss(scores, *args, **kwargs)
    generator = torch.Generator().manual_seed(9)
    value.backward(torch.rand(value.shape, generator=generator, dtype=value.dtype))
    return value, scores.grad


@pytest.mark.parametrize("shape", [(6, 70), (4, 5, 6), (2, 9, 3, 4)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("impl", IMPLS)
def test_reductions_are_built_from_rows(impl, weighted, shape):
    """mean = sum of weight * loss over the rows that count, divided by the sum of their weights."""
    logits, target = batch(shape, seed=3)
    weight = torch.rand(shape[1], dtype=torch.float64) + 0.1 if weighted else None
    rows = gray_loss(logits.double(), target.clamp_min(0), impl="reference", reduction="none")
    of_row = torch.ones_like(rows) if weight is None else weight[target.clamp_min(0)]
    of_row = of_row * (target != -100)
    for reduction, expected in (
        ("none", rows * of_row),
        ("sum", (rows * of_row).sum()),
        ("mean", (rows * of_row).sum() / of_row.sum()),
    ):
        kind = None if weight is None else weight.float()
        value = gray_loss(logits, target, impl=impl, weight=kind, reduction=reduction)
        torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_batch_that_is_all_ignored(impl, reduction):
    logits, _ = batch((4, 2))
    target = torch.full((4,), -100)
    expected, expected_grad = value_and_grad(F.cross_entropy, logits, target, reduction=reduction)
    value, grad = value_and_grad(gray_loss, logits, target, reduction=reduction, impl=impl)
    torch.testing.assert_close(value, expected, equal_nan=True)
    torch.testing.assert_close(grad, expected_grad)


@pytest.mark.parametrize("impl", IMPLS)
def test_another_ignore_index(impl):
    logits, target = batch((9, 4), ignored=0.0)
    target[3] = 2
    kept = target != 2
    value = gray_loss(logits, target, ignore_index=2, impl=impl)
    torch.testing.assert_close(value, gray_loss(logits[kept], target[kept], impl="reference"))


@pytest.mark.parametrize("impl", IMPLS)
def test_layouts_do_not_matter(impl):
    """A transposed view, a slice of wider logits and their contiguous copies give one gradient."""
    wide = torch.randn(4, 6, 8)
    views = (wide.transpose(1, 2), wide[:, 1:5, ::2], wide[..., 0], wide[0].t())
    for view in views:
        target = torch.randint(view.shape[1], view.shape[:1] + view.shape[2:])
        value, grad = value_and_grad(gray_loss, view.contiguous(), target, impl="reference")
        leaf = wide.clone().requires_grad_()
        twin = leaf.as_strided(view.shape, view.stride(), view.storage_offset())
        loss = gray_loss(twin, target, impl=impl)
        (twin_grad,) = torch.autograd.grad(
            loss, twin, torch.rand((), generator=torch.Generator().manual_seed(9))
        )
        torch.testing.assert_close(loss, value)
        torch.testing.assert_close(twin_grad, grad)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_targets_of_any_integer_dtype(impl, dtype):
    logits, target = batch((5, 3), ignored=0.0)
    torch.testing.assert_close(
        gray_loss(logits, target.to(dtype), impl=impl), gray_loss(logits, target, impl="reference")
    )


@pytest.mark.parametrize("confidence", ["max", "relative"])
def test_no_label_in_bytes_is_taken_for_the_ignored_one(confidence):
    """To torch a uint8 of 156 equals -100."""
    logits, target = batch((6, 200), ignored=0.0)
    target[:3] = 156
    found = gray_loss(logits, target.to(torch.uint8), confidence=confidence, reduction="none")
    torch.testing.assert_close(found, gray_loss(logits, target, confidence=confidence, reduction="none"))
    drawn = [torch.Generator().manual_seed(7) for _ in range(2)]
    found = negative_loss(logits, target.to(torch.uint8), generator=drawn[0], reduction="none")
    torch.testing.assert_close(found, negative_loss(logits, target, generator=drawn[1], reduction="none"))
    for loss in (gray_loss, mae_loss):
        with pytest.raises(ValueError, match="label 156 but logits have 5 classes"):
            loss(logits[:, :5], target.to(torch.uint8))


def test_chunks_do_not_show(monkeypatch):
    """Any cut of rows and of the inner dimension gives the same numbers."""
    for shape in ((37, 5), (3, 5, 41), (2, 5, 6, 7)):
        logits, target = batch(shape)
        whole = value_and_grad(gray_loss, logits, target, impl="fused", reduction="none")
        for chunk in (5, 23, 64):
            monkeypatch.setattr(fused, "CHUNK", chunk)
            cut = value_and_grad(gray_loss, logits, target, impl="fused", reduction="none")
            torch.testing.assert_close(cut, whole, rtol=1e-6, atol=1e-7)
        monkeypatch.undo()


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_float32_as_cross_entropy_does(impl, dtype):
    logits, target = batch((8, 5))
    with torch.autocast("cpu", dtype=dtype):
        half = logits.to(dtype).requires_grad_()
        value = gray_loss(half, target, impl=impl)
        assert value.dtype == F.cross_entropy(half, target).dtype == torch.float32
    value.backward()
    assert half.grad.dtype == dtype
    torch.testing.assert_close(value, gray_loss(half.detach().float(), target, impl="reference"))


@pytest.mark.parametrize("impl", IMPLS)
def test_a_given_confidence_takes_no_gradient(impl):
    logits, target = batch((6, 4))
    confidence = torch.rand(6, requires_grad=True)
    gray_loss(logits.requires_grad_(), target, confidence=confidence, impl=impl).backward()
    assert confidence.grad is None


def test_the_module_is_the_function():
    logits, target = batch((6, 4))
    weight = torch.rand(4)
    module = GrayLoss("label", weight=weight, ignore_index=1, reduction="sum")
    value = module(logits, target.clamp_min(0))
    expected = gray_loss(
        logits, target.clamp_min(0), confidence="label", weight=weight, ignore_index=1, reduction="sum"
    )
    assert torch.equal(value, expected)
    assert "weight" in dict(module.named_buffers())
    given = torch.rand(6)
    torch.testing.assert_close(
        GrayLoss()(logits, target, given), gray_loss(logits, target, confidence=given), rtol=0, atol=0
    )


def test_no_gradient_is_made_where_none_is_wanted():
    logits, target = batch((6, 4))
    assert not gray_loss(logits, target).requires_grad
    with torch.no_grad():
        assert not gray_loss(logits.requires_grad_(), target).requires_grad
