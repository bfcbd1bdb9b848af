"""Fuzzing of the loss: arguments of any type, shape and value; what comes back is compared in float64."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import torch

from graylearn.losses import gray_loss

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
OTHERS: tuple[Any, ...] = (None, 1, "mean", [1.0, 2.0], torch.tensor(1), torch.tensor([True]), torch.zeros(0))
ODD = (math.inf, -math.inf, math.nan, 1e38, -1e38, 1e-45, 0.0, 88.8, -104.0)
EXPECTED = (ValueError, TypeError, RuntimeError, IndexError)
"""What torch.nn.functional raises of arguments that cannot be."""


def _arguments(rng: Random) -> tuple[list[Any], dict[str, Any]]:
    seed = torch.Generator().manual_seed(rng.randrange(1 << 30))
    n, k = rng.choice((0, 1, 2, 5, 33)), rng.choice((0, 1, 2, 3, 10, 40))
    shape = rng.choice(((n, k), (n, k), (n, k), (k,), (n, k, 2), (n, k, 2, 3), ()))
    logits: Any = torch.randn(shape, generator=seed, dtype=torch.float64) * rng.choice((0.01, 1, 30, 1e4))
    for _ in range(rng.choice((0, 0, 0, 2))):
        if logits.numel():
            logits.view(-1)[rng.randrange(logits.numel())] = rng.choice(ODD)
    logits = logits.to(rng.choice(FLOATS))
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target: Any = torch.randint(0, max(k, 1), rows, generator=seed)
    if rng.random() < 0.2 and target.numel():
        target.view(-1)[rng.randrange(target.numel())] = rng.choice((-100, -1, k, 1 << 40, 0))
    target = target.to(rng.choice((torch.int64,) * 5 + (torch.int32, torch.uint8, torch.float32, torch.bool)))
    options: dict[str, Any] = {
        "confidence": rng.choice(
            ("max", "label", "relative", "max", "none", torch.rand(rows, generator=seed))
        ),
        "weight": rng.choice((None, None, torch.rand(k, generator=seed), torch.zeros(k), torch.ones(k + 1))),
        "ignore_index": rng.choice((-100, -100, 0, -1, 1 << 40)),
        "reduction": rng.choice(("mean", "sum", "none", "mean", "average")),
        "detach": rng.random() < 0.9,
        "impl": rng.choice(("auto", "auto", "fused", "reference", "fast")),
    }
    if rng.random() < 0.1:
        logits = rng.choice(OTHERS)
    if rng.random() < 0.1:
        target = rng.choice(OTHERS)
    if rng.random() < 0.2:
        options[rng.choice(list(options))] = rng.choice(OTHERS)
    return [logits, target], options


def loss(folder: Path) -> Any:
    """`gray_loss`: a sentence, or the value and gradient that the reference has in float64."""

    def case(rng: Random) -> None:
        (logits, target), options = _arguments(rng)
        tensor = isinstance(logits, torch.Tensor) and logits.is_floating_point()
        if tensor:
            logits.requires_grad_()
        try:
            value = gray_loss(logits, target, **options)
        except EXPECTED as error:
            sentence = str(error)
            assert sentence
            assert "\n" not in sentence, sentence
            assert "unsupported operand" not in sentence, sentence
            return
        if value.numel() and value.requires_grad:
            value.sum().backward()
        exact = logits.detach().double().requires_grad_()
        weight = options["weight"]
        plain = {**options, "impl": "reference", "weight": None if weight is None else weight.double()}
        if isinstance(options["confidence"], torch.Tensor):
            plain["confidence"] = options["confidence"].double()
        expected = gray_loss(exact, target, **plain)
        assert value.shape == expected.shape
        coarse = logits.dtype in (torch.bfloat16, torch.float16)
        close = {"rtol": 2e-2, "atol": 2e-2} if coarse else {"rtol": 1e-4, "atol": 1e-5}
        largest = torch.finfo(value.dtype).max
        fits = torch.isfinite(expected) & (expected.abs() < largest * 0.9)
        torch.testing.assert_close(value.double()[fits], expected[fits], **close, check_dtype=False)
        if logits.grad is not None and fits.all() and torch.isfinite(exact.detach()).all():
            expected.sum().backward()
            torch.testing.assert_close(logits.grad.double(), exact.grad, **close, check_dtype=False)

    return case
