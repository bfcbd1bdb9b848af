"""Devices: which one, the global switches of torch there, and when half precision is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from graylearn.errors import Hint, SettingsError

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The types of autocast by the name of the precision."""
_WORTH_THREADS = 8_000_000
"""Multiply-adds of a layer in one step from which a second thread helps. Below, threads wait for each other:
on two idle cores a small network trains a tenth slower with two, on busy ones ten times slower."""

if hasattr(os, "register_at_fork"):
    # threads are not copied by a fork, and the child would wait for them for ever; torch's own loaders do the
    # same in their workers
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose(device: str | torch.device | None) -> torch.device:
    """The given device, or by default the best there is."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise SettingsError(f"device {device!r} is not known: use cpu, cuda or cuda:0") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise SettingsError(f"device {device!r} was asked for but torch sees no CUDA device: use cpu")
    if chosen.type != "cpu":
        try:
            torch.zeros(1, device=chosen).cpu()
        except (RuntimeError, AssertionError, ImportError) as error:  # torch raises any of them
            raise SettingsError(
                f"device {device!r} was asked for but torch cannot use it here: use cpu, or leave device out"
            ) from error
    return chosen


@contextmanager
def prepared(device: torch.device) -> Iterator[None]:
    """Set the global switches of torch for training, and restore them afterwards; one run at a time does.

    Not where the user asked torch for deterministic algorithms.
    """
    if device.type != "cuda" or torch.are_deterministic_algorithms_enabled():
        yield
        return
    cudnn, precision = torch.backends.cudnn, torch.get_float32_matmul_precision()
    before = cudnn.benchmark
    torch.set_float32_matmul_precision("high")
    cudnn.benchmark = True
    try:
        yield
    finally:
        cudnn.benchmark = before
        torch.set_float32_matmul_precision(precision)


@contextmanager
def threads_for(largest_layer: int, batch_size: int, device: torch.device) -> Iterator[None]:
    """One thread of NumPy and torch for networks too small for several, which take far longer in them on a
    busy machine; largest_layer: multiply-adds per sample, 0 where they are not known."""
    if device.type != "cpu" or not 0 < batch_size * largest_layer < _WORTH_THREADS:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def autocast_type(precision: str, device: torch.device, images: bool) -> torch.dtype | None:
    """The type of autocast, None for none: as given, by default bfloat16 for images on CUDA."""
    if precision == "fp16" and device.type != "cuda":
        raise SettingsError(
            f"fp16 is for CUDA devices, and this is {device.type}:", Hint("precision", "bf16")
        )
    if precision != "auto":
        return HALF.get(precision)
    return torch.bfloat16 if device.type == "cuda" and images else None
