"""Every kind of data trains the same."""

import weakref

import datasets
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset
from training_helpers import IN_BITS, Flowing, Mapped, assert_same_weights, blobs, cnn, mlp, pictures

from graylearn.data import Samples
from graylearn.errors import DataError
from graylearn.training import Augment, PixelScale, train, train_stack


def test_arrays_tensors_samples_and_datasets_give_the_same_bits():
    x, y = blobs()
    ids = np.array([f"row {place}" for place in range(len(x))])
    sets = {
        "arrays": (x.double().numpy(), y.numpy()),
        "lists": (x.tolist(), y.tolist()),
        "tensors": (x, y),
        "tensor dataset": TensorDataset(x, y),
        "samples": Samples(x=x.numpy(), y=y.numpy(), classes=(0, 1, 2), ids=ids, kind="array"),
        "dataset": Mapped(x, y),
        "dataset of lists": Mapped(x.tolist(), y),
    }
    runs = {name: train(mlp(), data, epochs=2, log="none") for name, data in sets.items()}
    streamed = train(mlp(), (x, y), epochs=2, stream=True, log="none")
    for run in [*runs.values(), streamed]:
        assert_same_weights(run.model, runs["tensors"].model, tolerance=0)
        np.testing.assert_array_equal(run.history.label_confidence, runs["tensors"].history.label_confidence)
    assert list(runs["samples"].history.ids[:2]) == ["row 0", "row 1"]


def test_datasets_of_hugging_face_are_learned_from_validated_on_and_predicted():
    x, y = blobs()
    table = datasets.Dataset.from_dict({"input": x.tolist(), "label": y.tolist()})
    result = train(mlp(), table, validation=table, epochs=1, log="none")
    expected = train(mlp(), (x, y), validation=(x, y), epochs=1, log="none")
    near = {"rtol": IN_BITS, "atol": IN_BITS}
    np.testing.assert_allclose(result.history.label_confidence, expected.history.label_confidence, **near)
    assert result.log[0]["validation_loss"] == pytest.approx(expected.log[0]["validation_loss"], abs=IN_BITS)
    np.testing.assert_allclose(result.predict_logits(table), expected.predict_logits(x), **near)
    with pytest.raises(DataError, match="validation is DatasetDict, expected"):
        train(mlp(), table, validation=datasets.DatasetDict({"test": table}), epochs=1, log="none")


def test_streaming_with_workers_equals_memory():
    x, y = blobs()
    held = train(mlp(), (x, y), epochs=1, log="none")
    streamed = train(mlp(), (x, y), epochs=1, stream=True, workers=1, log="none")
    assert_same_weights(streamed.model, held.model, tolerance=0)


def test_a_shuffling_dataloader_keeps_its_batches_and_knows_its_samples():
    x, y = blobs()
    loader = DataLoader(Mapped(x, y), batch_size=25, shuffle=True)
    result = train(mlp(), loader, method="standard", epochs=3, log="none")
    again = train(mlp(), loader, method="standard", epochs=3, log="none")
    assert result.history.num_samples == len(x)
    assert (result.history.count == 3).all()
    np.testing.assert_array_equal(result.history.targets, y)
    np.testing.assert_array_equal(result.history.label_confidence, again.history.label_confidence)
    # the last epoch's confidences belong to the right samples: nearly those of the trained network
    final = torch.softmax(torch.from_numpy(result.predict_logits(x)), 1).gather(1, y[:, None])[:, 0]
    assert np.corrcoef(final, result.history.label_confidence[-1])[0, 1] > 0.95


def test_a_loader_may_drop_its_last_batch_and_every_sample_keeps_its_label():
    x, y = blobs()
    loader = DataLoader(Mapped(x, y), batch_size=50, shuffle=True, drop_last=True)
    result = train(mlp(), loader, method="standard", epochs=6, log="none")
    np.testing.assert_array_equal(result.history.targets, y)
    assert result.history.count.sum() == 6 * 100
    assert np.isnan(result.history.label_confidence).sum() == 6 * 20


