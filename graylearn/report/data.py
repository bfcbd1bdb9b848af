"""`ReportData`: everything the page shows, as plain values that fit together; and previews of samples."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from graylearn.audit.annotators import Crowd
from graylearn.audit.duplicates import Duplicates
from graylearn.data import Samples
from graylearn.data.images import as_rgb, upright
from graylearn.errors import DataError
from graylearn.metrics import Reliability

_COLUMNS = ("id", "label", "confidence", "score", "suspected", "kind", "suggested")


@dataclass(frozen=True)
class Preview:
    """What one sample looks like; see `image_preview`, `text_preview` and `row_preview`."""

    kind: Literal["image", "text", "row"]
    """Whether the content is a picture, a piece of text or a row of a table."""
    content: str | Mapping[str, str]
    """A data: address of a picture, the text, or column names with their values."""
    left_out: int = 0
    """How many characters of the text, or columns of the row, were left out."""


Previews: TypeAlias = Callable[[int], Preview | None]
"""What a sample looks like, by its index in the dataset; None where there is nothing to see."""


@dataclass(frozen=True, eq=False)
class ReportData:
    """One audit, ready to be shown. Larger scores = less likely to belong."""

    title: str
    """Heading of the page, such as the name of the dataset."""
    table: pd.DataFrame
    """The whole audit in dataset order: id, label, confidence, score, suspected, kind, suggested; and, if the
    audit tells, level, "sure" or "review" for suspects, and because, a sentence on them and on what came
    near."""
    classes: tuple[str, ...]
    """The classes as text, in stable order; `label` and `suggested` of the table are among them."""
    created: str = ""
    """When the run was made, as it should be shown."""
    run: str = ""
    """Name of the run: a browser keeps decisions apart by it, and by the ids and labels of the samples."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What to know of the run, in the order to show it: data, samples, method, seconds, ..."""
    threshold: float | None = None
    """Score from which samples are flagged; None where no one score is the border."""
    notes: Sequence[str] = ()
    """What the reader should know, in plain sentences."""
    reading: Sequence[str] = ()
    """How the data were read, in plain sentences: shown when asked for."""
    gathered: Sequence[tuple[str, str, str]] = ()
    """Of notes that speak of one value of a column, or of a folder: the note, the column, the value."""
    checks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Pictures that show little, whatever their labels: what is odd, and their indices in the dataset."""
    contamination: Mapping[str, float | None] | None = None
    """Estimated shares "ood", "mislabelled" and "total", as `Audit.contamination` gives them: None where
    nothing was found."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The 90 % range of each of these shares, as `Audit.ranges` has them."""
    look_first: int = 0
    """How many samples of the largest scores to look at where none is flagged, as `Audit.look_first` says."""
    curves: NDArray[Any] | None = None
    """(epochs, N) confidence in the given label, NaN where an epoch did not see a sample."""
    previews: Previews | None = None
    """What the samples look like."""
    probabilities: NDArray[Any] | None = None
    """(N, K) class probabilities, at best held out: the likely classes of a sample, as bars."""
    judge: str = "the model"
    """Whose probabilities they are, as a sentence would say it: "views that had not seen its label"."""
    confusions: pd.DataFrame | None = None
    """How often which label is mistaken for which, as `Audit.confusions` has it."""
    features: NDArray[Any] | None = None
    """(N, D) numbers by which samples are alike: their nearest and typical samples, and the map."""
    rows: pd.DataFrame | None = None
    """The N rows of a table: the columns in which a row is odd come first, beside the median of its class."""
    command: str = ""
    """What to run once the decisions are downloaded."""
    id_word: str = ""
    """What the ids count, where they are bare numbers: "line", "row"."""
    reliability: Reliability | None = None
    """Confidence against accuracy, from `graylearn.metrics.reliability`."""
    confusion: Any = None
    """(K, K) counts: row = given label, column = predicted class."""
    accuracies: Mapping[str, tuple[float, float | None]] | None = None
    """Test accuracy in [0, 1] and its spread, where known, by way of learning: standard, gray, refined."""
    copies: Duplicates | None = None
    """The groups of samples that are copies of one another, as `find_duplicates` gives them."""
    groups: Sequence[str] | None = None
    """(N,) what the group of each sample is called, where samples belong together."""
    crowd: Crowd | None = None
    """What several annotators said of the samples, in the order of the table, as `consensus` gives it."""
    training_log: Sequence[Mapping[str, Any]] | None = None
    """One row an epoch: epoch, loss, accuracy, ..., as `Result.log` holds them."""

    def __post_init__(self) -> None:
        missing = [name for name in _COLUMNS if name not in self.table.columns]
        if missing:
            raise DataError(f"the table lacks {', '.join(missing)}: pass Audit.table with labels as text")
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        if len(set(self.classes)) != len(self.classes):
            raise DataError("two classes have the same name as text: give each class a name of its own")
        n = len(self.table)
        of = {
            "copies": None if self.copies is None else self.copies.count,
            "groups": None if self.groups is None else len(self.groups),
            "crowd": None if self.crowd is None else len(self.crowd.label),
        }
        for name, count in of.items():
            if count not in (None, n):
                raise DataError(f"{name} are of {count} samples, the table has {n}: give those of one set")
        expected = {"probabilities": (n, len(self.classes)), "features": (n, None), "rows": (n, None)}
        for name, (length, width) in expected.items():
            given = getattr(self, name)
            shape = () if given is None else tuple(given.shape)
            if given is not None and (len(shape) != 2 or shape[0] != length or width not in (None, shape[1])):
                wanted = f"({length}, {'any number' if width is None else width})"
                raise DataError(f"{name} has shape {shape} for {n} samples: expected {wanted}")

    def __len__(self) -> int:
        return len(self.table)


