"""Verdicts on several parts of a set as one: fields of `Audit`, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from graylearn.array_types import Ints

Fields = dict[str, Any]
Ranges = Mapping[str, tuple[float, float]]


def fields_of(audit: Any) -> Fields:
    """All fields of an `Audit`."""
    return {each.name: getattr(audit, each.name) for each in fields(audit)}


def taken(verdicts: Fields, index: Ints) -> Fields:
    """Those on the samples at `index`, in that order."""
    return {name: each[index] if isinstance(each, np.ndarray) else each for name, each in verdicts.items()}


def joined(parts: Sequence[Fields]) -> Fields:
    """Verdicts on the samples of all parts, one part after the other; what is said of a set as a whole is
    that of any part."""
    values = dict(parts[0])
    for name, first in values.items():
        if isinstance(first, np.ndarray):
            values[name] = np.concatenate([each[name] for each in parts])
    values["notes"] = joint_notes([each["notes"] for each in parts])
    return values


def joint_notes(told: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What was said of several parts, once each: notes that differ in their numbers and examples are one."""
    alike: dict[str, list[str]] = {}
    for notes in told:
        for note in notes:
            alike.setdefault(re.sub(r"\([^)]*\)|\d[\d.,]*", "", note), []).append(note)
    joint = []
    for notes in alike.values():
        of_one = "; the numbers are of one of them" if len(set(notes)) > 1 else ""
        everywhere = len(notes) == len(told) and not of_one
        joint.append(notes[0] if everywhere else f"{notes[0]} (in {len(notes)} of {len(told)} parts{of_one})")
    return tuple(joint)


def mean_ranges(ranges: Sequence[Ranges], sizes: Sequence[int]) -> dict[str, tuple[float, float]]:
    """The mean over parts, by their samples, of each range that can be told of all of them."""
    share = np.asarray(sizes, dtype=np.float64) / sum(sizes)

    def mean(name: str, end: int) -> float:
        return float(np.dot(share, [each[name][end] for each in ranges]))

    return {
        name: (mean(name, 0), mean(name, 1)) for name in ranges[0] if all(name in each for each in ranges)
    }
