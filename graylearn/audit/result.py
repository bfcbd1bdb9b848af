"""`Audit`: the verdict on a training set, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.array_types import Floats, Ints
from graylearn.audit.confusions import confusion_table
from graylearn.audit.inputs import as_probabilities, classes_of_columns, described, one_class
from graylearn.audit.kinds import (
    KINDS,
    LEVELS,
    MISLABELLED,
    OOD,
    SURE,
    chances_by_kind,
    classes_in_words,
    share_in_words,
    shares_of,
)
from graylearn.audit.store import as_unicode, read_audit, write_audit
from graylearn.audit.verdict import Known, Mode, verdict, worth_a_look
from graylearn.data.inputs import as_ids, as_labels, is_sparse
from graylearn.data.labels import note_order
from graylearn.data.samples import Label, Samples
from graylearn.data.splits import groups_of
from graylearn.data.written import writing
from graylearn.errors import DataError, first_few, shortened
from graylearn.notebook import bars, shown
from graylearn.options import IdLike, OverlapSetting

if TYPE_CHECKING:
    from graylearn.training.history import History


def _column(values: NDArray[Any]) -> pd.Series[Any]:
    """Values in the type that fits: objects where pandas' text refuses names that are not Unicode."""
    try:
        return pd.Series(values, dtype=values.dtype).infer_objects()
    except UnicodeEncodeError:
        return pd.Series(values, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What the audit of N samples found. Larger scores = less likely to belong.

    ```python
    import numpy as np

    import graylearn as gl

    random = np.random.default_rng(0)
    y = np.arange(200) % 4
    chances = random.dirichlet((1, 1, 1, 1), 200) / 5 + np.eye(4)[y] * 4 / 5
    y[:6] = (y[:6] + 1) % 4                                 # six labels are wrong
    found = gl.Audit.from_predictions(chances, y, overlap="none")
    found.suspected.sum(), found.summary()
    ```
    """

    ids: NDArray[Any]
    """(N,) what the user calls each sample."""
    label: Ints
    """(N,) given labels, index in `classes`."""
    classes: tuple[Label, ...]
    """The classes in stable order."""
    confidence: Floats
    """(N,) pooled probability of the given label."""
    score: Floats
    """(N,) in [0, 1]: how little the sample belongs where its label puts it."""
    suspected: NDArray[np.bool_]
    """(N,) whether the sample is flagged."""
    level: Ints
    """(N,) index in LEVELS: none, review (look at it), sure (right in 95 of 100 cases or more)."""
    kind: Ints
    """(N,) index in KINDS: ok, mislabelled, ood."""
    suggested: Ints
    """(N,) class that explains the sample best: the given label where it is ok, -1 where no class does."""
    foreign: Floats
    """(N,) chance that the sample belongs to no class."""
    beliefs: Floats
    """(N, K) chance of each class; with `foreign` a row adds up to 1. A refined fit learns from it."""
    probabilities: Floats
    """(N, K) class probabilities, the mean of the views, which did not see the label they are asked about."""
    because: NDArray[Any]
    """(N,) one sentence on each suspect, and on what came near, from its evidence; else empty."""
    mode: Mode
    """Where what is known of the samples came from."""
    overlap: str = "auto"
    """What was said of the classes: each sample has one ("none"), or may lie between two ("possible")."""
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The 90 % range of each share in `contamination`; empty where the set could not be judged."""
    notes: tuple[str, ...] = ()
    """What the reader should know."""
    judge: str = ""
    """The id of the judge's weights: verdicts of different judges are not compared."""

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per sample: id, label, confidence, score, suspected, level, kind, suggested (None for ood),
        and because (one sentence on each suspect, and on what came near)."""
        names = np.array([*self.classes, None], dtype=object)
        return pd.DataFrame(
            {
                "id": _column(self.ids),
                "label": _column(names[self.label]),
                "confidence": self.confidence,
                "score": self.score,
                "suspected": self.suspected,
                "level": pd.Series(np.array(LEVELS, dtype=object)[self.level], dtype=object),
                "kind": pd.Series(np.array(KINDS, dtype=object)[self.kind], dtype=object),
                "suggested": pd.Series(names[self.suggested], dtype=object),
                "because": pd.Series(self.because, dtype=object),
            }
        )

    @cached_property
    def confusions(self) -> pd.DataFrame:
        """One row per pair of classes, most first: the samples labelled `label` that are of `true_class`.

        samples: their estimated number; share: of all samples of that label; suspected: how many are flagged.
        true_class is None for the pairs of a label that are less than half a sample each, taken together. All
        samples add up to `contamination["mislabelled"]`; by label, `confusions.groupby("label").share.sum()`.
        """
        found = np.where(self.kind == MISLABELLED, self.suggested, -1)
        wrong = self._counted["mislabelled"]
        return confusion_table(self.label, wrong, self.beliefs, found, self.classes)

    @property
    def posterior(self) -> Floats:
        """(N,) chance that the sample does not belong where its label puts it."""
        return np.asarray(1.0 - self.beliefs[np.arange(len(self)), self.label])

    @property
    def wrong(self) -> Floats:
        """(N,) the part of `posterior` by which the sample is of another class."""
        return np.asarray(np.maximum(self.posterior - self.foreign, 0.0))

    @cached_property
    def _counted(self) -> dict[str, Floats]:
        """(N,) how far each sample counts as "ood" and as "mislabelled" wherever a share is told."""
        return chances_by_kind(self.foreign, self.wrong, self.kind)

    @property
    def contamination(self) -> dict[str, float | None]:
        """Estimated shares: "ood", "mislabelled" and their sum "total"; None where the set was not judged."""
        shares = shares_of(self._counted)
        return dict(shares) if self.ranges else dict.fromkeys(shares)

    @property
    def look_first(self) -> int:
        """How many samples of the largest scores to look at where none is flagged; 0 where some are."""
        if self.suspected.any() or not len(self):
            return 0
        return worth_a_look(self.score) if self.ranges else 0

    def take(self, index: Any) -> Audit:
        """The verdicts on the samples at `index`, in that order."""
        return replace(self, **{name: each[index] for name, each in arrays_of(self).items()})

    @property
    def keep(self) -> NDArray[np.bool_]:
        """(N,) which samples are not suspected."""
        return ~self.suspected

    def clean(self, data: Any) -> Any:
        """`data` (Samples, frame, array, sparse, tensor, list) without the suspects, of the same type."""
        count = data.shape[0] if is_sparse(data) else len(data)
        if count != len(self):
            raise DataError(
                f"data has {count} samples, the audit {len(self)}: "
                "pass the data that was audited, in its order"
            )
        if isinstance(data, Samples):
            return data.take(self.keep)
        if isinstance(data, pd.DataFrame | pd.Series):
            return data.loc[self.keep]
        if isinstance(data, list | tuple):
            return type(data)(item for item, kept in zip(data, self.keep, strict=True) if kept)
        if hasattr(data, "select") and hasattr(data, "num_rows") and hasattr(data, "features"):
            return data.select(np.flatnonzero(self.keep))  # a Hugging Face dataset
        if hasattr(data, "filter"):  # polars and pyarrow
            return data.filter(self.keep)
        return data[self.keep]

    @property
    def misspelt(self) -> int:
        """How many of `classes` were judged as another one, whose name they seem to misspell."""
        return 0 if self.mode == "predictions" else int((~self.probabilities.any(axis=0)).sum())

    def __repr__(self) -> str:
        flagged, first = int(self.suspected.sum()), self.look_first
        found = f"none flagged, the first {first} by score worth a look" if first else f"{flagged} suspected"
        return f"<Audit of {len(self)} samples, {found}: see its table and print(summary())>"

    def _repr_html_(self) -> str:
        """The summary and a histogram of the scores, for notebooks."""
        edges = np.linspace(0.0, 1.0, 33)
        kept, flagged = (
            np.histogram(self.score[which], edges)[0].tolist() for which in (self.keep, self.suspected)
        )
        return shown(self.summary(), bars("samples by score, 0 to 1; suspects in orange", kept, flagged))

    def summary(self, top: int = 5) -> str:
        """A few lines for a person: how much is wrong, of which kind, and the strongest suspects."""
        share, ends = self.contamination, self.ranges.get("total")
        kinds = ("ood", "mislabelled")
        parts = ", ".join(f"{name} {share_in_words(share[name])}" for name in kinds)
        flagged, sure = int(self.suspected.sum()), int((self.level == SURE).sum())
        lines = [
            f"{len(self)} samples, {classes_in_words(len(self.classes) - self.misspelt, self.misspelt)}",
            f"suspected: {flagged} ({flagged / max(len(self), 1):.1%}): "
            f"{int((self.kind == OOD).sum())} ood, {int((self.kind == MISLABELLED).sum())} mislabelled; "
            f"{sure} sure, {flagged - sure} for review"
            if flagged
            else f"suspected: {'none is flagged' if ends else 'not judged'}",
            f"estimated contamination: {share_in_words(share['total'], ends)}"
            + (f" ({parts})" if flagged else ""),
            *self._told_confusions(),
            *self.notes,
        ]
        if self.look_first:
            lines.append(f'by score, all of them: table.nlargest({self.look_first}, "score")')
        listed = self.suspected if flagged else np.full(len(self), self.look_first > 0)
        for row in self.table[listed].nlargest(min(top, self.look_first or top), "score").itertuples():
            verdict = {
                "ok": "not flagged",
                "ood": "ood",
                "mislabelled": f"mislabelled, looks like {shortened(row.suggested)!r}",
            }[str(row.kind)]
            label = shortened(row.label)
            because = f": {row.because!s}" if row.because else ""
            lines.append(
                f"  {as_unicode(row.id)}: labelled {label!r}, {verdict} (score {row.score:.2f}){because}"
            )
        return "\n".join(lines)

    def _told_confusions(self) -> list[str]:
        """The pairs of classes that are confused most, in a line; none where none is."""
        pairs = self.confusions[self.confusions["suspected"] > 0].head(3)
        words = [
            f"{row.share:.1%} of {shortened(row.label)!r} are {shortened(row.true_class)!r}"
            for row in pairs.itertuples()
        ]
        return [f"labels mistaken most: {', '.join(words)}"] if words else []

    def save(self, path: str | Path, *, format: Literal["csv", "parquet"] = "csv") -> None:
        """Write a folder: the table for people (CSV or Parquet), and JSON and npz for `load`; no pickle.

        Names that are not Unicode are spelt out in the table (\\udcff) and kept as they are for `load`.
        """
        with writing(path, "audit", folder=True) as folder:
            self.write(folder, format=format)

    def write(self, folder: Path, *, format: Literal["csv", "parquet"] = "csv") -> None:
        """Write what `save` writes to an empty folder."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        write_audit(folder, told, self.table, self.contamination, format)

    @classmethod
    def load(cls, path: str | Path) -> Audit:
        """Read what `save` wrote; a damaged or foreign folder is a CheckpointError."""
        return cls(**read_audit(Path(path), {each.name: each.default is not None for each in fields(cls)}))

    @classmethod
    def from_predictions(
        cls,
        pred_probs: Any,
        labels: Any,
        features: Any = None,
        ids: Any = None,
        *,
        classes: Any = None,
        overlap: OverlapSetting = "auto",
        id_like: IdLike = "drop",
        groups: Any = None,
    ) -> Audit:
        """Audit with class probabilities (N, K) from a model of your own, at best out of sample.

        Args:
            pred_probs: (N, K); column k is class k of `classes`.
            labels: (N,) as given.
            features: (N, D), which add what the views of `audit` say.
            ids: one name per sample. None takes those of a frame of features, else row numbers.
            classes: of the columns. None takes what the columns of a frame are called; else labels are the
                whole numbers 0..K-1.
            overlap: as in `audit`.
            id_like: as in `audit`.
            groups: as in `audit`; the probabilities should be of a model that saw none of a sample's group.
        """
        shape = np.shape(pred_probs)
        classes = classes_of_columns(pred_probs, labels) if classes is None else classes
        names = classes if classes is not None else (range(shape[1]) if len(shape) == 2 else None)
        if classes is None and names is not None:
            written = as_labels(labels, None)[1]
            if any(isinstance(each, str) for each in written):
                raise DataError(
                    f"labels are text ({first_few(written, 5)}): say in classes= which label each of the "
                    f"{len(names)} columns of pred_probs is for, in their order"
                )
        note_order(labels, pred_probs, features)
        label, known = as_labels(labels, names)
        given = as_probabilities(pred_probs, len(label))
        if given.shape[1] != len(known):
            raise DataError(
                f"pred_probs has {given.shape[1]} columns for {len(known)} classes: give one each"
            )
        row_ids, group = as_ids(ids, features, len(label)), groups_of(groups, features, len(label))
        content, used = described(features, label, id_like, given)
        word = one_class(overlap)
        return cls(**verdict(Known(row_ids, label, known, "predictions", content, used, given, group, word)))

    @classmethod
    def from_history(
        cls,
        history: History,
        y: Any = None,
        features: Any = None,
        ids: Any = None,
        *,
        classes: Any = None,
        overlap: OverlapSetting = "auto",
        id_like: IdLike = "drop",
    ) -> Audit:
        """Audit from the confidences that one training run gathered; no further training.

        Args:
            history: of a training run, or of a `Recorder`.
            y: the labels as the user calls them; without it, 0..K-1.
            features: (N, D), which add what the views of `audit` say.
            ids: whose the rows of y and features are, by the names a `Recorder` was given; without it, they
                are in the order of `history.ids`, or numbered by them where a sampler passed some over.
            classes: all classes, in the order of the logits.
            overlap: as in `audit`.
            id_like: as in `audit`.
        """
        from graylearn.audit.history import aligned, history_probabilities  # torch comes with it

        history, row_ids, y, features = aligned(history, ids, y, features)
        target = history.targets.cpu().numpy().astype(np.int64)
        if y is None:
            label, names = target, tuple(range(history.num_classes)) if classes is None else tuple(classes)
        else:
            label, names = as_labels(y, classes)
            if len(names) != history.num_classes and classes is None and np.asarray(y).dtype.kind in "iu":
                label, names = as_labels(y, range(history.num_classes))
        if len(names) != history.num_classes:
            raise DataError(
                f"there are {len(names)} classes and {history.num_classes} logits per sample: give classes=, "
                "a name for each logit, in their order"
            )
        if not np.array_equal(label, target):
            raise DataError(
                "y does not match the labels the history was trained on: "
                "pass the same labels in the same order"
            )
        given = history_probabilities(history)
        content, used = described(features, label, id_like, given)
        word = one_class(overlap)
        return cls(**verdict(Known(row_ids, label, names, "history", content, used, given, None, word)))


def arrays_of(audit: Audit) -> dict[str, Any]:
    """The fields with an entry for each sample."""
    return {name: each for name, each in vars(audit).items() if isinstance(each, np.ndarray)}
