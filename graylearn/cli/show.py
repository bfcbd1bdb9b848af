"""Summaries for people: what a run found and measured, as tables on standard output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graylearn.errors import counted, first_few, one_line, shortened

MEANING = {
    "ok": "not flagged",
    "mislabelled": "mislabelled: looks like another class",
    "ood": "belongs to no class",
}
"""What is found, for somebody who reads the words for the first time."""
KIND_WORDS = {"ood": MEANING["ood"]}

BECAME = {"keep": "kept as they were", "drop": "dropped", "suggested": "relabelled or dropped as suggested"}
"""What becomes of suspects that nobody decided on, by --suspects."""


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `said`, which ends with 0; rich would end with 1."""
        raise BrokenPipeError


def console(width: int = 120) -> Console:
    """Standard output; a pipe has no width, so tables are given one."""
    found = _Output(highlight=False)
    return found if found.is_terminal else _Output(width=width, highlight=False)


def _table(words: Sequence[str], numbers: Sequence[str], title: str | None = None) -> Table:
    """An empty table: columns of words, then columns of numbers."""
    table = Table(title=title)
    for name in words:
        table.add_column(Text(one_line(name)), overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _say(out: Console, line: str, style: str | None = None) -> None:
    """One line, whatever is in it."""
    out.print(one_line(line), markup=False, soft_wrap=True, style=style)


def show_run(summary: dict[str, Any], *, with_data_notes: bool = False) -> None:
    """What a run found, what it measured, and where to look next; if asked what reading the data told."""
    # torch comes with it, which other commands need not
    from graylearn.audit.kinds import classes_in_words, share_in_words, shown_shares

    out, shares = console(), shown_shares(summary["found"])
    classes = classes_in_words(summary["classes"], summary["misspelt"])
    _say(out, f"{Path(summary['data']).name}: {summary['samples']:,} samples, {classes}", style="bold")
    table = _table(["found"], ["samples", "share", "estimated"])
    for kind, count in summary["found"].items():
        part = summary["contamination"].get(kind, ...)
        estimated = "" if part is ... else share_in_words(part)
        table.add_row(MEANING.get(kind, kind), f"{count:,}", f"{shares[kind]:.1%}", estimated)
    out.print(table)
    if flagged := summary["suspected"]:
        sure = summary["sure"]
        _say(out, f"{counted(flagged, 'suspect')}: {sure:,} sure, {flagged - sure:,} for review")
    if (ends := summary["ranges"].get("total")) is not None:
        _say(out, f"estimated in all: {share_in_words(summary['contamination']['total'], ends)}")
    for note in [*summary["notes"], *(summary["data_notes"] if with_data_notes else ())]:
        _say(out, note)
    known = [(summary["id_word"], "id"), ("label", "label")]
    worst = [{**row, "action": _action(row)} for row in summary["worst"]]
    suspected = [*known, ("kind", "kind"), ("suggested", "action")]
    title = f"the {len(worst)} strongest of {flagged:,} suspects" if flagged > len(worst) else "the suspects"
    _show_samples(out, worst, suspected, title)
    likeliest = [*known, ("likeliest class", "resembles")]
    _show_samples(out, summary.get("first", []), likeliest, "first by score, none of them flagged")
    if summary["test"]:
        title = f"measured on {counted(summary['test_samples'], 'sample')}"
        table = _table(["way of learning"], ["accuracy %", "calibration error %"], title)
        for way, values in summary["test"].items():
            table.add_row(way, f"{100 * values['accuracy']:.1f}", f"{100 * values['ece']:.1f}")
        out.print(table)
    lines = [f"report  {_near(summary['report'])}", f"audit   {_near(summary['run'] + '/audit.csv')}"]
    if summary["model"]:
        lines.append(f"model   {_near(summary['model'])}")
    if summary["worst"]:
        lines.append(f"next    open the report and decide, then {summary['next']}")
    elif summary.get("look_first"):
        many = "" if summary["look_first"] == 1 else f" {summary['look_first']}"
        lines.append(f"next    open the report and look at the first{many} by score, at its top")
    for line in lines:
        _say(out, line)


def _action(row: dict[str, Any]) -> str:
    """What to do with a suspect; of what belongs to no class, also the class that it resembles most."""
    return f"drop, or {row['resembles']}" if row["kind"] == "ood" else f"relabel: {row['resembles']}"


def _show_samples(
    out: Console, rows: list[dict[str, Any]], columns: list[tuple[str, str]], title: str
) -> None:
    """Samples with their scores; columns: the heading of each, and what a row calls it."""
    if not rows:
        return
    table = _table([heading for heading, _ in columns], ["score"], title)
    for row in rows:
        words = [one_line(KIND_WORDS.get(row[name], row[name])) for _, name in columns]
        words[1:] = map(shortened, words[1:])  # of an id, which may be copied, all
        table.add_row(*map(Text, words), f"{row['score']:.3f}")
    out.print(table)


def _near(path: str) -> str:
    """The path as seen from here, where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(path) else path


def show_predictions(answered: dict[str, Any], out: Path) -> None:
    """How many samples were given each class, and how many none."""
    printed = console()
    table = _table(["class"], ["samples"], counted(answered["samples"], "sample"))
    largest = answered["classes"].most_common()
    for name, count in largest[:20]:
        table.add_row(Text(one_line(str(name))), f"{count:,}")
    if len(largest) > 20:
        table.add_row(f"{len(largest) - 20} more", f"{sum(count for _, count in largest[20:]):,}")
    if answered["none_of_these"] is not None:
        table.add_row(Text("none of these", style="italic"), f"{answered['none_of_these']:,}")
    printed.print(table)
    _say(printed, f"written to {out}")


def show_applied(summary: dict[str, Any]) -> None:
    """What became of a dataset."""
    printed = console()
    table = _table(["samples"], [""], "the cleaned dataset")
    for name in ("kept", "relabelled", "dropped"):
        words = "of them relabelled" if name == "relabelled" else name
        table.add_row(words, f"{summary[name]:,}")
    if summary["copies_dropped"]:
        table.add_row("of them copies", f"{summary['copies_dropped']:,}")
    printed.print(table)
    lines = []
    if gone := summary["classes_gone"]:
        lines.append(f"no sample is labelled {first_few([repr(name) for name in gone], 5)} any more")
    if count := summary["groups_contradicting"]:
        bear, stay = ("bears", "stays") if count == 1 else ("bear", "stay")
        left = f"{counted(count, 'group')} of copies {bear} different labels and {stay}"
        lines.append(f"{left}: decide in the report which label is right")
    if summary["undecided_suspects"]:
        all_of_them, sure = summary["undecided_suspects"], summary["undecided_sure"]
        done = BECAME[summary["suspects"] if sure != 0 else "keep"]
        if sure == 0:
            done += ", for the audit is sure of none"
        elif sure not in (None, all_of_them):
            done += f" where the audit is sure ({sure:,}), the others kept: judge them in the report"
        lines.append(f"{counted(all_of_them, 'suspect')} without a decision: {done}")
    if count := summary["not_audited"]:
        told = f"{counted(count, 'sample')} held out to measure on were not audited"
        lines.append(f"{told}, and are in it as they were")
    if count := summary["left_out"]:
        told = f"{counted(count, 'row')} left out of the audit"
        lines.append(f"{told}: kept {'as it was' if count == 1 else 'as they were'}")
    if images := summary["images_left_out"]:
        told = f"{counted(len(images), 'image')} that could not be read, or came since"
        lines.append(f"{told}: not audited, not in it ({first_few(images, 5)})")
    if summary["note"] is not None:
        lines.append(summary["note"])
    for line in (*lines, f"written to {_near(summary['out'])}"):
        _say(printed, line)
