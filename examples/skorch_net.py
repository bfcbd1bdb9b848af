"""skorch: the Gray loss as the criterion, and an audit by such networks that did not see a sample."""

import torch
from clouds import clouds
from skorch import NeuralNetClassifier

import graylearn as gl


def main():
    x, given, wrong = clouds()
    torch.manual_seed(0)
    net = NeuralNetClassifier(
        lambda: torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)),
        criterion=gl.GrayLoss,  # ours
        optimizer=torch.optim.Adam,
        lr=1e-2,
        max_epochs=8,
        batch_size=20,
        train_split=None,
        verbose=0,
    )
    audit = gl.audit(x, given, model=net)  # ours
    net.fit(audit.clean(x), audit.clean(given))  # ours
    return audit, wrong


if __name__ == "__main__":
    print(main()[0].summary())
