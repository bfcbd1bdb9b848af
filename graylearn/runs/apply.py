"""What becomes of the suspects of a run: `apply_decisions` carries out what a person decided in the report on
the data, in the form they came in; `write_tasks` hands them to Label Studio or FiftyOne, to be decided there.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graylearn.data.atomic import write_json, write_text
from graylearn.data.formats import FORMATS, NAMELESS, TABLES, Change, Origin, suffix_of
from graylearn.data.labels import are_near
from graylearn.data.read import read_file
from graylearn.data.samples import Samples
from graylearn.data.tables import ReadOptions
from graylearn.data.written import check_writable, writing
from graylearn.errors import CheckpointError, DataError, DataWarning, Hint, SettingsError, first_few, meant
from graylearn.paths import matching
from graylearn.report import decisions as tools
from graylearn.report.decisions import Decision
from graylearn.runs.folder import RunFolder, check_unchanged, options_of, other_images

Suspects = Literal["keep", "drop", "suggested"]
"""What happens to undecided suspects; `suggested` relabels them, or drops those that fit no class."""


def read_recorded(folder: RunFolder) -> pd.DataFrame:
    """The samples of a finished run by name, in the order of the source: `label` and `suggested` (another
    label of a suspect, missing where no class fits) as text, whether each is `held_out`, `suspected` and that
    for `sure`; `sha256` of the images of a folder, and the `group` of copies where they were looked for."""
    try:
        samples, audit = pq.read_table(folder.samples).to_pandas(), pq.read_table(folder.audit_parquet)
        recorded: pd.DataFrame = samples.set_index(samples.pop("id").astype(object))
        recorded["label"] = recorded["label"].astype("category")  # each text once, for millions of samples
        audited = np.flatnonzero(~recorded["held_out"])
        found = {name: np.zeros(len(recorded), dtype=bool) for name in ("suspected", "sure")}
        found["suspected"][audited] = audit["suspected"].to_numpy()
        found["sure"][audited] = found["suspected"][audited] & pc.equal(audit["level"], "sure").to_numpy()
        suggested = np.full(len(recorded), None, dtype=object)
        flagged = audit.filter(audit["suspected"])["suggested"].to_pylist()
        suggested[found["suspected"]] = [None if label is None else str(label) for label in flagged]
        if "group" in audit.column_names:
            recorded["group"] = pd.Series(audit["group"].to_pandas().to_numpy(), recorded.index[audited])
        return recorded.assign(**found, suggested=suggested)
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"the run in {folder.path} is damaged ({error}); make it anew") from error


def by_name(recorded: pd.DataFrame, decisions: list[Decision]) -> list[Decision]:
    """The decisions with the ids and class names of the run.

    A spreadsheet may have added blanks to a name, or decimals to a number, or taken away these or the zeros
    before it, and writes TRUE for True: that is the same sample or class where no other could be meant.
    """
    wanted = {decision.id for decision in decisions}
    known = wanted.intersection(recorded.index)
    alike: dict[str, list[str]] = {_bare(name): [] for name in wanted - known}
    for name in recorded.index if alike else ():
        if (bare := _bare(name)) in alike:
            alike[bare].append(name)
    classes: dict[str, list[str]] = {}
    for label in recorded["label"].cat.categories:
        classes.setdefault(_bare(label), []).append(label)

    def class_of(label: str | None) -> str | None:
        same = [] if label is None else classes.get(_bare(label), [])
        return same[0] if len(same) == 1 else label

    found: dict[str, Decision] = {}
    for decision in decisions:
        names = [decision.id] if decision.id in known else alike[_bare(decision.id)]
        if len(names) != 1:
            raise DataError(
                f"the decisions name the sample {decision.id!r}, which the run does not have: "
                "are they of another run?"
            )
        if names[0] in found:
            raise DataError(f"the decisions decide on {names[0]!r} a second time: keep one of them")
        found[names[0]] = replace(
            decision, id=names[0], label=class_of(decision.label), given=class_of(decision.given)
        )
    return list(found.values())


def _bare(name: str) -> str:
    """The name without surrounding blanks; numbers without leading zeros and decimals, bools in lowercase."""
    bare = name.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower()
    digits, _, rest = bare.removeprefix("-").partition(".")
    if rest.strip("0") or not (digits.isascii() and digits.isdigit()):
        return bare
    return f"{'-' * bare.startswith('-')}{digits.lstrip('0') or '0'}"


def plan(
    recorded: pd.DataFrame, decisions: list[Decision], suspects: Suspects, *, only_sure: bool = False
) -> Change:
    """Which samples stay, and which sample each takes its label from; `decisions` come from `by_name`."""
    labels = recorded["label"].astype(object)
    first = labels.reset_index(drop=True).drop_duplicates()
    bearer = dict(zip(first, first.index, strict=True))
    keep, new = pd.Series(True, labels.index), labels.copy()
    if suspects != "keep":
        rule = recorded["sure" if only_sure else "suspected"] & ~_decided(recorded, decisions)
        keep[rule if suspects == "drop" else rule & recorded["suggested"].isna()] = False
        new = new.mask(rule & keep, recorded["suggested"])
    for decision in decisions:
        if decision.decision == "drop":
            keep[decision.id] = False
        elif decision.decision == "relabel":
            label = str(decision.label)
            if label not in bearer:
                shown, close = first_few(list(map(repr, bearer))), meant(label, bearer)
                known = f"labels are {shown}" if close is None else f"did you mean {close!r}?"
                told = f"the decisions relabel {decision.id!r} to {label!r}, which is no class; {known}"
                raise DataError(told)
            new[decision.id] = label
    if not keep.any():
        raise DataError("nothing would be left: every sample is dropped")
    label_of = np.where(new == labels, np.arange(len(labels)), new.map(bearer))
    return Change(labels.index.tolist(), labels.tolist(), keep.tolist(), label_of.tolist())


def _decided(recorded: pd.DataFrame, decisions: list[Decision]) -> NDArray[np.bool_]:
    """(N,) whether a person decided on each sample."""
    return np.asarray(recorded.index.isin([decision.id for decision in decisions]))


def one_of_each(recorded: pd.DataFrame, decisions: list[Decision], change: Change) -> tuple[Change, int]:
    """(the change with one sample of each group of copies, how many groups are left as they are).

    Those that a person kept or relabelled all stay, and so do all of a group whose labels contradict, for
    nobody said which is right.
    """
    if "group" not in recorded:
        raise SettingsError(
            "the run did not look for copies, so that none can be dropped: make it anew",
            Hint("duplicates", "near", ""),
        )
    now = {"label": recorded["label"].to_numpy()[change.label_of], "free": ~_decided(recorded, decisions)}
    copies = recorded[["group", "suspected"]].assign(**now).reset_index(drop=True)
    copies = copies[copies["group"].notna() & np.array(change.keep)]
    contradicts = copies.groupby("group")["label"].transform("nunique") > 1
    rest = copies[~contradicts].sort_values(["free", "suspected"], kind="stable")
    keep = np.array(change.keep)
    keep[rest.index[rest["group"].duplicated() & rest["free"]]] = False
    return replace(change, keep=keep.tolist()), int(copies["group"][contradicts].nunique())


KIND = "cleaned dataset"
Copies = Literal["keep", "keep-one"]
"""What happens to copies."""
FEW = 6
"""Smallest class that is never mostly lost without asking; the loss of a smaller one is only reported."""


def apply_decisions(
    run: str | Path,
    decisions: str | Path | list[Decision] | None,
    out: str | Path,
    *,
    suspects: Suspects = "keep",
    only_sure: bool = False,
    duplicates: Copies = "keep",
    link: bool = False,
    overwrite: bool = False,
    data: str | Path | None = None,
    ask: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Write the cleaned dataset to `out`; gives how many samples were kept, dropped and relabelled.

    `decisions` are these, the CSV that the report downloads, or the JSON that Label Studio or FiftyOne
    exports of what `graylearn tasks` made; None decides nothing, so that `suspects` rules alone,
    over all of them or those that the audit is sure of (`only_sure`). `duplicates` "keep-one" drops all but
    one of each group of copies whose labels, as decided, agree: a person's decision stands, and else one that
    is not suspected stays.
    `link` makes hard links instead of copied images. `data` is where the audited data lie now, if they were
    moved. Where undecided suspects would take more than half of a class, `ask` is asked with what would be
    lost; without it, that is an error.
    """
    folder, target = RunFolder(run), Path(out)
    if only_sure and suspects == "keep":
        raise SettingsError("only_sure says which suspects are dropped or relabelled, but suspects is 'keep'")
    folder.check_finished()
    saved = folder.source()
    origin = saved.origin
    recorded = read_recorded(folder)
    given = (
        decisions
        if isinstance(decisions, list)
        else []
        if decisions is None
        else tools.decisions_in(decisions)
    )
    found = by_name(recorded, given)
    _check_same_run(found, recorded, folder.read_json(folder.summary).get("fingerprint"))
    undecided = ~_decided(recorded, found)
    change = plan(recorded, found, suspects, only_sure=only_sure)
    before, contradicting = sum(change.keep), 0
    if duplicates == "keep-one":
        change, contradicting = one_of_each(recorded, found, change)
    if suspects != "keep" or duplicates != "keep":
        _check_losses(change, ask)
    where = Path(origin.path if data is None else data)
    form = FORMATS[origin.form]
    _check_there(where)
    _check_form(target, where, origin)
    is_folder = where.is_dir() and suffix_of(target) not in TABLES
    check_writable(target, KIND, folder=is_folder, of=[where], overwrite=overwrite)
    if link and (origin.form != "folder" or target.suffix.lower() == ".csv"):
        what = "a manifest" if origin.form == "folder" else "none"
        raise SettingsError(f"link is for a folder of images, but out is {what}: leave one out")
    with (
        writing(target, KIND, folder=is_folder, of=[where], overwrite=overwrite) as partial,
        form.still(where),
    ):
        check_unchanged(where, origin.form, change.ids, recorded.get("sha256"), saved.fingerprint)
        note = form.rewrite(where, partial, origin, replace(change, link=link).with_rows(origin.left_out))
    kept = sum(change.keep)
    rows = [(index, row) for index, row in enumerate(change.label_of) if change.keep[index]]
    return {
        "out": str(target.absolute()),
        "note": note,
        "samples": len(change.keep),
        "kept": kept,
        "dropped": len(change.keep) - kept,
        "relabelled": sum(row != index for index, row in rows),
        "classes_gone": sorted(set(change.labels) - {change.labels[row] for _, row in rows}),
        "copies_dropped": before - kept,
        "groups_contradicting": contradicting,
        "decisions": len(found),
        "suspects": suspects,
        "undecided_suspects": int((recorded["suspected"] & undecided).sum()),
        "undecided_sure": int((recorded["sure"] & undecided).sum()) if only_sure else None,
        "not_audited": int((recorded["held_out"] & undecided).sum()),
        "left_out": len(origin.left_out),
        "images_left_out": other_images(where, change.ids) if origin.form == "folder" else [],
    }


