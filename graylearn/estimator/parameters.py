"""The parameters of a classifier: checked, what "auto" stands for, and all of them as JSON, and back.

What is code of the user's is named, not saved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from graylearn import options
from graylearn.data.batches.augment import Augment
from graylearn.errors import CheckpointError, SettingsError
from graylearn.estimator.models import check_parameters, is_model
from graylearn.methods import METHODS, Method, as_method
from graylearn.training import OptimizerSettings
from graylearn.training.checkpoint import pack, unpack


def check(parameters: Mapping[str, Any]) -> None:
    """Refuse what cannot be, before anything is computed with it."""
    options.check(parameters)
    as_method(method_for(parameters["method"], ()))
    if is_model(parameters["network"]):
        check_parameters(parameters)
    audit, members, refine = parameters["audit"], parameters["members"], parameters["refine"]
    if audit not in ("auto", "history", "held-out", None):
        raise SettingsError(f"audit is {audit!r}: use 'auto', 'history', 'held-out' or None")
    if not isinstance(refine, bool | np.bool_):
        raise SettingsError(f"refine is {refine!r}: expected True or False")
    if refine and audit is None:
        raise SettingsError("refine=True reads the audit, but audit is None: use 'auto'")
    if members is None:
        raise SettingsError.wrong("members", None, "a whole number of at least 1")


def check_partial(parameters: Mapping[str, Any]) -> None:
    """The same for `partial_fit`, of which each call is a run of its own."""
    check(parameters)
    if is_model(parameters["network"]):
        told = "which learns all samples at once: call fit, or use a network"
        raise SettingsError(f"network is {parameters['network']!r}, {told}")
    if parameters["average"] is not None:
        raise SettingsError("average is of one run, and each partial_fit is another: leave it out, or fit")


def method_for(method: str | Method, in_shape: tuple[int, ...]) -> str | Method:
    """The method that "auto" stands for, or the one given; in_shape is (channels, height, width) of images.

    Images are trained by SGD, whose steps shrink with the gradient: with many classes gl, which begins with
    2/K of it, learns too slowly (docs/lab/measurements.md). Rows are trained by Adam, and measured with gl.
    """
    if not isinstance(method, str) or method != "auto":
        return method
    return "gl-relative" if len(in_shape) == 3 else "gl"


def _kinds() -> dict[str, Callable[..., Any]]:
    """What may be a parameter beside plain values, by the name that it is saved under."""
    return {"optimizer": OptimizerSettings, "augment": Augment, **METHODS}


def to_json(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(what JSON can hold, the names of the parameters it cannot)."""
    saved: dict[str, Any] = {}
    unsaved: list[str] = []
    for name, value in parameters.items():
        try:
            saved[name] = _packed(value)
        except CheckpointError:  # it is code, or holds some
            unsaved.append(name)
    return saved, unsaved


def _packed(value: Any) -> Any:
    if isinstance(value, torch.device):
        return str(value)
    kind = next((name for name, made in _kinds().items() if made is type(value)), None)
    arrays: dict[str, torch.Tensor] = {}
    if kind is not None:
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    packed = pack(value, arrays)
    if arrays:
        raise CheckpointError("arrays are not kept as parameters")
    return packed if kind is None else {"is": kind, "fields": packed}


def from_json(saved: Any) -> dict[str, Any]:
    """The parameters that `to_json` could hold."""
    if not isinstance(saved, dict):
        raise CheckpointError("the saved parameters are not a table of names and values")
    return {str(name): _made(value) for name, value in saved.items()}


def _made(value: Any) -> Any:
    try:
        if isinstance(value, dict) and "is" in value:
            return _kinds()[value["is"]](**unpack(value["fields"], {}))
        return unpack(value, {})
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"a saved parameter cannot be read ({error})") from error
