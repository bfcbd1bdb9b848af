"""`ReportData`: everything the page shows, as plain values that fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pandas as pd
from numpy.typing import NDArray

from graylearn.audit.annotators import Crowd
from graylearn.audit.duplicates import Duplicates
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
