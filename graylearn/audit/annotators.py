"""Several annotators: what they agree on, how good each of them is, and which samples to ask about again.

The model is that of Dawid and Skene: every annotator has a confusion matrix, estimated together with the
true classes by expectation and maximisation. Two things are added. Annotators with few labels are judged by
what is known of all of them, as far as their own labels do not say otherwise. And where class probabilities
of a model are given, at best of one that did not see the samples, they are what is known of a sample
before anyone is asked, as sure as the annotators bear them out: they settle samples that one person alone
labelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_softmax

from graylearn.array_types import Floats, Ints
from graylearn.audit.inputs import as_probabilities, described
from graylearn.audit.verdict import views_say
from graylearn.data.inputs import as_labels, as_plain
from graylearn.data.samples import Label
from graylearn.data.splits import row_numbers
from graylearn.data.table_samples import is_missing
from graylearn.errors import DataError
from graylearn.options import IdLike

OWN = 5.0
"""Labels of a class from which on an annotator's own confusions count more than those of all annotators."""
ROUNDS, ENOUGH = 100, 1e-5
"""Of expectation and maximisation, at most; and the change at which they end."""
SHARPNESS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Powers of the probabilities of a model."""
MISSING = -1


@dataclass(frozen=True, eq=False)
class Crowd:
    """What several annotators say of N samples together."""

    samples: NDArray[Any]
    """(N,) what the samples are called."""
    annotators: tuple[Any, ...]
    """(A,) what the annotators are called."""
    classes: tuple[Label, ...]
    """(K,) the classes in order."""
    label: Ints
    """(N, A) the class that each annotator gave, as an index; -1 where none."""
    probabilities: Floats
    """(N, K) how likely each class is."""
    confusion: Floats
    """(A, K, K) how often an annotator gives the second class where the first is true."""

    @property
    def consensus(self) -> NDArray[Any]:
        """(N,) the most likely class of each sample."""
        names = np.array(self.classes, dtype=object)
        return np.asarray(names[self.probabilities.argmax(axis=1)].tolist())

    @property
    def confidence(self) -> Floats:
        """(N,) how likely the consensus is."""
        return np.asarray(self.probabilities.max(axis=1))

    @property
    def quality(self) -> Floats:
        """(A,) the share of each annotator's labels that is expected to be right, over all samples."""
        prior = self.probabilities.mean(axis=0)
        return np.asarray(np.einsum("k,akk->a", prior, self.confusion))

    @property
    def agreement(self) -> float:
        """Krippendorff's alpha: 1 where all agree, 0 where they do as if by chance."""
        return _alpha(self.label, len(self.classes))

    @property
    def ask_again(self) -> Ints:
        """(N,) the samples in the order in which one more label is worth most: the least sure first."""
        return np.argsort(self.confidence, kind="stable")

    @property
    def whom_to_ask(self) -> list[Any]:
        """(N,) the best annotator who has not labelled each sample; None where all have."""
        best_first = np.argsort(-self.quality, kind="stable")
        silent = self.label[:, best_first] == MISSING
        return [self.annotators[best_first[free.argmax()]] if free.any() else None for free in silent]

    @property
    def table(self) -> pd.DataFrame:
        """One row per sample: id, consensus, confidence, labels, agreeing."""
        given = self.label != MISSING
        best = self.probabilities.argmax(axis=1)
        return pd.DataFrame(
            {
                "id": self.samples,
                "consensus": self.consensus,
                "confidence": self.confidence,
                "labels": given.sum(axis=1),
                "agreeing": (self.label == best[:, None]).sum(axis=1),
            }
        )

    @property
    def annotator_table(self) -> pd.DataFrame:
        """One row per annotator: annotator, labels, agrees (with the consensus), quality; the worst first."""
        given = self.label != MISSING
        agrees = self.label == self.probabilities.argmax(axis=1)[:, None]
        labels = given.sum(axis=0)
        found = pd.DataFrame(
            {
                "annotator": list(self.annotators),
                "labels": labels,
                "agrees": agrees.sum(axis=0) / np.maximum(labels, 1),
                "quality": self.quality,
            }
        )
        return found.sort_values("quality", kind="stable", ignore_index=True)


def consensus(
    labels: Any,
    *,
    X: Any = None,
    pred_probs: Any = None,
    sample: str = "sample",
    annotator: str = "annotator",
    label: str = "label",
    classes: Any = None,
    id_like: IdLike = "drop",
) -> Crowd:
    """Bring the labels of several annotators together.

    Args:
        labels: (N, A), one column per annotator, with None, NaN or blank text where one gave none; or a
            frame in long form, one label per row. Samples in long form are in the order of their first label.
        X: features (N, D) of the samples: views that leave each sample out are asked as well.
        pred_probs: (N, K), the same from a model of your own.
        sample: the column of a long form that names the sample.
        annotator: the one that names who gave the label.
        label: the one of the labels.
        classes: all classes, in the order to keep. None takes those of the labels.
        id_like: "keep" asks the columns of X that seem to name the rows as well.
    """
    names, people, known, given = _read(labels, (sample, annotator, label), classes)
    said, content, features = None, row_numbers(given), None
    if pred_probs is not None:
        said = as_probabilities(pred_probs, len(given))
        if said.shape[1] != len(known):
            raise DataError(f"pred_probs has {said.shape[1]} columns for {len(known)} classes: give one each")
        content = row_numbers(said)
    elif X is not None:
        content, features = described(X, np.zeros(len(given), dtype=np.int64), id_like)
    # sums depend on the order of the samples: they are made in one that the user's does not change
    order = np.lexsort([row_numbers(given), content])
    ordered = given[order]
    if said is not None:
        said = said[order]
    elif features is not None and len(known) > 1:  # of one class there is nothing to ask
        first, _ = _estimated(ordered, len(known), None)
        said = views_say(content[order], features[order], first.argmax(axis=1), len(known))
    probabilities, confusion = _estimated(ordered, len(known), said)
    return Crowd(names, people, known, given, probabilities[np.argsort(order)], confusion)


