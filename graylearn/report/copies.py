"""Copies in the payload: groups of samples that one decision is enough for, those that contradict first."""

from __future__ import annotations

from typing import Any

from graylearn.report.data import ReportData

MOST = 2_000
"""Groups that the page holds."""


def copy_groups(data: ReportData) -> list[dict[str, Any]]:
    """The groups with the samples of the dataset by index, and how many of the test set are among them."""
    found = data.copies
    if found is None:
        return []
    groups: list[dict[str, Any]] = []
    for number, members in enumerate(found.groups):
        indices = [int(index) for index in members if index < found.count]
        group = {
            "indices": indices,
            "exact": bool(found.exact[number]),
            "contradicting": bool(found.contradicting[number]),
            "test": len(members) - len(indices),
        }
        if indices:  # copies within the test set alone are no matter of this page
            groups.append(group)
    groups.sort(key=lambda group: (not group["contradicting"], not group["test"], -len(group["indices"])))
    return groups[:MOST]
