"""What a check tells other programs: JSON, JUnit XML, SARIF, and Markdown for a build's page."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import graylearn
from graylearn.data.atomic import write_text
from graylearn.data.written import writing
from graylearn.errors import LONGEST
from graylearn.estimator.card import plain
from graylearn.runs.check import WORDS, Checked, Problem

JUNIT, SARIF = "JUnit report", "SARIF log"
"""The files, as the commands know them again."""
SHOWN = 50
"""New suspects that the summary lists; the others are counted."""


def in_json(checked: Checked) -> dict[str, Any]:
    """All that was found, as values that `json` writes."""
    names = ("samples", "allowed", "gone", "problems", "notes", "data_notes")
    found = dataclasses.asdict(checked)
    return {"passes": checked.passes} | {name: found[name] for name in names}


def junit(checked: Checked) -> str:
    """One test a kind of finding; those with new ones fail where the check does.

    All that the schema of Ant's JUnit reports asks for is there, also what a check has nothing to say of.
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
    """A SARIF log of version 2.1.0, which code hosts show beside the lines of the file."""
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
    """For GITHUB_STEP_SUMMARY: the verdict, and what is new."""
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
    """JUNIT and SARIF, each to its file; those without one are left out. of: what was checked."""
    for kind, path in files.items():
        if path is not None:
            with writing(path, kind, of=of) as partial:
                write_text(partial, junit(checked) if kind == JUNIT else sarif(checked))


def _text(text: str) -> str:
    """Text as it is, in which nothing is a link, a picture or the name of somebody to be told."""
    return plain(text, LONGEST).replace("&#64;", "<code>&#64;</code>")  # in code alone nobody is called


def _printable(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text
    )
