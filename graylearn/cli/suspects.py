"""What becomes of suspects. `graylearn apply`: what a person decided in the report, carried out on the data;
`graylearn tasks`: the suspects for Label Studio or FiftyOne, where people may decide instead;
`graylearn check`: a gate for builds, with an exit code of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graylearn.cli import options as flags
from graylearn.errors import SettingsError, counted, one_line
from graylearn.paths import is_standard

if TYPE_CHECKING:
    from graylearn.runs.check import Checked


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
    from graylearn.runs.apply import write_tasks

    done = write_tasks(run, out, tool)
    told = f"{counted(done['tasks'], 'task')} written to {out}"
    if not done["tasks"]:
        told += ": nothing is flagged, and the report lists what to look at first"
    typer.echo(json.dumps(done) if as_json else told)


FAILED = 4
"""The exit code of a check that does not pass."""
SHOWN = 20
"""New suspects on the terminal."""


@dataclasses.dataclass(frozen=True)
class Checking:
    """What a check compares with, and what it writes."""

    against: Path | None = None
    """A file of accepted suspects, which do not fail."""
    accept: bool = False
    """Write all that is found to --against, and pass."""
    max_suspects: str = "0"
    """Samples that may be new suspects: a number or a share, such as 2%."""
    copies: bool = False
    """Copies with the same label are suspects too, but for one."""
    junit: Path | None = None
    """Write JUnit XML."""
    sarif: Path | None = None
    """Write SARIF 2.1.0."""
    cache: Path | None = None
    """A folder that keeps features and verdicts."""


@flags.with_settings(
    "refine", "test_share", "test_split", "annotators", "annotations", more=flags.typed(of=Checking)
)
def check(
    *,
    settings: flags.SettingsFile = None,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Fail if the data hold more new suspects than allowed; exit code 4.

    Copies with different labels count too, and with --test samples that are also in the test set. In a GitHub
    workflow, the step summary lists what is new.

    Examples:

      graylearn check data.csv --label status --against accepted.json --accept

      graylearn check data.csv --label status --against accepted.json --max-suspects 2% --junit check.xml
    """
    asked = Checking(**flags.told({name: given.pop(name) for name in Checking.__annotations__}))
    chosen, against, accept = flags.chosen(given, "audit", settings), asked.against, asked.accept
    if accept and against is None:
        raise SettingsError("--accept writes to --against: name a file there")
    from graylearn.data.written import check_writable
    from graylearn.runs import RunProgress
    from graylearn.runs import check as checking

    if accept and against is not None:  # before the audit, not after it
        check_writable(against, checking.KIND, of=chosen.reads, update=True)
    files = {checking.JUNIT: asked.junit, checking.SARIF: asked.sarif}
    for kind, path in files.items():
        if path is not None:
            check_writable(path, kind, of=chosen.reads)
    found = checking.check(
        chosen,
        against=against,
        max_suspects=asked.max_suspects,
        copies=asked.copies,
        cache=asked.cache,
        progress=RunProgress(quiet=quiet),
    )
    if accept and against is not None:
        found = checking.accept(found, against, chosen.reads)
    checking.write(found, files, chosen.reads)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(checking.markdown(found))
    if as_json:
        typer.echo(json.dumps(checking.in_json(found), ensure_ascii=False))
    else:
        _show(found, against, accept, with_data_notes=quiet)  # others heard them while it ran
    if not found.passes:
        raise typer.Exit(FAILED)


def _show(found: Checked, against: Path | None, accept: bool, *, with_data_notes: bool) -> None:
    """For people, in a few lines."""
    for each in found.new[:SHOWN]:
        typer.echo(one_line(f"new: {each.words}"))
    if len(found.new) > SHOWN:
        typer.echo(f"and {len(found.new) - SHOWN:,} more; --json has all")
    for note in (*found.notes, *(found.data_notes if with_data_notes else ())):
        typer.echo(one_line(note))
    typer.echo(one_line(found.words))
    if accept:
        typer.echo(one_line(f"what is suspected is accepted from now on, in {against}"))
    elif against is not None and not against.exists():
        typer.echo(one_line(f"{against} is not there, so nothing was accepted before: --accept makes it"))
