"""FiftyOne: suspects as samples with fields and tags, and what people decided there as decisions.

    dataset = fiftyone.Dataset.from_dir("suspects", dataset_type=fiftyone.types.FiftyOneDataset)

Back from it, a sample that bears the tag drop is dropped and one that bears keep is kept; accept takes what
the audit suggests, and another ground_truth relabels. All others decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from graylearn.errors import DataError
from graylearn.report.decisions import Decision, exported_decisions

SUSPECT, KEEP, DROP, ACCEPT = "suspect", "keep", "drop", "accept"
"""Tags: those of graylearn, and those that people decide with."""


def metadata(classes: Iterable[str]) -> dict[str, Any]:
    """What metadata.json holds: no version, by which FiftyOne learns the fields from the samples."""
    return {"media_type": "image", "info": {"made_by": "graylearn"}, "default_classes": [*classes]}


def samples(rows: Iterable[Mapping[str, Any]], run: str | None = None) -> dict[str, Any]:
    """What samples.json holds; a row has id, label, score, kind, level, suggested (None: no class), path."""
    return {"samples": [_sample(row, run) for row in rows]}


def _sample(row: Mapping[str, Any], run: str | None) -> dict[str, Any]:
    level = str(row.get("level") or "")
    return {
        "filepath": str(row["path"]),
        "tags": [SUSPECT, str(row["kind"]), *([level] if level else [])],
        "ground_truth": _classification(row["label"]),
        "suggested": None if row["suggested"] is None else _classification(row["suggested"]),
        "graylearn_score": float(row["score"]),
        "graylearn_id": str(row["id"]),
        "graylearn_label": str(row["label"]),
        "graylearn_run": run,
    }


def _classification(label: Any) -> dict[str, Any]:
    return {"_cls": "Classification", "tags": [], "label": str(label)}


def decisions_of(exported: Any, path: str | Path) -> list[Decision]:
    """What people decided, of the samples.json that FiftyOne exports."""
    if not isinstance(exported, dict) or not isinstance(exported.get("samples"), list):
        raise DataError(f"{path} is no samples.json of FiftyOne: expected a list of samples")
    told = [(sample, partial(_decision, sample)) for sample in exported["samples"]]
    return exported_decisions(told, path, "sample", "FiftyOne")


def _decision(sample: Mapping[str, Any]) -> Decision | None:
    """What was decided about one sample; None where nothing was."""
    name, given, tags = str(sample["graylearn_id"]), str(sample["graylearn_label"]), list(sample["tags"])
    clear = [tag for tag in (KEEP, DROP, ACCEPT) if tag in tags]
    if len(clear) > 1:
        raise ValueError(f"{name!r} bears the tags {' and '.join(clear)}")
    field = sample.get("suggested" if clear == [ACCEPT] else "ground_truth")
    wanted = None if field is None else str(field["label"])
    known = {"given": given, "run": sample.get("graylearn_run")}
    if clear == [DROP] or (clear == [ACCEPT] and not wanted):
        return Decision(name, "drop", **known)
    if clear != [KEEP] and wanted and wanted != given:
        return Decision(name, "relabel", wanted, **known)
    return Decision(name, "keep", **known) if clear else None
