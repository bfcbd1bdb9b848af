"""Optional packages: imported late, and missing with the one command that installs them."""

import importlib
from types import ModuleType

from graylearn.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of graylearn brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # the package is there but lacks something of its own: not ours to explain
        raise MissingExtraError(
            f"{module.split('.')[0]} is not installed; install it with: pip install 'graylearn[{extra}]'"
        ) from error
