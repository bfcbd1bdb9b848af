"""data.json of a run folder: what was read, how samples became features, and whether data are still those.

Nothing here imports torch: `apply` needs none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from graylearn.data.formats import FORMATS, Origin
from graylearn.data.formats.images import listed
from graylearn.data.options import PIXELS_SIZE, ReadOptions
from graylearn.data.samples import Label
from graylearn.errors import DataError

Way = Literal["columns", "pixels", "image-embedding", "text-embedding", "numbers"]


@dataclass(frozen=True)
class Encoding:
    """How samples become features, as data.json keeps it for `predict`."""

    way: Way
    """The `columns` of a table, `numbers` of an array, `pixels`, or an embedding."""
    model: str | None = None
    """The pretrained network of an embedding."""
    size: int = PIXELS_SIZE
    """Pixels a side of decoded images."""
    shape: tuple[int, ...] = ()
    """Of one sample of numbers or pixels; () for the columns of a table."""

    @property
    def words(self) -> str:
        """For people."""
        return {
            "columns": "the columns of the table",
            "numbers": "the numbers as they are",
            "pixels": f"a network on pixels ({' x '.join(map(str, self.shape))})",
            "image-embedding": f"image features of {self.model}",
            "text-embedding": f"sentence vectors of {self.model}",
        }[self.way]


@dataclass(frozen=True)
class Source:
    """What data.json tells."""

    origin: Origin
    """What was read."""
    encoding: Encoding
    """How samples become features."""
    fingerprint: dict[str, Any]
    """Size and hash of what was read."""
    classes: Sequence[Label]

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "source": self.origin.to_json(),
            "fingerprint": self.fingerprint,
            "encoding": asdict(self.encoding),
            "classes": [str(label) for label in self.classes],
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Source:
        """What `to_json` gave; an AttributeError, KeyError, TypeError or ValueError of anything else."""
        encoding = Encoding(**{**saved["encoding"], "shape": tuple(saved["encoding"]["shape"])})
        origin = Origin.from_json(saved["source"])
        FORMATS[origin.form], Path(origin.path)
        return cls(origin, encoding, dict(saved["fingerprint"]), list(saved["classes"]))


LABELS = "labels"
"""Where the fingerprint of data in no file keeps how often each label occurs."""


def what_changed(
    data: Path,
    form: str,
    ids: Sequence[str],
    hashes: Iterable[str] | None,
    fingerprint: dict[str, Any],
) -> str | None:
    """What of the data is gone or different, such as `a.csv has changed`; None: nothing.

    ids, hashes: (N,) the samples of the run, and where they are images the hash of each. What was in no file
    has no fingerprint to compare.
    """
    if hashes is not None:
        gone = next((path for path in (data, *(data / name for name in ids)) if not path.exists()), None)
        if gone is not None:
            return f"{gone} is gone"
    found, now = FORMATS[form].fingerprint(data, ids)
    for name, before, after in zip(ids, () if hashes is None else hashes, now or (), strict=False):
        if before != after:
            return f"{data / name} has changed"
    return f"{data} has changed" if found != fingerprint and LABELS not in fingerprint else None


def check_unchanged(
    data: Path, form: str, ids: Sequence[str], hashes: Iterable[str] | None, fingerprint: dict[str, Any]
) -> None:
    """Refuse data that are no longer those that were audited; see `what_changed`."""
    if (changed := what_changed(data, form, ids, hashes, fingerprint)) is not None:
        raise DataError(f"{changed} since it was audited; audit it anew, or bring the old state back")


def other_images(data: Path, ids: Iterable[str]) -> list[str]:
    """Images in the class folders of `data` that are none of these: new ones, or ones that cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is no image was told when it was read
        names = listed(data, ReadOptions(labelled=False))[0]  # a class folder may be empty by now
    return sorted({name for name in names if "/" in name} - set(ids))
