"""The robust losses against their definitions in 60 digits, and their conventions."""

import inspect

import mpmath
import pytest
import torch
from torch.nn import functional as F

import graylearn.losses as losses
from graylearn.losses.robust import draw_complements


def probabilities(logits):
    z = [mpmath.mpf(value) for value in logits.tolist()]
    e = [mpmath.exp(value - max(z)) for value in z]
    total = mpmath.fsum(e)
    return [v / total for v in e], [mpmath.fsum(e[:j] + e[j + 1 :]) / total for j in range(len(e))]


def xlogx(p):
    return p * mpmath.log(p) if p else mpmath.mpf(0)


def top(p):
    return max(p)


# name, settings, the definition from probabilities p, their complements 1 - p and the label.
DEFINITIONS = [
    ("mae_loss", {}, lambda p, n, y: 2 * n[y]),
    ("bootstrap_loss", {}, lambda p, n, y: -0.95 * mpmath.log(p[y]) - 0.05 * mpmath.fsum(map(xlogx, p))),
    (
        "bootstrap_loss",
        {"beta": 0.5, "detach": True},
        lambda p, n, y: -0.5 * mpmath.log(p[y]) - 0.5 * mpmath.fsum(map(xlogx, p)),
    ),
    ("bootstrap_loss", {"mode": "hard"}, lambda p, n, y: -0.8 * mpmath.log(p[y]) - 0.2 * mpmath.log(top(p))),
    ("symmetric_loss", {}, lambda p, n, y: -0.1 * mpmath.log(p[y]) + 4 * n[y]),
    (
        "symmetric_loss",
        {"alpha": 6, "beta": 0.1, "log_zero": -9.0},
        lambda p, n, y: -6 * mpmath.log(p[y]) + 0.9 * n[y],
    ),
    ("generalized_loss", {}, lambda p, n, y: (1 - p[y] ** mpmath.mpf("0.7")) / mpmath.mpf("0.7")),
    ("generalized_loss", {"q": 1.0}, lambda p, n, y: n[y]),
    (
        "complementary_loss",
        {},
        lambda p, n, y: -mpmath.fsum(mpmath.log(v) for j, v in enumerate(n) if j != y),
    ),
    ("negative_loss", {"complement": 1}, lambda p, n, y: -mpmath.log(n[(y + 1) % len(p)])),
]
IDS = [f"{name}-{settings}" for name, settings, _ in DEFINITIONS]


def call(name, logits, target, settings, **more):
    if name == "negative_loss":
        counted = target.clamp_min(0)
        settings = {"complement": (counted + 1) % logits.shape[1 if logits.ndim > 1 else 0]}
    return getattr(losses, name)(logits, target, **settings, **more)


@pytest.mark.parametrize(("name", "settings", "definition"), DEFINITIONS, ids=IDS)
@pytest.mark.parametrize("spread", [0.5, 5, 100, 1e4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_rows_match_the_definition(name, settings, definition, spread, dtype):
    torch.manual_seed(0)
    logits = (torch.randn(6, 7) * spread).to(dtype)
    target = torch.randint(7, (6,))
    target[0] = logits[0].argmax()
    with mpmath.workdps(60):
        expected = torch.tensor(
            [float(definition(*probabilities(logits[i]), int(target[i]))) for i in range(6)],
            dtype=torch.float64,
        )
    rows = call(name, logits.requires_grad_(), target, settings, reduction="none")
    rows.sum().backward()
    assert rows.dtype == dtype
    relative = {torch.float64: 1e-13, torch.float32: 2e-6, torch.bfloat16: 8e-3}[dtype]
    absolute = {torch.float64: 1e-15, torch.float32: 1e-6, torch.bfloat16: 1e-6}[dtype]
    torch.testing.assert_close(rows.detach().double(), expected, rtol=relative, atol=absolute)
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize(("name", "settings", "definition"), DEFINITIONS, ids=IDS)
def test_gradcheck(name, settings, definition):
    if settings.get("detach"):
        settings = {**settings, "detach": False}
    torch.manual_seed(1)
    logits = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 4, -100, 2])
    assert torch.autograd.gradcheck(lambda z: call(name, z, target, settings), logits)
    assert torch.autograd.gradgradcheck(lambda z: call(name, z, target, settings), logits)


