"""`RunSettings`: all that decides a run, from flags and from TOML or YAML files, and back into TOML."""

from __future__ import annotations

import json
import shlex
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from graylearn.errors import SettingsError, nearest
from graylearn.options import Learning, check
from graylearn.paths import address_of, as_path

Command = Literal["fit", "audit"]
Features = Literal["auto", "pixels", "embed"]


@dataclass(frozen=True)
class Reading:
    """What to read, and how."""

    data: str = ""
    """A CSV, TSV, Parquet, Feather, JSON-lines or Excel file, an SQLite or DuckDB database, a folder of
    images with one folder per class, a table of image paths, an .npz file, or a dataset that Hugging Face
    wrote; also at an address such as s3://..."""
    label: str | None = None
    """The column of labels. None: the one that is plainly it."""
    id: str | None = None
    """The column that names the samples. None: one called id, or else lines are counted."""
    no_id: bool = False
    """Name the samples by their lines, whatever columns there are."""
    without: tuple[str, ...] = ()
    """A column to leave out: one that new samples would not have, or that names them; may be repeated, or
    hold several with commas between."""
    text: str | None = None
    """The column of texts, which makes the samples texts."""
    path: str | None = None
    """The column of image paths, which makes the samples images."""
    group: str | None = None
    """The column that says which samples belong together, such as the video of a frame or the patient of an
    image; it is not learned from."""
    split: str | None = None
    """The split of an .npz file, the table of a database or the sheet of a workbook to read."""
    separator: str | None = None
    """What parts the cells of a delimited file. None: looked up in its first line."""
    encoding: str = "utf-8"
    """Of a delimited file."""
    size: int | None = None
    """Pixels a side of decoded images. None: 64, to embed 128."""
    features: Features = "auto"
    """Of images: embed by a pretrained network (extra images), or pixels; auto embeds where installed."""
    embedding: str | None = None
    """Another pretrained network, of timm or sentence-transformers. None: graylearn's own."""


@dataclass(frozen=True)
class Measuring:
    """What to measure the fits on."""

    test: str | None = None
    """Clean data of the same form to measure on; copies of them are looked for too. Where several annotators
    labelled what is learned from, its labels stand in a column called consensus."""
    test_split: str | None = None
    """The split, table or sheet to measure on."""
    test_share: float | None = None
    """The share of the data to hold out and measure on, where there is no clean set; groups as a whole."""


@dataclass(frozen=True)
class Looking:
    """What else is looked for."""

    duplicates: Literal["near", "exact", "off"] = "near"
    """Copies to look for: near ones too (up to 20,000 samples, 10,000 images), exact ones, or none."""
    annotators: tuple[str, ...] = ()
    """A column of one annotator's labels, several of which are brought together; may be repeated, or hold
    several with commas between."""
    annotations: str | None = None
    """A table of labels by several annotators: sample, annotator, label."""


@dataclass(frozen=True)
class Sizing:
    """How sets larger than the memory are audited and learned from."""

    part_size: int | None = None
    """Samples that are audited together; the data are read in blocks and audited in parts of about so many,
    and a fit learns from their files. None: audits of Parquet data of more than a million rows, and of more
    than a gigabyte of CSV, JSON lines or a Hugging Face dataset, in parts that fit a gigabyte, others as a
    whole."""
    engine: Literal["here", "ray"] = "here"
    """Where parts are audited: in this process, or on a Ray cluster (extra ray) that sees the run folder,
    there by CPUs unless a device is named."""
    address: str | None = None
    """Of the Ray cluster. None: the one that this machine belongs to, or else one on it."""


@dataclass(frozen=True)
class RunSettings(Measuring, Looking, Learning, Reading, Sizing):
    """All that decides a run: what to read, how to learn from it and how to judge it."""

    command: Command = "fit"
    """`fit` makes a model and audits its training set, `audit` only finds what does not belong."""

    @property
    def reads(self) -> list[str]:
        """Paths of all that is read."""
        return [given for name in PATHS if (given := getattr(self, name))]

    def __post_init__(self) -> None:
        check(vars(self))
        if self.test_share is not None and not 0 < self.test_share < 1:
            raise SettingsError.wrong("test_share", self.test_share, "a share between 0 and 1, such as 0.2")
        if self.test_share is not None and self.test is not None:
            raise SettingsError(
                "both test and test_share are given: measure on a set of its own, or on a share"
            )
        if self.network == "trees":
            raise SettingsError(
                "network is 'trees', which a run folder cannot keep: use GrayClassifier(network='trees')"
            )
        if self.annotators and (self.label is not None or self.annotations is not None):
            raise SettingsError(
                "annotators are given, and label or annotations as well: leave those out; annotators are "
                "columns of labels, and a column that says who labelled belongs in without"
            )
        if self.no_id and self.id is not None:
            raise SettingsError("both id and no_id are given: name a column, or count the lines")
        if self.group is not None and self.mode == "history":
            raise SettingsError(
                "group is given and mode is 'history', whose network saw all samples of a group: leave mode "
                "out, or make it held-out"
            )
        if self.text is not None and self.path is not None:
            raise SettingsError("both text and path are given: samples are texts or images")

    def check_data(self) -> None:
        """Refuse settings that name no data."""
        if not self.data:
            raise SettingsError("there is no data: name a table, an image folder or an .npz file")


