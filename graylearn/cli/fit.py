"""`graylearn fit` and `audit`: a run folder from data; `graylearn duplicates`: the copies among them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graylearn.cli import options as flags
from graylearn.cli.errors import plain
from graylearn.options import Learning
from graylearn.paths import beside, is_standard, saved_input
from graylearn.runs.settings import Command, Measuring, Sizing


def _run(
    command: Command,
    *,
    out: flags.Out = None,
    settings: flags.SettingsFile = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.AsJson = False,
    quiet: flags.Quiet = False,
    **given: Any,
) -> None:
    """Make the run folder and show what came out."""
    if is_standard(given.get("data") or ""):
        out = out or beside("-", command)
        # beside the run, which `apply` reads it from
        given["data"] = saved_input(out.with_name(f"{out.name}-input"), _keep)
    chosen = flags.chosen(given, command, settings)
    out = out or beside(chosen.data, command)
    from graylearn.cli.show import show_run
    from graylearn.runs import RunProgress, run

    summary = run(chosen, out, overwrite=overwrite, progress=RunProgress(quiet=quiet))
    if not summary:
        return  # a process that helped another to train
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        show_run(summary, with_data_notes=quiet)  # others heard them while it ran


def _keep(path: Path, content: bytes) -> None:
    """Write what came on standard input, unless it is there from the last time."""
    from graylearn.data.written import writing

    if not path.is_file() or path.read_bytes() != content:
        with writing(path, "copy of standard input") as partial:
            partial.write_bytes(content)


@flags.with_settings(like=_run)
def fit(**given: Any) -> None:
    """Fit a robust model, audit its training set, fit again, and write the run folder with report.html.

    Examples:

      graylearn fit wine.csv --label quality --out run

      graylearn fit photos/ --out run --test photos-checked/

      graylearn fit reviews.csv --text review --label stars --test-share 0.2 --out run

      graylearn fit 'events/*.parquet' --part-size 100000 --out run

      graylearn fit --settings run/settings.toml --out run-again

    An interrupted run goes on when the same command is given again.
    """
    _run("fit", **given)


@flags.with_settings("refine", *Measuring.__annotations__, like=_run)
def audit(**given: Any) -> None:
    """Find the samples that do not belong where their label puts them, and write report.html to decide in.

    Examples:

      graylearn audit wine.csv --label quality

      graylearn audit photos/ --out run

      psql -c "copy orders to stdout csv header" | graylearn audit - --label status --out run

      graylearn audit 'events/*.parquet' --part-size 100000 --out run

      graylearn audit posts.csv --annotators anna --annotators ben --annotators cleo --out run

    Then open report.html in the run folder, decide, download decisions.csv, and give it to graylearn apply.
    """
    _run("audit", **given)


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
