"""What people call datasets, methods and sources, in tables, figures and prose."""

from __future__ import annotations

from reproduction.catalog import CATALOG

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
