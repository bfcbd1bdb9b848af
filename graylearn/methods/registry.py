"""Every method by name, and the way from a name and options to a method.

Every file of this package is imported, so that a method that registers itself needs no entry here.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from graylearn.errors import SettingsError, nearest
from graylearn.methods.base import REGISTERED, Method

_ORDER = [
    "standard", "mae", "bt", "bt-hard", "spl", "spld", "il", "il-lite", "sl", "nl", "nlnl", "srcc", "lcvd",
    "gce", "co-teaching", "decoupling", "mentornet-pd", "oe", "isomax", "prior-network", "confident",
    "standard+nl", "gl", "gl-label", "gl-relative", "gl-history",
    "choose", "believe",
]  # fmt: skip
"""The order in lists: the paper's methods and related ones, its own last; any other follows."""


def _collected() -> dict[str, Callable[..., Method]]:
    """All registered methods, in the order they are listed in."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name != "registry":
            import_module(f"graylearn.methods.{module.name}")
    rank = {name: index for index, name in enumerate(_ORDER)}
    return dict(sorted(REGISTERED.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


METHODS: dict[str, Callable[..., Method]] = _collected()
"""The class of each method by its name; add your own with METHODS["name"] = YourMethod."""


def make_method(name: str, **options: Any) -> Method:
    """The method called `name` with these options: make_method("sl", alpha=0.1, beta=1.0).

    ```python
    import graylearn as gl

    gl.make_method("sl", alpha=0.1, beta=1.0)
    sorted(gl.METHODS)                                      # the names there are
    ```
    """
    if name not in METHODS:
        raise SettingsError(f"there is no method {name!r}; {nearest(name, list(METHODS), 'the methods are')}")
    known = list(inspect.signature(METHODS[name]).parameters)
    for option in options:
        if option not in known:
            hint = nearest(option, known, "its options are") if known else "it has no options"
            raise SettingsError(f"the method {name!r} has no option {option!r}; {hint}")
    return METHODS[name](**options)


def as_method(given: str | Method) -> Method:
    """The method of this name, or the given method."""
    if isinstance(given, str):
        return make_method(given)
    if not isinstance(given, Method):
        raise SettingsError(
            f"method is {given!r}: use a name ({', '.join(METHODS)}), what make_method gives, or one of a"
            " subclass of graylearn.methods.Method: Mine(), not Mine"
        )
    return given
