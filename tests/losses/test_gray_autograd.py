"""Derivatives: first and second, repeated, mapped and compiled."""

import shutil

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from graylearn.losses import gpu, gray_loss

forward_mode = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
"""Of each test of forward mode, for torch warns of its own code the first time that it is used."""
IMPLS = ["auto", "reference", "fused", "triton"]


def fixed_confidence(logits, target, rule):
    """C as the loss sees it: a constant."""
    probs = logits.detach().softmax(1)
    return probs.amax(1) if rule == "max" else probs.gather(1, target[:, None])[:, 0]


@pytest.mark.parametrize("impl", ["auto", "reference", "fused"])
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("rule", ["max", "label"])
def test_gradcheck_with_constant_confidence(impl, reduction, rule):
    """Numeric derivatives move the logits, so C is held where the rule put it."""
    torch.manual_seed(0)
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, -100, 3])
    confidence = fixed_confidence(logits, target.clamp_min(0), rule)

    def loss(scores):
        return gray_loss(scores, target, confidence=confidence, impl=impl, reduction=reduction)

    assert torch.autograd.gradcheck(loss, logits)
    assert torch.autograd.gradgradcheck(loss, logits)
    by_rule = gray_loss(logits, target, confidence=rule, impl=impl, reduction=reduction).sum()
    expected = torch.autograd.grad(loss(logits).sum(), logits)
    torch.testing.assert_close(torch.autograd.grad(by_rule, logits), expected)


@pytest.mark.parametrize("rule", ["max", "label"])
def test_gradcheck_of_the_literal_objective(rule):
    """detach=False differentiates through C; the detached gradient is another one."""
    torch.manual_seed(0)
    logits = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 4, 1, 2])

    def loss(scores):
        return gray_loss(scores, target, confidence=rule, detach=False)

    assert torch.autograd.gradcheck(loss, logits)
    assert torch.autograd.gradgradcheck(loss, logits)
    (literal,) = torch.autograd.grad(loss(logits), logits)
    (detached,) = torch.autograd.grad(gray_loss(logits, target, confidence=rule), logits)
    assert not torch.allclose(literal, detached, atol=1e-3)


