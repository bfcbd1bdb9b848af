"""The Gray loss of soft targets at the cost of one label: against K losses, one a label, in float64."""

import pytest
import torch
from torch.nn import functional as F

from graylearn.losses import GrayLoss, gray_loss
from graylearn.losses.reference import soft_gray_rows

RULES = ["max", "label", "relative", "given"]


def batch(n=40, k=6, spread=3.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(n, k, generator=generator, dtype=torch.float64)
    share = torch.rand(n, k, generator=generator, dtype=torch.float64).pow(4)
    share[::3] = torch.nn.functional.one_hot(torch.arange(len(share[::3])) % k, k)
    share[1::3, 0] = 0.0
    return logits, share / share.sum(1, keepdim=True), torch.rand(n, generator=generator, dtype=torch.float64)


def one_loss_a_label(logits, share, confidence):
    n, k = logits.shape
    known = confidence.repeat_interleave(k) if isinstance(confidence, torch.Tensor) else confidence
    losses = gray_loss(
        logits.repeat_interleave(k, dim=0),
        torch.arange(k).repeat(n),
        confidence=known,
        reduction="none",
        impl="reference",
    )
    # the label that cannot be has no part in it, however large its loss
    return torch.where(share == 0, 0.0, share * losses.view(n, k)).sum(1)


def with_gradient(loss, logits, *given):
    leaf = logits.clone().requires_grad_()
    rows = loss(leaf, *given)
    (slope,) = torch.autograd.grad((rows * torch.linspace(0.5, 2.0, len(rows), dtype=rows.dtype)).sum(), leaf)
    return rows.detach(), slope


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("k", "spread"), [(2, 3.0), (6, 0.0), (6, 3.0), (6, 200.0), (40, 10.0)])
def test_it_is_the_sum_over_labels_and_so_is_its_gradient(rule, k, spread):
    logits, share, given = batch(k=k, spread=spread)
    confidence = given if rule == "given" else rule
    rows, slope = with_gradient(soft_gray_rows, logits, share, confidence)
    wanted, wanted_slope = with_gradient(one_loss_a_label, logits, share, confidence)
    torch.testing.assert_close(rows, wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(slope, wanted_slope, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_float32_is_as_good_as_its_rounding(rule, spread):
    logits, share, given = batch(spread=spread)
    confidence = given if rule == "given" else rule
    rows, slope = with_gradient(soft_gray_rows, logits, share, confidence)
    single = confidence.float() if rule == "given" else confidence
    found, found_slope = with_gradient(soft_gray_rows, logits.float(), share.float(), single)
    torch.testing.assert_close(found.double(), rows, rtol=2e-5, atol=2e-5)
    torch.testing.assert_close(found_slope.double(), slope, rtol=2e-4, atol=2e-5)


def test_a_masked_class_that_the_target_leaves_out_costs_nothing():
    logits, share, _ = batch()
    logits[:, 2] = float("-inf")
    share[:, 2] = 0.0
    kept = [0, 1, 3, 4, 5]
    rows, slope = with_gradient(soft_gray_rows, logits, share, "max")
    wanted, wanted_slope = with_gradient(soft_gray_rows, logits[:, kept], share[:, kept], "max")
    torch.testing.assert_close(rows, wanted)
    torch.testing.assert_close(slope[:, kept], wanted_slope)
    assert (slope[:, 2] == 0).all()


def test_what_it_keeps_for_the_gradient_grows_as_the_classes_do():
    def kept(k):
        logits, share, _ = batch(n=3, k=k)
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda each: sizes.append(each.numel()), lambda _: None
        ):
            soft_gray_rows(logits.requires_grad_(), share, "label")
        return sum(sizes)

    assert kept(200) < 2.1 * kept(100)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("soft", [True, False])
def test_with_two_classes_it_is_cross_entropy_by_every_convention(rule, shape, soft):
    """Which is how the losses of the classes are weighted, smoothed, ignored and reduced."""
    classes = (2,) if shape == () else (shape[0], 2, *shape[1:])
    generator = torch.Generator().manual_seed(len(shape))
    logits = 3 * torch.randn(classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 2, shape, generator=generator)
    target = torch.randn_like(logits).softmax(1 if shape else 0) if soft else labels
    confidence = torch.rand(shape, generator=generator) if rule == "given" else rule
    for weight in (None, torch.tensor([0.5, 2.0], dtype=torch.float64)):
        for ignored in (-100,) if soft else (-100, 1):
            for reduction in ("none", "mean", "sum"):
                for smoothing in (0.0, 0.1, 1.0):
                    asked = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
                    asked["ignore_index"] = ignored
                    found = gray_loss(logits, target, confidence=confidence, **asked)
                    torch.testing.assert_close(
                        found, F.cross_entropy(logits, target, **asked), equal_nan=True
                    )


@pytest.mark.parametrize("rule", RULES)
def test_the_weight_of_a_class_goes_with_its_share_of_the_target(rule):
    logits, share, given = batch()
    confidence, weight = given if rule == "given" else rule, torch.linspace(0.5, 2, 6, dtype=torch.float64)
    found = gray_loss(logits, share, confidence=confidence, weight=weight)
    wanted = one_loss_a_label(logits, share * weight, confidence).mean()
    torch.testing.assert_close(found, wanted)
    labels = torch.arange(40) % 6
    labels[::4] = -100
    kept = labels >= 0
    smooth = 0.8 * F.one_hot(labels[kept], 6) + 0.2 / 6
    confidence = given[kept] if rule == "given" else rule
    rows = one_loss_a_label(logits[kept], smooth * weight, confidence)
    criterion = GrayLoss("max" if rule == "given" else rule, weight=weight, label_smoothing=0.2)
    found = criterion(logits, labels, given) if rule == "given" else criterion(logits, labels)
    torch.testing.assert_close(found, rows.sum() / weight[labels[kept]].sum())


def test_soft_targets_in_half_types_under_autocast_and_compiled():
    logits, share, _ = batch(spread=2.0)
    wanted = gray_loss(logits, share)
    half = logits.bfloat16()
    assert gray_loss(half, share.bfloat16()).dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert gray_loss(half, share).dtype == torch.float32
    torch.testing.assert_close(gray_loss(half, share).double(), wanted, rtol=1e-2, atol=1e-2)
    compiled = torch.compile(GrayLoss(), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(logits, share), wanted)
