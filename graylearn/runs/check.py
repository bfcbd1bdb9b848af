"""`check`: a gate for builds. What is suspected, what of it was accepted before, is the rest too much.

A suspect is known again by what it is and how it is labelled, not by its line: rows may move.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import graylearn
from graylearn.audit.judge import shipped
from graylearn.audit.kinds import KINDS, LEVELS
from graylearn.data.atomic import check_place
from graylearn.data.formats import file_fingerprint
from graylearn.data.remote import local
from graylearn.data.samples import Samples
from graylearn.data.written import writing
from graylearn.errors import CheckpointError, SettingsError, counted
from graylearn.paths import matching
from graylearn.runs.files import write_json
from graylearn.runs.parts import Opened
from graylearn.runs.pool import as_bytes
from graylearn.runs.prepare import Prepared, read_test
from graylearn.runs.progress import RunProgress
from graylearn.runs.settings import RunSettings
from graylearn.runs.start import find, take
from graylearn.runs.verdicts import Found

KIND, FORMAT = "file of accepted suspects", "graylearn accepted suspects"
WORDS = {
    "mislabelled": "looks like another class than its label says",
    "ood": "seems to belong to no class",
    "contradicting": "is a copy of a sample with another label",
    "leaked": "stands in the test set as well",
    "picture": "is a picture that shows little",
    "copy": "is a copy of a sample with the same label",
}
"""What each kind of finding says of a sample."""
NAMES = {
    "contradicting": "copies with another label",
    "leaked": "in the test set as well",
    "picture": "pictures that show little",
    "copy": "copies with the same label",
}
"""The same, where findings are counted and the kind alone would not tell."""
FOUND = tuple(kind for kind in WORDS if kind != "copy")
"""Those that are looked for without being asked: equal samples of one class may well be meant."""


@dataclass(frozen=True)
class Problem:
    """One sample that something is wrong with."""

    key: str
    """What the sample is known again by."""
    kind: str
    """One of WORDS."""
    id: str
    """What the data call it."""
    line: int | None
    """Where it stands in the file, where that is known."""
    label: str
    """As it is given."""
    suggested: str | None
    """Another label that would fit; of a picture, what is odd about it."""
    level: str
    """`sure` or `review`."""
    is_new: bool = True
    """Whether it was not accepted before."""

    @property
    def known_by(self) -> str:
        """What it was accepted by: the sample, and what is wrong with it."""
        return f"{self.kind}:{self.key}"

    @property
    def words(self) -> str:
        """For people."""
        which = self.id if self.line is None else f"line {self.line}"
        told = f"{which}, labelled {self.label!r}, {WORDS[self.kind]}"
        return told + (f": {self.suggested!r}" if self.suggested else "")


@dataclass(frozen=True)
class Checked:
    """What a check found."""

    data: str
    """The file."""
    samples: int
    """How many it holds."""
    problems: tuple[Problem, ...]
    """The new ones first."""
    gone: int = 0
    """Accepted ones that are no longer there."""
    allowed: int = 0
    """New suspects that may be: samples, whatever is wrong with each."""
    kinds: tuple[str, ...] = FOUND
    """What was looked for."""
    notes: tuple[str, ...] = ()
    """What the audit could not judge, and why: what passes may only not have been told."""
    data_notes: tuple[str, ...] = ()
    """What reading the data told."""

    @property
    def new(self) -> list[Problem]:
        """Those that were not accepted before."""
        return [each for each in self.problems if each.is_new]

    @property
    def passes(self) -> bool:
        """Whether no more samples are new suspects than may be."""
        return len(_samples(self.new)) <= self.allowed

    @property
    def words(self) -> str:
        """For people, in one sentence."""
        known = [each for each in self.problems if not each.is_new]
        told = f"{self.data} {'passes' if self.passes else 'fails'}: {_tally(self.new, 'new suspect')} in "
        told += f"{self.samples:,} samples ({self.allowed:,} allowed)"
        told += f", {_tally(known, 'accepted one')}" if known else ""
        return told + (f", {counted(self.gone, 'accepted finding')} no longer there" if self.gone else "")


def _samples(problems: Sequence[Problem]) -> set[str]:
    """The samples that something is wrong with."""
    return {each.id for each in problems}


def _tally(problems: Sequence[Problem], noun: str) -> str:
    """How many samples there are, and what is wrong with them."""
    count, kinds = len(_samples(problems)), Counter(each.kind for each in problems)
    told = ", ".join(f"{kinds[kind]:,} {NAMES.get(kind, kind)}" for kind in WORDS if kinds[kind])
    if len(problems) > count:
        told += "; some are more than one of these"
    return counted(count, noun) + (f" ({told})" if told else "")


def check(
    settings: RunSettings,
    *,
    against: str | Path | None = None,
    max_suspects: str = "0",
    copies: bool = False,
    cache: str | Path | None = None,
    progress: RunProgress | None = None,
) -> Checked:
    """Audit the data of `settings` and compare with the suspects that the file `against` accepts.

    Args:
        settings: what to audit, and how.
        against: a file of suspects that are known and accepted.
        max_suspects: how many samples may be new suspects, a number or a share such as `2%`.
        copies: whether those with the same label are problems too, all but one of a group.
        cache: a folder that keeps features and verdicts, so that data that did not change are not audited
            again; of images that a table lists, features alone.
        progress: who is told how far it is.
    """
    progress = progress or RunProgress()
    allowed_of(max_suspects, 0)  # a wrong one is told before the audit
    accepted = _accepted(against)
    kept = None if cache is None else Path(cache) / f"{fingerprint(settings)}.json"
    if (found := _kept(kept)) is not None:
        progress.say(f"{settings.data} did not change since it was audited")
        for note in found.data_notes:
            progress.note(note)
    else:
        if kept is not None:
            check_place(kept)
        with progress.of_warnings(), TemporaryDirectory() as folder:
            data = take(replace(settings, test=None), Path(cache or folder), progress)
            if settings.test is not None:
                test = read_test(settings, data.encoding.size, data.origin)
                data = replace(data, shown_test=test)
            judged = find(data, Path(folder), progress)
        problems = _problems(data, judged)
        found = Checked(
            settings.data,
            judged.samples,
            problems,
            notes=tuple(judged.notes),
            data_notes=tuple(progress.notes),
        )
        if kept is not None and data.origin.columns.path is None:  # images change, their table does not
            write_json(kept, asdict(found))
    kinds = tuple(WORDS) if copies else FOUND
    problems = tuple(
        replace(each, is_new=each.known_by not in accepted) for each in found.problems if each.kind in kinds
    )
    return replace(
        found,
        problems=tuple(sorted(problems, key=lambda each: not each.is_new)),
        gone=len(accepted - {each.known_by for each in problems}),
        allowed=allowed_of(max_suspects, found.samples),
        kinds=kinds,
    )


def accept(checked: Checked, path: str | Path, of: Iterable[str] = ()) -> Checked:
    """Write all that was found to a file that further checks are compared with; gives it with nothing new.

    of: the paths of what was checked.
    """
    _accepted(path)  # another file than one of accepted suspects stays
    known = sorted({each.known_by for each in checked.problems})
    with writing(path, KIND, of=of, update=True) as partial:
        write_json(partial, {"format": FORMAT, "judge": shipped().id, "accepted": known})
    problems = tuple(replace(each, is_new=False) for each in checked.problems)
    return replace(checked, problems=problems)


def allowed_of(text: str, samples: int) -> int:
    """How many of so many samples `2%` or `10` allows."""
    try:
        value = float(text.strip().removesuffix("%"))
        is_share = text.strip().endswith("%")
        if not 0 <= value <= (100 if is_share else sys.maxsize) or (value % 1 and not is_share):
            raise ValueError
    except ValueError:
        expected = "a whole number or a share, such as 10 or 2%"
        raise SettingsError.wrong("max_suspects", text, expected) from None
    # a hair more, for .29 * 100 is 28.999999999999996
    return int(value / 100 * samples + 1e-9) if is_share else int(value)


def _accepted(path: str | Path | None) -> set[str]:
    if path is None or not Path(path).exists():
        return set()
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        if saved["format"] != FORMAT:
            raise KeyError("format")
        accepted, judge = set(saved["accepted"]), saved["judge"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} does not hold accepted suspects ({error}): make it with --accept"
        ) from error
    if judge != shipped().id:
        raise CheckpointError(
            f"the suspects in {path} were accepted of another judge ({judge}, this one is {shipped().id}), "
            "which flags others: look at what it finds, and accept that with --accept into a new file"
        )
    return accepted


def fingerprint(settings: RunSettings) -> str:
    """Of the data and all that decides what is found in them."""
    parts = [graylearn.__version__, shipped().id, repr(settings)]
    for name in (settings.data, settings.test):
        if name:
            path = local(name)
            files = [path] if path.is_file() else matching(path)
            if path.is_dir():
                files = sorted(each for each in path.rglob("*") if each.is_file())
            parts.extend(f"{file}\0{json.dumps(file_fingerprint(file))}" for file in files)
    return hashlib.sha256("\n".join(parts).encode(errors="backslashreplace")).hexdigest()[:32]


def _kept(path: Path | None) -> Checked | None:
    """What the cache has; None where it has nothing, or something that is damaged or of another version."""
    try:
        saved = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
        return Checked(**{**saved, "problems": tuple(Problem(**each) for each in saved["problems"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _problems(data: Prepared | Opened, found: Found) -> tuple[Problem, ...]:
    """What is wrong with which sample, kind by kind."""
    wrong: dict[int, list[tuple[str, str | None, str]]] = {}
    for words, indices in found.pictures.items():
        for index in indices:
            wrong.setdefault(index, []).append(("picture", words, "review"))
    copies = found.copies
    for number, members in enumerate(() if copies is None else copies.groups):
        assert copies is not None
        ours = members[members < copies.count].tolist()
        kinds = {"contradicting": ours} if copies.contradicting[number] else {"copy": ours[1:]}
        kinds["leaked"] = ours if len(ours) < len(members) else []
        for kind, indices in kinds.items():
            for index in indices:
                wrong.setdefault(index, []).append((kind, None, "sure"))
    columns = data.origin.columns
    by_line = data.origin.unit == "line" and columns.id is None and columns.path is None
    problems, begin = [], 0
    for block in found.blocks():
        samples, audited = block.samples.take(~block.held_out), block.found
        for index in np.flatnonzero(audited["suspected"]).tolist():
            other, kind = int(audited["suggested"][index]), KINDS[audited["kind"][index]]
            suggested = str(found.classes[other]) if other >= 0 else None
            wrong.setdefault(begin + index, []).append((kind, suggested, LEVELS[audited["level"][index]]))
        own = np.array(sorted(index - begin for index in wrong if begin <= index < begin + len(samples)), int)
        hashes = None if block.hashes is None else np.array(block.hashes)[~block.held_out][own]
        some = samples.take(own)
        for at, key, name, y in zip(own.tolist(), _keys(some, hashes), some.ids, some.y, strict=True):
            label, line = str(some.classes[y]), int(name) if by_line else None
            problems += [
                Problem(key, kind, str(name), line, label, suggested, level)
                for kind, suggested, level in wrong.pop(begin + at)
            ]
        begin += len(samples)
    return tuple(sorted(problems, key=lambda each: list(WORDS).index(each.kind)))


def _keys(samples: Samples, hashes: Iterable[Any] | None) -> list[str]:
    """(N,) what each sample is known again by: what it is, and its label."""
    if hashes is not None:
        content = [str(each) for each in hashes]
    elif isinstance(samples.x, pd.DataFrame):
        content = [f"{each:016x}" for each in pd.util.hash_pandas_object(samples.x, index=False)]
    else:
        content = [hashlib.sha256(as_bytes(each)).hexdigest() for each in samples.x]
    joined = (f"{one}\0{samples.classes[y]}" for one, y in zip(content, samples.y, strict=True))
    return [hashlib.sha256(each.encode(errors="surrogatepass")).hexdigest()[:24] for each in joined]
