"""`tasks`: the suspects of a run for Label Studio or FiftyOne, the strongest first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from graylearn.data.atomic import write_json, write_text
from graylearn.data.formats import FORMATS, Origin
from graylearn.data.read import read_file
from graylearn.data.samples import Samples
from graylearn.data.tables import ReadOptions
from graylearn.data.written import check_writable, writing
from graylearn.errors import DataWarning, SettingsError
from graylearn.report import decisions as tools
from graylearn.runs.apply import read_recorded
from graylearn.runs.folder import RunFolder, check_unchanged
from graylearn.runs.prepare import options_of

KIND = "set of tasks"
Tool = Literal["label-studio", "fiftyone"]


def write_tasks(run: str | Path, out: str | Path, tool: Tool = "label-studio") -> dict[str, Any]:
    """Write the suspects where a tool finds them; gives how many there are.

    For Label Studio `out` is a file of tasks, the labelling interface beside it (.xml); for FiftyOne a folder
    of metadata.json and samples.json.
    """
    folder, target = RunFolder(run), Path(out)
    if tool == "label-studio" and target.suffix.lower() != ".json":
        raise SettingsError(f"tasks are a .json file, not {target}: name it {target.with_suffix('.json')}")
    folder.check_finished()
    saved, settings = folder.source(), folder.settings()
    origin, classes = saved.origin, list(map(str, saved.classes))
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
    of, beside = [origin.path, *folder.settings().reads], target.with_suffix(".xml")
    for each in [target] if tool == "fiftyone" else [target, beside]:
        check_writable(each, KIND, folder=tool == "fiftyone", of=of)
    recorded = read_recorded(folder)
    ids = recorded.index.tolist()
    check_unchanged(Path(origin.path), origin.form, ids, recorded.get("sha256"), saved.fingerprint)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the run told it
        look = _looks(origin, options_of(settings, 8, origin.split), ids)
    at = {name: index for index, name in enumerate(ids)}
    audit = pq.read_table(folder.audit_parquet).to_pandas()
    suspects = audit[audit["suspected"]].sort_values("score", ascending=False, kind="stable")
    rows = []
    for row in suspects.to_dict("records"):
        name = str(row["id"])
        suggested = None if pd.isna(row["suggested"]) else str(row["suggested"])
        shown = look(at[name])
        rows.append({**row, "suggested": suggested, "data": shown, "path": shown.get("image")})
    run_of = folder.read_json(folder.summary).get("fingerprint")
    if tool == "fiftyone":
        with writing(target, KIND, folder=True, of=of) as partial:
            write_json(partial / "metadata.json", tools.metadata(classes))
            write_json(partial / "samples.json", tools.samples(rows, run_of))
    else:
        interface = tools.interface(classes, origin.kind)
        with writing(beside, KIND, of=of) as shown_by, writing(target, KIND, of=of) as partial:
            write_json(partial, tools.tasks(rows, run_of))
            write_text(shown_by, interface + "\n")
    return {"tasks": len(rows), "out": str(target.absolute())}


def _looks(origin: Origin, options: ReadOptions, ids: list[str]) -> Callable[[int], dict[str, Any]]:
    """What a person is shown of the samples of a run, by their index."""
    if origin.kind == "image":
        folder, images = origin.root, _images(origin, options, ids)
        return lambda index: {"image": str(folder / images[index])}
    x = read_file(origin.path, options)[0].x
    if origin.kind == "text":
        return lambda index: {"text": str(x[index])}

    def row(index: int) -> dict[str, Any]:
        values = x.iloc[index].to_dict() if isinstance(x, pd.DataFrame) else enumerate(np.ravel(x[index]))
        cells = {str(name): "" if pd.isna(value) else str(value) for name, value in dict(values).items()}
        return {"row": cells}

    return row


def _images(origin: Origin, options: ReadOptions, ids: list[str]) -> list[str]:
    """(N,) the paths of samples that are images: their ids, or of those that a table lists a column."""
    if origin.form == "folder":
        return ids
    found = FORMATS[origin.form].read(Path(origin.path), options)
    if isinstance(found, Samples):
        raise SettingsError(
            f"the images of {origin.path} are in no files of their own, which tools could show: "
            "decide on them in the report"
        )
    paths: list[str] = np.delete(found.frame[origin.columns.path].to_numpy(), origin.left_out).tolist()
    return paths
