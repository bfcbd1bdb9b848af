"""Packages whose names are imported when asked for, so that a part of them need not wait for torch."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def getter(package: str, homes: Mapping[str, str], modules: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """A `__getattr__` for `package`: names by the module that defines them, and modules of the package."""

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        parent = import_module(package)
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(parent, name, value)
        return value

    return get
