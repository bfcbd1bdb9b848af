"""Detectors: every file here is one, with `find(evidence) -> Finding`.

A detector sees what those before it found (`evidence.findings`) and may leave to them what they explain, or
overrule them: it names those that it reads in AFTER, and is asked after them.
"""

import importlib
import pkgutil
from collections.abc import Callable
from graphlib import TopologicalSorter

from graylearn.audit.evidence import Evidence
from graylearn.audit.finding import Finding


def _collected() -> dict[str, Callable[[Evidence], Finding]]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    order = TopologicalSorter({name: getattr(module, "AFTER", ()) for name, module in found.items()})
    return {name: found[name].find for name in order.static_order()}


DETECTORS = _collected()
"""Every detector by its name, in the order in which they are asked."""

__all__ = ["DETECTORS"]
