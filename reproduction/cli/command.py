"""`python -m reproduction NAME`: a table or figure of the paper, measured again."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from graylearn.cli.main import start
from graylearn.cli.options import flag, with_flags
from graylearn.errors import DataError, SettingsError
from reproduction.cli.said import Said
from reproduction.options import How, Kept, Options, What

NAMES = (
    "table1",
    "table2",
    "alpha",
    "sources",
    "architectures",
    "readings",
    "released",
    "regimes",
    "human",
)
"""The keys of EXPERIMENTS, here because the help names them and needs nothing else of it."""


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


PANELS = {What: "What to run", How: "How to run it", Kept: "What comes out"}


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _listed(flag: str, text: str) -> tuple[str, ...]:
    """("mae", "gl") of "mae,gl"; a flag that names nothing is refused, for it would stand for all."""
    if parts := _parts(text):
        return parts
    raise SettingsError(f"{flag} is {text!r}; expected names with commas")


def _labels(flag: str, text: str) -> tuple[str, ...]:
    return ("specific", "random") if text == "both" else _listed(flag, text)


def _shares(flag: str, text: str) -> tuple[float, ...]:
    """(0.05, 0.2) of "0.05,0.2"."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"{flag} is {text!r}, expected numbers with commas: 0.05,0.2,0.5") from None


def _numbers(flag: str, text: str) -> tuple[int, ...]:
    """(0, 1, 2, 5) of "0-2,5"."""
    ranges = [_range(part) for part in _parts(text)]
    if not ranges or not all(ranges):
        raise SettingsError(
            f"{flag} is {text!r}; expected whole numbers, or ranges from low to high: 0,1,2 or 0-9"
        )
    return tuple(itertools.chain(*ranges))


def _range(part: str) -> range:
    """The numbers of "3" or "0-9"; none where it is neither."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", part, re.ASCII)
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)


LISTS: dict[str, Callable[[str, str], tuple[Any, ...]]] = {
    "methods": _listed,
    "datasets": _listed,
    "labels": _labels,
    "alphas": _shares,
    "nets": _listed,
    "seeds": _numbers,
    "protocol": _listed,
}
"""Options that are lists, and how each is read from the text of its flag."""


def _types() -> dict[str, Any]:
    """What each flag is read as: the type of its option, lists and words as text."""
    plain = {name: kind for name, kind in get_type_hints(Options).items() if name not in LISTS}
    kinds = {each.name: plain.get(each.name, str) for each in dataclasses.fields(Options)}
    return {
        name: Annotated[kind | None, flag(name, Options, PANELS, negated=False)]
        for name, kind in kinds.items()
    }


@app.command(cls=Said)
@with_flags(_types())
def reproduce(
    *,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"{', '.join(NAMES)}; several with commas, or all; or docs.",
            show_default=False,
        ),
    ],
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            rich_help_panel=PANELS[Kept],
            help="Of docs: write nothing, fail where a page would change.",
        ),
    ] = False,
    **given: Any,
) -> None:
    """Measure a table or figure of the paper again; what the store has is not run twice.

    Whatever ends a sweep, a kill or an empty battery, the same command goes on where it was.

    Examples:

      python -m reproduction table2 --quick

      python -m reproduction table2 --data ~/data --seeds 0-9 --workers 2 --protocol paper,tuned

      python -m reproduction table1 --data ~/data --device cuda --epochs 60 --time-limit 3000

      python -m reproduction all --data ~/data --device cuda

      python -m reproduction docs --check
    """  # fmt: skip
    if name == "docs":
        _docs(check)
        return
    if check:
        raise SettingsError("--check is for `python -m reproduction docs`")
    from reproduction.cli import sweeping

    told = {name: value for name, value in given.items() if value is not None}
    lists = {name: LISTS[name](f"--{name}", told[name]) for name in LISTS if name in told}
    options = Options(**(told | lists))
    names = NAMES if name == "all" else _parts(name) or (name,)
    asked = sweeping.applicable([sweeping.experiment(each) for each in names], options)
    outcomes = []
    for experiment, outcome in sweeping.run_all(asked, options):
        sweeping.show(experiment.name, outcome.rows())
        outcomes.append(outcome)
    sweeping.close(outcomes)


def main() -> None:
    """Run the command with the words of this process."""
    start(app, "python -m reproduction")


def _docs(check: bool) -> None:
    """Make the pages of the reproduction and their figure from results/."""
    from reproduction import page

    if check:
        if different := page.check():
            raise DataError(
                f"{', '.join(different)} would change; "
                "run `python -m reproduction docs` and commit what it writes"
            )
        return
    for path in page.update():
        typer.echo(str(path))
