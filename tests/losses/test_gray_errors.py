"""Bad input gets a sentence that names it."""

import pytest
import torch

import graylearn.losses as losses_room
from graylearn.losses import GrayLoss, fused, gpu, gray_loss, negative_loss, rows, small

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
        (ValueError, r"float32 of shape \(3,\) for logits \(3, 5\); expected", LOGITS, TARGET.float(), {}),
        (ValueError, "expected detach=True", LOGITS, LOGITS.softmax(1), {"detach": False}),
        (ValueError, "label_smoothing is 1.5; expected", LOGITS, TARGET, {"label_smoothing": 1.5}),
        (TypeError, "target is torch.bool", LOGITS, TARGET > 0, {}),
        (ValueError, r"target has shape \(2,\) but logits \(3, 5\) need \(3,\)$", LOGITS, TARGET[:2], {}),
        (
            ValueError,
            "confidence has the value 1.5",
            LOGITS,
            TARGET,
            {"confidence": torch.tensor([0, 1.5, 1])},
        ),
        (TypeError, "expected a tensor for weight, got a list", LOGITS, TARGET, {"weight": [1.0] * 5}),
        (TypeError, "impl='triton' takes", LOGITS.double(), TARGET, {"impl": "triton"}),
        (RuntimeError, "target is on meta", LOGITS, TARGET.to("meta"), {}),
    ],
)
def test_the_sentence_names_what_is_wrong(error, sentence, logits, target, settings):
    with pytest.raises(error, match=sentence):
        gray_loss(logits, target, **settings)


def test_triton_needs_a_gpu_unless_interpreted(monkeypatch):
    monkeypatch.setattr(gpu, "INTERPRETED", False)
    with pytest.raises(RuntimeError, match="needs logits on a CUDA device"):
        gray_loss(LOGITS, TARGET, impl="triton")


@pytest.mark.parametrize("name", [name for name in losses_room.__all__ if name.endswith("_loss")])
def test_what_is_no_tensor(name):
    loss = getattr(losses_room, name)
    for logits, target in ((LOGITS.numpy(), TARGET), (LOGITS.numpy(), TARGET.numpy())):
        with pytest.raises(TypeError, match=r"expected a tensor for logits, got a ndarray; use torch\.as_t"):
            loss(logits, target)
    with pytest.raises(TypeError, match="expected a tensor for target, got a list"):
        loss(LOGITS, TARGET.tolist())


def test_class_weights_are_not_taken_for_confidences():
    """nn.CrossEntropyLoss takes them first; with as many samples as classes nothing else would tell."""
    with pytest.raises(TypeError, match="Class weights go to weight="):
        GrayLoss(torch.ones(5))


def test_a_module_refuses_an_unknown_name_at_once():
    with pytest.raises(ValueError, match="'maximum'; the known names are 'max', 'label' and 'relative'"):
        GrayLoss("maximum")


@pytest.mark.parametrize("look", [True, False])
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
def test_the_confidence_of_an_ignored_row_is_not_looked_at(monkeypatch, impl, reduction, look):
    if not look:
        for module in (rows, fused, small):
            monkeypatch.setattr(module, "can_look_at_values", lambda _: False)
    target = torch.tensor([0, -100, -100])
    found = []
    for unused in (0.5, torch.nan):
        scores = torch.arange(15.0).view(3, 5).requires_grad_()
        confidence = torch.tensor([0.5, unused, unused])
        loss = gray_loss(scores, target, confidence=confidence, impl=impl, reduction=reduction).sum()
        (once,) = torch.autograd.grad(loss, scores, create_graph=True)
        (twice,) = torch.autograd.grad(once.square().sum(), scores, retain_graph=True)
        loss.backward()
        found.append((loss.detach(), once.detach(), twice, scores.grad))
    torch.testing.assert_close(found[1], found[0])
    assert found[0][0].isfinite()


@pytest.mark.parametrize("impl", ["auto", "reference", "fused", "triton"])
def test_where_nobody_can_look_the_row_turns_nan(monkeypatch, impl):
    """As on CUDA: no stall, no assertion that kills the process, but nothing hidden either."""
    for module in (rows, fused, small):
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
    ("sentence", "complement"),
    [
        ("complement has label 1 where target has it too", torch.tensor([1, 1, 0])),
        ("complement has label 5 but logits have 5 classes", torch.tensor([1, 2, 5])),
    ],
)
def test_a_complement_that_is_none(sentence, complement):
    with pytest.raises(ValueError, match=sentence):
        negative_loss(LOGITS, TARGET, complement=complement)
