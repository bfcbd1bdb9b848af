"""Real images with out-of-distribution samples among them: accuracy, calibration, and who does not belong.

    python benchmarks/images.py --data FOLDER --epochs 60 --batch-size 128 --seeds 0,1,2

FOLDER holds cifar10.npz and tiny-imagenet.npz (train_x, test_x uint8 NHWC; train_y, test_y). CIFAR-10: the
last two classes are the OOD samples of the other eight. Tiny-ImageNet: the last hundred classes are those of
the first hundred. Every run is ResNet18 with the `paper` preset scaled to --epochs. The oracle is standard
training on the in-distribution samples alone. One JSON line is added to --out as each run ends; runs that
are there already are left out, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from record import append, record

from graylearn.data.contaminate import Contaminated, contaminate
from graylearn.data.samples import Samples
from graylearn.metrics import accuracy, auroc, average_precision, ece
from graylearn.nets import make
from graylearn.training import train

EXPERIMENT = "contaminated images"
IN_CLASSES = {"cifar10": 8, "tiny-imagenet": 100, "svhn": 8}
"""How many classes, the first ones, are in distribution."""


@dataclass(frozen=True)
class Cell:
    """One run to make."""

    dataset: str
    method: str
    labels: str
    alpha: float
    seed: int
    net: str
    preset: str
    epochs: int
    batch_size: int

    def is_in(self, row: dict[str, Any]) -> bool:
        return row.get("experiment") == EXPERIMENT and all(row.get(k) == v for k, v in vars(self).items())


class Data:
    """One dataset, cut into in-distribution and OOD samples."""

    def __init__(self, folder: Path, name: str, limit: int | None) -> None:
        with np.load(folder / f"{name}.npz") as file:
            train_x, train_y = file["train_x"], file["train_y"].astype(np.int64)
            test_x, test_y = file["test_x"], file["test_y"].astype(np.int64)
        if limit is not None:  # for a quick try: a part spread over all classes
            keep, keep_test = np.arange(0, len(train_y), -(-len(train_y) // limit)), slice(None, None, 20)
            train_x, train_y, test_x, test_y = (
                train_x[keep],
                train_y[keep],
                test_x[keep_test],
                test_y[keep_test],
            )
        self.classes = IN_CLASSES[name]
        inside = train_y < self.classes
        self.x, self.y = train_x[inside], train_y[inside]
        self.ood_x, self.ood_y = train_x[~inside], train_y[~inside]
        inside = test_y < self.classes
        self.test_x, self.test_y = test_x[inside], test_y[inside]

    def contaminated(self, labels: str, alpha: float, seed: int) -> Contaminated:
        return contaminate(
            self.x,
            self.y,
            self.ood_x,
            alpha=alpha,
            labels="specific" if labels == "specific" else "random",
            ood_groups=self.ood_y,
            on_shortage="lower",
            seed=seed,
        )


def softmax(logits: np.ndarray) -> np.ndarray:
    return torch.softmax(torch.from_numpy(logits).double(), 1).numpy()


def compile_mode(text: str) -> str | bool:
    """One module serves all runs of a dataset, so compiling it once pays wherever there is a GPU."""
    if text == "auto":
        return "reduce-overhead" if torch.cuda.is_available() else False
    return False if text == "none" else text


def run(cell: Cell, data: Data, model: torch.nn.Module, arguments: argparse.Namespace) -> dict[str, Any]:
    torch.manual_seed(cell.seed)
    # the same module anew, so that what was compiled for it serves all runs
    model.load_state_dict(
        make(cell.net, data.classes, data.test_x.shape[3:] + data.test_x.shape[1:3]).state_dict()
    )
    mixed = data.contaminated(cell.labels, cell.alpha, cell.seed)
    samples: Samples = mixed.clean() if cell.method == "oracle" else mixed
    began = time.perf_counter()
    result = train(
        model,
        (samples.x, samples.y),
        method="standard" if cell.method == "oracle" else cell.method,
        preset=cell.preset,
        epochs=cell.epochs,
        batch_size=cell.batch_size,
        seed=cell.seed,
        device=arguments.device,
        precision=arguments.precision,
        compile=compile_mode(arguments.compile_mode),
        log="lines" if arguments.verbose else "none",
    )
    seconds = time.perf_counter() - began
    probabilities = softmax(result.predict_logits(data.test_x))
    measured: dict[str, Any] = {
        "accuracy": accuracy(probabilities, data.test_y),
        "ece": ece(probabilities, data.test_y, bins=20),
        "train_accuracy": result.log[-1]["accuracy"],
        "train_loss": result.log[-1]["loss"],
        "seconds": seconds,
        "images_per_second": float(np.median([row["samples_per_second"] for row in result.log])),
        "samples": len(samples),
    }
    if cell.method != "oracle":
        score = 1 - result.history.mean_label_confidence()
        measured |= {
            "ood_samples": int(mixed.is_ood.sum()),
            "ood_auroc": auroc(score, mixed.is_ood),
            "ood_ap": average_precision(score, mixed.is_ood),
            "last_epoch_ood_auroc": auroc(1 - result.history.last_label_confidence(), mixed.is_ood),
        }
    return measured


def cells(arguments: argparse.Namespace) -> list[Cell]:
    listed = []
    for seed in (int(text) for text in arguments.seeds.split(",")):
        for dataset in arguments.datasets.split(","):
            for method in arguments.methods.split(","):
                # the oracle sees no OOD sample, so their labels make no difference to it
                schemes = ["none"] if method == "oracle" else arguments.labels.split(",")
                listed += [
                    Cell(
                        dataset,
                        method,
                        labels,
                        arguments.alpha,
                        seed,
                        arguments.net,
                        arguments.preset,
                        arguments.epochs,
                        arguments.batch_size,
                    )
                    for labels in schemes
                ]
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the npz files")
    parser.add_argument("--out", type=Path, default=Path("results/images.jsonl"))
    parser.add_argument("--datasets", default="cifar10,tiny-imagenet")
    parser.add_argument("--methods", default="standard,gl,gl-label,oracle")
    parser.add_argument("--labels", default="specific,random", help="how OOD samples are labelled")
    parser.add_argument("--alpha", type=float, default=0.2, help="share of OOD samples")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--preset", default="paper", choices=["paper", "fast"])
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--net", default="resnet18")
    parser.add_argument("--device", default=None)
    parser.add_argument("--precision", default="auto", choices=["auto", "bf16", "fp32"])
    parser.add_argument("--compile-mode", default="auto", help="auto, none or a mode of torch.compile")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds; no run starts after")
    parser.add_argument(
        "--limit", type=int, default=None, help="about so many training images, for a quick try"
    )
    parser.add_argument("--verbose", action="store_true", help="a line an epoch")
    arguments = parser.parse_args()
    began = time.perf_counter()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = [json.loads(line) for line in lines if line.strip()]
    loaded: dict[str, Data] = {}
    models: dict[tuple[str, int], torch.nn.Module] = {}
    todo = [cell for cell in cells(arguments) if not any(cell.is_in(row) for row in done)]
    print(f"{len(todo)} runs to make, {len(cells(arguments)) - len(todo)} are in {arguments.out}", flush=True)
    for place, cell in enumerate(todo):
        spent = time.perf_counter() - began
        if spent > arguments.time_limit:
            print(f"{spent:.0f} s spent: {len(todo) - place} runs are left for another time", flush=True)
            break
        if cell.dataset not in loaded:
            loaded[cell.dataset] = Data(arguments.data, cell.dataset, arguments.limit)
        data = loaded[cell.dataset]
        shape = data.test_x.shape[3:] + data.test_x.shape[1:3]
        if (cell.net, data.classes) not in models:
            models[cell.net, data.classes] = make(cell.net, data.classes, shape)
        measured = run(cell, data, models[cell.net, data.classes], arguments)
        append(record(EXPERIMENT, **vars(cell), **measured), arguments.out)
        found = (
            f"  ood auroc {measured['ood_auroc']:.3f} ap {measured['ood_ap']:.3f}"
            if "ood_ap" in measured
            else ""
        )
        print(
            f"{place + 1}/{len(todo)} {cell.dataset} {cell.labels} {cell.method} seed {cell.seed}:"
            f" accuracy {measured['accuracy']:.4f} ece {measured['ece']:.4f}{found}"
            f"  {measured['seconds']:.0f} s, {measured['images_per_second']:.0f} images/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