def _read(
    labels: Any, columns: tuple[str, str, str], classes: Any
) -> tuple[NDArray[Any], tuple[Any, ...], tuple[Label, ...], Ints]:
    """(samples, annotators, classes, label (N, A))."""
    labels = as_plain(labels)
    if isinstance(labels, pd.DataFrame) and set(columns) <= set(map(str, labels.columns)):
        sample, annotator, label = columns
        rows = labels[~is_missing(labels[label])].astype({label: object})
        for name in (sample, annotator):
            if nameless := int(rows[name].isna().sum()):
                raise DataError(
                    f"{nameless} of {len(rows)} labels have no {name}: fill it in or drop those rows"
                )
        if rows.duplicated([sample, annotator]).any():
            raise DataError("an annotator labels a sample twice: keep one label of each")
        frame = rows.pivot(index=sample, columns=annotator, values=label).reindex(rows[sample].unique())
    else:
        wide = labels if isinstance(labels, pd.DataFrame) else np.asarray(labels, dtype=object)
        if wide.ndim != 2 or not wide.size:
            raise DataError(
                "labels must be (N, A), one column per annotator, or a frame in long form with the columns "
                f"{', '.join(columns)}"
            )
        frame = pd.DataFrame(wide)
    cells = frame.to_numpy(dtype=object)
    there = ~frame.apply(is_missing).to_numpy(dtype=bool)
    if not there.any():
        raise DataError("labels hold no label: expected at least one")
    values, known = as_labels(cells[there], classes)
    given = np.full(cells.shape, MISSING, dtype=np.int64)
    given[there] = values
    return np.asarray(frame.index), tuple(frame.columns.tolist()), known, given


def _estimated(given: Ints, num_classes: int, said: Floats | None) -> tuple[Floats, Floats]:
    """(probabilities (N, K), confusion (A, K, K)), by expectation and maximisation from the majority."""
    n, people = given.shape
    rows, who = np.nonzero(given != MISSING)
    label, votes = given[rows, who], np.zeros((n, num_classes))
    np.add.at(votes, (rows, label), 1.0)
    # a model that did not see the labels cannot take them for true, which one annotator alone would
    belief = votes + 0.5 if said is None else said**2
    belief /= belief.sum(axis=1, keepdims=True)
    confusion = np.zeros((people, num_classes, num_classes))
    for _ in range(ROUNDS):
        prior = (belief.sum(axis=0) + 1.0) / (n + num_classes)
        counts = np.zeros((people, num_classes, num_classes))  # how often a class was given for each believed
        np.add.at(counts.transpose(0, 2, 1), (who, label), belief[rows])
        shared = _shared(counts.sum(axis=0))
        confusion = (counts + OWN * shared) / (counts + OWN * shared).sum(axis=2, keepdims=True)
        logs = np.log(prior)[None, :].repeat(n, axis=0) if said is None else _sharpened(said, belief)
        np.add.at(logs, rows, np.log(confusion[who, :, label]))
        logs -= logs.max(axis=1, keepdims=True)
        new = np.exp(logs)
        new /= new.sum(axis=1, keepdims=True)
        change = float(np.abs(new - belief).max())
        belief = new
        if change < ENOUGH:
            break
    return belief, confusion


def _sharpened(said: Floats, belief: Floats) -> Floats:
    """(N, K) what the model says, as logarithms, as sure as the beliefs bear it out.

    Networks that are asked over many epochs are less sure than they are right.
    """
    logs = np.log(np.clip(said, 1e-9, None))
    found = [log_softmax(sharpness * logs, axis=1) for sharpness in SHARPNESS]
    return max(found, key=lambda each: float((belief * np.maximum(each, -20.0)).sum()))


def _shared(counts: Floats) -> Floats:
    """(K, K) what all annotators do together; a class they never gave is given by nobody in particular."""
    k = len(counts)
    start = np.full((k, k), 0.3 / max(k - 1, 1)) + np.eye(k) * (0.7 - 0.3 / max(k - 1, 1))
    total = counts + start * k
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def _alpha(given: Ints, num_classes: int) -> float:
    """Krippendorff's alpha for classes without order."""
    counts = np.stack([(given == k).sum(axis=1) for k in range(num_classes)], axis=1).astype(np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return float("nan")
    size = counts.sum(axis=1)
    apart = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    total = counts.sum(axis=0)
    expected = (total.sum() ** 2 - (total**2).sum()) / (total.sum() - 1)
    return float(1.0 - apart / expected) if expected > 0 else 1.0
