"""What every test shares: one thread a worker, so that two workers on two cores do not fight."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is first imported, by whichever test

import torch

torch.set_num_threads(1)

# A shell starts what it puts in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