class Listed(Mapped):
    """Lists labels beside its items, as the sets of torchvision do."""

    def __init__(self, x, y, targets):
        super().__init__(x, y)
        self.targets = targets


@pytest.mark.parametrize("part", [slice(0, 120), slice(1, 90)])
@pytest.mark.parametrize("load", [lambda data: data, lambda data: DataLoader(data, batch_size=16)])
def test_a_list_of_labels_is_believed_where_the_items_bear_them(load, part):
    """A target_transform renames what a dataset lists."""
    x, y = blobs()
    data = Listed(x, y, [(0, 4, 7)[label] for label in y])
    data = data if part == slice(0, 120) else Subset(data, range(120)[part])
    result = train(mlp(), load(data), method="standard", epochs=1, log="none")
    np.testing.assert_array_equal(result.history.targets, y[part])


class Numbered:
    """A dataset whose items bear their place in it, as those for robust training often do."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], int(self.y[index]), index


AS_LOADERS = {
    "dataset": lambda data: data,
    "shuffled, without the last": lambda data: DataLoader(data, 50, shuffle=True, drop_last=True),
    "drawn": lambda data: DataLoader(data, 16, sampler=RandomSampler(data, replacement=True, num_samples=40)),
}


@pytest.mark.parametrize("load", AS_LOADERS.values(), ids=AS_LOADERS)
def test_samples_that_bear_an_index_need_not_all_come_in_every_epoch(load):
    x, y = blobs()
    result = train(mlp(), load(Numbered(x, y)), method="standard", epochs=1, log="none")
    np.testing.assert_array_equal(result.history.targets, y)


@pytest.mark.parametrize("load", AS_LOADERS.values(), ids=AS_LOADERS)
def test_a_part_of_a_set_that_bears_an_index_is_numbered_by_its_places(load):
    x, y = blobs()
    part = np.random.default_rng(0).permutation(len(y))[:70]
    with pytest.warns(UserWarning, match="numbered by their places in the Dataset"):
        result = train(mlp(), load(Subset(Numbered(x, y), part)), method="standard", epochs=1, log="none")
    np.testing.assert_array_equal(result.history.targets, y[part])


def test_an_iterable_without_index_is_numbered_as_it_arrives_and_says_so():
    x, y = blobs()
    with pytest.warns(UserWarning, match="numbered in the order they arrive"):
        result = train(mlp(), Flowing(x, y), method="standard", epochs=2, log="none")
    np.testing.assert_array_equal(result.history.targets, y)
    assert (result.history.count == 2).all()


def test_bytes_in_another_order_are_turned_round():
    x, y = blobs()
    wanted = train(mlp(), (x, y), epochs=2, log="none")
    reversed_x, reversed_y = x.numpy().astype(">f8"), y.numpy().astype(">i4")
    found = train(mlp(), (reversed_x, reversed_y), epochs=2, log="none")
    np.testing.assert_array_equal(found.predict_logits(reversed_x), wanted.predict_logits(x))


def test_what_trains_is_predicted_and_evaluated_in_the_same_forms():
    x, y = blobs()
    result = train(mlp(), (x, y), epochs=2, log="none")
    logits, measured = result.predict_logits(x), result.evaluate(x, y)
    data = Mapped(x, y)
    for form in (data, DataLoader(data, batch_size=50), TensorDataset(x), TensorDataset(x, y), Flowing(x, y)):
        np.testing.assert_allclose(result.predict_logits(form), logits, atol=1e-6)
    for form in (
        (x, y),
        data,
        DataLoader(data, batch_size=50),
        DataLoader(data, batch_size=50, shuffle=True),
    ):
        assert result.evaluate(form) == pytest.approx(measured, abs=1e-6)
    with pytest.raises(DataError, match="x is Tensor, expected a tuple"):
        result.evaluate(x)
    with pytest.raises(DataError, match="no samples to predict"):
        result.predict_logits(Mapped(x[:0], y[:0]))


@pytest.mark.parametrize("kind", [torch.as_tensor, np.asarray, list])
def test_boolean_labels_are_classes_0_and_1(kind):
    x, y = blobs(classes=2)
    result = train(mlp(classes=2), (x, kind(y.numpy() == 1)), epochs=1, validation=(x, y == 1), log="none")
    np.testing.assert_array_equal(result.history.targets, y)
    (stacked,) = train_stack([mlp(classes=2)], (x, kind(y.numpy() == 1)), epochs=1, log="none")
    np.testing.assert_array_equal(stacked.history.targets, y)


def test_validation_may_be_whatever_holds_samples_and_labels():
    x, y = blobs()
    other, labels = blobs(samples=33, seed=1)
    sets = [
        (other, labels),
        [other.numpy(), labels.numpy()],
        Samples(x=other.numpy(), y=labels.numpy(), classes=(0, 1, 2), ids=np.arange(33), kind="array"),
        Mapped(other, labels),
        TensorDataset(other, labels),
        Flowing(other, labels),
        DataLoader(Mapped(other, labels), batch_size=10, shuffle=True),
    ]
    runs = [train(mlp(dropout=0.2), (x, y), epochs=2, validation=held, log="none") for held in sets]
    for run in runs[1:]:
        for mine, theirs in zip(run.log, runs[0].log, strict=True):
            for name in ("loss", "validation_accuracy", "validation_loss"):
                assert mine[name] == pytest.approx(theirs[name], rel=1e-5)


def test_images_are_scaled_augmented_and_predicted_the_same_streamed_or_held():
    x, y = pictures()
    options = {"epochs": 2, "batch_size": 16, "augment": Augment(crop=2), "log": "none"}
    held = train(cnn(), (x.numpy(), y.numpy()), validation=(x, y), **options)
    streamed = train(cnn(), (x, y), stream=True, **options)
    channels_first = train(cnn(), (x.permute(0, 3, 1, 2).contiguous(), y), **options)
    for other in (streamed, channels_first):
        assert_same_weights(other.model, held.model, tolerance=0)
    flat = x.double().reshape(-1, 3) / 255
    np.testing.assert_allclose(held.preparation.scale.mean, flat.mean(0), atol=1e-12)
    np.testing.assert_allclose(held.preparation.scale.std, flat.std(0, correction=0), atol=1e-12)
    inputs = ((x.double() / 255 - flat.mean(0)) / flat.std(0, correction=0)).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        expected = held.model(inputs)
    torch.testing.assert_close(
        torch.from_numpy(held.predict_logits(x, batch_size=7)), expected, atol=1e-4, rtol=0
    )
    assert held.evaluate(x, y)["accuracy"] == pytest.approx(held.log[-1]["validation_accuracy"])


@pytest.mark.parametrize("form", ["held", "batches"])
def test_images_of_a_run_that_is_gone_on_with_keep_its_scale(form):
    x, y = pictures()
    scale = PixelScale((0.4, 0.5, 0.6), (0.2, 0.2, 0.3))
    data = [(x, y)] if form == "batches" else (x, y)
    found = train(cnn(), data, epochs=1, scale=scale, log="none")
    assert found.preparation.scale == scale


def test_bfloat16_on_the_cpu_trains_close_to_float32():
    x, y = pictures()
    exact = train(cnn(), (x, y), method="standard", epochs=1, batch_size=20, precision="fp32", log="none")
    half = train(cnn(), (x, y), method="standard", epochs=1, batch_size=20, precision="bf16", log="none")
    assert half.log[0]["loss"] == pytest.approx(exact.log[0]["loss"], rel=0.02)
    assert next(half.model.parameters()).dtype == torch.float32
    np.testing.assert_allclose(half.predict_logits(x), exact.predict_logits(x), atol=0.1)


def test_batches_of_a_stream_are_let_go_as_they_are_learned_from():
    made, alive = [], []

    class Stream:
        def __iter__(self):
            for number in range(12):
                alive.append(sum(each() is not None for each in made))
                x = torch.randn(4, 3, generator=torch.Generator().manual_seed(number))
                made.append(weakref.ref(x))
                yield x, torch.arange(4) % 2, torch.arange(4) + 4 * number

    train(mlp(3, 2), Stream(), method="gl", epochs=1, device="cpu", log="none")
    assert max(alive) <= 3
