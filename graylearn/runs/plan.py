"""What becomes of each sample of a run: a person's decisions, and rules for what nobody decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from graylearn.data.formats import Change
from graylearn.errors import CheckpointError, DataError, Hint, SettingsError, first_few, meant
from graylearn.report import Decision
from graylearn.runs.folder import RunFolder

Suspects = Literal["keep", "drop", "suggested"]
"""What becomes of an undecided suspect; `suggested` relabels it, or drops it where no class fits."""


@dataclass(frozen=True)
class Recorded:
    """The samples of a run, as its folder remembers them."""

    ids: list[str]
    """(N,) as text, in the order of the source."""
    labels: list[str]
    """(N,) as text."""
    hashes: list[str] | None
    """(N,) of the images of a folder."""
    suspects: dict[str, str | None]
    """What the audit suggests for each suspect: another label, or None where no class fits."""
    held_out: set[str]
    """Those that were held out to measure on, which nobody audited."""
    sure: set[str]
    """The suspects that the audit is sure of."""
    groups: dict[int, list[str]] | None = None
    """The samples of each group of copies; None where nobody looked for them."""


def read_recorded(folder: RunFolder) -> Recorded:
    """The samples and suspects of a finished run."""
    try:
        samples, audit = pq.read_table(folder.samples), pq.read_table(folder.audit_parquet)
        flagged = audit.filter(audit["suspected"]).to_pylist()
        coded = samples["label"].combine_chunks().dictionary_encode()
        texts = coded.dictionary.to_pylist()  # each once, for millions of samples share them
        return Recorded(
            ids=samples["id"].to_pylist(),
            labels=[texts[number] for number in coded.indices.to_numpy()],
            hashes=samples["sha256"].to_pylist() if "sha256" in samples.column_names else None,
            suspects={
                str(row["id"]): None if row["suggested"] is None else str(row["suggested"]) for row in flagged
            },
            held_out=set(samples.filter(samples["held_out"])["id"].to_pylist()),
            sure={str(row["id"]) for row in flagged if row["level"] == "sure"},
            groups=_groups(audit),
        )
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"the run in {folder.path} is damaged ({error}); make it anew") from error


def _groups(audit: pa.Table) -> dict[int, list[str]] | None:
    """The samples of each group of copies; runs that did not look for any have no such column."""
    if "group" not in audit.column_names:
        return None
    found: dict[int, list[str]] = {}
    for name, number in zip(audit["id"].to_pylist(), audit["group"].to_pylist(), strict=True):
        if number is not None:
            found.setdefault(int(number), []).append(str(name))
    return found


def by_name(recorded: Recorded, decisions: list[Decision]) -> list[Decision]:
    """The decisions under the names that the run has for their samples and classes.

    A spreadsheet may have added blanks to a name, or decimals to a number, or taken away these or the zeros
    before it, and writes TRUE for True: that is the same sample or class where no other could be meant.
    """
    wanted = {decision.id for decision in decisions}
    known = wanted.intersection(recorded.ids)
    alike: dict[str, list[str]] = {_bare(name): [] for name in wanted - known}
    for name in recorded.ids if alike else ():
        if (bare := _bare(name)) in alike:
            alike[bare].append(name)
    classes: dict[str, list[str]] = {}
    for label in set(recorded.labels):
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
    """Without blanks around it; a whole number without decimals and zeros before it, a bool in lower case."""
    bare = name.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower()
    digits, _, rest = bare.removeprefix("-").partition(".")
    if rest.strip("0") or not (digits.isascii() and digits.isdigit()):
        return bare
    return f"{'-' * bare.startswith('-')}{digits.lstrip('0') or '0'}"


def plan(
    recorded: Recorded, decisions: list[Decision], suspects: Suspects, *, only_sure: bool = False
) -> Change:
    """Which samples stay, and whose label each of them gets; the decisions are those of `by_name`."""
    asked = {decision.id for decision in decisions} | set(recorded.suspects)
    index_of = {name: index for index, name in enumerate(recorded.ids) if name in asked}
    bearer: dict[str, int] = {}
    for index, label in enumerate(recorded.labels):
        bearer.setdefault(label, index)
    keep = [True] * len(recorded.ids)
    label_of = list(range(len(recorded.ids)))

    def relabel(name: str, label: str) -> None:
        index = index_of[name]
        if recorded.labels[index] != label:
            label_of[index] = bearer[label]

    decided = {decision.id for decision in decisions}
    for name, suggested in recorded.suspects.items():
        if name in decided or suspects == "keep" or (only_sure and name not in recorded.sure):
            continue
        if suspects == "drop" or suggested is None:
            keep[index_of[name]] = False
        else:
            relabel(name, suggested)
    for decision in decisions:
        if decision.decision == "drop":
            keep[index_of[decision.id]] = False
        elif decision.decision == "relabel":
            label = str(decision.label)
            if label not in bearer:
                shown, close = first_few(list(map(repr, bearer))), meant(label, bearer)
                known = f"labels are {shown}" if close is None else f"did you mean {close!r}?"
                told = f"the decisions relabel {decision.id!r} to {label!r}, which is no class; {known}"
                raise DataError(told)
            relabel(decision.id, label)
    if not any(keep):
        raise DataError("nothing would be left: every sample is dropped")
    return Change(recorded.ids, recorded.labels, keep, label_of)


def one_of_each(recorded: Recorded, decisions: list[Decision], change: Change) -> tuple[Change, int]:
    """(the change with one sample of each group of copies, how many groups are left as they are).

    Those that a person kept or relabelled all stay, and so do all of a group whose labels contradict, for
    nobody said which is right.
    """
    if recorded.groups is None:
        raise SettingsError(
            "the run did not look for copies, so that none can be dropped: make it anew",
            Hint("duplicates", "near", ""),
        )
    index_of = {name: index for index, name in enumerate(recorded.ids)}
    decided = {decision.id for decision in decisions}
    keep, contradicting = list(change.keep), 0
    for names in recorded.groups.values():
        members = [index_of[name] for name in names if change.keep[index_of[name]]]
        if len({recorded.labels[change.label_of[index]] for index in members}) > 1:
            contradicting += 1
            continue
        ids = recorded.ids
        best = sorted(members, key=lambda at: (ids[at] not in decided, ids[at] in recorded.suspects, at))
        for index in best[1:]:
            keep[index] = ids[index] in decided
    return replace(change, keep=keep), contradicting
