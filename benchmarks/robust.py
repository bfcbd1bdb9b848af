"""Learning from people's labels: `choose` and what may beat it, in one loop of its own.

    python -m benchmarks.robust --data ~/data --rule believe --out rows.jsonl

CIFAR-100N (or synthetic images with --tiny). The truth about the training labels is logged, never used.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graylearn.methods.blends import distorted
from graylearn.nets import ResNet18, SmallCNN

RULES: dict[str, dict[str, Any]] = {
    # decay: of the teacher's weights; keep: of the mean answer; first, last: shares of the epochs at which
    # beliefs begin and labels end (None: never)
    "choose": {"decay": 0.0, "keep": 0.9, "first": 0.15, "last": None, "believes": False},
    "believe": {"decay": 0.999, "keep": 0.8, "first": 0.15, "last": None, "believes": True},
    "believe-alone": {"decay": 0.999, "keep": 0.8, "first": 0.15, "last": 0.75, "believes": True},
}


class Data:
    """Images on the device, padded, and labels; `clean` is for the log alone."""

    def __init__(self, given: Any, device: torch.device) -> None:
        if given.tiny:
            random = np.random.default_rng(0)
            centre = random.integers(0, 255, (10, 32, 32, 3))
            self.classes = 10
            y, ty = random.integers(0, 10, given.tiny), random.integers(0, 10, 200)
            x, tx = (
                np.clip(centre[t] * 0.6 + random.integers(0, 100, (len(t), 32, 32, 3)), 0, 255)
                for t in (y, ty)
            )
            said = np.where(random.random(len(y)) < 0.3, random.integers(0, 10, len(y)), y)
        else:
            self.classes = 100
            with np.load(given.data / "cifar100.npz") as file:
                x, y, tx, ty = (file[name] for name in ("train_x", "train_y", "test_x", "test_y"))
            with np.load(given.data / "cifar-100n" / "labels.npz") as file:
                said = file["noisy"]
        x = np.asarray(x, np.uint8)
        mean, spread = x.mean((0, 1, 2)), x.std((0, 1, 2))
        padded = np.empty((len(x), 40, 40, 3), np.uint8)
        padded[:] = mean.round()
        padded[:, 4:36, 4:36] = x
        self.device = device
        self.padded = torch.from_numpy(padded).to(device)
        self.mean, self.spread = (torch.tensor(v, dtype=torch.float32, device=device) for v in (mean, spread))
        self.said = torch.from_numpy(said.astype(np.int64)).to(device)
        self.clean = torch.from_numpy(y.astype(np.int64)).to(device)
        self.test_x = self.scaled(torch.from_numpy(np.asarray(tx, np.uint8)).to(device))
        self.test_y = torch.from_numpy(ty.astype(np.int64)).to(device)

    def scaled(self, x: Tensor) -> Tensor:
        """(N, H, W, 3) bytes -> (N, 3, H, W), laid out channels last."""
        return ((x.float() - self.mean) / self.spread).permute(0, 3, 1, 2)

    def weak(self, index: Tensor) -> Tensor:
        """Images cropped at random, half of them mirrored."""
        n, device = len(index), self.device
        at = (torch.rand(2, n, 1, device=device) * 9).long().clamp(max=8)
        along = torch.arange(32, device=device)
        mirrored = torch.rand(n, 1, device=device) < 0.5
        rows = at[0] + along
        columns = at[1] + torch.where(mirrored, 31 - along, along)
        return self.scaled(self.padded[index[:, None, None], rows[:, :, None], columns[:, None, :]])


class Run:
    """Network, teacher (the running mean of its weights) and what is believed of each sample."""

    def __init__(self, given: Any, data: Data) -> None:
        self.given, self.data, self.device = given, data, data.device
        self.rule = RULES[given.rule] | given.options
        torch.manual_seed(given.seed)
        kind = SmallCNN if given.tiny else ResNet18
        self.net: nn.Module = kind(data.classes, (3, 32, 32)).to(
            self.device, memory_format=torch.channels_last
        )
        self.teacher = copy.deepcopy(self.net)
        self.asks, self.learns = self.teacher, self.net
        if given.compile:
            self.asks, self.learns = torch.compile(self.teacher), torch.compile(self.net)
        self.parameters = list(self.net.parameters())
        self.means = list(self.teacher.parameters())
        self.speed = [torch.zeros_like(p) for p in self.parameters]
        n, k = len(data.said), data.classes
        self.eye = torch.eye(k, device=self.device)
        self.answers = torch.zeros(n, k, device=self.device)
        self.asked = torch.zeros(n, device=self.device)
        self.scale = torch.ones(k, device=self.device)
        self.sure, self.on, self.share, self.rate = (torch.zeros((), device=self.device) for _ in range(4))
        self.sure.fill_(1)
        self.index = torch.zeros(given.batch, dtype=torch.long, device=self.device)
        self.loss = torch.zeros((), device=self.device)
        self.graph: Any = None

    # -- one step -------------------------------------------------------------------------------

    def cast(self) -> Any:
        return torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False
        )

    def belief(self, answer: Tensor) -> Tensor:
        """Answers squared, classes scaled."""
        belief = (answer / answer.amax(1, keepdim=True).clamp(min=1e-12)).square() * self.scale
        return belief / belief.sum(1, keepdim=True).clamp(min=1e-12)

    def step(self) -> None:
        index, rule, n = self.index, self.rule, len(self.index)
        inputs, label = self.data.weak(index), self.eye[self.data.said[index]]
        with torch.no_grad():
            with self.cast():
                said = self.asks(inputs)
            said = said.float().softmax(1)
            answer = torch.lerp(said, self.answers[index], (rule["keep"] * self.asked[index])[:, None])
            self.answers[index] = answer
            self.asked[index] = 1.0
            belief = self.belief(answer)
            trust = ((belief * label).sum(1, keepdim=True) / belief.amax(1, keepdim=True)).sqrt() * self.share
            target = torch.where(self.on > 0, torch.lerp(belief, label, trust), label)
            drawn = torch.full((n,), 0.5, device=self.device)
            if rule["believes"]:
                drawn = drawn + 0.5 * (1 - (target * label).sum(1))
                counts = (answer.amax(1, keepdim=True) / self.sure).clamp(max=1) ** rule.get("weighed", 0.0)
                taught = torch.where(self.on > 0, target * counts, target)
            else:
                taught = target
            new = distorted(inputs, None)  # type: ignore[arg-type]
            inputs = torch.where(
                (torch.rand(n, device=self.device) < drawn)[:, None, None, None], new, inputs
            )
            other = torch.rand(n, device=self.device).argsort()
            part = torch.rand(n, 1, device=self.device)
            part = torch.maximum(part, 1 - part)
            inputs = torch.lerp(inputs[other], inputs, part[:, :, None, None])
            inputs = inputs.contiguous(memory_format=torch.channels_last)
            taught = torch.lerp(taught[other], taught, part)
        with self.cast():
            logits = self.learns(inputs)
        loss = -(taught * logits.float().log_softmax(1)).sum(1).mean()
        gradients = list(torch.autograd.grad(loss, self.parameters))
        with torch.no_grad():
            self.loss.copy_(loss)
            torch._foreach_add_(gradients, self.parameters, alpha=5e-4)
            torch._foreach_mul_(self.speed, 0.9)
            torch._foreach_add_(self.speed, gradients)
            torch._foreach_add_(gradients, self.speed, alpha=0.9)  # Nesterov
            torch._foreach_mul_(gradients, self.rate)
            torch._foreach_sub_(self.parameters, gradients)
            torch._foreach_lerp_(self.means, self.parameters, 1 - rule["decay"])

    def capture(self) -> None:
        """Record the step; warming up must leave nothing behind."""
        kept = [[t.clone() for t in group] for group in self.tensors()]
        self.index.copy_(torch.arange(len(self.index), device=self.device))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        if self.given.graph:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step()
            self.graph.replay()
        torch.cuda.synchronize()
        for group, before in zip(self.tensors(), kept, strict=True):
            for tensor, value in zip(group, before, strict=True):
                tensor.data.copy_(value)

    def tensors(self) -> list[list[Tensor]]:
        nets = [[*n.parameters(), *n.buffers()] for n in (self.net, self.teacher)]
        return [*nets, self.speed, [self.answers, self.asked]]

    # -- epochs ---------------------------------------------------------------------------------

    @torch.no_grad()
    def start_epoch(self, epoch: int) -> None:
        """Class sizes, how sure answers are, and how much of the label is left."""
        share, rule = epoch / self.given.epochs, self.rule
        self.on.fill_(float(epoch > 0 and share >= rule["first"]))
        left = 1.0 if rule["last"] is None else (rule["last"] - share) / (rule["last"] - rule["first"])
        self.share.fill_(min(1.0, max(0.0, left)))
        if not epoch or not rule["believes"]:
            return
        top, says = self.answers.max(1)
        agrees = (says == self.data.said).float()
        self.sure.copy_((top * agrees).sum() / agrees.sum().clamp(min=1))
        counts = (top / self.sure).clamp(max=1)[:, None]
        for _ in range(0 if rule.get("unequal") else 20):  # classes of equal size, by a factor of 4 at most
            sizes = (self.belief(self.answers) * counts).sum(0)
            self.scale.mul_((sizes.mean() / sizes.clamp(min=1e-6)).sqrt()).clamp_(0.25, 4)

    @torch.no_grad()
    def accuracy(self) -> float:
        self.teacher.eval()
        with self.cast():
            said = torch.cat([self.teacher(part).argmax(1) for part in self.data.test_x.split(2000)])
        self.teacher.train()
        return float((said == self.data.test_y).float().mean())

    def train(self) -> dict[str, Any]:
        given, data, n = self.given, self.data, len(self.data.said)
        self.net.train(), self.teacher.train()
        if self.device.type == "cuda":
            self.capture()
            print("ready", "compiled" if given.compile else "", "graph" if self.graph else "", flush=True)
        steps = n // given.batch
        began, curve, right, spent = time.perf_counter(), [], [], 0.0
        for epoch in range(given.epochs):
            self.start_epoch(epoch)
            order = torch.randperm(n, device=self.device)
            at, losses = time.perf_counter(), 0.0
            for step in range(steps):
                done = (epoch + step / steps) / given.epochs
                self.rate.fill_(
                    given.rate * min(1.0, done * given.epochs) * 0.5 * (1 + math.cos(math.pi * done))
                )
                self.index.copy_(order[step * given.batch : (step + 1) * given.batch])
                if self.graph is None:
                    self.step()
                else:
                    self.graph.replay()
            losses = float(self.loss)
            seconds = time.perf_counter() - at
            spent += seconds
            belief = self.belief(self.answers)
            guess = belief.argmax(1)
            fits = guess == data.clean
            wrong = data.said != data.clean
            curve.append(round(self.accuracy(), 4))
            right.append(round(float(fits.float().mean()), 4))
            line = {
                "epoch": epoch,
                "test": curve[-1],
                "right": right[-1],
                "loss": round(losses, 4),
                "right_wrong": round(float(fits[wrong].float().mean()), 4),
                "repeats_wrong": round(float((guess == data.said)[wrong].float().mean()), 4),
                "follows": round(float((guess == data.said).float().mean()), 4),
                "sure": round(float(belief.amax(1).mean()), 3),
                "answer": round(float(self.answers.amax(1).mean()), 3),
                "images_per_second": round(steps * given.batch / seconds),
                "at": round(time.perf_counter() - began, 1),
            }
            print(json.dumps(line), flush=True)
            if not math.isfinite(losses):
                raise SystemExit("the loss is not finite")
        if given.kept is not None:
            shown = (255 * self.belief(self.answers).sqrt()).round().byte().cpu().numpy()
            np.savez_compressed(
                given.kept, belief=shown, said=data.said.cpu().numpy(), clean=data.clean.cpu().numpy()
            )
        return {"accuracy": curve[-1], "curve": curve, "right": right, "seconds": spent, **line}


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--data", type=Path, default=Path("data"))
    made.add_argument("--tiny", type=int, default=0, help="so many synthetic images, to try it")
    made.add_argument("--rule", choices=RULES, default="believe")
    made.add_argument("--options", type=json.loads, default={})
    made.add_argument("--epochs", type=int, default=150)
    made.add_argument("--batch", type=int, default=256)
    made.add_argument("--rate", type=float, default=0.1)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--compile", action="store_true")
    made.add_argument("--graph", action="store_true")
    made.add_argument("--kept", type=Path, default=None)
    made.add_argument("--out", type=Path, required=True)
    given = made.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    cell = {
        k: v
        for k, v in vars(given).items()
        if k in ("rule", "options", "epochs", "batch", "rate", "seed", "tiny")
    }
    measured = Run(given, Data(given, device)).train()
    row = {"experiment": "robust", "set": "c100n", "cell": cell, "measured": measured}
    if device.type == "cuda":
        row["gpu"] = torch.cuda.get_device_name()
    with given.out.open("a") as file:
        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
