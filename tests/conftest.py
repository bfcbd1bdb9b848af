"""What every test shares: one thread a worker, so that two workers on two cores do not fight."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is first imported, by whichever test

import torch

torch.set_num_threads(1)