# -- what a sample looks like, made small: thumbnails of pictures, cut text, the columns of a row ------------

THUMBNAIL = 160
"""Longest side of an embedded picture, in pixels."""
LOSSLESS = 32
"""Pictures up to this side are kept pixel by pixel: JPEG would smear them and save nothing."""
TEXT_LENGTH = 600
"""Characters of a text that are embedded."""
ROW_COLUMNS = 40
"""Columns of a row that are embedded."""
VALUE_LENGTH = 120
"""Characters of one value of a row that are embedded."""


def image_preview(picture: Any) -> Preview:
    """A small copy of a picture: an array (H, W) or (H, W, C), a PIL image, or a path.

    Photos are turned upright. Arrays that are not uint8 are stretched from their least to their largest.
    """
    if isinstance(picture, str | Path):
        with Image.open(picture) as opened:
            opened.draft("RGB", (2 * THUMBNAIL, 2 * THUMBNAIL))  # a JPEG decodes at an eighth almost for free
            return image_preview(opened)
    if isinstance(picture, Image.Image):
        image = upright(picture)
    else:
        image = Image.fromarray(_as_pixels(np.asarray(picture)))
    if image.mode != "L" or "transparency" in image.info:
        image = as_rgb(image)
    if max(image.size) > THUMBNAIL:
        image = image.copy()
        image.thumbnail((THUMBNAIL, THUMBNAIL))
    encoded = io.BytesIO()
    if max(image.size) <= LOSSLESS:
        image.save(encoded, "PNG", optimize=True)
        kind = "png"
    else:
        image.save(encoded, "JPEG", quality=80, optimize=True)
        kind = "jpeg"
    return Preview("image", f"data:image/{kind};base64,{base64.b64encode(encoded.getvalue()).decode()}")


def text_preview(text: str) -> Preview:
    """A text, cut where it is long."""
    return Preview("text", text[:TEXT_LENGTH], max(len(text) - TEXT_LENGTH, 0))


def row_preview(row: Mapping[str, Any]) -> Preview:
    """A row of a table as column names with their values, each as text."""
    names = list(row)[:ROW_COLUMNS]
    return Preview("row", {str(name): cell_text(row[name]) for name in names}, len(row) - len(names))


def preview_samples(samples: Samples) -> Previews:
    """Previews of samples by index: pictures, texts or rows, as their kind and shape allow."""
    x = samples.x
    if samples.kind == "text":
        return lambda index: text_preview(x[index])
    if isinstance(x, pd.DataFrame):
        names = [str(name) for name in x.columns][:ROW_COLUMNS]
        columns = [x.iloc[:, column].array for column in range(len(names))]
        left_out = x.shape[1] - len(names)

        def of_row(index: int) -> Preview:
            values = (cell_text(column[index]) for column in columns)
            return Preview("row", dict(zip(names, values, strict=True)), left_out)

        return of_row
    if samples.kind == "image" or _looks_like_pictures(x):
        return lambda index: image_preview(x[index])
    if x.ndim == 2:
        return lambda index: row_preview({str(column): value for column, value in enumerate(x[index])})
    return lambda index: None


def _looks_like_pictures(x: Any) -> bool:
    side_by_side = x.ndim == 3 or (x.ndim == 4 and x.shape[-1] in (1, 3, 4))
    return bool(side_by_side and x.shape[1] >= 4 and x.shape[2] >= 4)


def _as_pixels(array: Any) -> Any:
    """(H, W) or (H, W, 3 or 4) uint8."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or not array.size:
        raise DataError(f"a picture has shape {array.shape}; expected (height, width) or (height, width, 3)")
    if array.dtype != np.uint8:
        values = np.nan_to_num(array.astype(np.float64))
        low, high = values.min(), values.max()
        array = ((values - low) * (255.0 / (high - low) if high > low else 0.0)).round().astype(np.uint8)
    return np.ascontiguousarray(array)


def cell_text(value: Any) -> str:
    """A cell as a person would write it."""
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.6g}"
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        value = value.date()  # a column of dates is read as midnights
    text = str(value)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
