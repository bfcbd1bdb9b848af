"""Summaries for people: what a run found and measured, as tables on standard output."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graylearn.cli.errors import plain


def console() -> Console:
    """Standard output; a pipe has no width, so tables are given one."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(width=120, highlight=False)


MEANING = {"mislabelled": "mislabelled: looks like another class", "ood": "ood: looks like no class"}
"""What is found, for somebody who reads the words for the first time."""


def show_run(summary: dict[str, Any]) -> None:
    """What a run found, what it measured, and where to look next."""
    out = console()
    total = summary["samples"]
    heading = f"{Path(summary['data']).name}: {total:,} samples, {summary['classes']} classes"
    out.print(plain(heading), markup=False, soft_wrap=True, style="bold")
    table = Table()
    for name, justify in (
        ("found", "left"),
        ("samples", "right"),
        ("share", "right"),
        ("estimated", "right"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for kind, count in summary["found"].items():
        estimate = summary["contamination"].get(kind)
        table.add_row(
            MEANING.get(kind, kind),
            f"{count:,}",
            f"{count / total:.1%}",
            "" if estimate is None else f"{estimate:.1%}",
        )
    out.print(table)
    for note in summary["notes"]:
        out.print(plain(note), markup=False, soft_wrap=True)
    _show_worst(out, summary["worst"], summary["id_word"])
    if summary["test"]:
        table = Table(title=f"measured on {summary['test_samples']:,} samples")
        for name, justify in (
            ("way of learning", "left"),
            ("accuracy %", "right"),
            ("calibration error %", "right"),
        ):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        for way, values in summary["test"].items():
            table.add_row(way, f"{100 * values['accuracy']:.1f}", f"{100 * values['ece']:.1f}")
        out.print(table)
    lines = [f"report  {_near(summary['report'])}", f"audit   {_near(summary['run'] + '/audit.csv')}"]
    if summary["model"]:
        lines.append(f"model   {_near(summary['model'])}")
    if summary["worst"]:
        lines.append(f"next    open the report and decide, then {summary['next']}")
    for line in lines:
        out.print(plain(line), markup=False, soft_wrap=True)


def _show_worst(out: Console, worst: list[dict[str, Any]], id_word: str) -> None:
    if not worst:
        return
    table = Table(title="the strongest suspects")
    for name in (id_word, "label", "kind", "looks like"):
        table.add_column(name, overflow="fold")
    table.add_column("score", justify="right")
    for row in worst:
        words = (row["id"], row["label"], row["kind"], row["suggested"] or "")
        table.add_row(*(Text(plain(word)) for word in words), f"{row['score']:.3f}")
    out.print(table)


def _near(path: str) -> str:
    """The path as seen from here, where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(path) else path


def show_predictions(rows: int, counts: Counter[Any], rejected: int | None, out: Path) -> None:
    """How many samples were given each class, and how many none."""
    printed = console()
    table = Table(title=f"{rows:,} samples")
    table.add_column("class")
    table.add_column("samples", justify="right")
    largest = counts.most_common()
    for name, count in largest[:20]:
        table.add_row(Text(plain(str(name))), f"{count:,}")
    if len(largest) > 20:
        table.add_row(f"{len(largest) - 20} more", f"{sum(count for _, count in largest[20:]):,}")
    if rejected is not None:
        table.add_row(Text("none of these", style="italic"), f"{rejected:,}")
    printed.print(table)
    printed.print(plain(f"written to {out}"), markup=False, soft_wrap=True)


def show_applied(summary: dict[str, Any]) -> None:
    """What became of a dataset."""
    printed = console()
    table = Table(title="the cleaned dataset")
    table.add_column("samples")
    table.add_column("", justify="right")
    for name in ("kept", "relabelled", "dropped"):
        words = "of them relabelled" if name == "relabelled" else name
        table.add_row(words, f"{summary[name]:,}")
    if summary["copies_dropped"]:
        table.add_row("of them copies", f"{summary['copies_dropped']:,}")
    printed.print(table)
    if summary["undecided_suspects"]:
        rule = f"--suspects {summary['suspects']}"
        if (sure := summary["undecided_sure"]) is not None:
            rule = f"{rule} for the {sure:,} that the audit is sure of, the others stay as they are"
        printed.print(
            f"{summary['undecided_suspects']:,} suspects had no decision: {rule}",
            markup=False,
            soft_wrap=True,
        )
    if summary["not_audited"]:
        printed.print(
            f"{summary['not_audited']:,} samples held out to measure on were not audited, "
            "and are in it as they were",
            markup=False,
            soft_wrap=True,
        )
    printed.print(plain(f"written to {_near(summary['out'])}"), markup=False, soft_wrap=True)
