"""float16 with a scaler on CUDA: near float32, an infinite gradient passed over, the scale kept over a kill.

    python benchmarks/float16.py

Digits as images, a small convolutional network, the Gray loss. One step's loss is a million times too large,
so that its gradient is infinite in float16; one process is killed in the middle and resumed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from record import append, described, record
from sklearn.datasets import load_digits
from torch import Tensor, nn

from graylearn.methods.base import Step
from graylearn.methods.gl import Gray
from graylearn.training import train
from graylearn.training.checkpoint import load_checkpoint

OUT = Path(__file__).parents[1] / "results" / "training.jsonl"
LOUD, KILL = 5, 150  # steps
TRAIN = 1300  # of 1,797 images; the others are tested on


class Loud(Gray):
    """The Gray loss, at one step far too large; kills its process at another."""

    def __init__(self, loud: int, kill: int) -> None:
        super().__init__()
        self.per_sample = False
        self.steps, self.loud, self.kill = 0, loud, kill

    def loss(self, step: Step) -> Tensor:
        """The loss of one step."""
        self.steps += 1
        if self.steps == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().loss(step) * (1e6 if self.steps == self.loud else 1.0)


def fit(precision: str, folder: str, loud: int, kill: int, resume: bool) -> dict[str, Any]:
    """One run, in this process."""
    x, y = load_digits(return_X_y=True)
    images, labels = torch.tensor(x).float().view(-1, 1, 8, 8) / 16, torch.tensor(y)
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2)]
    network = nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(32 * 9, 10))
    result = train(
        network, (images[:TRAIN], labels[:TRAIN]), method=Loud(loud, kill), epochs=12, batch_size=50,
        learning_rate=2e-3, precision=precision, device="cuda", seed=0, log="none", checkpoint=folder,
        checkpoint_steps=10, resume=resume, clip_norm=5.0,
    )  # fmt: skip
    with torch.no_grad():
        said = network.eval().float().cpu()(images[TRAIN:]).argmax(1)
    accuracy = (said == labels[TRAIN:]).float().mean().item()
    return {
        "accuracy": accuracy,
        "losses": [row["loss"] for row in result.log],
        "scaler": scaler_of(folder),
    }


def scaler_of(folder: str | Path) -> Any:
    """What the checkpoint there holds of the scaler."""
    return load_checkpoint(folder)[1]["optimizer"].get("scaler")


def child(*words: object) -> dict[str, Any] | None:
    """A run in a process of its own; None where it was killed."""
    command = [sys.executable, __file__, "--fit", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:
        return None
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Four runs, what they show, and a row."""
    parser = described(__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument(
        "--fit", nargs=5, help="precision, folder, loud step, step to die at, resume: one run"
    )
    options = parser.parse_args()
    if options.fit:
        precision, folder, loud, kill, resume = options.fit
        print(json.dumps(fit(precision, folder, int(loud), int(kill), resume == "True")))
        return
    with tempfile.TemporaryDirectory() as place:
        full = child("fp32", Path(place, "full"), LOUD, 0, False)
        whole = child("fp16", Path(place, "whole"), LOUD, 0, False)
        killed = child("fp16", Path(place, "broken"), LOUD, KILL, False)
        kept = scaler_of(Path(place, "broken"))
        resumed = child("fp16", Path(place, "broken"), 0, 0, True)  # the loud step lies behind it
    assert full is not None
    assert whole is not None
    assert resumed is not None
    held = {
        "the loss falls": whole["losses"][-1] < 0.2 * whole["losses"][1],
        "an infinite gradient halved the scale": whole["scaler"]["scale"] < 65536,
        "accuracy within .02 of float32": abs(whole["accuracy"] - full["accuracy"]) < 0.02,
        "the killed run kept its scale": killed is None and kept["scale"] < 65536,
        "resumed, the scaler ends as unbroken": resumed["scaler"] == whole["scaler"],
        "resumed, accuracy within .01 of unbroken": abs(resumed["accuracy"] - whole["accuracy"]) < 0.01,
    }
    for sentence, met in held.items():
        print("met   " if met else "MISSED", sentence)
    accuracies = {
        "float32": full["accuracy"],
        "float16": whole["accuracy"],
        "resumed": resumed["accuracy"],
    }
    print(accuracies)
    append(record("float16", **accuracies, held=held), options.out)


if __name__ == "__main__":
    main()
