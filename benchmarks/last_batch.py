"""What a small last batch costs a network with batch norm, and what sharing it between the last two saves.

    python benchmarks/last_batch.py --data FOLDER        # FOLDER has CIFAR-10; about ten minutes on one core

An epoch of 10 batches of 256 and a few samples more, of CIFAR-10 at half its size: a small convolutional
network, trained with the last batch as it is left and with the last two alike; accuracy on 3,000 test images.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from record import append, described, record
from small_images import accuracy, halved

from reproduction.catalog import load

BATCH, WHOLE = 256, 10
LEFT = (4, 16, 64, 128)
SETTINGS = {"net": "small_cnn-16", "epochs": 20, "batch_size": BATCH, "whole_batches": WHOLE, "pixels": 16}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/last_batch.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_set, test_set = load("cifar10", options.data)
    x, y = halved(train_set.x[: BATCH * (WHOLE + 1)]), train_set.y[: BATCH * (WHOLE + 1)]
    test = halved(test_set.x[:3000]), test_set.y[:3000]
    for seed in range(options.seeds):
        for preset in ("paper", "fast"):
            for left in LEFT:
                count = BATCH * WHOLE + left
                for shared in (False, True):
                    # with no batch norm in sight the engine leaves the last batch as it is
                    seen = ["batch norm"] if shared else []
                    with mock.patch("graylearn.training.train.batch_norms", return_value=seen):
                        found = accuracy(
                            (x[:count], y[:count]), test, seed, method="standard", preset=preset,
                            epochs=SETTINGS["epochs"], batch_size=BATCH,
                        )  # fmt: skip
                    way = "shared" if shared else "as left"
                    row = record(
                        "last batch",
                        preset=preset,
                        left=left,
                        last=way,
                        seed=seed,
                        **found,
                        settings=SETTINGS,
                    )
                    append(row, options.out)
                    print(preset, left, way, seed, f"{100 * found['accuracy']:.1f}", flush=True)


if __name__ == "__main__":
    main()
