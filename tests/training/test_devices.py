"""Devices: the precision that is chosen for each."""

import torch

from graylearn.training import devices


def test_images_on_cuda_run_in_bfloat16_by_default_and_tables_do_not():
    cuda = torch.device("cuda")  # only named: nothing runs there
    assert devices.autocast_type("auto", cuda, images=True) == torch.bfloat16
    assert not devices.autocast_type("fp32", cuda, images=True)
    assert not devices.autocast_type("auto", torch.device("cpu"), images=True)
    assert not devices.autocast_type("auto", cuda, images=False)
    assert devices.autocast_type("bf16", cuda, images=False) == torch.bfloat16
