"""Augmentation and batches on the device, against torch's own padding and slicing."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from graylearn.data.batches import ArrayBatches, Augment, PixelScale, Preparation, augment_rows
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


@pytest.mark.parametrize("window", [1, 7, 10_000])
def test_an_epoch_gives_every_sample_once_and_again_the_same(window, monkeypatch):
    images = pictures()
    y = torch.arange(60) % 4
    monkeypatch.setattr("graylearn.data.batches.WINDOW_BYTES", window * 10 * 8 * 3 * 4)
    preparation = Preparation(scale=PixelScale.measure(images), augment=Augment(crop=2), seed=3)
    source = ArrayBatches(
        images, y, batch_size=7, order=order(60), device=torch.device("cpu"), preparation=preparation
    )
    batches = list(source.epoch(1))
    assert len(batches) == source.steps == 9
    assert torch.equal(torch.cat([batch.index for batch in batches]), order(60)(1))
    for batch, again in zip(batches, source.epoch(1), strict=True):
        assert torch.equal(batch.inputs, again.inputs)
        assert torch.equal(batch.target, y[batch.index])


def test_only_what_the_host_holds_is_taken_to_the_device_step_by_step():
    """A device may be named otherwise than its tensors name it, as "cuda" is "cuda:0" to them."""
    read = []

    class Reading(Preparation):
        def train(self, x, rows, index, epoch):
            read.append(len(x))
            return super().train(x, rows, index, epoch)

    device = torch.device("cpu", 0)
    x, y = torch.arange(20.0).view(10, 2), torch.zeros(10, dtype=torch.long)
    for on_host, expected in ((False, 10), (True, 4)):
        options = {"batch_size": 4, "order": order(10), "device": device, "preparation": Reading()}
        source = ArrayBatches(x, y, on_host=on_host, **options)
        source.window = 1
        seen = torch.cat([batch.inputs for batch in source.epoch(0)])
        torch.testing.assert_close(seen, x[order(10)(0)])
        assert read[0] == expected
        read.clear()
