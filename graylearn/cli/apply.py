"""`graylearn apply`: what a person decided in the report, carried out on the data; and `graylearn tasks`: the
suspects for Label Studio or FiftyOne, where people may decide instead."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from graylearn.cli import options as flags
from graylearn.paths import is_standard


@dataclasses.dataclass(frozen=True)
class Applying:
    """How decisions are carried out."""

    suspects: Literal["keep", "drop", "suggested"] = "keep"
    """What becomes of suspects without a decision."""
    only_sure: bool = False
    """--suspects is for those that the audit is sure of; others stay."""
    duplicates: Literal["keep", "keep-one"] = "keep"
    """Whether all copies stay, or one of each group whose labels agree."""
    data: Path | None = None
    """Where the audited data lie now, if moved."""
    link: bool = False
    """Hard links instead of copied images."""
    yes: bool = False
    """Do not ask before most of a class goes."""


@flags.with_flags(flags.typed(of=Applying))
def apply(
    *,
    run: flags.Run,
    decisions: Annotated[
        Path | None, flags.path_argument(help="The CSV that the report downloads: id, decision, label.")
    ] = None,
    out: Annotated[
        Path,
        flags.path_flag(
            "--out",
            "-o",
            help="The cleaned dataset, in the form of the data; for an image folder also a .csv manifest; "
            "- is standard output.",
            metavar="CLEANED",
        ),
    ],
    overwrite: flags.Replace = False,
    as_json: flags.AsJson = False,
    **given: Any,
) -> None:
    """Write the cleaned dataset: decided samples dropped or relabelled, all else as it was.

    Samples without a decision are kept. The data itself is never written over.

    Examples:

      graylearn apply run decisions.csv --out clean.csv

      graylearn apply run --suspects drop --only-sure --out photos-clean/

      graylearn apply run decisions.csv --duplicates keep-one --out clean.csv
    """
    from graylearn.errors import SettingsError
    from graylearn.runs.apply import apply_decisions, data_name

    chosen = flags.told(given)
    yes = chosen.pop("yes", False)
    if decisions is None and not {chosen.get("suspects"), chosen.get("duplicates")} - {None, "keep"}:
        raise SettingsError(
            "there is nothing to apply: give decisions.csv, --suspects drop or suggested, "
            "or --duplicates keep-one"
        )
    is_asked = sys.stdin is not None and sys.stdin.isatty()
    ask = bool if yes else _asked if is_asked else None  # bool of a sentence: True
    with TemporaryDirectory() as folder:
        to_stdout = is_standard(out)
        target = Path(folder) / data_name(run) if to_stdout else out
        summary = apply_decisions(run, decisions, target, overwrite=overwrite, ask=ask, **chosen)
        if to_stdout:
            sys.stdout.buffer.write(target.read_bytes())
            return
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        from graylearn.cli.show import show_applied

        show_applied(summary)


def _asked(text: str) -> bool:
    return typer.confirm(f"{text}. Go on?", err=True)


def tasks(
    run: flags.Run,
    *,
    out: Annotated[
        Path,
        flags.path_flag(
            "--out",
            "-o",
            help="The tasks, a .json file, with the interface beside it (.xml); for FiftyOne a folder.",
        ),
    ],
    tool: Annotated[
        Literal["label-studio", "fiftyone"], typer.Option("--tool", help="What they are written for.")
    ] = "label-studio",
    as_json: flags.AsJson = False,
) -> None:
    """Write the suspects for Label Studio or FiftyOne, with what they look like as predictions.

    What people decide there comes back as the JSON that either exports: graylearn apply takes it.

    Examples:

      graylearn tasks run --out tasks.json

      graylearn apply run export.json --out clean.csv

      graylearn tasks run --tool fiftyone --out suspects/
    """
    from graylearn.errors import counted
    from graylearn.runs.apply import write_tasks

    done = write_tasks(run, out, tool)
    told = f"{counted(done['tasks'], 'task')} written to {out}"
    if not done["tasks"]:
        told += ": nothing is flagged, and the report lists what to look at first"
    typer.echo(json.dumps(done) if as_json else told)
