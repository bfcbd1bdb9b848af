"""The commands that measure again what the page shows, each checked against the cells it would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from graylearn.errors import SettingsError
from reproduction.cells import CLEAN, LABELS, Cell
from reproduction.columns import waits
from reproduction.experiments import EXPERIMENTS
from reproduction.grids import TABLE_SETTINGS, Schedule
from reproduction.options import IMAGE_PRESETS, Options
from reproduction.records import Record, method_rank

WAY = ("kind", "protocol", "preset", "epochs", "batch_size", "train_size")
"""The settings that one command gives to all its cells."""


def commands(experiment: str, found: Sequence[Record]) -> list[str]:
    """Commands whose cells include those of the records, and as little else as their words can keep out."""
    by_way: dict[tuple[object, ...], list[Record]] = {}
    for record in found:
        table = record.get("kind") == "table"  # each has the size it has, no command says it
        way = tuple(None if table and name == "train_size" else record.get(name) for name in WAY)
        by_way.setdefault(way, []).append(record)
    parts = [part for members in by_way.values() for part in _parts(experiment, members)]
    made = {number: _command(experiment, part) for number, part in enumerate(parts)}
    for number, members in enumerate(parts):
        wanted = {_cell(record) for record in members}
        if any(wanted <= _cells(experiment, other[1]) for n, other in made.items() if n != number):
            del made[number]  # another command runs these as well
    return [f"python -m reproduction {experiment}{words}" for words, _ in made.values()]


def _parts(experiment: str, members: list[Record]) -> list[list[Record]]:
    """All records as one part; or those of seeds that were given to the same runs, where that runs less."""
    runs: dict[int, set[Cell]] = {}
    for record in members:
        runs.setdefault(record.seed, set()).add(_cell(record).but(seed=0))
    alike: dict[frozenset[Cell], list[int]] = {}
    for seed in sorted(runs):
        alike.setdefault(frozenset(runs[seed]), []).append(seed)
    if len(alike) == 1:
        return [members]
    parts = [[record for record in members if record.seed in seeds] for seeds in alike.values()]
    apart = frozenset[Cell]().union(*(_cells(experiment, _command(experiment, part)[1]) for part in parts))
    return parts if len(apart) < len(_cells(experiment, _command(experiment, members)[1])) else [members]


def _command(experiment: str, members: Sequence[Record]) -> tuple[str, Options]:
    wanted = {_cell(record) for record in members}
    seeds = tuple(sorted({record.seed for record in members}))
    measured = {str(record.get("dataset")).split("/")[0] for record in members}
    declared = dict.fromkeys(name.split("/")[0] for name in EXPERIMENTS[experiment].datasets())
    datasets = tuple(name for name in declared if name in measured)

    def cells(options: Options) -> frozenset[Cell]:
        return _cells(experiment, options)

    every = [(w, o, replace(o, datasets=datasets)) for w, o in _candidates(experiment, members[0], seeds)]
    fitting = [way for way in every if wanted <= cells(way[2])]
    words, whole, options = min(fitting or every[-1:], key=lambda way: len(cells(way[2])))
    words += f" --datasets {','.join(datasets)}" if cells(options) < cells(whole) else ""
    for more, narrower in _narrowings(members):
        tried = replace(options, **narrower)
        if wanted <= cells(tried) < cells(options):
            words, options = words + more, tried
    return words, options


def _narrowings(members: Sequence[Record]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What can keep cells out that the records do not have: the words, and the options they give."""
    dirty = [record for record in members if record.method not in CLEAN]  # an oracle's labels are nobody's
    labels = tuple(sorted({str(record.get("labels")) for record in dirty}))
    if len(labels) == 1 and labels[0] in LABELS:  # those of tables are the protocol's
        yield f" --labels {labels[0]}", {"labels": labels}
    alphas = tuple(sorted({float(record.get("alpha", 0.0)) for record in dirty}))
    yield f" --alphas {','.join(f'{alpha:g}' for alpha in alphas)}", {"alphas": alphas}
    nets = tuple(dict.fromkeys(str(record.get("net")) for record in members))
    yield f" --nets {','.join(nets)}", {"nets": nets}
    methods = tuple(sorted({record.method for record in members}, key=method_rank))
    yield f" --methods {','.join(methods)} --only", {"methods": methods, "only": True}


def _cell(record: Record) -> Cell:
    """The cell as it would be run now."""
    return Cell.from_dict({**record.row["cell"], "revision": 0})


@cache
def _cells(experiment: str, options: Options) -> frozenset[Cell]:
    try:
        every = EXPERIMENTS[experiment].cells(options)
        return frozenset(cell for cell in every if not waits(cell))
    except SettingsError:  # nothing is left in
        return frozenset()


def _candidates(experiment: str, like: Record, seeds: tuple[int, ...]) -> Iterator[tuple[str, Options]]:
    """Options from the plainest to the most explicit, with the words that give them."""
    epochs, batch = int(like.get("epochs")), int(like.get("batch_size"))
    protocol = str(like.get("protocol"))
    spoken = "" if protocol == "paper" else f" --protocol {protocol}"
    lengths: list[tuple[str, dict[str, float]]] = [("", {})]
    for whole in _epochs(experiment):
        if whole != epochs:
            scale = float(f"{epochs / whole:.6g}")
            lengths.append((f" --epochs-scale {scale:g}", {"epochs_scale": scale}))
    lengths.append((f" --epochs {epochs}", {"epochs": epochs}))
    sizes: list[tuple[str, dict[str, int]]] = [("", {}), (f" --batch-size {batch}", {"batch_size": batch})]
    preset, part = like.get("preset"), like.get("train_size")
    always: dict[str, Any] = {"protocol": (protocol,)}
    declared = {way.preset for way in _schedules(experiment)}
    if like.get("kind") == "image" and preset in IMAGE_PRESETS and preset not in declared:
        spoken += f" --preset {preset}"
        always["preset"] = preset
    if like.get("kind") == "image" and part is not None:
        spoken += f" --train-size {part}"
        always["train_size"] = int(part)
    in_a_row = len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1))
    listed = f" --seeds {seeds[0]}-{seeds[-1]}" if in_a_row else " --seeds " + ",".join(map(str, seeds))
    for seed_words, seed_options in (("", {}), (listed, {"seeds": seeds})):
        for size_words, size_options in sizes:
            for length_words, length_options in lengths:
                chosen: dict[str, Any] = {**length_options, **size_options, **seed_options}
                words = f"{spoken}{length_words}{size_words}{seed_words}"
                yield words, Options(**always, **chosen)


def _epochs(experiment: str) -> list[int]:
    """The epochs that an experiment's grids are written with."""
    grids = EXPERIMENTS[experiment].grids
    images = [schedule.epochs for schedule in _schedules(experiment)]
    tables = (
        [way["epochs"] for way in TABLE_SETTINGS.values()] if any(g.kind == "table" for g in grids) else []
    )
    return sorted({*images, *tables})


def _schedules(experiment: str) -> list[Schedule]:
    """How an experiment's images are trained."""
    grids = EXPERIMENTS[experiment].grids
    return [schedule for grid in grids if grid.kind == "image" for schedule in grid.schedules]