def data_name(run: str | Path) -> str:
    """File name for the cleaned data of a run on standard output; folders are refused."""
    folder = RunFolder(run)
    folder.check_finished()
    origin = folder.source().origin
    path = Path(origin.path)
    if path.is_dir() or not path.suffix:
        raise SettingsError(f"{path} is a folder, which standard output cannot hold: name one with --out")
    endings = FORMATS[origin.form].endings(path)
    return path.name if suffix_of(path) in endings else f"{path.name}{endings[0]}"


def _check_same_run(decisions: list[Decision], recorded: pd.DataFrame, fingerprint: str | None) -> None:
    """Refuse decisions about samples of another run, which may have the same ids, such as line numbers."""
    for decision in decisions:
        if fingerprint is not None and decision.run is not None and decision.run.strip() != fingerprint:
            raise DataError(
                "the decisions were made in the report of another run; if you mean them, "
                "delete their column 'run'"
            )
        if decision.given is not None and decision.given != (label := recorded["label"][decision.id]):
            raise DataError(
                f"the decisions say that {decision.id!r} is labelled {decision.given!r}, but here it is "
                f"{label!r}: are they of another run?"
            )


def _check_losses(change: Change, ask: Callable[[str], bool] | None) -> None:
    """Ask before most of a class is lost to undecided suspects: the audit may misjudge that class."""
    labels = np.array(change.labels, dtype=object)
    new = labels[change.label_of]
    counts, left = Counter(change.labels), Counter(labels[np.array(change.keep) & (new == labels)])
    pairs = set(zip(labels, new, strict=True))
    misspelt = {label for label, now in pairs if now != label and are_near(label, now)}
    lost = [
        label
        for label, count in counts.items()
        if count >= FEW and 2 * left[label] < count and label not in misspelt
    ]
    if not lost:
        return
    worst = min(lost, key=lambda label: left[label] / counts[label])
    more = "1 more class" if len(lost) == 2 else f"{len(lost) - 1} more classes"
    others = f", and {more} would be left with less than half" if len(lost) > 1 else ""
    text = f"of {counts[worst]} samples labelled {worst!r} {left[worst]} would be left{others}"
    if ask is None:
        raise SettingsError(f"{text}: look at them in the report first;", Hint("yes", True, "to go on"))
    if not ask(text):
        raise SettingsError(f"{text}: nothing was written")


