"""The Gray loss, forward + backward, beside its reference, cross_entropy and what the memory allows.

    python -m benchmarks loss                                   # needs a CUDA device

Inputs rotate through sets larger than the L2 cache. `time` is what the device needs (a CUDA graph of one step
per set, replayed; events; median) and `eager` what a Python loop sees, which for small batches is the price
of the calls. `memory` is the peak beside logits and targets, in gradient buffers. The floor is the logits
read once and the gradient written once at the bandwidth of a copy measured in the same run.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import math
import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.record import RESULTS, append, described, markdown, record, rows
from graylearn.losses import gray_loss

SIZES = ((131072, 10), (16384, 1000), (8192, 32768), (4096, 131072), (128, 10))
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Loss = Callable[[Tensor, Tensor], Tensor]
Batch = tuple[Tensor, Tensor]


LOSSES: dict[str, Loss] = {
    "reference": partial(gray_loss, impl="reference"), "ours": gray_loss, "cross_entropy": F.cross_entropy,
}  # fmt: skip


def batch(rows: int, classes: int, dtype: torch.dtype, kind: str, seed: int) -> Batch:
    """Fresh logits: normal, or peaked as a trained network's, where half of the rows have a sure class."""
    generator = torch.Generator("cuda").manual_seed(seed)
    logits = torch.empty(rows, classes, dtype=dtype, device="cuda").normal_(generator=generator)
    target = torch.randint(classes, (rows,), generator=generator, device="cuda")
    if kind == "peaked":
        logits[::2].scatter_(1, target[::2, None], 12.0 + math.log(classes))
    return logits.requires_grad_(), target


def step(loss: Loss, logits: Tensor, target: Tensor) -> None:
    logits.grad = None
    loss(logits, target).backward()


def device_seconds(run: Callable[[], None], repeats: int) -> float:
    """Median time of `run` on the device, by events."""
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def graph_of(loss: Loss, sets: list[Batch]) -> Callable[[], None]:
    """One step for every set as a CUDA graph; the gradients stay, so each set writes memory of its own."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(loss, *sets[0])
    torch.cuda.synchronize()
    for logits, _ in sets:
        logits.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for one in sets:
            step(loss, *one)
    return graph.replay


def time_on_cuda(loss: Loss, sets: list[Batch], repeats: int = 15) -> dict[str, float]:
    """Seconds a step: on the device alone, and as a Python loop sees it."""

    def eager() -> None:
        for one in sets:
            step(loss, *one)

    eager()
    found = {"eager_s": device_seconds(eager, repeats) / len(sets)}
    replay = graph_of(loss, sets)
    replay()
    found["time_s"] = device_seconds(replay, repeats) / len(sets)
    for logits, _ in sets:
        logits.grad = None
    return found


def cuda_memory(loss: Loss, logits: Tensor, target: Tensor) -> int:
    """Peak bytes beside what was there before."""
    step(loss, logits, target)
    logits.grad = None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step(loss, logits, target)
    torch.cuda.synchronize()
    logits.grad = None
    return torch.cuda.max_memory_allocated() - before


def copy_bandwidth() -> float:
    """Bytes read and written a second by a copy that fits no cache."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)

    copy()
    return 2 * len(source) / device_seconds(copy, 15)


def compare(kind: str) -> None:
    copy = copy_bandwidth()
    for (rows_, classes), (name, dtype) in itertools.product(SIZES, DTYPES.items()):
        gradient = rows_ * classes * torch.empty((), dtype=dtype).element_size()
        count = max(2, min(64, math.ceil(256e6 / gradient)))  # several times an L2 cache of 50 MB
        for who, loss in LOSSES.items():
            sets = [batch(rows_, classes, dtype, kind, seed) for seed in range(count)]
            found = time_on_cuda(loss, sets) | {"memory_buffers": cuda_memory(loss, *sets[0]) / gradient}
            del sets
            torch.cuda.empty_cache()
            row = record(
                "loss", rows=rows_, classes=classes, dtype=name, device="cuda", logits=kind, loss=who,
                **found, floor_s=2 * gradient / copy, copy_bytes_per_s=copy,
                triton=importlib.metadata.version("triton"),
            )  # fmt: skip
            append(row, RESULTS / "loss.jsonl")
            print(rows_, classes, name, who, found, flush=True)


def table() -> str:
    """Microseconds forward and backward on one GPU, one line per size and type."""
    found = rows(RESULTS / "loss.jsonl", "loss")
    found = [row for row in found if (row["device"], row["logits"]) == ("cuda", "normal")]
    found = [row for row in found if (row["rows"], row["classes"]) in SIZES]
    body = []
    for case in dict.fromkeys((row["rows"], row["classes"], row["dtype"]) for row in found):
        by = {row["loss"]: row for row in found if (row["rows"], row["classes"], row["dtype"]) == case}
        ours, peer = by["ours"], by["cross_entropy"]
        times = [by[name]["time_s"] * 1e6 for name in ("ours", "cross_entropy")]
        body.append(
            [
                f"({case[0]}, {case[1]}) {case[2]}", f"{ours['floor_s'] * 1e6:,.1f}",
                *(f"{time:,.0f}" for time in times), f"{ours['time_s'] / ours['floor_s']:.2f}",
                f"{peer['time_s'] / ours['time_s']:.2f}", f"{ours['eager_s'] / peer['eager_s']:.2f}",
            ]
        )  # fmt: skip
    head = ["logits", "floor", "ours", "cross_entropy", "x floor", "faster than cross_entropy", "from Python"]
    return markdown(head, body)


LAB_TABLES = {"measurements.md": {"loss": table}}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--logits", choices=["normal", "peaked"], default="normal")
    compare(parser.parse_args().logits)
