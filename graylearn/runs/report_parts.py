"""What a run can tell the report beside the audit itself: likeness, whole pictures, the next command."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageOps

from graylearn.audit import Audit
from graylearn.audit.scaling import reduced, scaled
from graylearn.data.formats import suffix_of
from graylearn.estimator import GrayClassifier
from graylearn.estimator.networks import outputs_of
from graylearn.report import Preview, image_preview, preview_samples
from graylearn.report.previews import THUMBNAIL
from graylearn.runs.prepare import Prepared

JUDGES = {
    "held-out": "networks that had not seen it",
    "history": "the network while it learned",
    "predictions": "the model",
}
"""Who gave the probabilities of an audit, by its mode."""
_ID_WORDS = {"delimited": "line", "parquet": "row", "feather": "row", "npz": "sample", "json": "record"}


def likeness(prepared: Prepared, classifier: GrayClassifier) -> NDArray[Any] | None:
    """(N, D) numbers by which samples are alike: features, or of pictures what the network reads in them."""
    x = classifier.encoder_.transform(prepared.train.x)
    if x.ndim == 2:
        return reduced(scaled(x))
    if not hasattr(classifier, "network_"):  # an audit alone
        return None
    _, features = outputs_of(classifier.network_, x, classifier.preparation_)
    return None if features is None else reduced(scaled(features))


def looks(prepared: Prepared) -> Callable[[int], Preview | None]:
    """What each sample looks like; pictures whole, from their files, not cropped as they are learned."""
    cropped = preview_samples(prepared.shown)
    if prepared.source.form != "folder":
        return cropped
    folder, names = Path(prepared.source.path), prepared.shown.ids

    def whole(index: int) -> Preview | None:
        try:
            with Image.open(folder / str(names[index])) as image:
                image.draft("RGB", (2 * THUMBNAIL, 2 * THUMBNAIL))
                return image_preview(ImageOps.exif_transpose(image))
        except Exception:  # a file that is gone or odd: what was learned from is still known
            return cropped(index)

    return whole


def table_rows(prepared: Prepared, classifier: GrayClassifier) -> pd.DataFrame | None:
    """The rows of a table, by the columns that were learned from, or of numbers; None of other data."""
    x = prepared.shown.x
    if isinstance(x, pd.DataFrame):
        encoder = classifier.encoder_.table
        return x if encoder is None else x[[name for name in x.columns if str(name) in encoder.kinds_]]
    is_rows = prepared.shown.kind == "array" and isinstance(x, np.ndarray) and x.ndim == 2
    return pd.DataFrame(x, columns=[str(column) for column in range(x.shape[1])]) if is_rows else None


def apply_command(prepared: Prepared, run: Path) -> str:
    """What writes the cleaned dataset once the decisions are downloaded."""
    data = Path(prepared.settings.data)
    ending = "" if data.is_dir() else suffix_of(data)
    source = Path(prepared.source.path)  # of several annotators' labels it is not the data themselves
    clean = f"{data.name.removesuffix(ending)}-clean{'' if source.is_dir() else suffix_of(source)}"
    return shlex.join(["graylearn", "apply", str(run), "decisions.csv", "--out", clean])


def id_word(prepared: Prepared, audit: Audit) -> str:
    """What the ids count where they are numbers that no column gave."""
    counted = audit.ids.dtype.kind in "iu" and prepared.source.columns.id is None
    return _ID_WORDS.get(prepared.source.form, "") if counted else ""
