"""Detectors: one file each, with `find(evidence) -> Finding`. They are asked in this order.

A detector sees what those before it found (`evidence.findings`) and may leave to them what they explain, or
overrule them. To add one, write its file and its test, and give it a line here.
"""

from collections.abc import Callable

from graylearn.audit.detectors import class_confusion, foreign_clusters, random_labels
from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding

DETECTORS: dict[str, Callable[[Evidence], Finding]] = {
    "random_labels": random_labels.find,
    "foreign_clusters": foreign_clusters.find,
    "class_confusion": class_confusion.find,
}

__all__ = ["DETECTORS"]
