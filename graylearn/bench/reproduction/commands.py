"""The commands that measure again what the page shows, each checked against the cells it would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from graylearn.bench.cells import Cell
from graylearn.bench.experiments import EXPERIMENTS
from graylearn.bench.grids import TABLE_SETTINGS, Schedule
from graylearn.bench.options import IMAGE_PRESETS, Options
from graylearn.bench.records import Group, Record, every_record

WAY = ("kind", "protocol", "preset", "epochs", "batch_size", "train_size")
"""The settings that one command gives to all its cells."""


def commands(experiment: str, found: Sequence[Record]) -> list[str]:
    """The shortest commands whose cells include those of the records."""
    by_way: dict[tuple[object, ...], list[Record]] = {}
    for record in found:
        way = tuple(record.get(name) for name in WAY)
        by_way.setdefault(way, []).append(record)
    return list(dict.fromkeys(_command(experiment, members) for members in by_way.values()))


def of_groups(experiment: str, found: Sequence[Group]) -> list[str]:
    """The commands of all records in some groups."""
    return commands(experiment, every_record(found))


def _command(experiment: str, members: Sequence[Record]) -> str:
    keys = {_key(record) for record in members}
    first = members[0]
    seeds = tuple(sorted({record.seed for record in members}))
    every = list(_candidates(experiment, first, seeds))
    fitting = (words for words, options in every if keys <= _keys(experiment, options))
    return f"graylearn bench {experiment}{next(fitting, every[-1][0])}"


def _key(record: Record) -> str:
    """Of the cell as it would be run now."""
    return Cell.from_dict({**record.row["cell"], "revision": 0}).key


@cache
def _keys(experiment: str, options: Options) -> frozenset[str]:
    return frozenset(cell.key for cell in EXPERIMENTS[experiment].cells(options))


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
