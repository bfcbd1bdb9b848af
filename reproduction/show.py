"""The results of an experiment in the terminal: a line for each setting and method."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reproduction import names
from reproduction.cells import told
from reproduction.records import Group, Row, groups, records
from reproduction.statistics import gain, spread


def title_of(group: Group) -> str:
    """What tells a group from the others."""
    parts = [names.dataset_title(str(group.get("dataset")))]
    if group.get("kind") == "image":
        parts += [
            names.ood_title(str(group.get("ood"))),
            f"{group.get('labels')} labels",
            str(group.get("net")),
        ]
    else:
        parts.append(str(group.get("protocol")))
    parts += [f"alpha {group.get('alpha'):g}", f"{group.get('epochs')} epochs"]
    return ", ".join(parts + ([told(group.get("recipe"))] if group.get("recipe") else []))


def show(experiment: str, rows: Sequence[Row], console: Console | None = None) -> None:
    """Accuracy in percent over seeds, and the difference from standard training with its 95 % interval."""
    table = Table(title=f"{experiment}: accuracy, %", title_justify="left")
    for head in ("setting", "method", "accuracy", "seeds", "- standard"):
        table.add_column(head, justify="left" if head in ("setting", "method") else "right")
    for group in groups(records(rows)):
        for place, method in enumerate(group.methods):
            values = group.values(method)
            found = gain(values, group.values("standard"))
            table.add_row(
                Text("" if place else title_of(group)),  # Text, so that no name is read as markup
                Text(names.method_title(method)),
                str(spread(values)),
                str(len(values)),
                "" if found is None or method == "standard" else str(found),
            )
        table.add_section()
    (console or Console()).print(table)
