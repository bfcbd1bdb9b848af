"""Devices: what is chosen, and what is put back."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from training_helpers import blobs, mlp, pictures

from graylearn.data import Samples
from graylearn.errors import SettingsError
from graylearn.training import devices, train


def test_images_on_cuda_run_in_bfloat16_by_default_and_tables_do_not():
    x, y = pictures()
    cuda = torch.device("cuda")  # only named: nothing runs there
    samples = Samples(x=x.numpy(), y=y.numpy(), classes=(0, 1, 2), ids=np.arange(len(y)), kind="image")
    dataset = TensorDataset(x, y)
    for data in ((x, y), (x.numpy(), y.numpy()), samples, dataset, DataLoader(dataset, batch_size=4)):
        assert devices.autocast_type("auto", cuda, data)
        assert not devices.autocast_type("fp32", cuda, data)
        assert not devices.autocast_type("auto", torch.device("cpu"), data)
    for data in (blobs(), TensorDataset(*blobs()), [], iter([]), ([[1.0]], [0])):
        assert not devices.autocast_type("auto", cuda, data)
        assert devices.autocast_type("bf16", cuda, data)


def test_a_device_that_is_not_there_is_refused():
    assert devices.choose("cpu") == torch.device("cpu")
    if not torch.cuda.is_available():
        assert devices.choose(None) == torch.device("cpu")
        with pytest.raises(SettingsError, match="torch sees no CUDA device"):
            devices.choose("cuda:0")


def test_a_run_that_turns_onednn_off_leaves_the_next_one_as_it_was():
    def as_torch_does(epoch_end):
        torch.backends.mkldnn.enabled = False  # without bfloat16 in the processor, at the first product of it

    before = torch.backends.mkldnn.enabled
    train(mlp(), blobs(), epochs=1, device="cpu", log="none", callbacks=as_torch_does)
    assert torch.backends.mkldnn.enabled == before


def test_cuda_switches_are_put_back(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)

    def switches():
        return (
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
            torch.are_deterministic_algorithms_enabled(),
            torch.get_float32_matmul_precision(),
        )

    before = switches()
    with devices.prepared(torch.device("cuda"), deterministic=True):
        assert switches()[:3] == (False, True, True)
    assert switches() == before
    with devices.prepared(torch.device("cuda"), deterministic=False):
        assert switches()[0]
    assert switches() == before
