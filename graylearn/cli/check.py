"""`graylearn check`: a gate for builds, with an exit code of its own."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
