"""What the first steps at the full rate do to a deep network with batch norm, and what a warm-up saves.

    python benchmarks/first_steps.py --data FOLDER     # FOLDER has CIFAR-10; two minutes on an H200

ResNet18 on half of CIFAR-10 without a single OOD sample, `paper` against `paper-warm`, standard training and
gl; runs of one seed differ in nothing else. `grown` is the norm of all convolutions after the first epoch
over that before it: batch norm makes a layer blind to the scale of its weights, so the more they grow, the
less every later step turns them.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from record import append, described, record
from torch import nn

from graylearn.nets import make
from graylearn.training import train
from graylearn.training.loop import EpochEnd
from reproduction.catalog import load

SETTINGS = {"net": "resnet18", "images": 24576, "epochs": 16, "batch_size": 512}
POOL, TEST = 25000, 5000
"""Training images are drawn from the first 25,000 and tested on the first 5,000."""


def norm(model: nn.Module) -> float:
    kernels = [weight.detach() for weight in model.parameters() if weight.ndim == 4]
    return float(torch.stack([kernel.square().sum() for kernel in kernels]).sum().sqrt())


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--images", type=int, default=SETTINGS["images"], help="fewer for a first try")
    parser.add_argument("--out", type=Path, default=Path("results/first_steps.jsonl"))
    options = parser.parse_args()
    train_set, test_set = load("cifar10", options.data)
    x, y = train_set.x[:POOL], train_set.y[:POOL]
    settings = {**SETTINGS, "images": options.images}
    for seed in options.seeds:
        chosen = np.random.default_rng(seed).permutation(len(x))[: options.images]
        for method in ("standard", "gl"):
            for preset in ("paper", "paper-warm"):
                torch.manual_seed(0)
                model = make("resnet18", 10, (3, 32, 32))
                norms = [norm(model)]

                def watch(end: EpochEnd, norms: list[float] = norms) -> None:
                    norms.append(norm(end.model))

                result = train(
                    model, (x[chosen], y[chosen]), method=method, preset=preset, epochs=settings["epochs"],
                    batch_size=settings["batch_size"], seed=seed, device=options.device, callbacks=[watch],
                    log="none",
                )  # fmt: skip
                found = np.asarray(result.predict_logits(test_set.x[:TEST])).argmax(1)
                row = record(
                    "first steps",
                    preset=preset,
                    method=method,
                    seed=seed,
                    accuracy=float((found == test_set.y[:TEST]).mean()),
                    train_accuracy=[line["accuracy"] for line in result.log],
                    grown=norms[1] / norms[0],
                    settings=settings,
                )
                append(row, options.out)
                told = f"{100 * row['accuracy']:.1f} %, weights x{row['grown']:.2f}"
                print(method, preset, seed, told, flush=True)


if __name__ == "__main__":
    main()
