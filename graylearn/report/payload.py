"""From `ReportData` to the blocks of JSON in the page: columns of all samples, and previews by the thousand.

Rows are sorted by score, largest first, as the page shows them; `index` says where each was in the dataset.
Numbers are whole (score 0.9731 is 9731), kinds are digits of one string and curves bytes in base64, so that
50,000 samples are a few megabytes. The page reads a block of previews, and the curve of a sample, only when
it shows them: it opens in a moment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graylearn.audit import KINDS, LEVELS
from graylearn.audit.annotators import MISSING
from graylearn.audit.kinds import shown_shares
from graylearn.audit.verdict import DOUBTFUL
from graylearn.data.labels import are_near
from graylearn.errors import DataError
from graylearn.report.beside import OddColumns, beside, needed, odd_columns, positions
from graylearn.report.data import Preview, ReportData

MAX_SAMPLES = 200_000
"""Samples listed in a page: all suspects come first, then those of the largest scores."""
MAX_CONFUSIONS = 100
"""Pairs of classes whose confusion is told, the largest."""
MAX_CURVES = 50_000
"""Samples whose confidence over the epochs is embedded."""
CURVE_POINTS = 48
"""Points of a curve that are kept; a small line shows no more."""
SCALE = 10_000
"""Scores and confidences are stored as whole multiples of 1 / SCALE."""


MAX_PICTURES = 4_000
"""Pictures embedded in a page."""
MAX_PREVIEW_BYTES = 20_000_000
"""Bytes that all previews of a page may take."""
PREVIEWS_A_BLOCK = 1_000
"""Previews that the page reads at once."""


def build_payload(data: ReportData) -> tuple[dict[str, Any], list[str]]:
    """The block that the page needs at once, and the blocks of previews, these as JSON."""
    table = data.table
    n = len(table)
    score = table["score"].to_numpy(dtype=np.float64)
    suspected = table["suspected"].to_numpy(dtype=bool)
    kind = np.array([KINDS.index(value) for value in table["kind"]], dtype=np.int64).reshape(n)
    label = _class_index(table["label"], data.classes)
    suggested = _class_index(table["suggested"], data.classes, missing=True)
    shown = _listed(score, suspected)
    ids = table["id"].to_numpy()[shown]
    whole = table["id"].dtype.kind in "iu"
    by_kind = counts(data)
    per_class = np.bincount(label * len(KINDS) + kind, minlength=len(data.classes) * len(KINDS))
    main = {
        "run": fingerprint_of(data),
        "facts": [[str(name), _fact_text(value)] for name, value in data.facts.items()],
        "notes": [str(note) for note in data.notes],
        "reading": [str(note) for note in data.reading],
        "gathered": [[str(part) for part in each] for each in data.gathered],
        "checks": [[str(words), [int(index) for index in which]] for words, which in data.checks.items()],
        "misspelt": _misspelt(data.classes, label, suggested, kind),
        "command": str(data.command),
        "idWord": str(data.id_word),
        "judge": str(data.judge),
        "classes": list(data.classes),
        "total": n,
        "scale": SCALE,
        "index": shown.tolist(),
        "id": ids.tolist() if whole else [str(value) for value in ids],
        "label": label[shown].tolist(),
        "suggested": suggested[shown].tolist(),
        "score": np.rint(SCALE * score[shown]).astype(np.int64).tolist(),
        "confidence": np.rint(SCALE * table["confidence"].to_numpy(np.float64)[shown]).astype(int).tolist(),
        "kind": "".join(map(str, kind[shown].tolist())),
        "suspected": "".join(map(str, suspected[shown].astype(int).tolist())),
        "level": "".join(str(LEVELS.index(each)) for each in table["level"].to_numpy()[shown])
        if "level" in table
        else None,  # a digit a sample
        "because": [str(why) for why in table["because"].to_numpy()[shown]] if "because" in table else None,
        "counts": by_kind,
        "shares": shown_shares(by_kind),
        "perClass": per_class.reshape(-1, len(KINDS)).tolist(),
        "contamination": dict(data.contamination) if data.contamination else None,
        "ranges": {str(name): [float(end) for end in ends] for name, ends in data.ranges.items()},
        "doubtful": DOUBTFUL,
        "lookFirst": min(data.look_first, len(shown)),
        "mistaken": _mistaken(data),
        # how many scores of each kind lie in each of 40 equal parts of 0..1
        "histogram": [np.histogram(score[kind == k], 40, (0.0, 1.0))[0].tolist() for k in range(len(KINDS))],
        "threshold": None if data.threshold is None else float(data.threshold),
        "reliability": _reliability(data),
        "confusion": _confusion(data.confusion),
        "accuracies": [[str(name), *of] for name, of in (data.accuracies or {}).items()] or None,
        "log": _log(data.training_log),
        "copies": copy_groups(data),
        "groups": _groups(data, shown),
        "annotators": annotator_part(data),
    }
    wanted = _suspects_first(shown, suspected)
    main["curves"] = _curves(data, wanted[:MAX_CURVES])
    main["beside"] = beside(data, wanted, label, suspected)
    main["map"] = positions(data, wanted, label, suspected)
    odd = None if data.rows is None else odd_columns(data.rows, label, suspected, len(data.classes))
    # Half of the pictures for suspects, then those they are compared with, then all others.
    first = wanted[: min(int(suspected.sum()), MAX_PICTURES // 2)]
    copies = [index for group in main["copies"] for index in group["indices"]]
    beside_them = [*needed(main["beside"], first), *copies[: MAX_PICTURES // 4]]
    listed = np.array(list(dict.fromkeys([*first, *beside_them, *wanted])), dtype=np.int64)
    main["previews"], blocks = preview_blocks(data, listed, odd)
    return main, blocks


def _misspelt(
    classes: tuple[str, ...], label: NDArray[np.int64], suggested: NDArray[np.int64], kind: NDArray[np.int64]
) -> list[list[int]]:
    """Labels and the classes they mean: near in spelling, and what most of their samples look like."""
    found = []
    wrong = kind == KINDS.index("mislabelled")
    for given in np.unique(label[wrong]).tolist():
        members = label == given
        target = int(np.bincount(suggested[members & wrong]).argmax())
        meant = int((members & wrong & (suggested == target)).sum())
        if target != given and 2 * meant > members.sum() and are_near(classes[given], classes[target]):
            found.append([given, target])
    return found


def _groups(data: ReportData, shown: NDArray[np.int64]) -> dict[str, Any] | None:
    """Of samples that belong together: names and sizes of the groups of which some are listed, and the group
    of each of these."""
    if data.groups is None:
        return None
    group, names = pd.factorize(np.asarray(data.groups, dtype=object))
    sizes = np.bincount(group, minlength=len(names))
    listed, of = np.unique(group[shown], return_inverse=True)
    return {
        "names": [str(name) for name in names[listed]],
        "sizes": sizes[listed].tolist(),
        "of": of.tolist(),
    }


def _fact_text(value: Any) -> str:
    """A fact as a person would write it."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if isinstance(value, float | np.floating):
        return f"{float(value):,.4g}" if abs(float(value)) < 1e4 else f"{float(value):,.0f}"
    return str(value)


