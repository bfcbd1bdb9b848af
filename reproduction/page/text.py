"""Small pieces of prose made of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graylearn.errors import counted
from reproduction import names
from reproduction.cells import REVISIONS, Cell
from reproduction.columns import waits
from reproduction.experiments import EXPERIMENTS
from reproduction.grids import PAPER_IMAGES, Schedule
from reproduction.records import Group, Record
from reproduction.statistics import Comparison

NOT_YET = "*Not measured yet.*"
"""What stands where a store is missing."""
TOO_LITTLE = "*Too little was measured to judge it.*"
"""What stands where there are numbers, but not what the rule needs."""


def hardware(found: Iterable[Record]) -> str:
    """On what the records were measured."""
    kinds = set()
    for record in found:
        described = record.row.get("hardware") or {}
        kinds.add(described.get("gpu") or f"CPU ({described.get('machine', 'unknown')})")
    return ", ".join(sorted(kinds))


def settings(found: Sequence[Group]) -> str:
    """Networks, schedules and shares of OOD samples of some groups."""
    ways = sorted({names.schedule_text(group.cell) for group in found})
    if len(ways) > 3:
        nets = sorted({str(group.get("net")) for group in found})
        epochs = sorted({int(group.get("epochs")) for group in found})
        ways = [
            f"{joined(nets)}, {epochs[0]} to {epochs[-1]} epochs"
            if len(epochs) > 1
            else f"{joined(nets)}, {epochs[0]} epochs"
        ]
    alphas = sorted({float(group.get("alpha")) for group in found if group.get("alpha") is not None})
    share = f"alpha {alphas[0]:g}" if len(alphas) == 1 else f"alpha {alphas[0]:g} to {alphas[-1]:g}"
    return f"{'; '.join(ways)}; {share}" if alphas else "; ".join(ways)


def seeds(found: Sequence[Group], methods: Sequence[str] = ("standard", "gl")) -> str:
    """How many seeds the compared methods have, over all groups."""
    counts = [len(group.values(m)) for group in found for m in methods if group.values(m)]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return counted(low, "seed") if low == high else f"{low} to {high} seeds"


def shown(found: Comparison | None, more: str, less: str, same: str) -> str:
    """One of three sentences, by what a comparison shows."""
    if found is None:
        return ""
    return {"higher": more, "lower": less, "same": same}[found.state]


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "none"


def length(epochs: tuple[int, int] | None) -> str:
    """`20 of 200` epochs, `20 to 200 of 200`; a dash for what has no image runs."""
    if epochs is None:
        return "-"
    low, high = epochs
    return f"{low} of {PAPER_IMAGES.epochs}" if low == high else f"{low} to {high} of {PAPER_IMAGES.epochs}"


def never_run(experiment: str, found: Sequence[Record]) -> list[str]:
    """How many declared runs no record has, on any schedule and on the paper's: a sentence each, if any.

    Experiments share runs, so records of all of them count.
    """
    declared = [cell for cell in EXPERIMENTS[experiment].cells() if not waits(cell)]
    presets = {cell.preset for cell in declared if cell.kind == "image"}
    told_apart = ("preset",) if len(presets) > 1 else ()  # it is compared; else it is a matter of options
    said = [_missing(declared, found, "on any schedule", told_apart)]
    as_in_paper = [cell for cell in declared if _schedule(cell) == PAPER_IMAGES]
    if as_in_paper:
        how = f"for the paper's {PAPER_IMAGES.epochs} epochs in batches of {PAPER_IMAGES.batch_size}"
        said.append(_missing(as_in_paper, found, how, Schedule._fields))
    return [line for line in said if line]


def _schedule(cell: Cell) -> Schedule:
    return Schedule(cell.preset, cell.epochs, cell.batch_size)


def _missing(declared: Sequence[Cell], found: Sequence[Record], how: str, told_apart: Sequence[str]) -> str:
    """Which declared runs no record has, told apart by method, data and seed and by these fields as well."""
    fields = ("labels", "method", "dataset", "ood", "alpha", "net", "seed", *told_apart)
    measured = {tuple(record.get(field) for field in fields) for record in found}
    counts: dict[str, dict[str, list[bool]]] = {}
    for cell in declared:
        place = tuple(getattr(cell, field) for field in fields)
        counts.setdefault(cell.labels, {}).setdefault(cell.method, []).append(place in measured)
    parts = []
    for kind, methods in counts.items():
        missing = [
            f"{names.method_title(method)} {been.count(False)} of {len(been)}"
            for method, been in methods.items()
            if not all(been)
        ]
        if missing:
            parts.append(joined(missing) + ("" if kind == "none" else f" with {kind} labels"))
    if not parts:
        return ""
    every = [been for methods in counts.values() for known in methods.values() for been in known]
    lacking = "; ".join(parts) if any(every) else "all of them"
    return f"Run {how}: {sum(every)} of {len(every)} declared. Not run: {lacking}."


def run_twice(replaced: Sequence[tuple[Record, Record]]) -> str:
    """The cells with two results that differ, of which the later counts; empty where there are none."""
    told = []
    for earlier, later in replaced:
        if round(earlier.accuracy, 6) != round(later.accuracy, 6):
            cell = later.cell
            what = f"{names.dataset_title(str(cell['dataset']))}, {names.method_title(later.method)}"
            told.append(
                f"{what}, {later.get('labels')} labels, {names.length(cell)}, seed {later.seed}: "
                f"{earlier.accuracy:.1f}, then {later.accuracy:.1f} %"
            )
    return f"Run twice, of which the later counts: {'; '.join(dict.fromkeys(told))}." if told else ""


def earlier_engine(found: Sequence[Record]) -> str:
    """How many image runs are of an engine that ended its epochs otherwise; empty where none is."""
    now = REVISIONS["image"]
    old = [r for r in found if r.get("kind") == "image" and int(r.get("revision", 1)) < now]
    ends = [(float(r.measured["samples"]) % r.get("batch_size")) / r.get("batch_size") for r in old]
    if not old:
        return ""
    return (
        f"{len(old)} image runs are of an engine that did not yet share out "
        "[the last batch of an epoch](measurements.md#the-last-batch-of-an-epoch). Their epochs ended on "
        f"{100 * min(ends):.0f} % of a batch or more."
    )
