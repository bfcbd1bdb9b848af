"""`tasks`: the suspects of a run for Label Studio or FiftyOne, the strongest first."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from graylearn.data.atomic import write_text
from graylearn.data.encoding.column_kinds import DataWarning
from graylearn.data.formats import Origin
from graylearn.data.read import read_file
from graylearn.errors import SettingsError
from graylearn.report import fiftyone, label_studio
from graylearn.runs.files import write_json
from graylearn.runs.folder import RunFolder
from graylearn.runs.prepare import options_of
from graylearn.runs.source import read_source

Tool = Literal["label-studio", "fiftyone"]


def write_tasks(run: str | Path, out: str | Path, tool: Tool = "label-studio") -> dict[str, Any]:
    """Write the suspects where a tool finds them; gives how many there are.

    For Label Studio `out` is a file of tasks, the labelling interface beside it (.xml); for FiftyOne a folder
    of metadata.json and samples.json.
    """
    folder, target = RunFolder(run), Path(out)
    folder.check_finished()
    saved, settings = read_source(folder), folder.settings()
    origin = saved.origin
    # of several annotators' labels the consensus was audited, which is a file of its own
    settings = replace(
        settings,
        label=origin.columns.label or settings.label,
        annotators=(),
        separator=origin.separator,
        encoding=origin.encoding,
    )
    if tool == "fiftyone" and origin.kind != "image":
        raise SettingsError(f"FiftyOne shows images, and {origin.path} holds none: use tool label-studio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the run told it
        samples, _ = read_file(origin.path, options_of(settings, 8, origin.split))
    at = {str(name): index for index, name in enumerate(samples.ids)}
    audit = pq.read_table(folder.audit_parquet).to_pandas()
    suspects = audit[audit["suspected"]].sort_values("score", ascending=False, kind="stable")
    rows = []
    for row in suspects.to_dict("records"):
        name = str(row["id"])
        suggested = None if pd.isna(row["suggested"]) else str(row["suggested"])
        shown = _shown(samples.x, at[name], samples.kind, name, origin)
        rows.append({**row, "suggested": suggested, "data": shown, "path": shown.get("image")})
    run_of = folder.read_json(folder.summary).get("fingerprint")
    if tool == "fiftyone":
        target.mkdir(parents=True, exist_ok=True)
        write_json(target / "metadata.json", fiftyone.metadata(saved.classes))
        write_json(target / "samples.json", fiftyone.samples(rows, run_of))
    else:
        write_json(target, label_studio.tasks(rows, run_of))
        interface = label_studio.interface(saved.classes, samples.kind)
        write_text(target.with_suffix(".xml"), interface + "\n")
    return {"tasks": len(rows), "out": str(target.absolute())}


def _shown(x: Any, index: int, kind: str, name: str, origin: Origin) -> dict[str, Any]:
    """What a person is shown of a sample."""
    if kind == "image":
        path = Path(origin.path)
        return {"image": str((path if path.is_dir() else path.parent) / name)}
    if kind == "text":
        return {"text": str(x[index])}
    values = x.iloc[index].to_dict() if isinstance(x, pd.DataFrame) else dict(enumerate(np.ravel(x[index])))
    return {"row": {str(column): "" if pd.isna(value) else str(value) for column, value in values.items()}}
