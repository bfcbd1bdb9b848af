"""The flags of the command line: those of a run, which its settings declare, and a few of its own."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from graylearn.errors import DataError
from graylearn.options import Learning, documented
from graylearn.paths import address_of, as_path, existing
from graylearn.runs.settings import (
    FIELDS,
    PATHS,
    Command,
    Looking,
    Measuring,
    Reading,
    RunSettings,
    Sizing,
    read_settings,
    settings_from,
)

PANELS = {
    Reading: "Data",
    Learning: "Learning",
    Looking: "Copies and annotators",
    Measuring: "Measuring",
    Sizing: "Large sets",
}
SHORT = {"label": "-l"}
FIRST = (
    "out", "overwrite", "as_json", "label", "id", "text", "group", "without", "annotators", "test", "against",
    "accept", "max_suspects", "help_all",
)  # fmt: skip
"""What --help shows of the options of a run and of `check`, ten each; --help-all shows all. Those that a note
names where they are needed, such as --keep-labels, can wait for it."""

Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Make the run anew where one is in the folder.")
]
Replace: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while it runs.")]


def path(given: str) -> Path:
    """A path on the command line."""
    try:
        return as_path(given)
    except DataError as error:
        raise typer.BadParameter(str(error)) from error


def path_flag(*names: str, help: str, show_default: str | bool = False, **others: Any) -> Any:
    """A flag that takes a path."""
    return typer.Option(*names, help=help, show_default=show_default, parser=path, **others)


def path_argument(*, help: str, **others: Any) -> Any:
    """An argument that is a path."""
    return typer.Argument(help=help, show_default=False, parser=path, **others)


def flag(
    name: str,
    declaration: Any = RunSettings,
    panels: Mapping[type, str] = PANELS,
    *,
    negated: bool = True,
) -> Any:
    """The flag of a field of a dataclass: its name and help, and the default in words where it is None.

    panels: the heading of each of the classes that the declaration is made of. negated: whether what is true
    or false can be told to be false, as --no-refine.
    """
    meaning, _, chosen = documented(declaration).get(name, "").partition(" None: ")
    default = next(each.default for each in dataclasses.fields(declaration) if each.name == name)
    shown = chosen.rstrip(".") or (default if isinstance(default, str) else default is True and "yes")
    spelled = "--" + name.replace("_", "-")
    if isinstance(default, bool):
        spelled += f"/--no-{spelled[2:]}" * (negated and not name.startswith("no_"))
    elif isinstance(default, int | float):
        shown = str(default)
    elif isinstance(default, tuple) and default:
        shown = ",".join(default)
    panel = next((title for part, title in panels.items() if name in part.__annotations__), None)
    names = [spelled, *([SHORT[name]] if name in SHORT else [])]
    is_path = (
        name in PATHS if declaration is RunSettings else get_type_hints(declaration)[name] == Path | None
    )
    takes = path if is_path else None
    return typer.Option(*names, help=meaning, rich_help_panel=panel, show_default=shown, parser=takes)


Run: TypeAlias = Annotated[Path, path_argument(help="A run folder of graylearn fit or audit.")]
Out: TypeAlias = Annotated[
    Path | None,
    path_flag(
        "--out",
        "-o",
        help="The run folder to write.",
        metavar="RUN",
        show_default="beside the data, as orders-audit of orders.csv",
    ),
]
SettingsFile: TypeAlias = Annotated[
    Path | None,
    path_flag("--settings", help="A TOML or YAML file of settings, data too; flags win over it."),
]


def _tell_all(ctx: typer.Context, wanted: bool) -> None:
    """The help with the flags that --help leaves out."""
    if wanted:
        for each in ctx.command.params:
            each.hidden = False  # type: ignore[attr-defined]
        typer.echo(ctx.get_help())
        raise typer.Exit


class ShortHelp(TyperCommand):
    """A command whose --help leaves out what is rarely needed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for each in self.params:
            if each.param_type_name == "option" and each.name not in FIRST:
                each.hidden = True  # type: ignore[attr-defined]


_HELP_ALL = Annotated[
    bool,
    typer.Option("--help-all", help="Show every option and exit.", callback=_tell_all, is_eager=True),
]


def with_settings(
    *leave_out: str, like: Callable[..., None] | None = None, more: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, which takes `**settings`, DATA, a flag for each field of RunSettings, and more flags.

    A flag that is not given is None, so that a settings file can say it. like: see `with_flags`.
    """
    data = path_argument(metavar="DATA", help=documented(RunSettings).get("data", ""))
    types: dict[str, Any] = {"data": Annotated[Path | None, data]}
    types |= typed(*(name for name in FIELDS if name not in ("data", "command", *leave_out)))
    return with_flags(types | dict(more or {}), like, help_all=True)


def with_flags(
    types: Mapping[str, Any], like: Callable[..., None] | None = None, *, help_all: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, which takes `**given`, a flag of each of these names and types; None where not given.

    Its other flags are its own keywords, or those of the function `like`, which it hands all to. help_all:
    whether some are hidden, which --help-all shows.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        kind = inspect.Parameter.KEYWORD_ONLY
        own = inspect.signature(like or command, eval_str=True).parameters.values()
        flags = [inspect.Parameter(name, kind, default=None, annotation=types[name]) for name in types]
        kept = [each for each in own if each.kind is kind]
        if help_all:
            kept.append(inspect.Parameter("help_all", kind, default=False, annotation=_HELP_ALL))
        command.__signature__ = inspect.Signature([*flags, *kept])  # type: ignore[attr-defined]
        return command

    return decorate


def chosen(given: dict[str, Any], command: Command, file: Path | None = None) -> RunSettings:
    """The settings by the flags that were given and, where those are silent, by a file.

    Whether the data are there is said now, before the seconds that torch takes to import.
    """
    values = {} if file is None else read_settings(file)
    given.pop("help_all", None)
    chosen = {
        name: address_of(value) or str(value) if isinstance(value, Path) else value
        for name, value in told(given).items()
    }
    settings = settings_from(values | chosen | {"command": command}, "the command line")
    settings.check_data()
    for name in PATHS:
        if named := getattr(settings, name):
            existing(named)
    return settings


def typed(*names: str, of: Any = RunSettings) -> dict[str, Any]:
    """The flags of these fields of a dataclass, or of all: what each is read as, or None, and its option."""
    hints, found = get_type_hints(of), {}
    for name in names or hints:
        is_list = get_origin(hints[name]) is tuple
        kind = Path if of is RunSettings and name in PATHS else list[str] if is_list else hints[name]
        found[name] = Annotated[kind | None, flag(name, of, negated=of is RunSettings)]
    return found


def told(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those flags that were given."""
    return {name: value for name, value in given.items() if value is not None}
