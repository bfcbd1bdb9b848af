"""The parameters of a classifier: the numbers among them checked, and all of them as JSON, and back.

What is code of the user's is named, not saved.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from graylearn.data.batches.augment import Augment
from graylearn.errors import CheckpointError, SettingsError
from graylearn.methods import METHODS, make_method
from graylearn.training import OptimizerSettings


class _CannotSaveError(Exception):
    """The value is code, or holds some."""


def check_numbers(epochs: Any, batch_size: Any, learning_rate: Any) -> None:
    """Refuse what is no number where one is expected, before anything is computed with it."""
    for name, count in (("epochs", epochs), ("batch_size", batch_size)):
        if count is not None and not (isinstance(count, int | np.integer) and count >= 1):
            raise SettingsError(f"{name} is {count!r}: expected a whole number, 1 or more, or None")
    if learning_rate is not None and not (
        isinstance(learning_rate, int | float | np.number) and 0 < learning_rate < math.inf
    ):
        raise SettingsError(f"learning_rate is {learning_rate!r}: expected a positive number or None")


def to_json(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(what JSON can hold, the names of the parameters it cannot)."""
    saved: dict[str, Any] = {}
    unsaved: list[str] = []
    for name, value in parameters.items():
        try:
            saved[name] = _packed(value)
        except _CannotSaveError:
            unsaved.append(name)
    return saved, unsaved


def from_json(saved: Any) -> dict[str, Any]:
    """The parameters that `to_json` could hold."""
    if not isinstance(saved, dict):
        raise CheckpointError("the saved parameters are not a table of names and values")
    return {str(name): _unpacked(value) for name, value in saved.items()}


def _packed(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, list):
        return [_packed(item) for item in value]
    if isinstance(value, tuple):
        return {"is": "tuple", "items": [_packed(item) for item in value]}
    if isinstance(value, dict):  # as pairs: keys may be numbers, which JSON would turn into text
        return {"is": "dict", "items": [[_packed(key), _packed(item)] for key, item in value.items()]}
    if isinstance(value, OptimizerSettings):
        return {"is": "optimizer", "fields": _packed(dataclasses.asdict(value))}
    if isinstance(value, Augment):
        return {"is": "augment", "fields": _packed(dataclasses.asdict(value))}
    names = [name for name, kind in METHODS.items() if kind is type(value)]
    if names:
        options = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"is": "method", "name": names[0], "fields": _packed(options)}
    raise _CannotSaveError


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    try:
        kind = value["is"]
        if kind == "tuple":
            return tuple(_unpacked(item) for item in value["items"])
        if kind == "dict":
            return {_unpacked(key): _unpacked(item) for key, item in value["items"]}
        fields = _unpacked(value["fields"])
        if kind == "optimizer":
            return OptimizerSettings(**fields)
        if kind == "augment":
            return Augment(**fields)
        if kind == "method":
            return make_method(value["name"], **fields)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"a saved parameter cannot be read ({error})") from error
    raise CheckpointError(f"a saved parameter is of the unknown kind {kind!r}")
