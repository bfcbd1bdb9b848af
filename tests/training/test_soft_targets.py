"""Weights of classes, smoothed labels and soft targets: against the formulas, in float64."""

import signal

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.data import TensorDataset
from training_helpers import Opaque, assert_same_weights, blobs, mlp

from graylearn.errors import CheckpointError, DataError, SettingsError
from graylearn.methods import make_method
from graylearn.methods.base import Method, Output, Softened, Step
from graylearn.methods.gray import Gray
from graylearn.training import train

PLAIN = {"epochs": 2, "batch_size": 16, "log": "none"}


def soft_step(n=7, k=4):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(n, k, generator=generator)
    shares = torch.rand(n, k, generator=generator).softmax(1)
    step = Step(logits, shares.argmax(1), torch.arange(n), Output(logits, None), 0, lambda inputs: None)
    return step, logits.double(), shares


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_is_that_of_torch(smoothing):
    step, logits, t = soft_step()
    smoothed = Softened(make_method("standard"), smoothing).loss(step)
    wanted = F.cross_entropy(logits, step.target, reduction="none", label_smoothing=smoothing)
    torch.testing.assert_close(smoothed.double(), wanted, rtol=1e-5, atol=1e-6)
    both = Softened(make_method("standard"), smoothing, t).loss(step)
    wanted = F.cross_entropy(logits, t.double(), reduction="none", label_smoothing=smoothing)
    torch.testing.assert_close(both.double(), wanted, rtol=1e-5, atol=1e-6)


class Doubled(Gray):
    """A loss of its own, of which the short form of what it comes from says nothing."""

    def loss(self, step):
        return 2 * super().loss(step)


def test_the_short_form_goes_with_the_loss_that_it_is_of():
    step, _, t = soft_step()
    once = Softened(make_method("gl"), 0.1, t).loss(step)
    torch.testing.assert_close(Softened(Doubled(), 0.1, t).loss(step), 2 * once, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(Method.soft_loss(make_method("gl"), step, t), Gray().soft_loss(step, t))
    with pytest.raises(SettingsError, match="Doubled selects, draws or compares"):
        Softened(Doubled(confidence="relative"), 0.1, t)


def test_targets_of_one_class_each_train_as_its_labels():
    x, y = blobs()
    hard = train(mlp(), (x, y), **PLAIN)
    for data in ((x.numpy(), F.one_hot(y).double().numpy()), TensorDataset(x, F.one_hot(y).float())):
        soft = train(mlp(), data, **PLAIN)
        assert_same_weights(soft.model, hard.model, tolerance=1e-6)
        np.testing.assert_array_equal(soft.history.targets, y)


def test_a_smoothed_run_goes_on_from_its_checkpoint_with_the_same_targets(tmp_path):
    x, y = blobs()
    soft = F.softmax(4 * F.one_hot(y).float(), dim=1)
    options = {"label_smoothing": 0.1, "class_weight": "balanced", **PLAIN}
    whole = train(mlp(), (x, soft), **options)
    options["checkpoint"] = tmp_path
    interrupt = lambda end: end.epoch == 0 and signal.raise_signal(signal.SIGINT)  # noqa: E731
    assert train(mlp(), (x, soft), callbacks=interrupt, **options).interrupted
    again = {"resume": True, **options}
    assert_same_weights(train(mlp(), (x, soft), **again).model, whole.model, tolerance=0)
    for data, changed in (
        ((x, soft), {"label_smoothing": 0.2}),
        ((x, soft.roll(1, 1)), {}),
        ((x, soft), {"class_weight": {0: 2.0}}),
    ):
        with pytest.raises(CheckpointError, match="of another run"):
            train(mlp(), data, **again | changed)


@pytest.mark.parametrize("net", [mlp, lambda: Opaque(mlp())], ids=["small", "any"])
@pytest.mark.parametrize("given", [{0: 4.0, 1: 0.0}, [4.0, 0.0, 1.0], torch.tensor([4.0, 0.0, 1.0])])
def test_the_weight_of_a_class_is_that_of_its_samples(net, given):
    x, y = blobs()
    own = torch.linspace(0.5, 1.5, len(x))
    wanted = train(net(), (x, y), sample_weight=own * torch.tensor([4.0, 0.0, 1.0])[y], **PLAIN)
    found = train(net(), (x, y), sample_weight=own.requires_grad_(), class_weight=given, **PLAIN)
    assert_same_weights(found.model, wanted.model, tolerance=1e-6)


def test_balanced_classes_count_alike():
    x, y = blobs()
    x, y = x[y < 2][:60], (torch.arange(60) >= 45).long()  # 45 and 15
    balanced = train(mlp(), (x, y), class_weight="balanced", **PLAIN)
    by_hand = train(mlp(), (x, y), sample_weight=[1.0] * 45 + [3.0] * 15, **PLAIN)
    assert_same_weights(balanced.model, by_hand.model, tolerance=1e-6)


@pytest.mark.parametrize(
    ("y", "options", "said"),
    [
        (None, {"class_weight": {7: 1.0}}, "a weight for 7, which is no class: the classes are 0, 1, 2"),
        (None, {"class_weight": [1.0, 2.0]}, r"shape \(2,\) for 3 classes"),
        (None, {"class_weight": {0: 0.0}, "sample_weight": [1.0, 0, 0] * 40}, "leave no sample that counts"),
        (None, {"label_smoothing": 1.0}, "label_smoothing is 1.0, expected a share"),
        (None, {"label_smoothing": 0.1, "method": "spl"}, "leave label_smoothing out"),
        (torch.full((120, 3), 0.5), {}, "sample 0 add up to 1.5, not to 1"),
        (torch.full((120, 3), torch.nan), {}, "soft targets must be finite"),
        (torch.full((120, 3), 1 / 3), {"method": "co-teaching"}, "give class labels"),
    ],
)
def test_what_has_no_meaning_is_refused(y, options, said):
    x, labels = blobs()
    with pytest.raises((DataError, SettingsError), match=said):
        train(mlp(), (x, labels if y is None else y), **PLAIN | options)
