"""What a step with soft targets costs: the Gray loss in one pass, as K losses a row, and cross entropy.

    python benchmarks/soft_targets.py                     # appends to results/soft_targets.jsonl

Forward and backward of 128 rows on the CPU, float32, one thread; the median of CPU seconds over repeats.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import record
import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.losses import gray_loss
from graylearn.losses.soft import soft_gray_rows

ROWS = 128
CLASSES = (10, 100, 1000)
REPEATS = 7
RESULTS = Path(__file__).resolve().parent.parent / "results" / "soft_targets.jsonl"


def one_loss_a_label(logits: Tensor, share: Tensor) -> Tensor:
    n, k = logits.shape
    each = gray_loss(
        logits.repeat_interleave(k, dim=0), torch.arange(k).repeat(n), reduction="none", impl="fused"
    )
    return (each.view(n, k) * share).sum(1)


FORMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross entropy": lambda logits, share: F.cross_entropy(logits, share, reduction="none"),
    "gray, one pass": lambda logits, share: soft_gray_rows(logits, share, "max"),
    "gray, K losses": one_loss_a_label,
}


def seconds(form: Callable[[Tensor, Tensor], Tensor], classes: int) -> float:
    torch.manual_seed(0)
    logits = torch.randn(ROWS, classes, requires_grad=True)
    share = torch.randn(ROWS, classes).softmax(1)
    taken = []
    for _ in range(REPEATS + 1):
        logits.grad = None
        began = time.process_time()
        form(logits, share).sum().backward()
        taken.append(time.process_time() - began)
    return statistics.median(taken[1:])  # the first warms up


def main() -> None:
    args = record.parser(str(__doc__), RESULTS).parse_args()
    torch.set_num_threads(1)
    for classes in CLASSES:
        for name, form in FORMS.items():
            found = seconds(form, classes)
            record.append(
                record.record("soft targets", form=name, rows=ROWS, classes=classes, seconds=found), args.out
            )
            print(f"{classes:5d} {name:15s} {1e3 * found:9.3f} ms", flush=True)


if __name__ == "__main__":
    main()
