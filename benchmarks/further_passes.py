"""What it costs to let a method's own inputs into batch norm's running statistics.

    python benchmarks/further_passes.py --data FOLDER     # FOLDER has CIFAR-10; a few minutes on one core

lcvd passes means of twenty images and srcc mixed pairs through the network beside the batch. Each is trained
twice from the same weights: with running statistics of the samples alone, as the engine has it, and of all
passes, as a plain loop has it. The weights come out the same, the accuracy on 3,000 test images does not.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from record import append, described, record
from small_images import accuracy, halved

from reproduction.catalog import load

SETTINGS = {"net": "small_cnn-16", "images": 2560, "epochs": 20, "batch_size": 256, "pixels": 16}
METHODS = ("standard", "lcvd", "srcc")
WAYS = ("samples", "all passes")


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/further_passes.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_set, test_set = load("cifar10", options.data)
    data = halved(train_set.x[: SETTINGS["images"]]), train_set.y[: SETTINGS["images"]]
    test = halved(test_set.x[:3000]), test_set.y[:3000]
    for seed in range(options.seeds):
        for method in METHODS:
            for way in WAYS if method != "standard" else WAYS[:1]:
                tracked = mock.patch(
                    "graylearn.training.learner._each", return_value=contextlib.nullcontext()
                )
                with tracked if way == "all passes" else contextlib.nullcontext():
                    found = accuracy(
                        data, test, seed, method=method, preset="paper-warm", epochs=SETTINGS["epochs"],
                        batch_size=SETTINGS["batch_size"],
                    )  # fmt: skip
                row = record(
                    "further passes", method=method, statistics=way, seed=seed, **found, settings=SETTINGS
                )
                append(row, options.out)
                told = " ".join(f"{name} {100 * value:.1f}" for name, value in found.items())
                print(method, way, seed, told, flush=True)


if __name__ == "__main__":
    main()
