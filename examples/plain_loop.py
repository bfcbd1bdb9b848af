"""A training loop of your own: a Recorder takes what every step has at hand, and an audit reads it."""

import torch
from clouds import clouds

import graylearn as gl


def main():
    x, given, wrong = clouds()
    inputs, labels = torch.from_numpy(x), torch.from_numpy(given)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    criterion, recorder = gl.GrayLoss(), gl.Recorder()  # ours
    for _ in range(6):
        for ids in torch.randperm(len(inputs)).split(20):
            logits = network(inputs[ids])
            recorder.record(ids, logits, labels[ids])  # ours
            optimizer.zero_grad()
            criterion(logits, labels[ids]).backward()
            optimizer.step()
        recorder.end_epoch()  # ours
    return gl.Audit.from_history(recorder.history, features=x), wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
