"""Checkpoints: a whole one or none, whatever the moment the process dies; never pickle.

    folder/
      checkpoint.json            names the folder below, with the size and SHA-256 of each of its files
      00003-0000000-1a2b3c4d/    epochs and steps done
        weights.safetensors      the model
        state.npz                all other arrays: optimizer, method, history, random generators
        state.json               all else, readable
      log.jsonl                  one row per epoch

A new folder is written and flushed under another name, moved into place, and only then named by
checkpoint.json, which is itself replaced in one move; the old folder goes last.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from graylearn.data.atomic import alone, flush, signature, write_text
from graylearn.data.npz import read_arrays
from graylearn.errors import FULL, CheckpointError, FolderTakenError, Hint
from graylearn.methods import Method
from graylearn.methods.softened import Softened
from graylearn.training.schedules import ScheduleSettings
from graylearn.training.settings import Settings

MANIFEST = "checkpoint.json"
_FORMAT = 2
_OURS = re.compile(r"\d{5,}-\d{7,}-[0-9a-f]{8}|\.partial-[0-9a-f]{8}")
_FILES = ("weights.safetensors", "state.npz", "state.json")


def has_checkpoint(folder: str | Path) -> bool:
    """Whether a checkpoint was ever completed in `folder`."""
    return (Path(folder) / MANIFEST).exists()


@contextmanager
def writes_checkpoints(folder: Path | None) -> Iterator[None]:
    """Train with checkpoints in `folder`, used by this process alone; a full disk leaves the last
    complete one."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    taken = FolderTakenError(
        f"another process is training with the checkpoints in {folder}: wait for it, or give another folder"
    )
    with alone(folder / ".training.lock", taken):
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise CheckpointError(
                f"the checkpoint in {folder} cannot be written ({error.strerror}); make room and start again",
                Hint("resume", True, "to go on from the last whole one"),
            ) from error


def save_checkpoint(
    folder: str | Path, weights: dict[str, Tensor], state: dict[str, Any], *, epoch: int, step: int
) -> None:
    """Write a checkpoint to `folder` instead of the one there, named after the epochs and steps done."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(4)
    partial, final = folder / f".partial-{token}", folder / f"{epoch:05d}-{step:07d}-{token}"
    partial.mkdir()
    try:
        # clones, because tied weights share memory and channels_last ones are not contiguous
        plain = {key: value.detach().cpu().contiguous().clone() for key, value in weights.items()}
        (partial / _FILES[0]).write_bytes(safetensors.torch.save(plain))
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        tree = pack(state, arrays)
        with (partial / _FILES[1]).open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        (partial / _FILES[2]).write_text(json.dumps(tree, indent=1, allow_nan=False))
        for name in _FILES:
            flush(partial / name)
        files = {name: signature(partial / name) for name in _FILES}
        _flush_folder(partial)
        partial.rename(final)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _flush_folder(folder)
    write_atomic(
        folder / MANIFEST,
        json.dumps({"format": _FORMAT, "folder": final.name, "files": files}, indent=1),
    )
    clear_leftovers(folder)


def clear_leftovers(folder: str | Path) -> None:
    """Remove every checkpoint but the one in force: older ones, and what killed runs left half written."""
    in_force = json.loads((Path(folder) / MANIFEST).read_text())["folder"]
    for other in Path(folder).iterdir():
        # by name, so that nothing of the user's is ever removed, and an old one half removed still goes
        if other.is_dir() and other.name != in_force and _OURS.fullmatch(other.name):
            shutil.rmtree(other, ignore_errors=True)


def load_checkpoint(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights and the state of the checkpoint in `folder`, once every byte is known to be as written."""
    folder = Path(folder)
    advice = "restore it from a copy or start anew in an empty folder"
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        where, files = folder / manifest["folder"], manifest["files"]
        written = manifest["format"]
        if set(files) != set(_FILES) or not _OURS.fullmatch(manifest["folder"]):
            raise KeyError("files, in a folder beside it")
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint in {folder}: {MANIFEST} is missing") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{folder / MANIFEST} is damaged: {advice}") from error
    if written != _FORMAT:
        raise CheckpointError(
            f"the checkpoint in {folder} has format {written}, this graylearn reads {_FORMAT}:"
            " resume with the version that wrote it"
        )
    for name, written_then in files.items():
        path = where / name
        if not path.exists():
            raise CheckpointError(f"{path} is missing from the checkpoint: {advice}")
        if signature(path) != written_then:
            raise CheckpointError(f"{path} is damaged, its bytes are not the ones written: {advice}")
    try:
        weights = safetensors.torch.load((where / _FILES[0]).read_bytes())
        state = unpack(json.loads((where / _FILES[2]).read_text()), read_arrays(where / _FILES[1]))
        if not isinstance(state, dict):
            raise TypeError(f"state is {type(state).__name__}")
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RuntimeError,  # RecursionError too
        OSError,
        MemoryError,
        safetensors.SafetensorError,
    ) as error:  # signed again by somebody else: the checksums say nothing then
        raise CheckpointError(f"the checkpoint in {where} cannot be used ({error}): {advice}") from error
    return weights, state


