"""Devices: what is chosen, and what is put back."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from training_helpers import blobs, pictures

from graylearn.data import Samples
from graylearn.errors import SettingsError
from graylearn.training import devices


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
