"""What Gray Learning does in a short run with many classes, and what relative confidence makes of it.

    python benchmarks/many_classes.py --data FOLDER     # FOLDER has Tiny-ImageNet; half an hour on one core

The first K classes of Tiny-ImageNet at 16 x 16, GrayClassifier with its small convolutional network and its
one-cycle schedule, one fit without audit; clean, and with a fifth of OOD samples under random labels.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from record import append, described, record
from small_images import halved

from graylearn import GrayClassifier
from reproduction.catalog import load

SETTINGS = {"images": 6000, "epochs": 10, "pixels": 16}
METHODS = ("standard", "gl", "gl-relative")


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--out", type=Path, default=Path("results/many_classes.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_set, test_set = load("tiny-imagenet", options.data)
    for seed in options.seeds:
        for classes in options.classes:
            draw = np.random.default_rng(seed)
            known = draw.permutation(np.flatnonzero(train_set.y < classes))[: SETTINGS["images"]]
            foreign = draw.permutation(np.flatnonzero(train_set.y >= classes))[: len(known) // 4]
            x, y = halved(train_set.x[known]), train_set.y[known]
            dirty = np.concatenate([x, halved(train_set.x[foreign])])
            labels = np.concatenate([y, draw.integers(0, classes, len(foreign))])
            test = test_set.y < classes
            for what, data in (("clean", (x, y)), ("20 % OOD", (dirty, labels))):
                for method in METHODS:
                    model = GrayClassifier(
                        method=method, refine=False, audit=None, epochs=SETTINGS["epochs"],
                        random_state=seed, device="cpu",
                    )  # fmt: skip
                    model.fit(*data)
                    accuracy = float(model.score(halved(test_set.x[test]), test_set.y[test]))
                    row = record(
                        "many classes", method=method, classes=classes, data=what, seed=seed,
                        accuracy=accuracy, settings={**SETTINGS, "images": len(known)},
                    )  # fmt: skip
                    append(row, options.out)
                    print(seed, classes, what, method, f"{100 * accuracy:.1f}", flush=True)


if __name__ == "__main__":
    main()
