"""Data that cannot be trained on are refused with the reason."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from training_helpers import Flowing, IterAgain, blobs, mlp

from graylearn.errors import DataError
from graylearn.training import train


def test_an_index_with_gaps_is_refused():
    x, y = blobs()
    with pytest.raises(DataError, match="never gives sample 0 but gives sample 120"):
        train(mlp(), IterAgain([(x, y, torch.arange(1, 121))]), epochs=1, log="none")


def test_an_iterable_that_changes_its_order_is_refused():
    x, y = blobs()

    class Shuffling(IterableDataset):
        def __iter__(self):
            order = torch.randperm(len(x))
            return iter([(x[place], y[place]) for place in order])

    with (
        pytest.warns(UserWarning, match="numbered"),
        pytest.raises(DataError, match="changes its order between epochs"),
    ):
        train(mlp(), Shuffling(), epochs=3, log="none")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((torch.zeros(4, 6), torch.zeros(5).long()), "4 samples but 5 labels"),
        ((torch.zeros(4, 6), torch.zeros(4)), "expected whole numbers"),
        ((torch.zeros(4, 6), torch.tensor([0, 1, 2, 3])), "label 3 but the network gives 3 logits"),
        ((torch.full((4, 6), torch.nan), torch.tensor([0, 1, 2, 1])), "NaN or infinite"),
        ((torch.zeros(0, 6), torch.zeros(0).long()), "no samples"),
        (
            (torch.zeros(2, 6), ["cat", "dog"]),
            r"y holds object, .* numpy.unique\(y, return_inverse=True\)\[1\]",
        ),
        (((x for x in [1]),) * 3, "data is|parts|expected|read only once"),
        (7, "data is int"),
        ({"x": torch.zeros(4, 6), "y": torch.zeros(4)}, r"data is a dict: give a tuple \(x, y\)"),
        ([[[0.0] * 6] * 4, [0, 1, 2, 0]], r"a list of 2 arrays: give a tuple \(x, y\)"),
        ((torch.zeros(4, 6), torch.zeros(4), torch.ones(4)), r"a tuple of 3 arrays: give a tuple \(x, y\)"),
    ],
)
def test_bad_data_is_refused_with_the_reason(data, message):
    with pytest.raises(DataError, match=message):
        train(mlp(), data, epochs=1, log="none")


class Answering(Dataset):
    """A dataset whose labels are what it was given, of any kind."""

    def __init__(self, labels):
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.zeros(6), self.labels[index]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1.0, 2.0, 0.0], "float64 of shape .4,., expected whole numbers"),
        ([0, 1, 2, -100], "label -100 is negative.*leave out samples"),
        (["cat", "dog", "cat", "dog"], "labels hold str, expected whole numbers"),
        (torch.eye(4)[:, :3], r"soft targets are to train on, in arrays \(x, y\), as floats"),
    ],
)
@pytest.mark.parametrize("form", ["dataset", "batches", "validation"])
def test_labels_that_are_no_classes_are_refused_wherever_they_come_from(labels, message, form):
    data = Answering(labels)
    if form == "batches":
        data = DataLoader(Flowing(torch.zeros(4, 6), labels), batch_size=4)
    data, validation = (blobs(), data) if form == "validation" else (data, None)
    with pytest.raises(DataError, match=message):
        train(mlp(), data, validation=validation, epochs=1, log="none")
