"""believe: the network of the mean weights answers and is left; classes are taught in equal parts."""

import numpy as np
import pytest
import torch
from hand_made import make_task
from torch.nn.functional import one_hot

from graylearn.errors import SettingsError
from graylearn.methods import make_method
from graylearn.methods.choose import Believe
from graylearn.nets import SmallCNN
from graylearn.training import train, train_stack

NUMBERS = np.random.default_rng(0)
X = NUMBERS.normal(size=(42, 3, 8, 8)).astype(np.float32)
Y = np.arange(42) % 3
OPTIONS = {"epochs": 4, "batch_size": 20, "seed": 0, "device": "cpu", "log": "none"}


def net():
    torch.manual_seed(0)
    return SmallCNN(3, (3, 8, 8), width=8)


@pytest.mark.parametrize("equal", [True, False])
def test_a_class_that_answers_prefer_is_taught_as_much_as_others(equal):
    truth = torch.arange(300) % 3
    method = make_method("believe", equal=equal)
    method.start(make_task(truth, 3))
    answers = one_hot(truth, 3) + torch.tensor([0.9, 0.3, 0.3]) + torch.rand(300, 3) * 0.5
    method.answers = answers / answers.sum(1, keepdim=True)
    method.end_epoch(0)
    taught = (method.answers * method.scale) ** 2
    sizes = (taught / taught.sum(1, keepdim=True)).mean(0)
    assert (float(sizes.max() / sizes.min()) < 1.1) == equal


def test_the_network_of_the_mean_weights_answers():
    asked = []

    class Watched(Believe):
        def loss(self, step):
            inputs = step.inputs[:20]
            asked.append((step.logits[:20].detach(), step.forward(inputs).logits.detach()))
            assert not step.output.logits.requires_grad
            return super().loss(step)

    train(net(), (X, Y), method=Watched(), learning_rate=0.1, **OPTIONS)
    first, last = asked[0], asked[-1]
    torch.testing.assert_close(*first)  # the mean begins as the network
    assert (last[0] - last[1]).abs().max() > 0.02


def test_a_resumed_run_is_the_unbroken_one(tmp_path):
    def killed(end):
        if end.epoch == 2:
            raise ConnectionError

    again = {"method": "believe", "checkpoint": tmp_path} | OPTIONS
    with pytest.raises(ConnectionError):
        train(net(), (X, Y), callbacks=killed, **again)
    resumed = train(net(), (X, Y), resume=True, **again)
    whole = train(net(), (X, Y), method="believe", **OPTIONS)
    np.testing.assert_array_equal(resumed.predict_logits(X), whole.predict_logits(X))


def test_models_of_a_stack_have_no_second_network():
    with pytest.raises(SettingsError, match="train it alone"):
        train_stack(net, (X, Y), methods="believe", seeds=[0, 1], epochs=1, device="cpu", log="none")
