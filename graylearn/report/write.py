"""`write_report`: what an audit and its samples give a page to show, and the page: its own files and the
payload in one HTML file.

The page allows itself nothing but what is in it: a Content-Security-Policy names the hashes of its one
style sheet and its one script, pictures are data: addresses, and no address of any other kind is reachable.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.audit import Audit
from graylearn.audit.inputs import as_features
from graylearn.data import Samples
from graylearn.data.inputs import as_dense, as_rows, as_samples
from graylearn.data.written import writing
from graylearn.errors import DataError
from graylearn.report.data import ReportData, preview_samples
from graylearn.report.payload import build_payload, counts, to_json

SCRIPTS = (
    "base.js", "theme.js", "decisions.js", "csv.js", "next.js", "found.js", "charts.js", "confusion.js",
    "why.js", "pictures.js", "danger.js", "groups.js", "copies.js", "annotators.js", "map.js", "sample.js",
    "list.js", "review.js", "main.js",
)  # fmt: skip
"""The page's scripts, in the order in which they are joined into one."""


def write_report(path: str | Path, found: Audit | ReportData, x: Any = None, **shown: Any) -> Path:
    """Write the report as one HTML file that opens without a network; the file is whole or not there.

    Args:
        path: where to.
        found: an audit, or all that is to be shown.
        x: the samples of the audit as people know them: what was audited, or the photos and texts themselves.
        shown: of an audit, more or other fields of `ReportData`, such as title and previews.

    ```python
    import graylearn as gl
    from sklearn.datasets import load_digits

    X, y = (part[:300] for part in load_digits(return_X_y=True))
    found = gl.audit(X, y)
    gl.write_report("report.html", found, X, title="Digits")
    ```
    """
    if isinstance(found, ReportData) and (x is not None or shown):
        raise DataError("found is a ReportData, which holds all that is shown: leave the rest out")
    page = render(found if isinstance(found, ReportData) else data_of(found, x, **shown))
    with writing(path, "report") as partial:
        partial.write_bytes(page)
    return Path(path)


def render(data: ReportData) -> bytes:
    """The page, as UTF-8."""
    main, blocks = build_payload(data)
    style = _page_file("report.css")
    script = "\n".join(_page_file(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy),
        "title": _plain(data.title),
        "created": _plain(data.created),
        "summary": _plain(summary(data)),
        "style": style,
        "script": script,
        "data": to_json(main),
        "previews": "\n".join(
            f'<script type="application/json" class="previews">{block}</script>' for block in blocks
        ),
    }
    # One pass over the template: what the data says is never looked at for further marks.
    page = re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _page_file("report.html"))
    return page.encode("utf-8", "replace")


def summary(data: ReportData) -> str:
    """The finding in one sentence, readable also where no script runs."""
    found, n = counts(data), len(data)
    words = {"mislabelled": ("look", "mislabelled"), "ood": ("seem", "to belong to no class")}
    parts = [
        f"{found[kind]:,} {verb}{'s' * (found[kind] == 1)} {rest}"
        for kind, (verb, rest) in words.items()
        if found[kind]
    ]
    return f"Of {n:,} samples {' and '.join(parts)}." if parts else f"None of the {n:,} samples was flagged."


def _page_file(name: str) -> str:
    return resources.files("graylearn.report").joinpath("page", name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _plain(text: str) -> str:
    """Text for the static part of the page: escaped, without characters that HTML cannot hold."""
    return html.escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]", "\ufffd", str(text)))


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
