"""Augmentation and batches on the device, against torch's own padding and slicing."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from graylearn.data.batches.augment import Augment, PixelScale, augment_rows, random_uniform
from graylearn.data.batches.base import ArrayBatches, Preparation
from graylearn.errors import SettingsError


def pictures(samples=60, height=10, width=8):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(256, (samples, height, width, 3), dtype=torch.uint8, generator=generator)


def order(samples, seed=0):
    return lambda epoch: torch.randperm(samples, generator=torch.Generator().manual_seed(100 * seed + epoch))


def test_every_augmented_image_is_one_crop_of_its_reflection_padding_flipped_or_not():
    images = pictures()
    made = augment_rows(images, torch.arange(60), torch.arange(60), Augment(crop=2), seed=1, epoch=0)
    padded = F.pad(images.permute(0, 3, 1, 2).float(), (2, 2, 2, 2), mode="reflect").permute(0, 2, 3, 1)
    found = set()
    for place in range(60):
        options = {
            (down, across, flip): crop.flip(1) if flip else crop
            for down in range(5)
            for across in range(5)
            for flip in (False, True)
            for crop in [padded[place, down : down + 10, across : across + 8]]
        }
        matches = [key for key, crop in options.items() if torch.equal(crop, made[place].float())]
        assert len(matches) == 1
        found.add(matches[0])
    assert len(found) > 25  # of 50 ways


def test_random_numbers_depend_on_sample_epoch_and_seed_alone_and_are_uniform():
    index = torch.arange(20_000)
    first = random_uniform(index, seed=7, epoch=3, draws=3)
    shuffled = torch.randperm(20_000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(random_uniform(index[shuffled], 7, 3, 3), first[:, shuffled])
    for other in (
        random_uniform(index, 7, 4, 3),
        random_uniform(index, 8, 3, 3),
        random_uniform(index, 7 + (1 << 40), 3, 3),
    ):
        rows = torch.cat([first, other]).numpy()
        correlation = np.corrcoef(rows) - np.eye(6)
        assert np.abs(correlation).max() < 0.03
        counts = np.stack([np.histogram(row, bins=9, range=(0, 1))[0] for row in rows])
        chi_square = ((counts - 20_000 / 9) ** 2 / (20_000 / 9)).sum(1)
        assert chi_square.max() < 30  # 8 degrees of freedom: beyond 30 once in 5,000
    assert float(first.min()) >= 0
    assert float(first.max()) < 1


def test_pixels_are_scaled_to_mean_zero_and_deviation_one_in_channels_last():
    images = pictures()
    scale = PixelScale.measure(images)
    scaled = scale(images)
    assert scaled.shape == (60, 3, 10, 8)
    assert scaled.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(scaled.double().mean((0, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.double().std((0, 2, 3), correction=0), 1, atol=1e-6)
    grey = torch.full((4, 5, 5, 1), 128, dtype=torch.uint8)
    assert torch.isfinite(PixelScale.measure(grey)(grey)).all()
    with pytest.raises(SettingsError, match="1 channels but the pixel scale has 3"):
        scale(grey)


def test_a_crop_wider_than_the_image_is_refused():
    with pytest.raises(SettingsError, match="crop pads 8 pixels"):
        augment_rows(pictures(), torch.arange(2), torch.arange(2), Augment(crop=8), seed=0, epoch=0)
    with pytest.raises(SettingsError, match="crop is -1"):
        Augment(crop=-1)


@pytest.mark.parametrize("window", [1, 7, 10_000])
def test_an_epoch_gives_every_sample_once_from_any_step_on(window, monkeypatch):
    images = pictures()
    y = torch.arange(60) % 4
    monkeypatch.setattr("graylearn.data.batches.base.WINDOW_BYTES", window * 10 * 8 * 3 * 4)
    preparation = Preparation(scale=PixelScale.measure(images), augment=Augment(crop=2), seed=3)
    source = ArrayBatches(
        images, y, batch_size=7, order=order(60), device=torch.device("cpu"), preparation=preparation
    )
    batches = list(source.epoch(1))
    assert len(batches) == source.steps == 9
    assert torch.equal(torch.cat([batch.index for batch in batches]), order(60)(1))
    for start in (1, 5, 8):
        for batch, again in zip(batches[start:], source.epoch(1, start), strict=True):
            assert torch.equal(batch.inputs, again.inputs)
            assert torch.equal(batch.index, again.index)
            assert torch.equal(batch.target, y[batch.index])


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_a_stack_reads_the_right_rows_for_each_model(models, shared):
    x = torch.randn(11, 5) if shared else torch.randn(models, 11, 5)
    y = torch.stack([torch.arange(11).roll(model) % 4 for model in range(models)])
    orders = [order(11, model) for model in range(models)]
    source = ArrayBatches(
        x.reshape(-1, 5),
        y.reshape(-1),
        batch_size=4,
        order=lambda epoch: torch.stack([each(epoch) for each in orders]),
        device=torch.device("cpu"),
        models=models,
    )
    seen = [[] for _ in range(models)]
    for batch in source.epoch(2):
        places = batch.index.view(models, -1)
        inputs = batch.inputs.view(models, -1, 5)
        target = batch.target.view(models, -1)
        for model in range(models):
            rows = places[model] - 11 * model
            own = x if shared else x[model]
            assert torch.equal(inputs[model], own[rows])
            assert torch.equal(target[model], y[model][rows])
            seen[model].append(rows)
    for model in range(models):
        assert torch.equal(torch.cat(seen[model]), orders[model](2))
    (last,) = list(source.epoch(2, start=2))
    assert torch.equal(last.index.view(models, -1)[0], seen[0][2])