def write_atomic(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_text(path, text)
    _flush_folder(path.parent)


# -- trees of values as JSON beside arrays ----------------------------------------------------------


def pack(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """`value` as JSON can hold it; arrays and tensors go to `arrays`, named where they stood."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, np.generic):
        return pack(value.item(), arrays)
    if isinstance(value, Tensor):
        name = f"a{len(arrays)}"
        plain = value.detach().cpu()
        # npz has no bfloat16: keep its bits
        arrays[name] = (plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy()
        return {"$tensor": name, "dtype": str(plain.dtype).removeprefix("torch.")}
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value.astype(str) if value.dtype == object else value
        return {"$array": name}
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


def unpack(tree: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """What `pack` was given."""
    if isinstance(tree, list):
        return [unpack(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "$float" in tree:
        return float(tree["$float"])
    if "$tensor" in tree:
        tensor = torch.from_numpy(arrays[tree["$tensor"]].copy())
        dtype: torch.dtype = getattr(torch, tree["dtype"])
        return tensor.view(dtype) if dtype == torch.bfloat16 else tensor
    if "$array" in tree:
        return arrays[tree["$array"]]
    if "$tuple" in tree:
        return tuple(unpack(item, arrays) for item in tree["$tuple"])
    return {unpack(key, arrays): unpack(item, arrays) for key, item in tree["$dict"]}


def _flush_folder(folder: Path) -> None:
    """Make the names in `folder` last through a power cut, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows does not open folders
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def described(method: Method) -> str:
    """A method and its options."""
    known = dataclasses.is_dataclass(method) or isinstance(method, Softened)
    return f"{type(method).__name__} {repr(method) if known else ''}"


def check_identity(saved: dict[str, Any], mine: dict[str, Any], settings: Settings, method: Method) -> None:
    """Refuse a checkpoint of another run; `saved` and `mine` say what decides the result of each."""
    folder = settings.checkpoint
    for name in [*mine, *(name for name in saved if name not in mine)]:
        value = mine.get(name)
        if saved.get(name) != value and name != "epochs":
            told = name not in ("data", "weights", "sample_weight")
            old, new = (saved.get(name), value) if told else ("other", "this one")
            raise CheckpointError(
                f"the checkpoint in {folder} is of another run: its {name} is {old}, not {new};"
                " resume with the settings it was started with, or use another folder"
            )
    before, now = saved["epochs"], mine["epochs"]
    if before == now:
        return
    why = f"fewer epochs cannot be: it was started with {before}, not {now}"
    if now > before:
        why = _why_not_longer(settings.schedule, method, before)
    if why:
        raise CheckpointError(
            f"the checkpoint in {folder} cannot go on to epochs={now}: {why};"
            f" resume with epochs={before}, or train anew in another folder"
        )


def _why_not_longer(schedule: Any, method: Method, epochs: int) -> str:
    """Why the epochs so far would not be those of a longer run; empty where they are."""
    if method.plans_epochs:
        return f"{type(method).__name__} does what it does by how many epochs there are, and planned {epochs}"
    if not isinstance(schedule, ScheduleSettings):  # counts its own steps
        return ""
    if schedule.warmup or schedule.name in ("one-cycle", "cosine"):
        warm = " with warmup" if schedule.warmup else ""
        return f"its learning rates ({schedule.name}{warm}) were laid out over {epochs} epochs"
    if schedule.name == "step" and any(milestone < 1 for milestone in schedule.milestones):
        return f"its milestones {schedule.milestones} are shares of {epochs} epochs, not numbers of epochs"
    return ""
