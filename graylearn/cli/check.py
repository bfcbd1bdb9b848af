"""`graylearn check`: a gate for builds, with an exit code of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graylearn.cli import options as flags
from graylearn.cli.errors import plain
from graylearn.errors import SettingsError

if TYPE_CHECKING:
    from graylearn.runs.check import Checked

FAILED = 4
"""The exit code of a check that does not pass."""
SHOWN = 20
"""New suspects on the terminal."""
_File = Path | None


@flags.with_settings("refine", "test_share", "test_split", "annotators", "annotations")
def check(
    *,
    against: Annotated[
        _File, flags.path_flag("--against", help="A file of accepted suspects, which do not fail.")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Write all that is found to --against, and pass.")
    ] = False,
    max_suspects: Annotated[
        str,
        typer.Option(
            "--max-suspects", help="Samples that may be new suspects: a number or a share, such as 2%."
        ),
    ] = "0",
    copies: Annotated[
        bool, typer.Option("--copies", help="Copies with the same label are suspects too, but for one.")
    ] = False,
    junit: Annotated[_File, flags.path_flag("--junit", help="Write JUnit XML.", metavar="FILE")] = None,
    sarif: Annotated[_File, flags.path_flag("--sarif", help="Write SARIF 2.1.0.", metavar="FILE")] = None,
    cache: Annotated[
        _File, flags.path_flag("--cache", help="A folder that keeps features and verdicts.")
    ] = None,
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
    chosen = flags.chosen(given, "audit", settings)
    if accept and against is None:
        raise SettingsError("--accept writes to --against: name a file there")
    from graylearn.data.written import check_writable
    from graylearn.runs import RunProgress
    from graylearn.runs import check as checking

    if accept and against is not None:  # before the audit, not after it
        check_writable(against, checking.KIND, of=chosen.reads, update=True)
    for kind, path in {checking.JUNIT: junit, checking.SARIF: sarif}.items():
        if path is not None:
            check_writable(path, kind, of=chosen.reads)
    found = checking.check(
        chosen,
        against=against,
        max_suspects=max_suspects,
        copies=copies,
        cache=cache,
        progress=RunProgress(quiet=quiet),
    )
    if accept and against is not None:
        found = checking.accept(found, against, chosen.reads)
    checking.write(found, {checking.JUNIT: junit, checking.SARIF: sarif}, chosen.reads)
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
        typer.echo(plain(f"new: {each.words}"))
    if len(found.new) > SHOWN:
        typer.echo(f"and {len(found.new) - SHOWN:,} more; --json has all")
    for note in (*found.notes, *(found.data_notes if with_data_notes else ())):
        typer.echo(plain(note))
    typer.echo(plain(found.words))
    if accept:
        typer.echo(plain(f"what is suspected is accepted from now on, in {against}"))
    elif against is not None and not against.exists():
        typer.echo(plain(f"{against} is not there, so nothing was accepted before: --accept makes it"))
