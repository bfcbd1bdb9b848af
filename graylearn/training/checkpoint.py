"""Checkpoints: a whole one or none, whatever the moment the process dies; never pickle.

    folder/
      checkpoint.safetensors   weights, and all other arrays: optimizer, method, history, random numbers;
                               its header has all else as JSON, and a SHA-256 of everything

A new file takes the place of the old one in one step, once it is whole and on the disk.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from graylearn.data.atomic import alone, remove_left, replacing
from graylearn.errors import FULL, CheckpointError, FolderTakenError, Hint
from graylearn.methods import Method
from graylearn.methods.base import Softened
from graylearn.training.settings import Settings

NAME = "checkpoint.safetensors"
Saved = tuple[dict[str, Tensor], dict[str, Any]]
"""What a checkpoint holds: the weights by name, and the rest."""
_WEIGHTS, _STATE = "weights.", "state."
DAMAGED = (
    ArithmeticError, AttributeError, KeyError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
    safetensors.SafetensorError,
)  # fmt: skip
"""What reading a file raises whose values are not those that were written."""


def has_checkpoint(folder: str | Path) -> bool:
    """Whether there is a checkpoint in `folder`."""
    return (Path(folder) / NAME).exists()


@contextmanager
def writes_checkpoints(folder: Path | None) -> Iterator[None]:
    """Keep other processes out of the checkpoints in `folder`; say what to do if its disk is full."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    taken = FolderTakenError(
        f"another process is training with the checkpoints in {folder}: wait for it, or give another folder"
    )
    with alone(folder / ".training.lock", taken):
        remove_left(folder / NAME)
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise CheckpointError(
                f"the checkpoint in {folder} cannot be written ({error.strerror}); make room and start again",
                Hint("resume", True, "to go on from the last whole one"),
            ) from error


def save_checkpoint(folder: str | Path, weights: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write a checkpoint to `folder` in place of the one there; state is a tree of values and arrays."""
    arrays: dict[str, Tensor] = {}
    text = json.dumps(pack(state, arrays), allow_nan=False)
    named = {_WEIGHTS + name: value for name, value in weights.items()}
    named |= {_STATE + name: value for name, value in arrays.items()}
    named = plain(named)
    with replacing(Path(folder) / NAME) as partial:
        partial.write_bytes(safetensors.torch.save(named, {"state": text, "sha256": _checksum(named, text)}))


def plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Clones on the CPU: tied weights share memory, and channels_last ones are not contiguous."""
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def load_checkpoint(folder: str | Path) -> Saved:
    """(weights, state) of the checkpoint in `folder`, once every value is known to be as it was written."""
    path = Path(folder) / NAME
    advice = "restore it from a copy or start anew in an empty folder"
    try:
        content = path.read_bytes()
        named = safetensors.torch.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if header["sha256"] != _checksum(named, header["state"]):
            raise CheckpointError(f"{path} is damaged, its values are not the ones written: {advice}")
        weights, arrays = (
            {name.removeprefix(part): value for name, value in named.items() if name.startswith(part)}
            for part in (_WEIGHTS, _STATE)
        )
        state = unpack(json.loads(header["state"]), arrays)
        if not isinstance(state, dict):
            raise TypeError(f"state is {type(state).__name__}")
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint in {folder}: {NAME} is missing") from error
    except CheckpointError:
        raise
    except DAMAGED as error:
        raise CheckpointError(f"{path} is damaged ({error}): {advice}") from error
    return weights, state


def _checksum(arrays: dict[str, Tensor], text: str) -> str:
    """SHA-256 of tensors, by name, type, shape and bytes, and of a text."""
    digest = hashlib.sha256(text.encode())
    for name, value in sorted(arrays.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


# -- trees of values as JSON beside tensors ----------------------------------------------------------


def pack(value: Any, arrays: dict[str, Tensor] | None) -> Any:
    """`value` as JSON; arrays and tensors are replaced by their names in `arrays`; None refuses them."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, np.generic):
        return pack(value.item(), arrays)
    if isinstance(value, Tensor | np.ndarray) and arrays is not None:
        name = f"a{len(arrays)}"
        arrays[name] = value if isinstance(value, Tensor) else torch.from_numpy(value)
        return {"$tensor" if isinstance(value, Tensor) else "$array": name}
    if isinstance(value, dict):
        return {"$dict": [[pack(key, arrays), pack(item, arrays)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"$tuple": [pack(item, arrays) for item in value]}
    if isinstance(value, list):
        return [pack(item, arrays) for item in value]
    raise CheckpointError(
        f"a checkpoint cannot keep {type(value).__name__}: state must be numbers, strings, arrays, tensors,"
        " lists or dicts of them"
    )


def unpack(tree: Any, arrays: dict[str, Tensor]) -> Any:
    """What `pack` was given."""
    if isinstance(tree, list):
        return [unpack(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "$float" in tree:
        return float(tree["$float"])
    if "$tensor" in tree:
        return arrays[tree["$tensor"]]
    if "$array" in tree:
        return arrays[tree["$array"]].numpy()
    if "$tuple" in tree:
        return tuple(unpack(item, arrays) for item in tree["$tuple"])
    return {unpack(key, arrays): unpack(item, arrays) for key, item in tree["$dict"]}


# -- whether a run may go on from a checkpoint -------------------------------------------------------


def described(method: Method) -> str:
    """A method and its options."""
    known = dataclasses.is_dataclass(method) or isinstance(method, Softened)
    return f"{type(method).__name__} {repr(method) if known else ''}"


def check_identity(saved: dict[str, Any], mine: dict[str, Any], settings: Settings, method: Method) -> None:
    """Refuse a checkpoint of another run; `saved` and `mine` are all that decides the result of each."""
    folder = settings.checkpoint
    for name in dict.fromkeys([*mine, *saved]):
        if name != "epochs" and (before := saved.get(name)) != (now := mine.get(name)):
            if name in ("data", "weights", "sample_weight"):
                before, now = "other", "this one"
            raise CheckpointError(
                f"the checkpoint in {folder} is of another run: its {name} is {before}, not {now};"
                " resume with the settings it was started with, or use another folder"
            )
    before, now = saved["epochs"], mine["epochs"]
    planned = f"method {type(method).__name__}" if method.plans_epochs else settings.schedule.planned
    if now < before or (now > before and planned):
        why = f"fewer epochs cannot be: it was started with {before}, not {now}"
        if now > before:
            why = f"its {planned} was laid out over {before} epochs"
        raise CheckpointError(
            f"the checkpoint in {folder} cannot go on to epochs={now}: {why};"
            f" resume with epochs={before}, or train anew in another folder"
        )
