"""The tables of docs/lab/refinement.md, made from results/refine.jsonl and results/choose.jsonl.

`python -m benchmarks refine` measures what they show; rows of people's labels are of an earlier script.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks import record
from benchmarks.record import markdown

RESULTS, CHOSEN = record.RESULTS / "refine.jsonl", record.RESULTS / "choose.jsonl"
"""Of the method `choose`, and of what stands beside it on the same rows: `--out` of both scripts."""
REVISION = 2
"""What the rows mean; those of another revision were made with another refined fit or other settings."""
NAMES = {
    "clean": "clean",
    "ood20": "20 % OOD",
    "mix": "20 % OOD and 20 % flipped",
    "specific": "specific labels",
}
MAIN = ("oracle", "oracle x5", "standard", "standard x5", "gl", "gl+refine", "gl+refine x1", "cleanlab")
Row = dict[str, Any]
Key = tuple[str, str]
"""A cell and a setting."""
PEERS = 3
"""Methods of others that are shown where the gap is small: those that win back most of it."""


def read(path: Path = RESULTS) -> list[Row]:
    """The rows of this revision; of two for the same run, the later."""
    rows = [row for row in record.rows(path) if row.get("revision") == REVISION]
    run = ("cell", "setting", "seed", "method")
    return list({tuple(row[part] for part in run): row for row in rows}.values())


class Accuracies:
    """Accuracies in points by cell and setting, method and seed; a failed peer has none."""

    def __init__(self, rows: list[Row]) -> None:
        self.classes = {row["cell"]: int(row["K"]) for row in rows}
        self.by: dict[Key, dict[str, dict[int, float]]] = {}
        for row in rows:
            if "accuracy" in row and row["setting"] in NAMES:
                methods = self.by.setdefault((row["cell"], row["setting"]), {})
                methods.setdefault(row["method"], {})[int(row["seed"])] = float(row["accuracy"])

    @property
    def methods(self) -> list[str]:
        """All that were measured, the main ones first."""
        found = list(dict.fromkeys(method for methods in self.by.values() for method in methods))
        return [*(m for m in MAIN if m in found), *sorted(m for m in found if m not in MAIN)]

    @property
    def seeds(self) -> list[int]:
        """All seeds of which there is a row."""
        return sorted({s for methods in self.by.values() for seeds in methods.values() for s in seeds})

    def keys(self, settings: tuple[str, ...], few: bool) -> list[Key]:
        """Cells and settings, of at most three classes (`few`) or of more."""
        return [key for key in self.by if key[1] in settings and (self.classes[key[0]] < 4) == few]

    def against(self, key: Key, method: str, other: str) -> dict[int, float]:
        """By seed, points that `method` is above `other`, where both were measured."""
        ours, theirs = self.by[key].get(method, {}), self.by[key].get(other, {})
        return {seed: value - theirs[seed] for seed, value in ours.items() if seed in theirs}

    def mean_against(self, keys: list[Key], method: str, other: str) -> tuple[float, float | None] | None:
        """Points above `other`: the mean over cells, and the deviation over seeds of that mean."""
        found = [by for key in keys if (by := self.against(key, method, other))]
        if not found:
            return None
        shared = set.intersection(*(set(by) for by in found))
        of_seed = [mean(by[seed] for by in found) for seed in sorted(shared)]
        return mean(mean(by.values()) for by in found), stdev(of_seed) if len(of_seed) > 1 else None

    def recovered(self, keys: list[Key], method: str) -> tuple[float, int] | None:
        """Mean share of the gap from standard to oracle that is won back, over gaps of a point or more."""
        shares = []
        for key in keys:
            gap, won = self.against(key, "oracle", "standard"), self.against(key, method, "standard")
            common = set(gap) & set(won)
            if common and (size := mean(gap[s] for s in common)) >= 1.0 - 1e-9:
                shares.append(mean(won[s] for s in common) / size)
        return (mean(shares), len(shares)) if shares else None


def spread(value: tuple[float, float | None] | None, digits: int = 2, sign: str = "+") -> str:
    """A mean and its deviation; a dash where nothing was measured."""
    if value is None:
        return "-"
    text = f"{value[0]:{sign}.{digits}f}"
    return text if value[1] is None else f"{text} ± {value[1]:.{digits}f}"


def goals(rows: list[Row]) -> str:
    """What was aimed at, and what was reached."""
    data, dirty = Accuracies(rows), ("ood20", "mix", "specific")
    many, every = data.keys(dirty, few=False), data.keys(dirty, few=False) + data.keys(dirty, few=True)
    below = data.mean_against(many, "gl+refine", "oracle")
    alone = data.mean_against(many, "gl+refine x1", "oracle")
    fair = data.mean_against(many, "gl+refine", "oracle x5")
    clean = data.keys(("clean",), few=False) + data.keys(("clean",), few=True)
    found = {key[0]: data.against(key, "gl+refine", "standard") for key in clean}
    by_cell = {cell: mean(values.values()) for cell, values in found.items() if values}
    worst = min(by_cell, key=lambda cell: by_cell[cell], default=None)

    def line(goal: str, text: str, value: float | None, least: float) -> list[str]:
        return [goal, text, "-" if value is None else "met" if value >= least else "missed"]

    def share(goal: str, keys: list[Key]) -> list[str]:
        won = data.recovered(keys, "gl+refine")
        text = "-" if won is None else f"{100 * won[0]:.0f} % of {won[1]} gaps"
        return line(goal, text, None if won is None else won[0], 0.8)

    body = [
        line("within 1 point of the oracle, K >= 4", spread(below), None if below is None else below[0], -1),
        ["the same with one network, no committee", spread(alone), "-"],
        ["against a committee of oracles", spread(fair), "-"],
        share("80 % of gaps of a point won back, K >= 4", many),
        share("the same, all cells", every),
        line(
            "at most .3 below standard on clean data: the worst cell",
            "-" if worst is None else f"{worst} {by_cell[worst]:+.2f}",
            None if worst is None else by_cell[worst],
            -0.3,
        ),
    ]
    if by_cell:
        body.append(["the same, mean of the cells", f"{mean(by_cell.values()):+.2f}", "-"])
    seeds = ", ".join(str(seed) for seed in data.seeds)
    return f"Seeds {seeds}.\n\n" + markdown(["goal", "gl + refine", ""], body)


def by_method(rows: list[Row], few: bool) -> str:
    """Accuracy less the oracle's by setting, and the share of the gap won back, one line a method."""
    data = Accuracies(rows)
    settings = [name for name in NAMES if data.keys((name,), few)]
    dirty = data.keys(tuple(name for name in settings if name != "clean"), few)
    seconds: dict[str, list[float]] = {}
    for row in rows:
        if "seconds" in row and row["setting"] in NAMES and (row["K"] < 4) == few:
            seconds.setdefault(row["method"], []).append(row["seconds"])
    body = []
    won = {method: data.recovered(dirty, method) for method in data.methods}
    others = sorted((m for m in won if m not in MAIN), key=lambda m: -(won[m] or (0.0,))[0])
    for method in data.methods:
        if method == "oracle" or method in others[PEERS:]:
            continue
        cells = [spread(data.mean_against(data.keys((name,), few), method, "oracle")) for name in settings]
        taken = seconds.get(method)
        body.append(
            [
                method,
                *cells,
                "-" if (share := won[method]) is None else f"{100 * share[0]:.0f}",
                "-" if not taken else f"{mean(taken):.1f}",
            ]
        )
    return markdown(["method", *(NAMES[name] for name in settings), "gap won back, %", "seconds"], body)


LAB_TABLES = {
    "refinement.md": {
        "refine, goals": lambda: goals(read()),
        "refine, four classes or more": lambda: by_method(read(), few=False),
        "refine, two or three classes": lambda: by_method(read(), few=True),
        "choose, four classes or more": lambda: by_method(read(CHOSEN), few=False),
    }
}