def _check_form(target: Path, data: Path, origin: Origin) -> None:
    form = FORMATS[origin.form]
    if form.may_become(data, target):
        return
    if form.takes_any_folder:
        raise SettingsError(
            f"{target} would be a folder, as {data.name} is: leave {target.suffix!r} out of its name, or "
            "let it end in '.csv' for a list of the images"
        )
    endings, own = form.endings(data), suffix_of(data)
    told = f"{own!r} too" if own in endings else " or ".join(map(repr, endings[:2]))
    raise SettingsError(f"{target} cannot hold what becomes of {data.name}: let its name end in {told}")


def _check_there(data: Path) -> None:
    """Refuse data that are no longer there."""
    if str(data) == NAMELESS:
        raise DataError(
            "the data were given from Python and are in no file: write them with save_to_disk;",
            Hint("data", None, "to say where"),
        )
    if not data.exists() and not matching(data):
        raise DataError(
            f"{data}, which was audited, does not exist any more;", Hint("data", None, "if it was moved")
        )


TASKS = "set of tasks"
Tool = Literal["label-studio", "fiftyone"]


def write_tasks(run: str | Path, out: str | Path, tool: Tool = "label-studio") -> dict[str, Any]:
    """Write the suspects for a labelling tool; returns how many there are.

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
        check_writable(each, TASKS, folder=tool == "fiftyone", of=of)
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
        with writing(target, TASKS, folder=True, of=of) as partial:
            write_json(partial / "metadata.json", tools.metadata(classes))
            write_json(partial / "samples.json", tools.samples(rows, run_of))
    else:
        interface = tools.interface(classes, origin.kind)
        with writing(beside, TASKS, of=of) as shown_by, writing(target, TASKS, of=of) as partial:
            write_json(partial, tools.tasks(rows, run_of))
            write_text(shown_by, interface + "\n")
    return {"tasks": len(rows), "out": str(target.absolute())}


def _looks(origin: Origin, options: ReadOptions, ids: list[str]) -> Callable[[int], dict[str, Any]]:
    """What a person is shown of each sample, by index."""
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
    """(N,) image paths: the ids, or a column of the table that lists the images."""
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
