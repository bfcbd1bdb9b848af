"""What every method promises the engine, whatever it does inside."""

import pytest
import torch
from hand_made import SmallNet, SmallRun, make_task

from graylearn.methods import METHODS, Output, Step, make_method

VARIANTS = [(name, {}) for name in METHODS] + [
    ("nl", {"sampled": True}),
    ("nlnl", {"sampled": False}),
    ("decoupling", {"warmup": 1}),
]

DRAWING = ("srcc", "lcvd", "choose", "believe", "mentornet-pd", "oe", "prior-network", "confident")
"""Methods whose loss of one batch differs from call to call."""


def quick(name, options):
    """The method with its rounds early enough for nine epochs."""
    return make_method(name, **{"il": {"first": 2, "every": 3}}.get(name, {}), **options)


def assert_finite(run):
    assert run.done == 45
    assert all(loss.isfinite().all() for loss in run.losses)
    assert [loss.shape for loss in run.losses[:5]] == [(5,)] * 4 + [(3,)]
    assert all(weight.isfinite().all() for weight in run.net.parameters())
    assert sum(loss.sum() for loss in run.losses) > 0


@pytest.mark.parametrize("num_classes", [2, 11])  # and 4 in the unbroken run below
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_nine_epochs_with_odd_batches_and_absent_classes_stay_finite(name, options, num_classes):
    run = SmallRun(quick(name, options), num_classes)
    run.go(45)
    assert_finite(run)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_batch_of_one(name, options):
    run = SmallRun(quick(name, options), 2)
    run.go(40)
    for epoch in (8, 0):
        run.net.zero_grad()
        index = torch.tensor([4])
        inputs = run.inputs[index]
        step = Step(inputs, run.task.targets[index], index, run.net(inputs), epoch, run.net)
        loss = run.method.loss(step)
        loss.mean().backward()
        assert loss.shape == (1,)
        assert loss.isfinite().all()
        assert all(weight.grad.isfinite().all() for weight in run.net.parameters())


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_half_precision_logits_give_float32_losses(name, options):
    method = quick(name, options)
    method.start(make_task(torch.arange(8) % 4, 4))
    net = SmallNet(4, method.networks)
    inputs = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    for epoch in range(4):  # il holds a round after the second
        with torch.autocast("cpu", torch.bfloat16):
            output = net(inputs)
            assert output.logits.dtype == torch.bfloat16
            step = Step(inputs, torch.arange(8) % 4, torch.arange(8), output, epoch, net)
            loss = method.loss(step)
        assert loss.dtype == torch.float32
        loss.mean().backward()
        method.end_epoch(epoch)
        # the same numbers given as float32 make the same loss, so nothing was rounded on the way
    full = Output(output.logits.float(), None if output.features is None else output.features.float())
    if not options.get("sampled", name == "nlnl") and name not in DRAWING:
        with torch.autocast("cpu", torch.bfloat16):
            again = method.loss(Step(inputs, step.target, step.index, full, 3, net))
        torch.testing.assert_close(method.loss(step).detach(), again.detach(), rtol=0, atol=0)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_resumed_run_is_the_unbroken_one_to_the_bit(name, options):
    run, resumed = SmallRun(quick(name, options)), {}
    for killed_after in (5, 20, 35):  # steps: at the end of epochs 1, 4 and 7
        run.go(killed_after - run.done)
        resumed[killed_after] = run.resumed(quick(name, options))
    run.go(45 - run.done)
    assert_finite(run)
    for killed_after, other in resumed.items():
        other.go(45 - killed_after)
        for expected, found in zip(run.losses[killed_after:], other.losses, strict=True):
            assert torch.equal(expected, found), killed_after
        for name_of, weight in run.net.state_dict().items():
            assert torch.equal(weight, other.net.state_dict()[name_of]), killed_after


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_per_sample_methods_serve_several_models_at_once(name, options):
    method = make_method(name, **options)
    if not method.per_sample:
        pytest.skip("it looks at more than one sample")
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 7, 5, generator=generator)  # three models
    target = torch.randint(5, (7,), generator=generator)
    method.start(make_task(target, 5))
    index = torch.arange(7)
    flat = Output(logits.flatten(0, 1), None)
    at_once = method.loss(Step(torch.zeros(21, 1), target.repeat(3), index.repeat(3), flat, 0, None))
    for model in range(3):
        single = method.loss(Step(torch.zeros(7, 1), target, index, Output(logits[model], None), 0, None))
        torch.testing.assert_close(at_once.view(3, 7)[model], single)


def test_a_method_that_reads_features_without_asking_is_told():
    step = Step(torch.zeros(1, 1), torch.zeros(1), torch.zeros(1), Output(torch.zeros(1, 2), None), 0, None)
    with pytest.raises(RuntimeError, match="needs_features = True"):
        _ = step.features
