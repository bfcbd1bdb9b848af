"""What each C of the Gray loss does where a network learns foreign samples by heart: many classes, long runs.

    python benchmarks/memorising.py --features FILE.npz     # x: (N, D) features of images, y: their classes

Features of 100 classes of Tiny-ImageNet, 60 of them known, a fifth of the samples from the others under
random labels or each foreign class under one label (specific); an MLP that fits everything, on the paper's
schedule. A stand-in, on a CPU, for the paper's ResNet18 on 100 classes, whose verdict is in
results/table1.jsonl.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from record import append, described, record

import graylearn as gl
from graylearn.methods import make_method
from graylearn.nets.mlp import MLP
from graylearn.training import PRESETS

CLASSES, SHARE, TEST_SHARE, COLUMNS = 60, 0.2, 0.4, 96
SETTINGS = {"epochs": 60, "batch_size": 64, "learning_rate": 0.05}
METHODS = {
    "oracle": ("standard", {}),
    "standard": ("standard", {}),
    "gl": ("gl", {}),
    "gl-label": ("gl-label", {}),
    "gl-relative": ("gl-relative", {}),
    "gl-history, power 1": ("gl-history", {"power": 1.0}),
    "gl-history, power 2": ("gl-history", {"power": 2.0}),
    "gl-history, power 4": ("gl-history", {"power": 4.0}),
}


def drawn(
    x: np.ndarray, y: np.ndarray, labels: str, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training features, labels, whether foreign; test features and labels."""
    random = np.random.default_rng(seed)
    classes = random.permutation(np.unique(y))
    own = np.isin(y, classes[:CLASSES])
    number = {int(of): at for at, of in enumerate(classes)}
    index = random.permutation(np.flatnonzero(own))
    test, train = np.split(index, [int(TEST_SHARE * len(index))])
    wanted = int(SHARE / (1 - SHARE) * len(train))
    foreign = random.permutation(np.flatnonzero(~own))[:wanted]
    named = lambda rows: np.array([number[int(of)] for of in y[rows]])  # noqa: E731
    if labels == "random":
        given = random.integers(0, CLASSES, len(foreign))
    else:
        given = (named(foreign) - CLASSES) % CLASSES
    order = random.permutation(len(train) + len(foreign))
    is_foreign = (np.arange(len(order)) >= len(train))[order]
    rows = np.concatenate([train, foreign])[order]
    return x[rows], np.concatenate([named(train), given])[order], is_foreign, x[test], named(test)


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("results/memorising.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    with np.load(options.features) as file:
        x, y = file["x"].astype(np.float32), file["y"]
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)
    _, _, directions = np.linalg.svd(x[::7], full_matrices=False)
    x = x @ directions[:COLUMNS].T
    x = (x / x.std()).astype(np.float32)
    settings = dataclasses.replace(PRESETS["paper"], augment=None)
    for seed in options.seeds:
        for labels in ("random", "specific"):
            train_x, train_y, foreign, test_x, test_y = drawn(x, y, labels, seed)
            for title, (name, chosen) in METHODS.items():
                kept = ~foreign if title == "oracle" else np.ones(len(train_y), bool)
                torch.manual_seed(seed)
                result = gl.train(
                    MLP(CLASSES, (COLUMNS,), hidden=(256, 256), dropout=0.0), (train_x[kept], train_y[kept]),
                    method=make_method(name, **chosen), settings=settings, seed=seed, device="cpu",
                    log="none", **SETTINGS,
                )  # fmt: skip
                accuracy = float((np.asarray(result.predict_logits(test_x)).argmax(1) == test_y).mean())
                last = result.history.label_confidence[-1].astype(np.float64)
                believed = {
                    group: float(last[members[kept]].mean()) if members[kept].any() else None
                    for group, members in (("own", ~foreign), ("foreign", foreign))
                }
                row = record(
                    "memorising", method=title, labels=labels, seed=seed, accuracy=accuracy,
                    settings={**SETTINGS, "classes": CLASSES, "share": SHARE, "rows": int(kept.sum())},
                    last_label_confidence=believed,
                )  # fmt: skip
                append(row, options.out)
                print(seed, labels, title, f"{100 * accuracy:.1f}", believed, flush=True)


if __name__ == "__main__":
    main()
