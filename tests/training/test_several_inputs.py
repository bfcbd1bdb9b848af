"""Networks that read several inputs, and such as answer with more than logits."""

import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from training_helpers import assert_same_weights, blobs, mlp

from graylearn.training import predict_logits, train

PLAIN = {"epochs": 2, "batch_size": 16, "log": "none"}


class TwoParts(nn.Module):
    """A network of rows that are given in two parts, with a mask of whole numbers that changes nothing."""

    def __init__(self, answer=lambda logits: logits):
        super().__init__()
        self.model, self.answer = mlp(), answer

    def forward(self, left, right, mask=None):
        assert left.dtype == right.dtype == torch.float32
        assert mask is None or mask.dtype == torch.int64
        return self.answer(self.model(torch.cat([left, right], dim=1)))


def parts():
    x, y = blobs()
    return {"left": x[:, :2].double(), "right": x[:, 2:], "mask": torch.ones(len(x), 1, dtype=torch.int64)}, y


class Items(Dataset):
    """Items as Hugging Face has them: one dict, with the label in it."""

    def __init__(self, name="labels", give=lambda item: item):
        (self.x, self.y), self.name, self.give = parts(), name, give

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.give({name: part[index] for name, part in self.x.items()} | {self.name: self.y[index]})


@pytest.fixture(scope="module")
def alone():
    """The same network on the parts in one."""
    return train(mlp(), blobs(), **PLAIN)


def test_parts_in_a_dict_or_a_tuple_train_as_the_rows_they_make(alone):
    x, y = parts()
    tupled = tuple(x.values())
    sets = {
        "dict": (x, y),
        "tuple": (tupled, y),
        "arrays": (tuple(part.numpy() for part in tupled), y.numpy()),
        "items": Items(),
        "items with a label": Items("label"),
        "pairs": Items(give=lambda item: ((item["left"], item["right"]), item["labels"])),
    }
    for name, data in sets.items():
        result = train(TwoParts(), data, **PLAIN)
        assert_same_weights(result.model, alone.model, tolerance=1e-6)
        np.testing.assert_allclose(
            result.history.label_confidence, alone.history.label_confidence, atol=1e-3, err_msg=name
        )
    logits = result.predict_logits(x)
    np.testing.assert_allclose(logits, alone.predict_logits(blobs()[0]), atol=1e-5)
    np.testing.assert_allclose(logits, predict_logits(result.model, tupled, batch_size=7), atol=1e-6)


def test_a_loader_of_dicts_is_learned_from_and_validated():
    loader = DataLoader(Items(), batch_size=16, shuffle=True)
    whole = train(TwoParts(), loader, validation=Items(), learning_rate=0.01, **PLAIN)
    assert whole.log[-1]["validation_accuracy"] == whole.evaluate(*parts())["accuracy"] > 0.8
    assert (whole.history.count == 2).all()
    np.testing.assert_array_equal(whole.history.targets, parts()[1])


@pytest.mark.parametrize(
    ("answer", "which"),
    [
        (lambda logits: {"loss": None, "logits": logits}, None),
        (lambda logits: types.SimpleNamespace(logits=logits), None),
        (lambda logits: {"extra": logits * 0, "out": logits}, "out"),
        (lambda logits: (logits * 0, logits), 1),
        (lambda logits: {"heads": [logits]}, lambda answer: answer["heads"][0]),
    ],
    ids=["dict", "attribute", "key", "number", "function"],
)
@pytest.mark.parametrize("method", ["gl", "co-teaching"])
def test_logits_are_found_in_what_a_network_gives(answer, which, method):
    options = PLAIN | {"method": method, "epochs": 1}
    data = parts()
    result = train(TwoParts(answer), data, logits=which, validation=data, **options)
    wanted = train(mlp(), blobs(), **options)
    assert_same_weights(result.model, wanted.model, tolerance=1e-6)
    assert result.log[0]["validation_accuracy"] == result.evaluate(*data)["accuracy"]
