"""The picture of the home page: what a network believes of its labels, epoch by epoch, by kind of sample.

Digits as in `make demo`: 0 to 7 are the classes, every fifth of them has a wrong label, and eights and nines
(19 % of the set) are there under random labels. One network learns by cross entropy, one by Gray Learning.

    python examples/confidence.py        # a minute; writes docs/figures/confidence.svg
"""

from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import graylearn as gl

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "confidence.svg"
EPOCHS = 60
PANELS = {"standard": "cross entropy", "gl": "Gray Learning"}
COLOURS = {"belongs": "#2f86d1", "mislabelled": "#e0761b", "foreign": "#a05fc0"}
QUIET = "#808080"  # readable on white and on black


def confidences(method: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Confidence in the given label (epochs, samples) of one run, and which samples are of which kind."""
    digits = load_digits()
    pixels = (digits.data / 16).astype(np.float32)
    known = digits.target < 8
    dirty = gl.contaminate(pixels[known], digits.target[known], pixels[~known], alpha=0.19, flip=0.2, seed=0)
    torch.manual_seed(0)
    network = gl.nets.make("mlp", num_classes=8, in_shape=(64,))
    result = gl.train(
        network,
        (dirty.x, dirty.y),
        method=method,
        preset="table",
        epochs=EPOCHS,
        batch_size=32,
        device="cpu",
        log="none",
    )
    kinds = {
        "belongs": ~(dirty.is_ood | dirty.is_flipped),
        "mislabelled": dirty.is_flipped,
        "foreign": dirty.is_ood,
    }
    return np.asarray(result.history.label_confidence, dtype=np.float64), kinds


def draw() -> None:
    """Median and middle half of each kind, one panel a method."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "confidence", "font.size": 11})
    plt.rcParams["font.family"] = "sans-serif"
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    epochs = np.arange(1, EPOCHS + 1)
    for panel, (method, title) in zip(panels, PANELS.items(), strict=True):
        confidence, kinds = confidences(method)
        for kind, members in kinds.items():
            low, middle, high = np.quantile(confidence[:, members], (0.25, 0.5, 0.75), axis=1)
            panel.fill_between(epochs, low, high, color=COLOURS[kind], alpha=0.18, linewidth=0)
            panel.plot(epochs, middle, color=COLOURS[kind], linewidth=2, label=f"{kind} ({members.sum():,})")
        panel.set_title(title, color=QUIET, fontsize=12)
        panel.set_xlabel("epoch", color=QUIET)
        panel.set_xlim(1, EPOCHS)
        panel.set_ylim(0, 1)
        panel.tick_params(colors=QUIET)
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(QUIET)
    panels[0].set_ylabel("confidence in the given label", color=QUIET)
    panels[1].legend(loc="center right", frameon=False, labelcolor="linecolor")
    figure.savefig(PICTURE, transparent=True, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw()
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1024} kB")