@pytest.mark.parametrize(("name", "settings", "definition"), DEFINITIONS, ids=IDS)
@pytest.mark.parametrize("shape", [(3,), (6, 3), (2, 3, 4), (0, 3)], ids=str)
def test_reductions_follow_cross_entropy(name, settings, definition, shape):
    """Against rows of the same loss put together by the formula that cross_entropy documents."""
    torch.manual_seed(2)
    logits = torch.randn(shape, dtype=torch.float64)
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.randint(3, rows)
    if rows and target.numel():
        target.view(-1)[1] = -100
    weight = torch.tensor([0.2, 1.0, 3.0], dtype=torch.float64)
    plain = call(name, logits, target, settings, reduction="none")
    assert plain.shape == target.shape
    assert (plain[target == -100] == 0).all()
    of_row = weight[target.clamp_min(0)] * (target != -100)
    for reduction, expected in (
        ("none", plain * of_row),
        ("sum", (plain * of_row).sum()),
        ("mean", (plain * of_row).sum() / of_row.sum()),
    ):
        value = call(name, logits, target, settings, weight=weight, reduction=reduction)
        torch.testing.assert_close(value, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["generalized_loss", "bootstrap_loss", "complementary_loss"])
def test_limits_are_cross_entropy(name):
    settings = {"generalized_loss": {"q": 1e-9}, "bootstrap_loss": {"beta": 1.0}, "complementary_loss": {}}[
        name
    ]
    num_classes = 2 if name == "complementary_loss" else 6
    logits, target = torch.randn(8, num_classes, dtype=torch.float64), torch.randint(num_classes, (8,))
    value = getattr(losses, name)(logits, target, **settings)
    torch.testing.assert_close(value, F.cross_entropy(logits, target), rtol=1e-7, atol=1e-7)


def test_complements_are_drawn_evenly_from_the_other_labels():
    target = torch.tensor([0, 1, 2, 3, -100]).repeat(3000)
    drawn = draw_complements(target, 4, -100, torch.Generator().manual_seed(0))
    again = draw_complements(target, 4, -100, torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)
    assert (drawn[target == -100] == -100).all()
    counts = torch.stack([torch.bincount(drawn[target == k], minlength=4) for k in range(4)])
    assert (counts.diagonal() == 0).all()
    off = counts[~torch.eye(4, dtype=torch.bool)]
    assert ((off - 1000).abs() < 5 * (3000 * 2 / 9) ** 0.5).all()  # five standard deviations


def test_negative_loss_draws_with_the_generator_and_refuses_both():
    logits, target = torch.randn(9, 5), torch.randint(5, (9,))
    drawn = draw_complements(target, 5, -100, torch.Generator().manual_seed(7))
    value = losses.negative_loss(logits, target, generator=torch.Generator().manual_seed(7))
    assert torch.equal(value, losses.negative_loss(logits, target, complement=drawn))
    with pytest.raises(ValueError, match="complement and generator are both given"):
        losses.negative_loss(logits, target, complement=drawn, generator=torch.Generator())


@pytest.mark.parametrize(
    ("module", "function"),
    [
        (losses.MAELoss(reduction="sum"), losses.mae_loss),
        (losses.BootstrapLoss("hard", 0.6, reduction="sum"), losses.bootstrap_loss),
        (losses.SymmetricLoss(2.0, 0.5, -3.0, reduction="sum"), losses.symmetric_loss),
        (losses.ComplementaryLoss(reduction="sum"), losses.complementary_loss),
        (losses.GeneralizedLoss(0.4, reduction="sum"), losses.generalized_loss),
        (losses.NegativeLoss(torch.Generator(), reduction="sum"), losses.negative_loss),
    ],
)
def test_modules_are_their_functions(module, function):
    torch.manual_seed(4)
    logits, target = torch.randn(5, 4), torch.randint(4, (5,))
    names = set(inspect.signature(function).parameters) - {"logits", "target", "complement"}
    options = {name: getattr(module, name) for name in names}
    if "generator" in options:
        module.generator.manual_seed(0)
        expected = function(logits, target, **options)
        module.generator.manual_seed(0)
        assert torch.equal(module(logits, target), expected)
        complement = (target + 1) % 4
        given = module(logits, target, complement)
        assert torch.equal(given, function(logits, target, complement=complement, reduction="sum"))
    else:
        assert torch.equal(module(logits, target), function(logits, target, **options))
    assert "reduction='sum'" in repr(module)


def test_a_masked_class_costs_nothing():
    logits = torch.tensor([[1.0, float("-inf"), 0.5, 2.0]], requires_grad=True)
    few = torch.tensor([[1.0, 0.5, 2.0]])
    for name, settings in (("bootstrap_loss", {}), ("mae_loss", {}), ("generalized_loss", {})):
        value = getattr(losses, name)(logits, torch.tensor([2]), **settings)
        torch.testing.assert_close(value.detach(), getattr(losses, name)(few, torch.tensor([1]), **settings))
        (gradient,) = torch.autograd.grad(value, logits)
        assert gradient.isfinite().all()
