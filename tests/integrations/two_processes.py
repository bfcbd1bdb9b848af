"""What two processes record together: run by test_training_hooks, which reads what each of them prints.

The parent imports the frameworks once and forks before anything has run; each child then finds itself where
torchrun would have put it; the store where they meet is the test's, its port in MASTER_PORT.
"""

import json
import os
import sys
import traceback
from pathlib import Path

import accelerate_loop
import hugging_face_text
import lightning_module
import numpy as np
import torch
import torch.distributed as distributed

import graylearn as gl


def plain_gathering():
    """Epochs split unevenly, in the second one nothing for the second process."""
    recorder, rank = gl.Recorder(), distributed.get_rank()
    logits = torch.arange(10.0)[:, None] * torch.tensor([0.1, -0.1])
    labels = torch.arange(10) % 2
    for shares in ((range(7), range(7, 10)), (range(10), ())):
        rows = list(shares[rank])
        if rows:
            recorder.record(rows, logits[rows], labels[rows])
        recorder.end_epoch()
    history = recorder.history
    expected = logits.softmax(1)[torch.arange(10), labels].numpy()
    return bool(np.allclose(history.label_confidence, np.stack([expected] * 2), atol=1e-3))


def found(audit, wrong):
    """How many samples, how many of the wrong ones were found, and how many of the found ones are wrong."""
    right = int((audit.suspected & wrong).sum())
    return [len(audit), right / wrong.sum(), right / max(1, audit.suspected.sum())]


def child(rank):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "NODE_RANK": "0"}
    torch.set_num_threads(1)
    said = {"accelerate": found(*accelerate_loop.main()), "plain": plain_gathering()}
    said["hugging_face"] = None if (audit := hugging_face_text.main(epochs=1))[0] is None else found(*audit)
    audit = lightning_module.main(devices=2, strategy="ddp")
    said["lightning"] = None if audit[0] is None else found(*audit)
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(said))


if __name__ == "__main__":
    children = []
    for rank in range(2):
        pid = os.fork()
        if not pid:
            try:
                child(rank)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    sys.exit(max(codes))
