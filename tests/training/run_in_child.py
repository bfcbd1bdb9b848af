"""A training that may be killed: `run` trains and writes its weights to a file."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from training_helpers import Opaque, blobs, mlp

from graylearn.methods import make_method
from graylearn.training import ScheduleSettings, train


def run(job):
    os.setsid()
    torch.set_num_threads(1)
    if job.get("kill_at_file_event") is not None:
        kill_at_file_event(job["kill_at_file_event"])
    method = make_method(job["method"])
    if job.get("signal_at") is not None:
        plain_loss, calls = method.loss, []

        def loss(step):
            calls.append(1)
            if len(calls) == job["signal_at"]:
                os.killpg(0, job["signal"])  # as a terminal does: also to the workers
            return plain_loss(step)

        method.loss = loss
    model = mlp(seed=1, dropout=0.2)
    x, y = blobs(samples=90)
    data = (x, y)
    if job.get("loader"):
        data = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    result = train(
        Opaque(model) if job.get("opaque") else model,
        data,
        method=method,
        epochs=job.get("epochs", 4),
        batch_size=16,
        learning_rate=0.01,
        schedule=ScheduleSettings("cosine", warmup=0.2),
        checkpoint=job["folder"],
        resume=job.get("resume", False),
        stream=job.get("workers", 0) > 0,
        workers=job.get("workers", 0),
        seed=3,
        log="lines",
    )
    if job.get("out"):
        arrays = {name: value.numpy() for name, value in model.state_dict().items()}
        arrays["history"] = result.history.label_confidence
        arrays["mean"] = result.history.mean_label_confidence()
        arrays["interrupted"] = np.array(result.interrupted)
        arrays["rows"] = np.array([row["loss"] for row in result.log])
        whole = Path(job["out"])
        part = whole.with_name(f"part-{whole.name}")
        np.savez(part, **arrays)
        part.replace(whole)  # a kill while it is written leaves no half of it


def kill_at_file_event(number):
    """Kills this process just before its file operation (open, rename, ...) with this number, from 1."""
    left = [number]

    def count(event, _):
        if event == "open" or event.startswith(("os.", "shutil.")):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
