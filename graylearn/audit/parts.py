"""A set larger than memory, audited in parts: each a sample of the whole, dealt by chance, in files.

Every part is audited as any set is, by itself, so memory is bounded by the size of a part, a run that was
stopped keeps the parts that are done, and parts can be audited side by side, on other machines too.
Classes of few samples are dealt to few parts, so that each part that has one has enough of it to judge.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graylearn.array_types import Ints
from graylearn.audit.audit import audit
from graylearn.audit.result import Audit, arrays_of
from graylearn.data.atomic import replacing_folder, write_text
from graylearn.data.samples import Label, Samples

VALUES = 100_000_000
"""Numbers that the audit of one part may hold at once, of 8 bytes: about ten for each probability (N, K) and
six for each feature (N, D)."""
MOST, LEAST_OF_CLASS = 100_000, 100
"""Samples of a part at most, and of a class in a part that has any of it."""
SHOWN, OTHERS, VALUES_SHOWN = 5_000, 2_000, 7_000_000
"""Suspects, the strongest, and other samples that are kept whole of all parts together, to be looked at: so
many at most, and fewer where they have more than a thousand features each."""

FOUND = ("label", "confidence", "score", "suspected", "level", "kind", "suggested")
"""What is gathered of every sample, in the codes of an `Audit`."""


def part_size(num_classes: int, num_features: int) -> int:
    """Samples of a part whose audit stays within about a gigabyte."""
    return max(1000, min(MOST, VALUES // (10 * num_classes + 6 * num_features)))


@dataclass(frozen=True)
class Dealing:
    """Which part each sample belongs to."""

    counts: tuple[int, ...]
    """(K,) samples of each class."""
    parts: int
    seed: int

    @classmethod
    def of(cls, counts: Sequence[int], size: int, seed: int) -> Dealing:
        """Parts of about `size` samples."""
        return cls(tuple(counts), max(1, -(-sum(counts) // size)), seed)

    @cached_property
    def spread(self) -> Ints:
        """(K,) parts that each class is dealt to; no part has one class alone, for it could not be judged."""
        counts = np.asarray(self.counts)
        spread = np.clip(counts // LEAST_OF_CLASS, 1, self.parts)
        ends = np.cumsum(spread)
        classes = np.zeros(self.parts, dtype=np.int64)
        for begin, size, count in zip(ends % self.parts, spread, counts, strict=True):
            if count:
                classes[(begin + np.arange(size)) % self.parts] += 1
        if (classes == 1).any():
            spread[np.argsort(-counts, kind="stable")[:2]] = self.parts
        return np.asarray(spread)

    def __call__(self, numbers: Ints, label: Ints) -> Ints:
        """(n,) the part of each sample; the same for the same numbers in any order.

        numbers: the rows of the samples, or their groups, so that one group of a label lies in one part.
        """
        spread = self.spread
        first = np.cumsum(spread) % self.parts
        return np.asarray((first[label] + _drawn(numbers, self.seed) % spread[label]) % self.parts)


def _drawn(numbers: Ints, seed: int) -> Ints:
    """Another number for each, as good as drawn: the finishing steps of SplitMix64."""
    z = numbers.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


_TYPES = {"rows": np.int64, "label": np.int64, "groups": np.int64, "features": np.float32}
"""What the samples of a part are dealt as, one file each."""


class PartFiles:
    """The parts in a folder: features, labels, rows and, if any, groups as they are dealt, then scores."""

    def __init__(self, folder: Path, parts: int) -> None:
        self.folder, self.parts = folder, parts
        self.state = folder / "dealt.json"

    def part(self, number: int) -> Path:
        """The folder of one part."""
        return self.folder / f"part-{number:05d}"

    def dealt(self) -> dict[str, Any]:
        """How far the dealing is: {"end": the row to go on at, "sizes" of the parts, "columns", "whole"}.

        What a killed run had begun to write beyond it is cut off.
        """
        if not self.state.exists():
            shutil.rmtree(self.folder, ignore_errors=True)  # of a run that was killed in the first block
            self.folder.mkdir(parents=True, exist_ok=True)
            return {"end": 0, "sizes": [0] * self.parts, "columns": None, "whole": False}
        state: dict[str, Any] = json.loads(self.state.read_text(encoding="utf-8"))
        for number, size in enumerate(state["sizes"]):
            for name, kind in _TYPES.items():
                path, columns = self.part(number) / name, state["columns"] if name == "features" else 1
                if path.exists():
                    with path.open("rb+") as file:
                        file.truncate(size * columns * np.dtype(kind).itemsize)
        return state

    def deal(
        self,
        state: dict[str, Any],
        end: int,
        rows: Ints,
        label: Ints,
        features: NDArray[Any],
        part: Ints,
        groups: Ints | None = None,
    ) -> None:
        """Append samples to their parts, and remember that all rows before `end` are dealt."""
        state["columns"] = features.shape[1]
        for number in np.unique(part):
            own = np.flatnonzero(part == number)
            folder = self.part(int(number))
            folder.mkdir(exist_ok=True)
            written = {"rows": rows, "label": label, "features": features, "groups": groups}
            for name, values in written.items():
                if values is not None:
                    with (folder / name).open("ab") as file:
                        file.write(np.ascontiguousarray(values[own], dtype=_TYPES[name]).data)
            state["sizes"][number] += len(own)
        state["end"] = end
        self.remember(state)

    def remember(self, state: dict[str, Any]) -> None:
        """Keep how far the dealing is."""
        write_text(self.state, json.dumps(state))

    def having(self, name: str) -> list[Path]:
        """The folders of the parts that have this file: those with `rows` hold samples."""
        folders = [self.part(number) for number in range(self.parts)]
        return [folder for folder in folders if (folder / name).exists()]

    def open_parts(self) -> list[Path]:
        """The folders of the parts that hold samples and are not audited yet."""
        return [folder for folder in self.having("rows") if not (folder / "audit").exists()]


def of_part(folder: Path, name: str) -> NDArray[Any]:
    """(n,) rows of the data that a part's samples are, their label or groups; features (n, D) stay in their
    file."""
    if name != "features":
        return np.fromfile(folder / name, _TYPES[name])
    count = (folder / "rows").stat().st_size // 8
    return np.memmap(folder / name, _TYPES[name], "r").reshape(count, -1)


def audit_part(folder: Path, classes: Sequence[Label], **options: Any) -> None:
    """Audit the samples in one part's files; the audit lies beside them then, whole or not at all.

    `options` are those of `audit`.
    """
    rows, label, features = (of_part(folder, name) for name in ("rows", "label", "features"))
    groups = of_part(folder, "groups") if (folder / "groups").exists() else None
    samples = Samples(features, label, tuple(classes), rows, "array", groups=groups)
    found = audit(samples, log="none", **options)
    with replacing_folder(folder / "audit") as partial:
        found.write(partial, format="parquet")


def _worth_showing(found: Audit, most: int, most_others: int) -> Ints:
    """The strongest suspects and some other samples, at most so many of each, in their order."""
    suspects, others = np.flatnonzero(found.suspected), np.flatnonzero(~found.suspected)
    strongest = suspects[np.argsort(-found.score[suspects], kind="stable")[:most]]
    some = np.random.default_rng(0).permutation(others)[:most_others]
    return np.sort(np.concatenate([strongest, some]))


@dataclass(frozen=True)
class Whole:
    """What the parts found together."""

    rows: Ints
    """(N,) where each sample stands in the data."""
    verdicts: dict[str, NDArray[Any]]
    """(N,) of each name in FOUND, in that order; they stay in their files."""
    kept: Audit
    """The strongest suspects and some others, in the order of their rows, which are the ids."""
    features: NDArray[np.float32]
    """(n, D) of these."""
    contamination: dict[str, float | None]
    """As of `Audit`, the mean over the parts that could be judged."""
    ranges: dict[str, tuple[float, float]]


def whole_of(files: PartFiles) -> Whole:
    """What the audited parts found together; one audit is in memory at a time."""
    folders = files.having("audit")
    rows = np.sort(np.concatenate([of_part(folder, "rows") for folder in folders]))
    verdicts: dict[str, NDArray[Any]] = {}
    judged: list[dict[str, Any]] = []
    some, kept = [], []
    for folder in folders:
        found = Audit.load(folder / "audit")
        at = np.searchsorted(rows, found.ids)
        for name in FOUND:
            values = getattr(found, name)
            if name not in verdicts:
                verdicts[name] = np.memmap(files.folder / name, values.dtype, "w+", shape=(len(rows),))
            verdicts[name][at] = values
        if found.ranges:
            judged.append(
                {"samples": len(found), "contamination": found.contamination, "ranges": found.ranges}
            )
        which = _worth_showing(found, SHOWN // files.parts + 50, OTHERS // files.parts + 10)
        some.append((of_part(folder, "features"), which))
        kept.append(found.take(which))
    joint = _joined(kept)
    room = min(1.0, VALUES_SHOWN / ((SHOWN + OTHERS) * some[0][0].shape[1]))
    chosen = _worth_showing(joint, int(room * SHOWN), int(room * OTHERS))  # in the order of the parts
    starts = np.cumsum([0, *(len(which) for _, which in some)])
    ends = np.searchsorted(chosen, starts)
    shown = np.concatenate(
        [
            features[which[chosen[first:last] - start]]
            for (features, which), start, first, last in zip(some, starts, ends, ends[1:], strict=False)
        ]
    )
    by_row = np.argsort(joint.ids[chosen])
    contamination = {name: _mean(judged, "contamination", name) for name in kept[0].contamination}
    ranges = {name: tuple(_mean(judged, "ranges", name)) for name in judged[0]["ranges"]} if judged else {}
    return Whole(rows, verdicts, joint.take(chosen[by_row]), shown[by_row], contamination, ranges)


def _mean(facts: Sequence[Mapping[str, Any]], what: str, name: str) -> Any:
    """The mean over parts, by their samples, of a share or of a range; None of no part."""
    size = np.array([fact["samples"] for fact in facts], dtype=np.float64)
    return (size / size.sum() @ np.array([fact[what][name] for fact in facts])).tolist() if facts else None


def _joined(audits: Sequence[Audit]) -> Audit:
    """Verdicts on the samples of all parts; what is said of a set as a whole is that of any part, but notes:
    those that differ in their numbers and examples are one."""
    alike: dict[str, list[str]] = {}
    for note in (note for each in audits for note in each.notes):
        alike.setdefault(re.sub(r"\([^)]*\)|\d[\d.,]*", "", note), []).append(note)
    notes = []
    for told in alike.values():
        of_one = "; the numbers are of one of them" if len(set(told)) > 1 else ""
        everywhere = len(told) == len(audits) and not of_one
        notes.append(told[0] if everywhere else f"{told[0]} (in {len(told)} of {len(audits)} parts{of_one})")
    arrays = list(map(arrays_of, audits))
    values: dict[str, Any] = {name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]}
    return replace(audits[0], notes=tuple(notes), **values)
