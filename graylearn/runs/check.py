"""`check`: a gate for builds that fails if there are more new suspects than allowed.

Accepted suspects are recognised by content and label, not by line, so rows may move. Results are written as
JSON, JUnit XML and SARIF for other programs, and as Markdown for the page of a build.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pandas as pd

import graylearn
from graylearn.audit.judge import shipped
from graylearn.audit.kinds import KINDS, LEVELS
from graylearn.data.atomic import check_place, write_json, write_text
from graylearn.data.embed import as_bytes
from graylearn.data.formats import file_fingerprint
from graylearn.data.remote import local
from graylearn.data.samples import Samples
from graylearn.data.written import writing
from graylearn.errors import LONGEST, CheckpointError, SettingsError, counted
from graylearn.estimator.saving import as_text
from graylearn.runs.find import find
from graylearn.runs.prepare import Prepared, files_of, prepare
from graylearn.runs.progress import RunProgress
from graylearn.runs.results import Found
from graylearn.runs.settings import RunSettings

KIND, FORMAT = "file of accepted suspects", "graylearn accepted suspects"
WORDS = {
    "mislabelled": "looks like another class",
    "ood": "seems to belong to no class",
    "contradicting": "is a copy of a sample with another label",
    "leaked": "stands in the test set as well",
    "picture": "is a picture that shows little",
    "copy": "is a copy of a sample with the same label",
}
"""What each kind of finding says of a sample."""
NAMES = {
    "ood": "belonging to no class",
    "contradicting": "copies with another label",
    "leaked": "in the test set as well",
    "picture": "pictures that show little",
    "copy": "copies with the same label",
}
"""Names of the kinds in counts, if the kind alone would not be clear."""
FOUND = tuple(kind for kind in WORDS if kind != "copy")
"""Kinds that always count; copies with the same label may be intended, so they count only if asked for."""


@dataclass(frozen=True)
class Problem:
    """One finding about one sample."""

    key: str
    """Identifies the sample by content and label."""
    kind: str
    """One of WORDS."""
    id: str
    """Its id in the data."""
    line: int | None
    """Its line in the file, if known."""
    label: str
    """Its given label."""
    suggested: str | None
    """Another label that would fit; for a picture, what is odd about it."""
    level: str
    """`sure` or `review`."""
    is_new: bool = True
    """Whether it was not accepted before."""

    @property
    def known_by(self) -> str:
        """Key under which it is accepted: the kind and the sample."""
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
    """Number of samples."""
    problems: tuple[Problem, ...]
    """The new ones first."""
    gone: int = 0
    """Number of accepted findings that are no longer there."""
    allowed: int = 0
    """Number of samples that may be new suspects."""
    kinds: tuple[str, ...] = FOUND
    """The kinds that count."""
    notes: tuple[str, ...] = ()
    """Notes of the audit, such as what it could not judge."""
    data_notes: tuple[str, ...] = ()
    """Notes from reading the data."""

    @property
    def new(self) -> list[Problem]:
        """Findings that were not accepted before."""
        return [each for each in self.problems if each.is_new]

    @property
    def passes(self) -> bool:
        """Whether the number of new suspects is allowed."""
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
    """Ids of the samples with findings."""
    return {each.id for each in problems}


def _tally(problems: Sequence[Problem], noun: str) -> str:
    """The number of samples with findings, and of each kind, in words."""
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
            data = prepare(replace(settings, command="audit"), Path(cache or folder), progress)
            judged = find(data, Path(folder), progress)
        problems = _problems(data, judged)
        found = Checked(
            settings.data,
            judged.samples,
            problems,
            notes=judged.fitted.audit.notes,
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
    """Write all findings to a file that later checks compare with; returns them as accepted.

    of: the paths of what was checked.
    """
    _accepted(path)  # another file than one of accepted suspects stays
    known = sorted({each.known_by for each in checked.problems})
    with writing(path, KIND, of=of, update=True) as partial:
        write_json(partial, {"format": FORMAT, "judge": shipped().id, "accepted": known})
    problems = tuple(replace(each, is_new=False) for each in checked.problems)
    return replace(checked, problems=problems)


def allowed_of(text: str, samples: int) -> int:
    """The number of samples that `2%` or `10` allows."""
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
    """Digest of the data and of everything that decides the findings."""
    parts = [graylearn.__version__, shipped().id, repr(settings)]
    for name in (settings.data, settings.test):
        if name:
            parts.extend(f"{file}\0{json.dumps(file_fingerprint(file))}" for file in files_of(local(name)))
    return hashlib.sha256("\n".join(parts).encode(errors="backslashreplace")).hexdigest()[:32]


def _kept(path: Path | None) -> Checked | None:
    """The cached result; None if there is none, or if it is damaged or of another version."""
    try:
        saved = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
        return Checked(**{**saved, "problems": tuple(Problem(**each) for each in saved["problems"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _problems(data: Prepared, found: Found) -> tuple[Problem, ...]:
    """All findings, ordered by kind."""
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
    """(N,) a key of each sample, from content and label."""
    if hashes is not None:
        content = [str(each) for each in hashes]
    elif isinstance(samples.x, pd.DataFrame):
        content = [f"{each:016x}" for each in pd.util.hash_pandas_object(samples.x, index=False)]
    else:
        content = [hashlib.sha256(as_bytes(each)).hexdigest() for each in samples.x]
    joined = (f"{one}\0{samples.classes[y]}" for one, y in zip(content, samples.y, strict=True))
    return [hashlib.sha256(each.encode(errors="surrogatepass")).hexdigest()[:24] for each in joined]


JUNIT, SARIF = "JUnit report", "SARIF log"
"""Kinds of the files in the ledger of what was written."""
SHOWN = 50
"""New suspects listed in the summary; the others are counted."""


def in_json(checked: Checked) -> dict[str, Any]:
    """All findings as values for JSON."""
    names = ("samples", "allowed", "gone", "problems", "notes", "data_notes")
    found = dataclasses.asdict(checked)
    return {"passes": checked.passes} | {name: found[name] for name in names}


def junit(checked: Checked) -> str:
    """One test per kind of finding; those with new findings fail if the check does.

    Everything that the schema of Ant's JUnit reports requires is there, even if a check has nothing to say.
    """
    counts = dict.fromkeys(("errors", "skipped", "time", "id"), "0")
    suite = ElementTree.Element(
        "testsuite",
        counts,
        name=_printable(f"graylearn check {Path(checked.data).name}"),
        tests=str(len(checked.kinds)),
        package="graylearn",
        hostname="localhost",
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
    )
    ElementTree.SubElement(suite, "properties")
    let: list[str] = []
    for kind in checked.kinds:
        named = {"classname": "graylearn.check", "name": f"no sample {WORDS[kind]}", "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", named)
        new = [each.words for each in checked.new if each.kind == kind]
        if checked.passes:
            let += new
        elif new:
            failed = {"message": f"{len(new)} new: {WORDS[kind]}", "type": kind}
            ElementTree.SubElement(case, "failure", failed).text = _printable("\n".join(new))
    suite.set("failures", str(len(suite.findall("*/failure"))))
    ElementTree.SubElement(suite, "system-out").text = _printable("\n".join(let))
    ElementTree.SubElement(suite, "system-err")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def sarif(checked: Checked) -> str:
    """A SARIF 2.1.0 log, which code hosts show beside the lines of the file."""
    rules = [{"id": kind, "shortDescription": {"text": f"A sample {words}"}} for kind, words in WORDS.items()]
    driver = {"name": "graylearn", "version": graylearn.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(each, checked) for each in checked.problems]}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _result(problem: Problem, checked: Checked) -> dict[str, Any]:
    level = "note" if not problem.is_new else "warning" if checked.passes else "error"
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem, checked)}}
    if problem.line is not None:
        place["region"] = {"startLine": problem.line}
    return {
        "ruleId": problem.kind,
        "ruleIndex": list(WORDS).index(problem.kind),
        "level": level,
        "message": {"text": problem.words},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"graylearn/v1": problem.known_by},
        "baselineState": "new" if problem.is_new else "unchanged",
    }


def _uri(problem: Problem, checked: Checked) -> str:
    path = Path(checked.data)
    if path.is_dir() and (path / problem.id).exists():
        path = path / problem.id
    near = path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path
    return quote(near.as_posix())


def markdown(checked: Checked) -> str:
    """Markdown for GITHUB_STEP_SUMMARY: the verdict, and what is new."""
    mark = "✅" if checked.passes else "❌"
    lines = [f"### {mark} graylearn check", "", _text(checked.words), ""]
    notes = (*checked.notes, *checked.data_notes)
    lines += [f"- {_text(note)}" for note in notes] + [""] * bool(notes)
    if checked.new:
        lines += ["| sample | label | finding | would fit | |", "|---|---|---|---|---|"]
        lines += [
            f"| {_text(each.id)} | {_text(each.label)} | {each.kind} | {_text(each.suggested or '')} "
            f"| {each.level} |"
            for each in checked.new[:SHOWN]
        ]
        if len(checked.new) > SHOWN:
            lines.append(f"\nand {len(checked.new) - SHOWN:,} more")
    return "\n".join(lines) + "\n"


def write(checked: Checked, files: Mapping[str, Path | None], of: Iterable[str]) -> None:
    """Write JUNIT and SARIF, each to its file unless that is None. of: paths of what was checked."""
    for kind, path in files.items():
        if path is not None:
            with writing(path, kind, of=of) as partial:
                write_text(partial, junit(checked) if kind == JUNIT else sarif(checked))


def _text(text: str) -> str:
    """Text in which nothing is a link, a picture or a mention."""
    return as_text(text, LONGEST).replace("&#64;", "<code>&#64;</code>")  # in code alone nobody is called


def _printable(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text
    )