def _listed(score: NDArray[np.float64], suspected: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The samples that the page lists, by score, the largest first."""
    by_score = np.argsort(-score, kind="stable")
    if len(score) <= MAX_SAMPLES:
        return by_score
    shown = np.sort(_suspects_first(by_score, suspected)[:MAX_SAMPLES])
    return shown[np.argsort(-score[shown], kind="stable")]


def _suspects_first(index: NDArray[np.int64], suspected: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The same samples: where the room runs out, suspects are what a person came for."""
    return np.concatenate([index[suspected[index]], index[~suspected[index]]])


def counts(data: ReportData) -> dict[str, int]:
    """How many samples are of each kind."""
    found = data.table["kind"].value_counts()
    return {kind: int(found.get(kind, 0)) for kind in KINDS}


def _class_index(
    values: pd.Series[Any], classes: tuple[str, ...], *, missing: bool = False
) -> NDArray[np.int64]:
    """(N,) labels as indices in classes; None as -1 where it may be missing."""
    names = pd.Index([str(value) for value in values], dtype=object)
    found = pd.Index(classes, dtype=object).get_indexer(names)
    absent = values.isna().to_numpy() & missing
    if len(strange := np.flatnonzero((found < 0) & ~absent)):
        value = str(values.iloc[strange[0]])
        raise DataError(f"{values.name} of the table has {value!r}, which is not one of the classes")
    return np.where(absent, -1, found).astype(np.int64)


def fingerprint_of(data: ReportData) -> str:
    """What decisions are kept under: another run or another dataset has another, and it tells no paths."""
    digest = hashlib.sha256(repr((data.run, data.classes)).encode("utf-8", "backslashreplace"))
    for name in ("id", "label"):
        digest.update(repr(data.table[name].tolist()).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def _mistaken(data: ReportData) -> list[list[float]] | None:
    """A pair of classes each: label, true class (-1: several), samples, share of the label, suspects."""
    if data.confusions is None or data.confusions.empty:
        return None
    first = data.confusions.head(MAX_CONFUSIONS)
    label = _class_index(first["label"], data.classes).tolist()
    true = _class_index(first["true_class"], data.classes, missing=True).tolist()
    samples, share = (first[name].to_numpy(np.float64) for name in ("samples", "share"))
    flagged = first["suspected"].tolist()
    return [list(row) for row in zip(label, true, samples.round(1), share.round(5), flagged, strict=True)]


def _reliability(data: ReportData) -> dict[str, Any] | None:
    if (found := data.reliability) is None:
        return None
    return {name: each.tolist() for name, each in vars(found).items()} | {"ece": float(found.ece)}


def _confusion(confusion: Any) -> list[int] | None:
    """Row, column, count of every cell that is not empty, one after the other."""
    if confusion is None:
        return None
    matrix = np.asarray(confusion)
    cells = np.nonzero(matrix)
    return [int(value) for value in np.stack([*cells, matrix[cells]], axis=1).reshape(-1)]


def _log(rows: Sequence[Mapping[str, Any]] | None) -> dict[str, list[float]] | None:
    """Columns of numbers, NaN where a row has none."""
    numbers = pd.DataFrame(list(rows or ())).select_dtypes("number")
    return {str(name): numbers[name].astype(float).tolist() for name in numbers} or None


def _curves(data: ReportData, wanted: NDArray[np.int64]) -> dict[str, Any] | None:
    """Confidence over epochs as bytes: 0..254 are 0..1, 255 is an epoch that did not see the sample."""
    if data.curves is None:
        return None
    matrix, indices = np.asarray(data.curves), wanted.tolist()
    if matrix.ndim != 2 or matrix.shape[1] != len(data):
        raise DataError(f"curves have shape {matrix.shape}; expected (epochs, {len(data)})")
    values = matrix[:, indices].T.astype(np.float64)
    epochs = values.shape[1]
    if not indices or not epochs:
        return None
    if epochs > CURVE_POINTS:
        values = values[:, np.linspace(0, epochs - 1, CURVE_POINTS).round().astype(np.int64)]
    stored = np.where(np.isnan(values), 255, np.rint(np.clip(values, 0, 1) * 254)).astype(np.uint8)
    points = stored.shape[1]
    # Whole groups of three bytes are whole groups of four letters: the page cuts one curve out of the text.
    stored = np.pad(stored, ((0, 0), (0, -points % 3)), constant_values=255)
    return {
        "index": indices,
        "points": points,
        "epochs": int(epochs),
        "bytes": base64.b64encode(stored.tobytes()).decode(),
    }


ASKED, PEOPLE = 50, 500
"""Samples to ask about again, and annotators, that the page holds."""


def annotator_part(data: ReportData) -> dict[str, Any] | None:
    """The payload's part; None where there is one label a sample."""
    crowd = data.crowd
    if crowd is None:
        return None
    alpha, sure, whom = crowd.agreement, crowd.confidence, crowd.whom_to_ask
    asked = []
    for index in crowd.ask_again[:ASKED].tolist():
        given = np.flatnonzero(crowd.label[index] != MISSING)
        said = [
            [str(crowd.annotators[who]), str(crowd.classes[crowd.label[index, who]])] for who in given[:20]
        ]
        ask = None if whom[index] is None else str(whom[index])
        asked.append({"index": index, "sure": round(float(sure[index]), 4), "said": said, "ask": ask})
    people = [
        [
            str(row["annotator"]),
            int(row["labels"]),
            round(float(row["agrees"]), 4),
            round(float(row["quality"]), 4),
        ]
        for row in crowd.annotator_table.head(PEOPLE).to_dict("records")
    ]
    return {"agreement": None if math.isnan(alpha) else round(alpha, 4), "people": people, "ask": asked}


MOST = 2_000
"""Groups that the page holds."""


def copy_groups(data: ReportData) -> list[dict[str, Any]]:
    """The groups with the samples of the dataset by index, and how many of the test set are among them."""
    found = data.copies
    if found is None:
        return []
    groups: list[dict[str, Any]] = []
    for number, members in enumerate(found.groups):
        indices = [int(index) for index in members if index < found.count]
        group = {
            "indices": indices,
            "exact": bool(found.exact[number]),
            "contradicting": bool(found.contradicting[number]),
            "test": len(members) - len(indices),
        }
        if indices:  # copies within the test set alone are no matter of this page
            groups.append(group)
    groups.sort(key=lambda group: (not group["contradicting"], not group["test"], -len(group["indices"])))
    return groups[:MOST]


# -- as JSON, and previews in blocks that the page reads one at a time ---------------------------------------

_WHOLE = frozenset({int, bool, str, type(None)})
"""Types in which nothing can be NaN: long lists of them need no second look."""


def to_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the text says."""
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """The same value with NaN and infinity as null, which is what JSON has for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and not _WHOLE.issuperset(map(type, value)):
        return [_finite(part) for part in value]
    return value


def preview_blocks(
    data: ReportData, wanted: NDArray[np.int64], odd: OddColumns | None
) -> tuple[dict[str, Any], list[str]]:
    """As many previews as the limits allow, in the order wanted; and what the page must know of them."""
    indices: list[int] = []
    items: list[str] = []
    sets: dict[tuple[str, ...], int] = {}
    left_out = size = pictures = 0
    look = data.previews or (lambda _: None)
    for done, index in enumerate(wanted.tolist()):
        left_out = len(wanted) - done
        if pictures >= MAX_PICTURES:
            break
        preview = look(index)
        if preview is None:
            continue
        item = to_json(_item(preview, sets, [] if odd is None or preview.kind != "row" else odd.of(index)))
        if size + len(item) > MAX_PREVIEW_BYTES:
            break
        pictures += preview.kind == "image"
        size += len(item)
        indices.append(index)
        items.append(item)
    else:
        left_out = 0
    blocks = [
        f"[{','.join(items[start : start + PREVIEWS_A_BLOCK])}]"
        for start in range(0, len(items), PREVIEWS_A_BLOCK)
    ]
    about = {
        "index": indices,
        "columns": [list(names) for names in sets],
        "leftOut": left_out,
        "block": PREVIEWS_A_BLOCK,
        "pictures": pictures,
        "odd": None if odd is None else {"names": list(odd.names), "middle": odd.middle},
    }
    return about, blocks


def _item(preview: Preview, sets: dict[tuple[str, ...], int], oddest: list[list[Any]]) -> list[Any]:
    """["image", address], ["text", text, left out] or ["row", which columns, values, left out, oddest]."""
    if isinstance(preview.content, str):
        if preview.kind == "image":
            if not preview.content.startswith("data:image/"):
                raise DataError("a picture's preview must be a data:image/ address: see image_preview")
            return ["image", preview.content]
        return ["text", preview.content, preview.left_out]
    names = tuple(str(name) for name in preview.content)
    which = sets.setdefault(names, len(sets))
    return ["row", which, [str(value) for value in preview.content.values()], preview.left_out, oddest]
