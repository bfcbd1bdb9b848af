"""What went wrong under a hostile hand: each ends in right data or one sentence."""

import errno
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from training_helpers import blobs, mlp

from graylearn.errors import CheckpointError, DataError, SettingsError
from graylearn.training import checkpoint as checkpoints
from graylearn.training import train

SHORT = {"epochs": 2, "log": "none", "method": "standard"}


@pytest.mark.parametrize("sizes", [[16] * 6, [5, 30, 1, 64]], ids=["equal", "unequal"])
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_batches_is_batches(sizes, kind):
    x, y = (values[: sum(sizes)] for values in blobs())
    batches = list(zip(x.split(sizes), y.split(sizes), strict=True))
    result = train(mlp(), kind(batches), **SHORT)
    assert result.history.num_samples == sum(sizes)
    np.testing.assert_array_equal(result.history.targets.numpy(), y.numpy())
    assert not np.isnan(result.history.label_confidence).any()


def test_frames_of_several_kinds_of_numbers_are_numbers():
    x, y = blobs()
    frame = pd.DataFrame(x.numpy()).assign(whole=range(len(y)), flag=(y > 0).numpy())
    for kind in (frame, frame.convert_dtypes()):
        result = train(torch.nn.Linear(kind.shape[1], 3), (kind, y), **SHORT)
        np.testing.assert_array_equal(
            result.predict_logits(kind), result.predict_logits(frame.to_numpy(np.float32))
        )
    with pytest.raises(DataError, match="x holds object, expected numbers"):
        train(mlp(), (frame.assign(flag="yes"), y), **SHORT)


@pytest.mark.parametrize(
    "second", [(slice(20, 40), slice(20, 30)), ((slice(20, 40), slice(3)), slice(20, 40))]
)
def test_batches_that_do_not_fit_are_named(second):
    x, y = blobs()
    batches = [(x[:20], y[:20]), (x[second[0]], y[second[1]])]
    with pytest.raises(DataError, match=r"batch 1 of the list has x of shape \(20, \d\) for \d0 labels"):
        train(mlp(), batches, **SHORT)


class Jittered(torch.utils.data.Dataset):
    """Samples that are drawn anew each time they are read."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        return self.x[row] + 0.01 * torch.randn(6), self.y[row]


def in_arrays(x, y):
    return x, y


def in_batches(x, y):
    return list(zip(x.split(100), y.split(100), strict=True))


def in_memory(x, y):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 100)


def read_anew(x, y):
    return torch.utils.data.DataLoader(Jittered(x, y), 100, shuffle=True)


@pytest.mark.parametrize("kind", [in_arrays, in_batches, in_memory, read_anew, Jittered])
def test_a_run_is_not_resumed_on_data_of_which_one_value_is_another(tmp_path, kind):
    x, y = torch.randn(200, 6), torch.arange(200) % 3
    train(mlp(), kind(x, y), checkpoint=tmp_path, **SHORT)
    changed = x.clone()
    changed[57, 3] += 1
    with pytest.raises(CheckpointError, match="its data is other"):
        train(mlp(), kind(changed, y), checkpoint=tmp_path, resume=True, **SHORT)
    train(mlp(), kind(x, y), checkpoint=tmp_path, resume=True, **SHORT)


OTHER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1] + "/.training.lock"):  # as a training does, without the seconds of importing torch
    print("in", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_write_the_same_checkpoints(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(CheckpointError, match="another process is training with the checkpoints in"):
            train(mlp(), blobs(), checkpoint=tmp_path, **SHORT)
    finally:
        other.kill()
        other.communicate()
    result = train(mlp(), blobs(), checkpoint=tmp_path, **SHORT)  # the lock goes with its process
    assert len(result.log) == 2
    assert not (tmp_path / ".training.lock").exists()


@pytest.mark.parametrize("size", [1e-40, 1e307])
def test_weights_of_any_size_are_the_same_weights(size):
    weights = np.linspace(0.5, 2, len(blobs()[1]))
    plain, large = mlp(), mlp()
    train(plain, blobs(), sample_weight=weights, **SHORT)
    train(large, blobs(), sample_weight=weights * size, **SHORT)
    for mine, other in zip(plain.parameters(), large.parameters(), strict=True):
        torch.testing.assert_close(mine, other)


def test_a_full_disk_is_told_and_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    train(mlp(), blobs(), checkpoint=tmp_path, **SHORT | {"epochs": 1})
    kept = (tmp_path / checkpoints.NAME).read_bytes()
    another = tmp_path / "another"

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints.safetensors.torch, "save", full)
    with pytest.raises(
        CheckpointError, match=r"cannot be written \(No space left on device\); make room"
    ) as told:
        train(mlp(), blobs(), checkpoint=another, **SHORT)
    assert "resume=True" in str(told.value)
    assert not list(another.glob(f"*{checkpoints.NAME}"))
    assert (tmp_path / checkpoints.NAME).read_bytes() == kept


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_where_torch_keeps_no_gradients_that_is_told(switch):
    with switch(), pytest.raises(SettingsError, match=r"torch keeps no gradients here.*outside of no_grad"):
        train(mlp(), blobs(), **SHORT)


FORKED = """
import multiprocessing, sys
import numpy as np, torch
import graylearn as gl

def fit(seed):
    x = np.random.default_rng(seed).normal(size=(600, 200))
    classifier = gl.GrayClassifier(epochs=1, audit=None, random_state=seed, device="cpu")
    return len(classifier.fit(x, (x[:, 0] > 0).astype(int)).history_.targets)

torch.set_num_threads(2)
torch.ones(2000, 2000) @ torch.ones(2000, 2000)  # begins the threads, which are not forked
fit(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(fit, [1, 2]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_fit_in_a_forked_process_ends():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[600, 600]\n", done.stderr
