"""`data_of`: what an `Audit` and the samples it is of give a page to show."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.audit import Audit
from graylearn.audit.inputs import as_features
from graylearn.data import Samples
from graylearn.data.inputs import as_dense, as_rows, as_samples
from graylearn.errors import DataError
from graylearn.report.data import ReportData
from graylearn.report.previews import preview_samples

_JUDGES = {
    "held-out": "views that had not seen its label",
    "history": "the network while it learned",
    "predictions": "the model",
}
"""Who gave the probabilities of an audit, by its mode."""


def data_of(audit: Audit, x: Any = None, **fields: Any) -> ReportData:
    """What a page shows of an audit.

    x: its samples as people know them; fields: of `ReportData`, in place of those that follow from these.
    """
    table = audit.table
    names = [None if label is None else str(label) for label in table["suggested"]]
    known: dict[str, Any] = {
        "title": "Audit",
        "table": table.assign(
            id=audit.ids if audit.ids.dtype.kind in "iu" else audit.ids.astype(str),
            label=[str(label) for label in table["label"]],
            suggested=pd.Series(names, dtype=object),
        ),
        "classes": audit.classes,
        "threshold": _threshold(audit),
        "notes": audit.notes,
        "contamination": audit.contamination,
        "ranges": audit.ranges,
        "look_first": audit.look_first,
        "probabilities": audit.probabilities,
        "judge": _JUDGES[audit.mode],
        "confusions": audit.confusions,
        "id_word": "row" if np.array_equal(audit.ids, np.arange(len(audit))) else "",
    }
    if x is not None:
        samples = x if isinstance(x, Samples) else as_samples(as_dense(as_rows(x)), labelled=False)
        if len(samples) != len(audit):
            raise DataError(f"x has {len(samples)} samples, the audit {len(audit)}: give what was audited")
        known |= {"previews": preview_samples(samples), "rows": rows_of(samples)}
        if "features" not in fields and len(samples):
            known["features"] = _likeness(samples)
    return ReportData(**{**known, **fields})


def _threshold(audit: Audit) -> float | None:
    """The score from which on samples are flagged, where one score is the border."""
    flagged, rest = audit.score[audit.suspected], audit.score[~audit.suspected]
    if not len(flagged) or (len(rest) and rest.max() >= flagged.min()):
        return None
    return float(flagged.min())


def rows_of(samples: Samples) -> pd.DataFrame | None:
    """The rows of a table, or of numbers; None of other samples."""
    x = samples.x
    if samples.kind == "array" and x.ndim == 2:
        return pd.DataFrame(x, columns=[str(column) for column in range(x.shape[1])])
    return x if isinstance(x, pd.DataFrame) else None


def _likeness(samples: Samples) -> NDArray[np.float32] | None:
    """(N, D) numbers by which samples are alike; None of texts and of photos."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit told what is odd about its features
        try:
            return as_features(samples, len(samples))
        except DataError:
            return None
