"""Bad input gets a sentence that names it."""

import pytest
import torch

from graylearn.losses import fused, gpu, gray_loss, negative_loss, rows

LOGITS = torch.zeros(3, 5)
TARGET = torch.tensor([0, 1, 2])


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
@pytest.mark.parametrize("label", [7, -1])
def test_a_label_that_is_no_class(impl, label):
    sentence = rf"target has label {label} but logits have 5 classes \(0\.\.4\)"
    with pytest.raises(ValueError, match=sentence):
        gray_loss(LOGITS, torch.tensor([0, label, -100]), impl=impl)


@pytest.mark.parametrize(
    ("error", "sentence", "logits", "target", "settings"),
    [
        (ValueError, r"logits have 1 class\(es\)", torch.zeros(3, 1), TARGET * 0, {}),
        (TypeError, "soft targets are not supported", LOGITS, torch.zeros(3, 5), {}),
        (TypeError, "target is torch.bool", LOGITS, TARGET > 0, {}),
        (TypeError, "logits are torch.int64", LOGITS.long(), TARGET, {}),
        (ValueError, r"target has shape \(2,\) but logits \(3, 5\) need \(3,\)", LOGITS, TARGET[:2], {}),
        (ValueError, "logits have no dimensions", torch.tensor(1.0), torch.tensor(0), {}),
        (
            ValueError,
            "confidence has the value 1.5",
            LOGITS,
            TARGET,
            {"confidence": torch.tensor([0, 1.5, 1])},
        ),
        (
            ValueError,
            "confidence has the value nan",
            LOGITS,
            TARGET,
            {"confidence": torch.full((3,), torch.nan)},
        ),
        (ValueError, r"confidence has shape \(4,\)", LOGITS, TARGET, {"confidence": torch.zeros(4)}),
        (TypeError, "confidence is torch.int64", LOGITS, TARGET, {"confidence": TARGET}),
        (TypeError, "confidence is a float", LOGITS, TARGET, {"confidence": 0.5}),
        (ValueError, "confidence is 'min'", LOGITS, TARGET, {"confidence": "min"}),
        (ValueError, r"weight has shape \(4,\); expected \(5,\)", LOGITS, TARGET, {"weight": torch.ones(4)}),
        (TypeError, "weight is torch.int64", LOGITS, TARGET, {"weight": torch.ones(5).long()}),
        (ValueError, "reduction is 'average'", LOGITS, TARGET, {"reduction": "average"}),
        (ValueError, "impl is 'cuda'", LOGITS, TARGET, {"impl": "cuda"}),
        (
            ValueError,
            "detach=False needs impl='reference'",
            LOGITS,
            TARGET,
            {"detach": False, "impl": "fused"},
        ),
        (TypeError, "impl='triton' takes", LOGITS.double(), TARGET, {"impl": "triton"}),
        (RuntimeError, "target is on meta", LOGITS, TARGET.to("meta"), {}),
        (RuntimeError, "weight is on meta", LOGITS, TARGET, {"weight": torch.ones(5, device="meta")}),
        (
            RuntimeError,
            "confidence is on meta",
            LOGITS,
            TARGET,
            {"confidence": torch.zeros(3, device="meta")},
        ),
    ],
)
def test_the_sentence_names_what_is_wrong(error, sentence, logits, target, settings):
    with pytest.raises(error, match=sentence):
        gray_loss(logits, target, **settings)


def test_triton_needs_a_gpu_unless_interpreted(monkeypatch):
    monkeypatch.setattr(gpu, "INTERPRETED", False)
    with pytest.raises(RuntimeError, match="needs logits on a CUDA device"):
        gray_loss(LOGITS, TARGET, impl="triton")


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
def test_where_nobody_can_look_the_row_turns_nan(monkeypatch, impl):
    """As on CUDA: no stall, no assertion that kills the process, but nothing hidden either."""
    for module in (rows.checks, fused.checks, gpu.checks):
        monkeypatch.setattr(module, "can_look_at_values", lambda _: False)
    target = torch.tensor([0, 9, 2])
    scores = torch.randn(3, 5).requires_grad_()
    losses = gray_loss(scores, target, impl=impl, reduction="none")
    losses.sum().backward()
    assert losses.isnan().tolist() == [False, True, False]
    assert scores.grad.isnan().any(1).tolist() == [False, True, False]
    assert gray_loss(scores, target, impl=impl).isnan()
    confidence = torch.tensor([0.5, 1.5, -0.1])
    losses = gray_loss(scores, TARGET, confidence=confidence, impl=impl, reduction="none")
    assert losses.isnan().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("error", "sentence", "complement"),
    [
        (ValueError, "complement has label 1 where target has it too", torch.tensor([1, 1, 0])),
        (ValueError, r"complement has label 5 but logits have 5 classes", torch.tensor([1, 2, 5])),
        (ValueError, r"complement has shape \(2,\)", torch.tensor([1, 2])),
        (TypeError, "complement is torch.float32", torch.tensor([1.0, 2.0, 0.0])),
    ],
)
def test_a_complement_that_is_none(error, sentence, complement):
    with pytest.raises(error, match=sentence):
        negative_loss(LOGITS, TARGET, complement=complement)
