"""What people call datasets, methods, sources and settings, in tables, figures and prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproduction.catalog import CATALOG
from reproduction.paper import STAND_INS

METHOD_TITLES: dict[str, str] = {
    "oracle": "Oracle",
    "majority": "Majority",
    "standard": "Standard",
    "mae": "MAE",
    "bt": "BT",
    "spl": "SPL",
    "il": "IL",
    "sl": "SL",
    "nl": "NL",
    "srcc": "SRCC",
    "lcvd": "LCVD",
    "standard+nl": "Standard+NL",
    "gl": "GL",
    "gl-label": "GL (label)",
    "gl-relative": "GL (relative)",
    "gl-history": "GL (history)",
    "gl+refine": "GL + refine",
}
"""As the paper writes them, where it does."""


SHAPES: dict[str, str] = {
    "paper": "rate x0.1 at 1/2 and 3/4",
    "paper-warm": "warm-up, rate x0.1 at 1/2 and 3/4",
    "fast": "one cycle",
    "table": "constant rate",
}
"""What the learning rate does, by preset."""


def method_title(name: str) -> str:
    """A method as tables and figures call it."""
    plain, _, options = name.partition(" (")
    title = METHOD_TITLES.get(plain, plain)
    return f"{title} ({options}" if options else title


def dataset_title(name: str) -> str:
    """`tiny-imagenet/100` is `Tiny-ImageNet (100)`: its first 100 classes."""
    base, _, classes = name.partition("/")
    title = CATALOG[base].title if base in CATALOG else base.capitalize()
    return f"{title} ({classes})" if classes else title


def ood_title(name: str) -> str:
    """Where OOD samples come from, in words; `tiny-imagenet/3` is the fourth group of its classes."""
    if name in ("smallest-class", "other-classes", "none"):
        return name.replace("-", " ")
    base, _, group = name.partition("/")
    title = CATALOG[base].title if base in CATALOG else base.capitalize()
    return f"{title}, source {int(group) + 1}" if group else title


def needs(dataset: str) -> str:
    """What a dataset that is not at hand needs, and what stands in for it."""
    entry = CATALOG[dataset]
    stand_in = STAND_INS.get(dataset)
    files = ", ".join(entry.files)
    text = f"needs {files}"
    return f"{text}; {dataset_title(stand_in)} stands in" if stand_in else text


def schedule_text(cell: Mapping[str, Any]) -> str:
    """Network and schedule of a cell in a few words."""
    trained = f"{cell.get('epochs')} epochs ({shape(cell)}), batch {cell.get('batch_size')}"
    return f"{cell.get('net')}, {trained}"


def length(cell: Mapping[str, Any]) -> str:
    """How long a cell was trained, and how and on what where that is not the paper's way."""
    way = {"paper-warm": ", warm-up", "fast": ", one cycle"}.get(str(cell.get("preset")), "")
    return f"{cell.get('epochs')} epochs{way}{part(cell)}"


def part(cell: Mapping[str, Any]) -> str:
    """`, 16,000 images` where not all in-distribution training samples were taken."""
    size = cell.get("train_size")
    return "" if size is None else f", {size:,} {'images' if cell.get('kind') == 'image' else 'samples'}"


def shape(cell: Mapping[str, Any]) -> str:
    """What the learning rate does."""
    preset = str(cell.get("preset"))
    return SHAPES.get(preset, preset)
