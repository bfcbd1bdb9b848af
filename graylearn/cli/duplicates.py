"""`graylearn duplicates`: copies within a set, and samples of a test set that stand in the training set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graylearn.cli import options as flags
from graylearn.cli.errors import plain
from graylearn.options import Learning
from graylearn.paths import beside
from graylearn.runs.settings import Sizing


@flags.with_settings(
    "annotators", "annotations", "test_share", "features", "embedding", *Learning.__annotations__,
    *Sizing.__annotations__,
)  # fmt: skip
def duplicates(
    *,
    out: Annotated[
        Path | None,
        flags.path_flag(
            "--out",
            "-o",
            help="The table of copies, a .csv file.",
            show_default="beside the data, as orders-copies.csv of orders.csv",
        ),
    ] = None,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Find copies, exact and near, and with --test the samples of the test set that were learned from.

    The table has a row a sample that has a copy: group, set, id, label, kind, contradicting.

    Examples:

      graylearn duplicates photos/

      graylearn duplicates train.csv --test holdout.csv --label status --out copies.csv
    """
    chosen = flags.chosen(given, "audit")
    from graylearn.runs.copies import copies_in_numbers, write_copies
    from graylearn.runs.progress import RunProgress

    out = out or Path(f"{beside(chosen.data, 'copies')}.csv")
    found = write_copies(chosen, out, RunProgress(quiet=quiet))
    if as_json:
        typer.echo(json.dumps(copies_in_numbers(found)))
    else:
        typer.echo(found.summary())
        typer.echo(plain(f"written to {out}"))
