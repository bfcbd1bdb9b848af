"""What is imported late: names of our packages, so that a part of them need not wait for torch, and optional
packages."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from graylearn.errors import MissingExtraError


def getter(
    package: str, names_of: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> Callable[[str], Any]:
    """A `__getattr__` for `package`: the names that modules of it define, and modules themselves."""
    homes = {name: module for module, names in names_of.items() for name in names}

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


def keep_functions(package: str, *names: str) -> None:
    """Let `names` of `package` be the functions although modules or packages of it have the same names.

    Whoever first imports such a module makes Python set it as an attribute of the package.
    """

    class Package(ModuleType):
        """The package, which takes the function of a module for the module."""

        def __setattr__(self, name: str, value: Any) -> None:
            if name in names and isinstance(value, ModuleType):
                value = getattr(value, name)
            super().__setattr__(name, value)

    sys.modules[package].__class__ = Package


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of graylearn brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # the package is there but lacks something of its own: not ours to explain
        raise MissingExtraError(
            f"{module.split('.')[0]} is not installed; install it with: pip install 'graylearn[{extra}]'"
        ) from error
