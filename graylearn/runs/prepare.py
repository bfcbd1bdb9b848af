"""From files to features: read the data, hold a test set out, embed texts and images.

What was embedded is kept, in a run with its stages, so that one that goes on finds it, and of changed data
only what is new is embedded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.data.embed import IMAGE_MODEL, TEXT_MODEL, embed_images, embed_text
from graylearn.data.formats import FORMATS, NAMELESS, Origin, format_of
from graylearn.data.images import CHANNELS
from graylearn.data.labels import note_labels
from graylearn.data.read import Blocks, are_large, open_blocks, read_file, read_with_others
from graylearn.data.remote import local
from graylearn.data.samples import Label, Samples
from graylearn.data.splits import chosen_for_test
from graylearn.data.tables import (
    EMBED_SIZE,
    PIXELS_SIZE,
    Columns,
    ReadOptions,
    can_embed_images,
    check_columns,
)
from graylearn.errors import DataError, SettingsError, are, counted, first_few
from graylearn.estimator.inputs import InputEncoder
from graylearn.paths import matching
from graylearn.runs.folder import LABELS, Encoding, Source, options_of, other_images
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared(Source):
    """The data of a run, ready to learn from.

    Those of a set that is read in blocks are not in memory: the samples here are a few of them as an example,
    and later those that the page shows.
    """

    settings: RunSettings
    """With the choices that depend on the data filled in."""
    everything: Samples
    """All samples of the source, held out or not."""
    train: Samples
    """Those that are not held out, as features."""
    held_out: np.ndarray
    """(N,) which of them were held out for testing."""
    image_hashes: list[str] | None
    """(N,) of each image, where the source is a folder of them."""
    test: Samples | None = None
    """Samples to measure a fit on, as a person knows them."""
    others: pd.DataFrame | None = None
    """Columns of the training samples that nothing is learned from."""
    blocks: Blocks | None = None
    """Reads the samples if they are not all in memory."""
    counts: Sequence[int] = ()
    """(K,) samples of each class in the blocks."""
    table: InputEncoder | None = None
    """The encoder of a table read in blocks; None for embedded samples."""

    @cached_property
    def shown(self) -> Samples:
        """The training samples as a person knows them."""
        return self.everything.take(~self.held_out) if self.held_out.any() else self.everything

    def read(self) -> Iterator[tuple[Samples, NDArray[np.bool_], list[str] | None]]:
        """(samples, which of them were held out, hashes of images in a folder), block by block."""
        if self.blocks is None:
            yield self.everything, self.held_out, self.image_hashes
            return
        for block in self.blocks.read(self.classes):
            every = self.image_hashes
            hashes = None if every is None else [every[row] for row in block.rows]
            yield block.samples, np.zeros(len(block.rows), dtype=bool), hashes

    def encode(self, samples: Samples) -> NDArray[np.float32]:
        """(n, D) features of some samples of a block."""
        if self.table is not None:
            return np.asarray(self.table.transform(samples.x), dtype=np.float32)
        return np.asarray(encoded(samples, self.encoding, self.settings, None).x, dtype=np.float32)


FITTED = 20_000
"""Most samples that an encoder is fitted to if they are not all in memory."""


def is_large(settings: RunSettings) -> bool:
    """Whether the data are read in parts: if asked for, and for an audit also if there are many."""
    told = settings.part_size is not None or settings.engine == "ray"
    return told or (settings.command == "audit" and are_large(settings.data))


def prepare(settings: RunSettings, cache: Path, progress: RunProgress, source: Any = None) -> Prepared:
    """The data of a run, or `source`, read and encoded as a whole, or opened to be read in blocks.

    Slow embeddings of a whole set are kept in the folder `cache`.
    """
    size, others, table = size_of(settings), None, None
    options = options_of(settings, size, settings.split)
    blocks = _opened(settings, options, source)
    if blocks is None:
        samples, origin, others, fingerprint, hashes = _read_whole(settings, options, progress)
        counts = samples.class_counts.tolist()
    else:
        with progress.working("counting labels"):
            by_label = blocks.label_counts()
        origin, counts = blocks.origin, list(by_label.values())
    settings = settled(settings, origin, counts, progress)
    if blocks is None:
        if samples.groups is not None:
            groups = counted(len(np.unique(samples.groups)), "group")
            progress.say(f"{groups} by {origin.columns.group!r}: each sample is judged by the other groups")
        note_empty_texts(samples, progress)
        encoding = encoding_of(samples, settings, size)
        progress.say(f"learning from {encoding.words}")
        with progress.working(f"encoding {len(samples):,} samples"):
            features = encoded(samples, encoding, settings, cache)
        held_out = _held_out(samples, settings)
    else:
        if settings.features == "pixels":
            raise SettingsError("images are audited in parts by features=embed: install graylearn[images]")
        note_labels(tuple(by_label), counts)
        with progress.working("learning how samples become features"):
            is_table = origin.kind == "table"
            some = blocks.spread(FITTED, by_label) if is_table else next(blocks.read(tuple(by_label))).samples
            encoding = encoding_of(some, settings, size)
            if encoding.way == "columns":
                table = InputEncoder.fitted(some.x, "keep", settings.id_like, some.y)
        fingerprint, hashes = {LABELS: {str(label): count for label, count in by_label.items()}}, None
        if origin.path != NAMELESS:
            fingerprint, hashes = FORMATS[origin.form].fingerprint(Path(origin.path), blocks.names)
        samples = features = some.take(slice(0, 8))
        held_out = np.zeros(len(samples), dtype=bool)
    train, test = features, None
    if held_out.any():
        train, test = features.take(~held_out), samples.take(held_out)
    return Prepared(
        settings=settings,
        origin=origin,
        encoding=encoding,
        classes=samples.classes,
        train=train,
        test=test_set(settings, samples, origin, size, progress) if test is None else test,
        everything=samples,
        held_out=held_out,
        fingerprint=fingerprint,
        image_hashes=hashes,
        others=None if others is None else others[~held_out],
        blocks=blocks,
        counts=tuple(counts),
        table=table,
    )


def _opened(settings: RunSettings, options: ReadOptions, source: Any) -> Blocks | None:
    """The data to read in blocks; None if they are read as a whole."""
    if source is None and not is_large(settings):
        return None
    if settings.test_share is not None and settings.command == "fit":
        raise SettingsError("test_share holds samples out of a set that is read as a whole: name a test set")
    return open_blocks(settings.data if source is None else source, options)


def _read_whole(
    settings: RunSettings, options: ReadOptions, progress: RunProgress
) -> tuple[Samples, Origin, pd.DataFrame | None, dict[str, Any], list[str] | None]:
    """(samples, origin, columns that nothing is learned from, fingerprint, hash of each image)."""
    if (words := tight(settings)) is not None:
        progress.say(words)
    path = local(settings.data)
    with progress.working(f"reading {path.name}"), format_of(path).still(path):
        samples, origin, others = read_with_others(path, options)
        check_ids(samples, path)
        fingerprint, hashes = FORMATS[origin.form].fingerprint(path, samples.ids)
        if hashes is not None:
            origin = replace(origin, unread=tuple(other_images(path, samples.ids)))
    return samples, origin, others, fingerprint, hashes


def size_of(settings: RunSettings) -> int:
    """Pixels a side of decoded images."""
    return settings.size or (EMBED_SIZE if _features_of(settings) == "embed" else PIXELS_SIZE)


def settled(
    settings: RunSettings, origin: Origin, counts: Sequence[int] | np.ndarray, progress: RunProgress
) -> RunSettings:
    """The settings with the choices that depend on the data; reports them, and refuses unsuitable data.

    counts: (K,) samples of each class.
    """
    check_kind(settings, origin, progress)
    samples, classes = int(sum(counts)), np.count_nonzero(counts)
    told = f"{counted(samples, 'sample')} ({origin.kind}), {len(counts)} class{'es' * (len(counts) != 1)}"
    told += f", labels from column {origin.columns.label!r}" if origin.columns.label else ""
    told += f", named by column {origin.columns.id!r}" if origin.columns.id else ""
    progress.say(told)
    if classes < 2:
        raise DataError(
            f"all samples of {origin.path} ({samples:,}) bear one label: an audit needs two classes or more"
        )
    if samples >= 20 and classes > samples / 2:
        raise DataError(
            f"{origin.path} has {classes} different labels on {samples} samples: "
            "is this column the label? name another with --label"
        )
    settings = replace(settings, label=origin.columns.label or settings.label)
    if origin.kind != "image":
        return settings
    if settings.features != (features := _features_of(settings)) == "pixels":
        progress.note(
            "the extra images is not installed, by whose features far more is found than by a network on "
            "pixels, in less time: pip install 'graylearn[images]'; --features pixels is to do without"
        )
    return replace(settings, features=features)


def check_kind(settings: RunSettings, origin: Origin, progress: RunProgress) -> None:
    """Refuse or note settings that are for another kind of samples."""
    if settings.features == "pixels" and origin.kind != "image":
        raise SettingsError(f"features is 'pixels', but {origin.path} holds no images: leave it out")
    name = Path(origin.path).name
    unused = {
        "images": () if origin.kind == "image" else ("size",),
        "images and texts": () if origin.kind in ("image", "text") else ("embedding", "features"),
        "tables": ("id", "no_id", "without", "text", "path") if origin.form in ("npz", "folder") else (),
        "delimited text": () if origin.form == "delimited" else ("separator", "encoding"),
    }
    for of, options in unused.items():
        for option in options:
            if getattr(settings, option) != getattr(RunSettings, option):
                flag = "--" + option.replace("_", "-")
                progress.note(f"{flag} is for {of}: passed over, for {name} holds none")
    if settings.size is not None and origin.kind == "image" and origin.form == "npz":
        progress.note(f"--size is for image files: passed over, for {name} holds pixels")


def note_empty_texts(samples: Samples, progress: RunProgress) -> None:
    """Note empty texts."""
    texts = samples.x if samples.kind == "text" else ()
    if empty := [samples.ids[index] for index, text in enumerate(texts) if not text.strip()]:
        told = f"{len(empty):,} of {len(samples):,} texts {are(len(empty))} empty ({first_few(empty)})"
        progress.note(f"{told}: nothing speaks for or against the label")


def _held_out(samples: Samples, settings: RunSettings) -> np.ndarray:
    """(N,) which samples are held out to measure on."""
    if settings.test_share is None or settings.command == "audit":
        return np.zeros(len(samples), dtype=bool)
    held_out = chosen_for_test(samples, settings.test_share, settings.seed)
    if not held_out.any():
        grouped = "" if samples.groups is None else f" in {counted(len(np.unique(samples.groups)), 'group')}"
        raise DataError(
            f"{settings.test_share:.0%} of {len(samples)} samples{grouped} leave none to test on: give more"
        )
    return held_out


def read_test(
    settings: RunSettings, size: int, origin: Origin, classes: Sequence[Label] | None = None
) -> Samples:
    """The test set that the settings name, read like the training samples but without groups."""
    options = options_of(replace(settings, group=None), size, settings.test_split)
    known = origin.columns if origin.columns != Columns() else None
    options = replace(options, classes=classes, decimal=origin.decimal, columns=known)
    return read_file(settings.test or settings.data, options)[0]


def test_set(
    settings: RunSettings, samples: Samples, origin: Origin, size: int, progress: RunProgress
) -> Samples | None:
    """The test set, if any; for a fit, checked against the kind and columns of the training samples."""
    if settings.test is None and settings.test_split is None:
        return None
    path, is_fit = local(settings.test or settings.data), settings.command == "fit"
    with progress.working(f"reading {path.name} to test on"):
        read = read_test(settings, size, origin, samples.classes if is_fit else None)
    if not is_fit:
        return read
    if read.kind != samples.kind:
        raise DataError(
            f"{path} holds {read.kind} samples but {origin.path} {samples.kind} samples: give both alike"
        )
    if samples.kind != "table":
        return read
    wanted, found = list(samples.x.columns), list(read.x.columns)
    check_columns(str(path), found, wanted, "to learn from")
    if extra := [str(name) for name in found if name not in wanted]:
        progress.note(f"passing over columns of {path.name} that are not learned from: {first_few(extra)}")
    return replace(read, x=read.x[wanted])


def encoding_of(samples: Samples, settings: RunSettings, size: int) -> Encoding:
    """How samples of this kind become features."""
    if samples.kind == "text":
        return Encoding("text-embedding", settings.embedding or TEXT_MODEL)
    if samples.kind == "image":
        if settings.features == "embed":
            return Encoding("image-embedding", settings.embedding or IMAGE_MODEL, size)
        return Encoding("pixels", None, size, tuple(samples.x.shape[1:]))
    if samples.kind == "table":
        return Encoding("columns")
    return Encoding("numbers", None, size, tuple(samples.x.shape[1:]))


def encoded(samples: Samples, encoding: Encoding, settings: RunSettings, cache: Path | None) -> Samples:
    """The samples as features for a classifier; embeddings, which are slow, are kept in `cache`."""
    if encoding.way in ("columns", "pixels"):
        return samples
    if encoding.model is None:
        rows = samples.x.reshape(len(samples), -1)
    else:
        embed = embed_text if encoding.way == "text-embedding" else embed_images
        rows = embed(samples, model=encoding.model, device=settings.device, cache=cache)
    return replace(samples, x=rows, kind="array")


def check_ids(samples: Samples, path: Path) -> None:
    """Refuse ids that are not UTF-8 before hours are spent on a run that could not write them."""
    if samples.ids.dtype.kind not in "iu":
        for name in map(str, samples.ids):
            if name.encode(errors="replace").decode() != name:
                raise DataError(f"{path} holds {name!r}, whose name is not UTF-8: rename it")


def _features_of(settings: RunSettings) -> Literal["embed", "pixels"]:
    """Whether images would be embedded."""
    if settings.features != "auto":
        return settings.features
    if settings.embedding is not None:
        return "embed"
    return "embed" if can_embed_images() else "pixels"


TIMES, A_ROW = {"parquet": 20}, 3_500
"""Peak memory of a run in bytes, per byte of a file (8 if not listed) and per image beside its pixels."""
OF_FREE = 0.7
"""Share of the free memory from which a note is worth it."""


def files_of(path: Path) -> list[Path]:
    """The files that make up the data, by name."""
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file())
    return [path] if path.is_file() else matching(path)


def tight(settings: RunSettings) -> str | None:
    """A note if the data may be too large to be held in memory as a whole; else None."""
    path, free = local(settings.data), free_bytes()
    form, files = format_of(path).name, files_of(path)
    needed = TIMES.get(form, 8) * sum(file.stat().st_size for file in files)
    if form == "folder":
        needed = len(files) * ((settings.size or EMBED_SIZE) ** 2 * CHANNELS + A_ROW)
    if free is None or needed < OF_FREE * free:
        return None
    return (
        f"{path.name} is held in memory as a whole, about {needed / 2**30:.1f} GB with what is made of it, "
        f"where {free / 2**30:.1f} GB are free: --part-size 100000 takes a part at a time, of tables and "
        "folders of images"
    )


def free_bytes() -> int | None:
    """Memory in bytes that this process may still take; None if the system does not say."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = 1024 * int(told["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None
    try:  # of a container
        most, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):
        return free
    return min(free, max(most - used, 0))
