"""Accelerate, one process or many: the Gray loss and a Recorder in the loop, and an audit at the end.

`accelerate launch examples/accelerate_loop.py` runs it in as many processes as it was configured for.
"""

import torch
from accelerate import Accelerator
from clouds import clouds
from torch.utils.data import DataLoader, TensorDataset

import graylearn as gl


def main():
    x, given, wrong = clouds()
    data = TensorDataset(torch.arange(len(x)), torch.from_numpy(x), torch.from_numpy(given))
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    loader = DataLoader(data, batch_size=20, shuffle=True)
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    criterion, recorder = gl.GrayLoss(), gl.Recorder()  # ours
    for _ in range(6):
        for ids, rows, labels in loader:
            logits = network(rows)
            recorder.record(ids, logits, labels)  # ours
            optimizer.zero_grad()
            accelerator.backward(criterion(logits, labels))
            optimizer.step()
        recorder.end_epoch()  # ours
    return gl.Audit.from_history(recorder.history, features=x), wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
