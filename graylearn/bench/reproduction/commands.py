"""The commands that measure again what the page shows, each checked against the cells it would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from graylearn.bench.experiments import EXPERIMENTS
from graylearn.bench.grids import TABLE_SETTINGS
from graylearn.bench.options import Options
from graylearn.bench.records import Group, Record


def commands(experiment: str, found: Sequence[Record]) -> list[str]:
    """The shortest commands whose cells include those of the records."""
    by_way: dict[tuple[object, ...], list[Record]] = {}
    for record in found:
        if record.get("measured_by") is None:
            way = tuple(record.get(name) for name in ("kind", "protocol", "preset", "epochs", "batch_size"))
            by_way.setdefault(way, []).append(record)
    made = [_command(experiment, members) for members in by_way.values()]
    if any(record.get("measured_by") for record in found):
        first = next(record for record in found if record.get("measured_by"))
        epochs, batch = first.get("epochs"), first.get("batch_size")
        made.append(f"python benchmarks/images.py --epochs {epochs} --batch-size {batch}")
    return list(dict.fromkeys(made))


def of_groups(experiment: str, found: Sequence[Group]) -> list[str]:
    """The commands of all records in some groups."""
    every = [record for group in found for seeds in group.by_method.values() for record in seeds.values()]
    return commands(experiment, every)


def _command(experiment: str, members: Sequence[Record]) -> str:
    keys = {record.row["key"] for record in members}
    first = members[0]
    seeds = tuple(sorted({record.seed for record in members}))
    every = list(_candidates(experiment, first, seeds))
    fitting = (words for words, options in every if keys <= _keys(experiment, options))
    return f"graylearn bench {experiment}{next(fitting, every[-1][0])}"


@cache
def _keys(experiment: str, options: Options) -> frozenset[str]:
    return frozenset(cell.key for cell in EXPERIMENTS[experiment].cells(options))


def _candidates(experiment: str, like: Record, seeds: tuple[int, ...]) -> Iterator[tuple[str, Options]]:
    """Options from the plainest to the most explicit, with the words that give them."""
    epochs, batch = int(like.get("epochs")), int(like.get("batch_size"))
    protocol = str(like.get("protocol"))
    spoken = "" if protocol == "paper" else f" --protocol {protocol}"
    lengths: list[tuple[str, dict[str, float]]] = [("", {})]
    for declared in _declared(experiment):
        if declared != epochs:
            scale = float(f"{epochs / declared:.6g}")
            lengths.append((f" --epochs-scale {scale:g}", {"epochs_scale": scale}))
    lengths.append((f" --epochs {epochs}", {"epochs": epochs}))
    sizes: list[tuple[str, dict[str, int]]] = [("", {}), (f" --batch-size {batch}", {"batch_size": batch})]
    whole = len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1))
    listed = f" --seeds {seeds[0]}-{seeds[-1]}" if whole else " --seeds " + ",".join(map(str, seeds))
    for seed_words, seed_options in (("", {}), (listed, {"seeds": seeds})):
        for size_words, size_options in sizes:
            for length_words, length_options in lengths:
                chosen: dict[str, Any] = {**length_options, **size_options, **seed_options}
                words = f"{spoken}{length_words}{size_words}{seed_words}"
                yield words, Options(protocol=(protocol,), **chosen)


def _declared(experiment: str) -> list[int]:
    """The epochs that an experiment's grids are written with."""
    grids = EXPERIMENTS[experiment].grids
    images = [schedule.epochs for grid in grids if grid.kind == "image" for schedule in grid.schedules]
    tables = (
        [way["epochs"] for way in TABLE_SETTINGS.values()] if any(g.kind == "table" for g in grids) else []
    )
    return sorted({*images, *tables})
