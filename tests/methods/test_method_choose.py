"""choose: what is taught lies between label and mean answer, of mixed pairs and distorted images."""

import numpy as np
import pytest
import torch
from hand_made import make_step, make_task, softmax
from sklearn.datasets import load_digits

from graylearn.errors import SettingsError
from graylearn.methods import Output, make_method
from graylearn.methods.choose import distorted
from graylearn.nets import MLP
from graylearn.training import train

N, K = 6, 3
NUMBERS = np.random.default_rng(0)
TARGET = np.array([0, 2, 2, 0, 1, 0])
ANSWERS = NUMBERS.normal(size=(3, N, K)) * 2
"""Logits of three epochs."""
WEIGHTS = NUMBERS.normal(size=(N, K)) * 2


def started(**options):
    method = make_method("choose", **options)
    method.start(make_task(TARGET, K, epochs=3))
    return method


def plain_losses(told=None, **options):
    """The losses of three epochs on the samples as they are, labels believed in the first."""
    method = started(begin=0.3, mixed=False, distorted=False, **options)
    steps = [make_step(logits, TARGET, epoch=epoch) for epoch, logits in enumerate(ANSWERS)]
    if told is None:
        return [method.loss(step).numpy() for step in steps]
    return [method.soft_loss(step, torch.as_tensor(told)).numpy() for step in steps]


def expected_targets(told, momentum, sharpness):
    """What is taught in each epoch, written out."""
    mean, taught = None, []
    for logits in ANSWERS:
        said = softmax(logits)
        mean = said if mean is None else momentum * mean + (1 - momentum) * said
        believed = ((mean * told).sum(1) / mean.max(1))[:, None]
        sharp = mean**sharpness / (mean**sharpness).sum(1, keepdims=True)
        taught.append(believed * told + (1 - believed) * sharp if len(taught) > 0 else told)
    return taught


@pytest.mark.parametrize(("momentum", "sharpness"), [(0.9, 2.0), (0.5, 1.0), (0.0, 3.0)])
def test_targets_lie_between_the_label_and_the_mean_answer(momentum, sharpness):
    losses = plain_losses(momentum=momentum, sharpness=sharpness)
    for loss, target, logits in zip(
        losses, expected_targets(np.eye(K)[TARGET], momentum, sharpness), ANSWERS, strict=True
    ):
        np.testing.assert_allclose(loss, -(target * np.log(softmax(logits))).sum(1), rtol=1e-5)


def test_soft_targets_stand_in_the_place_of_labels():
    told = NUMBERS.dirichlet(np.ones(K), N)
    for loss, target, logits in zip(
        plain_losses(told), expected_targets(told, 0.9, 2.0), ANSWERS, strict=True
    ):
        np.testing.assert_allclose(loss, -(target * np.log(softmax(logits))).sum(1), rtol=1e-5)


def test_pairs_have_the_mixture_of_both_targets():
    seen = []

    def forward(inputs):
        seen.append(inputs.numpy())
        return Output(inputs @ torch.tensor(WEIGHTS), None)

    # rows of the identity matrix, so that a pair shows whom it is made of
    loss = (
        started(begin=1.0, mixed=True)
        .loss(make_step(ANSWERS[0], TARGET, inputs=np.eye(N), forward=forward))
        .numpy()
    )
    (mixed,) = seen
    np.testing.assert_allclose(mixed.sum(1), 1)
    assert (np.diag(mixed) >= 0.5).all()  # its own weight counts, so the first sample is the larger part
    target = mixed @ np.eye(K)[TARGET]
    np.testing.assert_allclose(loss, -(target * np.log(softmax(mixed @ WEIGHTS))).sum(1))


@pytest.mark.parametrize(("values", "mixed"), [(31, False), (32, True)])
def test_long_rows_are_mixed_and_short_ones_are_not(values, mixed):
    passes = []

    def forward(inputs):
        passes.append(inputs)
        return Output(torch.zeros(N, K), None)

    started().loss(make_step(ANSWERS[0], TARGET, inputs=NUMBERS.normal(size=(N, values)), forward=forward))
    assert len(passes) == mixed


def test_a_label_that_the_answers_exclude_is_not_taught():
    method = started(begin=0.0, mixed=False, distorted=False)
    logits = torch.full((N, K), -200.0)
    logits[:, 1] = 200.0
    loss = method.loss(make_step(logits, TARGET))
    torch.testing.assert_close(loss, torch.zeros(N))


def test_whole_numbers_are_refused_where_pairs_are_made():
    step = make_step(ANSWERS[0], TARGET, inputs=np.zeros((N, 2), dtype=np.int64))
    with pytest.raises(SettingsError, match="floating point"):
        started(mixed=True).loss(step)
    assert started(mixed=False, distorted=False).loss(step).isfinite().all()


def test_the_history_is_of_the_samples_as_they_are():
    x = NUMBERS.normal(size=(40, 32)).astype(np.float32)
    net = MLP(2, (32,), hidden=(8,))
    before = net(torch.from_numpy(x)).softmax(1).detach().numpy()
    y = np.arange(40) % 2
    result = train(
        net, (x, y), method="choose", epochs=1, batch_size=40, learning_rate=1e-6, device="cpu", log="none"
    )
    said = result.history.label_confidence[0]
    np.testing.assert_allclose(said, before[np.arange(40), y], atol=1e-3)  # kept in half precision


def test_wrong_labels_that_standard_training_learns_are_overruled():
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    given = np.where(NUMBERS.random(len(y)) < 0.35, (y + 1) % 10, y)
    accuracy = {}
    for name in ("standard", "choose", "believe"):
        torch.manual_seed(0)
        result = train(
            MLP(10, (64,)), (x[:1200], given[:1200]), method=name, epochs=20, batch_size=32, seed=0,
            device="cpu", log="none",
        )  # fmt: skip
        accuracy[name] = result.evaluate(x[1200:], y[1200:])["accuracy"]
    assert min(accuracy["choose"], accuracy["believe"]) > accuracy["standard"] + 0.05


# -- distorted images ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), (3, 17, 40), (1, 1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_images_keep_their_shape_and_kind(shape, dtype):
    images = torch.randn(20, *shape).to(dtype)
    changed = distorted(images, torch.Generator().manual_seed(0))
    assert changed.shape == images.shape
    assert changed.dtype == dtype
    assert changed.isfinite().all()
