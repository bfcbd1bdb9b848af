"""`write_report`: the page's own files and the payload, put together into one HTML file.

The page allows itself nothing but what is in it: a Content-Security-Policy names the hashes of its one
style sheet and its one script, pictures are data: addresses, and no address of any other kind is reachable.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources
from pathlib import Path
from typing import Any

from graylearn.audit import Audit
from graylearn.data.written import writing
from graylearn.errors import DataError
from graylearn.report.data import ReportData
from graylearn.report.of_audit import data_of
from graylearn.report.payload import build_payload, counts
from graylearn.report.previews import to_json

STYLES = ("report.css", "explorer.css", "team.css")
"""The page's style sheets, in the order in which they are joined into one."""
SCRIPTS = (
    "base.js", "theme.js", "decisions.js", "csv.js", "next.js", "found.js", "charts.js", "confusion.js",
    "why.js", "pictures.js", "danger.js", "groups.js", "copies.js", "annotators.js", "map.js", "sample.js",
    "list.js", "review.js", "main.js",
)  # fmt: skip
"""The page's scripts, likewise."""


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
    style = "\n".join(_page_file(name) for name in STYLES)
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
    suspects = int(data.table["suspected"].sum())
    if not suspects:
        return f"None of the {n:,} samples was flagged."
    do, them = ("does", "it") if suspects == 1 else ("do", "them")
    return (
        f"{suspects:,} of {n:,} samples {do} not seem to belong where the label puts {them}: "
        f"{found['mislabelled']:,} mislabelled, {found['ood']:,} of no class."
    )


def _page_file(name: str) -> str:
    return resources.files("graylearn.report").joinpath("page", name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _plain(text: str) -> str:
    """Text for the static part of the page: escaped, without characters that HTML cannot hold."""
    return html.escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]", "\ufffd", str(text)))
