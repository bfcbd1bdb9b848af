"""Small batches on the CPU take a way of their own, which must not show: rows are as in any other batch."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graylearn.losses import gray_loss, small

EPS = {torch.float32: 1.2e-7, torch.bfloat16: 7.9e-3, torch.float16: 9.8e-4}


def value_and_grad(logits, target, **options):
    scores = logits.clone().requires_grad_()
    value = gray_loss(scores, target, **options)
    value.backward(torch.linspace(0.5, 2.0, max(1, value.numel()), dtype=value.dtype).view(value.shape))
    return value.detach(), scores.grad


@st.composite
def cases(draw):
    """A small batch of any dtype and spread, with any option."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    num_rows, num_classes = draw(st.integers(1, 9)), draw(st.integers(2, 40))
    dtype = draw(st.sampled_from(list(EPS)))
    spread = draw(st.sampled_from([0.0, 0.01, 1.0, 8.0, 60.0, 2000.0]))
    logits = (torch.randn(num_rows, num_classes, generator=generator) * spread).to(dtype)
    target = torch.randint(num_classes, (num_rows,), generator=generator)
    ignore_index = draw(st.sampled_from([-100, 0]))
    if draw(st.booleans()):
        target[torch.rand(num_rows, generator=generator) < 0.3] = ignore_index
    rule = draw(st.sampled_from(["max", "label", "given"]))
    return (
        logits,
        target,
        {
            "confidence": torch.rand(num_rows, generator=generator).round(decimals=1)
            if rule == "given"
            else rule,
            "weight": torch.rand(num_classes, generator=generator) if draw(st.booleans()) else None,
            "ignore_index": ignore_index,
            "reduction": draw(st.sampled_from(["none", "mean", "sum"])),
        },
    )


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_the_small_way_and_the_closed_form_agree(case):
    logits, target, options = case
    value, grad = value_and_grad(logits, target, impl="auto", **options)
    expected, expected_grad = value_and_grad(logits, target, impl="fused", **options)
    assert value.dtype == expected.dtype
    assert grad.dtype == expected_grad.dtype
    near = {"rtol": 20 * EPS[logits.dtype], "atol": 4 * EPS[logits.dtype], "equal_nan": True}
    torch.testing.assert_close(value, expected, **near)
    torch.testing.assert_close(grad, expected_grad, **near)


EXTREME = {
    "nan": ([0.0, math.nan, 1.0], 0),
    "inf at the label": ([0.0, math.inf, 1.0], 1),
    "inf elsewhere": ([0.0, math.inf, 1.0], 0),
    "-inf at the label": ([0.0, -math.inf, 1.0], 1),
    "only the label left": ([-math.inf, 2.0, -math.inf], 1),
    "only another left": ([-math.inf, 2.0, -math.inf], 0),
    "nothing left": ([-math.inf] * 3, 0),
    "far below": ([0.0, 3000.0, 1.0], 0),
    "far above": ([0.0, 3000.0, 1.0], 1),
}


@pytest.mark.parametrize("confidence", ["max", "label", torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.5])])
@pytest.mark.parametrize("name", EXTREME)
def test_extreme_rows_are_left_to_the_closed_form(name, confidence):
    row, label = EXTREME[name]
    logits, target = torch.tensor([row, [0.3, -0.2, 0.9]]), torch.tensor([label, 1])
    assert small.suits(logits, target)
    assert small.gray_small(logits, target, confidence, None, -100, "none") is None
    for reduction in ("none", "mean"):
        options = {"confidence": confidence, "reduction": reduction}
        found = value_and_grad(logits, target, impl="auto", **options)
        expected = value_and_grad(logits, target, impl="fused", **options)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("confidence", ["max", "label"])
@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
def test_rows_are_the_same_in_small_and_large_batches(confidence, spread):
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(small.LIMIT // 10 + 7, 10, generator=generator) * spread
    target = torch.randint(10, (len(logits),), generator=generator)
    target[::5] = -100
    assert not small.suits(logits, target)
    options = {"confidence": confidence, "reduction": "none"}
    scores = logits.clone().requires_grad_()
    rows = gray_loss(scores, target, **options)
    rows.sum().backward()
    for part in (slice(0, 16), slice(100, 356), slice(700, None)):
        assert small.suits(logits[part], target[part])
        piece = logits[part].clone().requires_grad_()
        losses = gray_loss(piece, target[part], **options)
        losses.sum().backward()
        torch.testing.assert_close(losses, rows[part], rtol=4e-6, atol=1e-30)
        torch.testing.assert_close(piece.grad, scores.grad[part], rtol=4e-6, atol=4e-7)