FIELDS: dict[str, Any] = get_type_hints(RunSettings)
"""The type of each setting by its name."""
PATHS = ("data", "test", "annotations")
"""Settings that say where something lies."""
RESOLVED = ("label", "features")
"""Settings that the data decide where they were left open; settings.toml holds what they became."""
CALLED = {"random_state": "seed", "audit": "mode"}
"""Options of Python that are settings of another name."""


def in_flags(option: str, value: object) -> str | None:
    """An option of Python as a flag; None where the command line has none like it."""
    if option == "id" and value is False:
        return "--no-id"
    if option in ("yes", "overwrite", "reject_at", "coverage", "max_suspects"):  # of single commands
        return "--" + option.replace("_", "-")
    name = CALLED.get(option, option)
    if name not in FIELDS:
        return None
    flag = "--" + name.replace("_", "-")
    values = value if isinstance(value, tuple) else (value,)
    return flag if value is None else " ".join(f"{flag} {shlex.quote(str(each))}" for each in values)


def settings_from(values: Mapping[str, Any], source: str) -> RunSettings:
    """Settings from names and values that came from `source`; an unknown name or type is an error."""
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in FIELDS:
            meant = nearest(str(name).replace("-", "_"), list(FIELDS), "known are")
            raise SettingsError(f"{source} has the unknown setting {name!r}; {meant}")
        checked[name] = _checked(name, value, source)
    return RunSettings(**checked)


def read_settings(path: str | Path) -> dict[str, Any]:
    """The names and values in a TOML or YAML file; paths in it are relative to its folder."""
    file = Path(path)
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingsError(f"the settings in {file} cannot be read ({error})") from error
    suffix = file.suffix.lower()
    if suffix in (".yaml", ".yml"):
        import yaml

        parse: Callable[[str], Any] = yaml.safe_load
    elif suffix == ".toml":
        parse = tomllib.loads
    else:
        raise SettingsError(f"{file} ends in {file.suffix!r}; settings are .toml, .yaml or .yml")
    try:
        values = parse(content)
    except Exception as error:  # each has its own, and brackets without end another
        kind = "TOML" if suffix == ".toml" else "YAML"
        raise SettingsError(f"{file} is not valid {kind} ({' '.join(str(error).split())})") from error
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise SettingsError(f"{file} holds {type(values).__name__}; expected names and values, as in seed: 1")
    settings_from(values, str(file))  # refuses what is wrong while the file can still be named
    given = {str(name): value for name, value in values.items() if value is not None}
    return given | absolute(given, file.parent)


def absolute(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Those of the values that say where something lies, as they mean the same wherever they are read."""
    return {
        name: address_of(str(values[name])) or str((folder / as_path(str(values[name]))).absolute())
        for name in PATHS
        if values.get(name)
    }


def to_toml(settings: RunSettings, comment: str = "") -> str:
    """The settings as TOML that `read_settings` reads back; those that are None are left out."""
    lines = [f"# {line}" for line in comment.splitlines()]
    for name in FIELDS:
        value = getattr(settings, name)
        if value is not None and value != ():
            lines.append(f"{name} = {_toml_value(value)}")
    return "\n".join(lines) + "\n"


def first_difference(before: RunSettings, now: RunSettings) -> str | None:
    """What the two disagree on, in words; what was left open now agrees with what it became before."""
    for name in FIELDS:
        old, new = getattr(before, name), getattr(now, name)
        if old == new or (name in RESOLVED and new in (None, "auto")):
            continue
        old, new = ("not given" if each is None else repr(each) for each in (old, new))
        return f"{name} was {old} and is now {new}"
    return None


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    # A JSON string is a TOML string, but for the one control character that JSON leaves alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(name: str, value: Any, source: str) -> Any:
    """The value as the type of its field."""
    hint = FIELDS[name]
    options = get_args(hint) if get_origin(hint) is types.UnionType else (hint,)
    if value is None and type(None) in options:
        return None
    kind = next(option for option in options if option is not type(None))
    texts = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
    if any(text.encode(errors="replace").decode() != text for text in texts):
        raise SettingsError(f"{source}: {name} is {value!r}, which holds half of a character")
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str | int) for item in value):
            raise SettingsError(f"{source}: {name} is {value!r}; expected a list of names")
        return tuple(str(item) for item in value)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = ", ".join(map(str, get_args(kind)))
            raise SettingsError(f"{source}: {name} is {value!r}; it must be one of {choices}")
        return value
    if kind is str and isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)  # a column called 0 needs no quotes in YAML
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise SettingsError(f"{source}: {name} has {len(str(value))} digits; expected a number") from None
    if type(value) is kind:
        return value
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    raise SettingsError(f"{source}: {name} is {value!r}; expected {words[kind]}")
