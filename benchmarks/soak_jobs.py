"""What the processes of the soak do, each a small piece of real work in a folder that others may break."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import graylearn as gl
from graylearn.methods import make_method
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.apply import apply_decisions
from graylearn.training import ScheduleSettings, train


def groups(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(x (n, 4), y (n,)): three groups apart, one label in ten wrong."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = np.eye(3, 4)[y] * 5 + random.normal(size=(n, 4))
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(np.where(random.random(n) < 0.1, 0, y))


def write_table(path: Path, seed: int) -> Path:
    """The same as a CSV, with ids."""
    x, y = groups(48, seed)
    rows = [
        f"s{index},{','.join(f'{value:.4f}' for value in row)},{'abc'[label]}"
        for index, (row, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    path.write_text("id,one,two,three,four,label\n" + "\n".join(rows) + "\n")
    return path


def training(config: dict[str, Any], folder: Path, out: Path) -> None:
    """A training with checkpoints in `folder`, gone on with where there is one; its result to `out`."""
    x, y = groups(40, config["seed"])
    torch.manual_seed(config["seed"])
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    result = train(
        model,
        (x, y),
        method=make_method(config["method"]),
        epochs=config["epochs"],
        batch_size=8,
        learning_rate=0.01,
        schedule=ScheduleSettings("cosine", warmup=0.2),
        checkpoint=folder,
        checkpoint_steps=config["steps"],
        resume=True,
        seed=config["seed"],
        log="none",
    )
    if result.interrupted:
        return
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    arrays |= {"ids": result.history.ids, "history": result.history.label_confidence}
    part = out.with_name(f"part-{out.name}")
    np.savez(part, **arrays)
    part.replace(out)


def a_run(config: dict[str, Any], folder: Path) -> None:
    """A run from a table to its report in `folder`."""
    settings = RunSettings(
        data=config["data"], command=config["command"], epochs=3, refine=config["refine"], seed=config["seed"]
    )
    run(settings, folder, progress=RunProgress(quiet=True))


def saving(config: dict[str, Any], folder: Path) -> None:
    """A classifier that is loaded from one folder and saved to another, over what is there."""
    gl.GrayClassifier.load(config["model"]).save(folder)


def applying(config: dict[str, Any], folder: Path) -> None:
    """What a run suspects, dropped from its data."""
    apply_decisions(
        config["run"], None, folder / "clean.csv", suspects="drop", overwrite=True, ask=lambda _: True
    )


def kill_at_file_event(number: int) -> None:
    """Kill this process just before its file operation (open, rename, ...) with this number, from 1."""
    left = [number]

    def count(event: str, _: Any) -> None:
        if event == "open" or event.startswith(("os.", "shutil.")):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def fill_disk(room: int) -> None:
    """No file may grow beyond `room` bytes from now on: writing more fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
