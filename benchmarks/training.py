"""How fast the engine trains, beside what people use today; ratios are of times measured in one run.

    python -m benchmarks training                        # CPU: tables, against skorch and a DataLoader loop
    python -m benchmarks training --device cuda          # one GPU: ResNet18 in bfloat16 against plain float32

CPU: MLP 2x128, batch 16, Adam, cross entropy, the same arithmetic for all; one thread; CPU time of the
process, so that other work on the machine does not tilt the ratios. CUDA: images like CIFAR-10, random
crop, flip and the history included; TFLOP/s count 3 x the multiply-adds of a forward pass x 2.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.record import RESULTS, append, described, markdown, record, rows
from graylearn.nets import make
from graylearn.training import Augment, OptimizerSettings, ScheduleSettings, Settings, train, train_stack

OUT, REPEATS = RESULTS / "training.jsonl", 5
RESNET18_FLOP = 3 * 2 * 0.5554e9
"""Floating point operations to train ResNet18 on one 32x32 image: forward once, backward twice."""
SAMPLES, FEATURES, CLASSES = 2000, 20, 5
IMAGES, BATCHES = 50_000, (128, 512, 2048)


def dataloader_loop(x: torch.Tensor, y: torch.Tensor, model: nn.Module, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    for _ in range(epochs):
        for inputs, target in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), target).backward()
            optimizer.step()


def skorch_fit(x: torch.Tensor, y: torch.Tensor, model: nn.Module, epochs: int) -> None:
    from skorch import NeuralNetClassifier

    net = NeuralNetClassifier(
        model, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=1e-3, max_epochs=epochs,
        batch_size=16, iterator_train__shuffle=True, train_split=None, verbose=0,
    )  # fmt: skip
    net.fit(x.numpy(), y.numpy())


def on_cpu() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(SAMPLES, FEATURES, generator=generator)
    y = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    epochs, stacked = 3, 20
    steps = epochs * -(-len(x) // 16)

    def new() -> nn.Module:
        return make("mlp", CLASSES, (FEATURES,))

    def engine() -> None:
        train(new(), (x, y), method="standard", epochs=epochs, device="cpu", log="none")

    def engine_stack() -> None:
        train_stack(
            new, (x, y), methods="standard", seeds=range(stacked), epochs=epochs, device="cpu", log="none"
        )

    entries: dict[str, tuple[Callable[[], None], int]] = {
        "skorch": (lambda: skorch_fit(x, y, new(), epochs), 1),
        "dataloader loop": (lambda: dataloader_loop(x, y, new(), epochs), 1),
        "train": (engine, 1),
        f"train_stack of {stacked}": (engine_stack, stacked),
    }
    times: dict[str, list[float]] = {name: [] for name in entries}
    for repeat in range(REPEATS + 1):
        for name, (run, models) in entries.items():
            began = time.process_time()
            run()
            spent = (time.process_time() - began) / models / steps
            if repeat:  # the first round warms caches up
                times[name].append(spent)
                print(f"round {repeat}  {name:20s} {spent * 1e6:8.0f} us a step and model", flush=True)
    middle = {name: statistics.median(values) for name, values in times.items()}
    taken = {name: value * 1e6 for name, value in middle.items()}
    sizes = {"samples": SAMPLES, "features": FEATURES, "classes": CLASSES, "repeats": REPEATS}
    append(record("training speed, tables, cpu", microseconds_a_step=taken, **sizes), OUT)


def plain_loop(x: torch.Tensor, y: torch.Tensor, batch: int, steps: int, device: torch.device) -> float:
    """Images a second of the loop one writes first: float32, everything on the device, no augmentation."""
    torch.manual_seed(0)
    model = make("resnet18", 10, (3, 32, 32)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    inputs = ((x.to(device).float() / 255 - 0.5) / 0.25).permute(0, 3, 1, 2).contiguous()
    target = y.to(device)
    began = 0.0
    warm = 5
    for step in range(warm + steps):
        if step == warm:
            torch.cuda.synchronize()
            began = time.perf_counter()
        index = torch.randint(len(x), (batch,), device=device)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs[index]), target[index]).backward()
        optimizer.step()
    torch.cuda.synchronize()
    return steps * batch / (time.perf_counter() - began)


def engine_speed(x: torch.Tensor, y: torch.Tensor, batch: int, epochs: int, mode: str) -> float:
    """Images a second of whole epochs of `train`, history and augmentation included, the first left out."""
    torch.manual_seed(0)
    torch.compiler.reset()
    settings = Settings(
        epochs=epochs,
        batch_size=batch,
        optimizer=OptimizerSettings("sgd", 0.1, weight_decay=5e-4, momentum=0.9),
        schedule=ScheduleSettings("one-cycle", warmup=0.2),
        augment=Augment(crop=4, flip=True),
        precision="bf16",
        device="cuda",
        compile=mode,
        log="none",
    )
    result = train(make("resnet18", 10, (3, 32, 32)), (x, y), method="gl", settings=settings)
    rates = [row["samples_per_second"] for row in result.log[1:]]
    return statistics.median(rates)


def on_gpu() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(256, (IMAGES, 32, 32, 3), dtype=torch.uint8, generator=generator)
    y = torch.randint(10, (IMAGES,), generator=generator)
    epochs = 5
    plain = {batch: plain_loop(x, y, batch, IMAGES // batch, torch.device("cuda")) for batch in BATCHES}
    for mode, batch in itertools.product(("default", "reduce-overhead"), BATCHES):
        rate = engine_speed(x, y, batch, epochs, mode)
        row = record(
            "training speed, images, gpu",
            batch_size=batch,
            compile=mode,
            images_per_second=rate,
            tflops=rate * RESNET18_FLOP / 1e12,
            plain_float32_images_per_second=plain[batch],
            ratio_at_batch=rate / plain[batch],
            images=IMAGES,
            epochs=epochs,
        )
        append(row, OUT)
        print(mode, batch, rate, flush=True)


def tables_on_cpu() -> str:
    row = rows(OUT, "training speed, tables, cpu")[-1]
    body = [[name, f"{value:,.0f}"] for name, value in row["microseconds_a_step"].items()]
    return markdown(["way", "microseconds per step and model"], body)


def images_on_gpu() -> str:
    body = [
        [
            f"{row['compile']}, batch {row['batch_size']}", f"{row['images_per_second']:,.0f}",
            f"{row['tflops']:.0f}", f"{row['plain_float32_images_per_second']:,.0f}",
            f"{row['ratio_at_batch']:.1f}",
        ]
        for row in rows(OUT, "training speed, images, gpu")
    ]  # fmt: skip
    return markdown(["torch.compile mode", "images a second", "TFLOP/s", "plain float32", "ratio"], body)


LAB_TABLES = {"measurements.md": {"tables": tables_on_cpu, "gpu": images_on_gpu}}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="tables, or images")
    (on_cpu if parser.parse_args().device == "cpu" else on_gpu)()
