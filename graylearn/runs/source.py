"""data.json of a run folder: what was read, and how samples became features.

Nothing here imports torch: `apply` needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from graylearn.data.formats import FORMATS, Origin
from graylearn.data.options import PIXELS_SIZE
from graylearn.data.samples import Label
from graylearn.errors import CheckpointError
from graylearn.runs.files import write_json
from graylearn.runs.folder import RunFolder

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
    classes: list[str]


def write_source(
    folder: RunFolder,
    origin: Origin,
    fingerprint: dict[str, Any],
    encoding: Encoding,
    classes: Sequence[Label],
) -> None:
    """data.json: what was read, and how."""
    write_json(
        folder.data,
        {
            "source": origin.to_json(),
            "fingerprint": fingerprint,
            "encoding": asdict(encoding),
            "classes": [str(label) for label in classes],
        },
    )


def read_source(folder: RunFolder) -> Source:
    """What `write_source` wrote."""
    saved = folder.read_json(folder.data)
    try:
        encoding = Encoding(**{**saved["encoding"], "shape": tuple(saved["encoding"]["shape"])})
        origin = Origin.from_json(saved["source"])
        FORMATS[origin.form], Path(origin.path)
        return Source(origin, encoding, dict(saved["fingerprint"]), list(saved["classes"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing or unknown" if isinstance(error, KeyError) else error
        raise CheckpointError(
            f"{folder.data} is damaged ({reason}); make the run anew, or bring it back"
        ) from error