@pytest.mark.parametrize("rule", ["max", "relative"])
def test_the_slope_of_a_confidence_near_one_keeps_its_digits_beside_a_large_loss(rule):
    """Against plain autograd in float64: a label 5,000 below a leader of almost probability one."""
    logits = torch.tensor([[13.5, 0.0, -1.9, -5000.0], [14.0, 0.5, 1.0, -5000.0], [12.5, 1.0, 0.0, -7000.0]])
    target = torch.tensor([3, 3, 3])
    given = logits.clone().requires_grad_()
    gray_loss(given, target, confidence=rule, detach=False, reduction="sum").backward()
    exact = logits.double().requires_grad_()
    log_probs = exact.log_softmax(1)
    C = log_probs[:, 0].exp()
    if rule == "relative":
        C = (C / C.median()).clamp(max=1)
    rejected = -(-log_probs[:, :3].exp()).log1p().sum(1)
    (C * -log_probs[:, 3] + (1 - C) * rejected).sum().backward()
    torch.testing.assert_close(given.grad.double(), exact.grad, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_second_derivatives_agree_with_the_reference(impl, reduction):
    """A gradient penalty is wrong in silence if an implementation takes its gradient for a constant."""
    torch.manual_seed(1)
    inputs, weights = torch.randn(6, 3), torch.randn(3, 5)
    target = torch.tensor([0, 1, 2, 3, 4, -100])
    penalties = []
    for which in ("reference", impl):
        matrix = weights.clone().requires_grad_()
        loss = gray_loss(inputs @ matrix, target, impl=which, reduction=reduction).sum()
        (gradient,) = torch.autograd.grad(loss, matrix, create_graph=True)
        penalties.append(torch.autograd.grad(gradient.square().sum(), matrix)[0])
    torch.testing.assert_close(penalties[1], penalties[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_backward_twice_gives_the_same_twice(impl, reduction):
    """The stored gradient is scaled in place; a second backward must not meet it scaled."""
    torch.manual_seed(2)
    logits = torch.randn(5, 4, requires_grad=True)
    loss = gray_loss(logits, torch.tensor([0, 1, 2, 3, -100]), impl=impl, reduction=reduction)
    seed = torch.rand(loss.shape)
    (first,) = torch.autograd.grad(loss, logits, seed, retain_graph=True)
    first = first.clone()
    (second,) = torch.autograd.grad(loss, logits, seed, retain_graph=True)
    (third,) = torch.autograd.grad(loss, logits, seed)
    torch.testing.assert_close(second, first)
    torch.testing.assert_close(third, first)


@pytest.mark.parametrize("scale", [1.0, 0.0, 1024.0])
def test_mean_with_ignored_rows_counted_before_and_after(monkeypatch, scale):
    """The two ways the kernels find the mean's divisor, and a factor received by backward."""
    torch.manual_seed(3)
    logits, target = torch.randn(30, 7), torch.randint(7, (30,))
    target[::3] = -100
    reference = logits.clone().requires_grad_()
    expected = gray_loss(reference, target, impl="reference")
    (expected * scale).backward()
    for count_from in (1 << 40, 0):
        monkeypatch.setattr(gpu, "COUNT_FROM", count_from)
        scores = logits.clone().requires_grad_()
        loss = gray_loss(scores, target, impl="triton")
        (loss * scale).backward()
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(scores.grad, reference.grad)


@pytest.mark.parametrize("impl", ["auto", "reference", "fused"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("rule", ["max", "given"])
def test_vmap_and_grad(impl, reduction, rule):
    torch.manual_seed(4)
    logits, target = torch.randn(3, 4, 5), torch.randint(5, (3, 4))
    confidence = torch.rand(3, 4)

    def loss(scores, labels, given):
        return gray_loss(
            scores, labels, confidence=given if rule == "given" else rule, impl=impl, reduction=reduction
        ).sum()

    def one_by_one(scores, labels, given):
        leaf = scores.clone().requires_grad_()
        value = loss(leaf, labels, given)
        value.backward()
        return value.detach(), leaf.grad

    each = [one_by_one(*row) for row in zip(logits, target, confidence, strict=True)]
    mapped = vmap(loss)(logits, target, confidence)
    torch.testing.assert_close(mapped, torch.stack([value for value, _ in each]))
    gradients = vmap(grad(loss))(logits, target, confidence)
    torch.testing.assert_close(gradients, torch.stack([gradient for _, gradient in each]))
    other_dim = vmap(loss, in_dims=(1, 0, 0))(logits.movedim(0, 1), target, confidence)
    torch.testing.assert_close(other_dim, mapped)
    over_logits = vmap(loss, in_dims=(0, None, None))(logits, target[0], confidence[0])
    torch.testing.assert_close(over_logits[0], mapped[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("impl", IMPLS)
def test_many_gradients_at_once(impl, reduction, dtype):
    """is_grads_batched and vmap around grad: as one after the other, also when asked again."""
    torch.manual_seed(6)
    logits = torch.randn(6, 5).to(dtype).requires_grad_()
    target = torch.tensor([0, 1, 2, 3, 4, -100])
    loss = gray_loss(logits, target, impl=impl, reduction=reduction)
    seeds = torch.rand(3, *loss.shape).to(dtype)
    # each from a loss of its own: nothing that is kept between calls can hide
    expected = torch.stack([
        torch.autograd.grad(gray_loss(logits, target, impl=impl, reduction=reduction), logits, seed)[0]
        for seed in seeds
    ])  # fmt: skip
    near = {
        "rtol": 2e-2 if dtype == torch.bfloat16 else 1e-5,
        "atol": 1e-3 if dtype == torch.bfloat16 else 1e-6,
    }

    def one(seed):
        return torch.autograd.grad(loss, logits, seed, retain_graph=True)[0]

    for _ in range(2):
        (together,) = torch.autograd.grad(loss, logits, seeds, is_grads_batched=True, retain_graph=True)
        assert together.dtype == dtype
        torch.testing.assert_close(together, expected, **near)
        torch.testing.assert_close(vmap(one)(seeds), expected, **near)
        torch.testing.assert_close(one(seeds[1]), expected[1], **near)


@pytest.mark.parametrize("reduction", ["none", "mean"])
@forward_mode
@pytest.mark.parametrize("num_rows", [6, 2000], ids=["small", "fused"])
def test_forward_mode_is_that_of_torch_func(num_rows, reduction):
    torch.manual_seed(7)
    logits, tangent = torch.randn(2, num_rows, 5)
    target = torch.randint(5, (num_rows,))
    target[1] = -100

    def loss(scores):
        return gray_loss(scores, target, reduction=reduction)

    expected = jvp(loss, (logits,), (tangent,))
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(loss(forward_ad.make_dual(logits, tangent)))
        torch.testing.assert_close(tuple(found), expected)
        with pytest.raises(ValueError, match="target has label 9"):
            gray_loss(logits, target.clamp_min(9))


COMPILED = [(impl, "aot_eager") for impl in IMPLS]
if shutil.which("g++") or shutil.which("clang++"):
    COMPILED.append(("auto", "inductor"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("rule", ["max", "relative"])
@pytest.mark.parametrize(("impl", "backend"), COMPILED)
def test_compiles_whole(impl, backend, rule):
    torch.manual_seed(5)
    logits, target = torch.randn(6, 5), torch.randint(5, (6,))
    target[2] = -100
    torch._dynamo.reset()

    def loss(scores, labels):
        return gray_loss(scores, labels, confidence=rule, impl=impl)

    eager, traced = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    expected = gray_loss(eager, target, confidence=rule, impl="reference")
    value = torch.compile(loss, fullgraph=True, backend=backend)(traced, target)
    expected.backward()
    value.backward()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(traced.grad, eager.grad)


@pytest.mark.parametrize("impl", ["auto", "fused", "reference"])
def test_a_traced_loss_is_a_function_of_its_inputs(impl):
    """make_fx must not keep the loss of the batch it saw, as small batches once had it."""
    first, other = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 2, -100])

    def slope(scores):
        scores = scores.detach().requires_grad_()
        loss = gray_loss(scores, labels, impl=impl)
        return loss.detach(), *torch.autograd.grad(loss, scores)

    traced = make_fx(slope)(first)
    for found, expected in zip(traced(other), slope(other), strict=True):
        torch.testing.assert_close(found, expected)
