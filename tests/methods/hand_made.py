"""Steps, tasks and small runs made by hand, so that a method is seen without the engine."""

import copy

import numpy as np
import torch

from graylearn.methods import Output, Step, Task


class FixedHistory:
    """A history that says what it was told, and remembers what it was asked."""

    def __init__(self, confidence):
        self.confidence = torch.as_tensor(confidence)
        self.asked = []

    def recent_label_confidence(self, epochs):
        self.asked.append(epochs)
        return self.confidence


def make_task(targets, num_classes, *, epochs=10, confidence=None, seed=0):
    targets = torch.as_tensor(targets)
    confidence = torch.full((len(targets),), 0.9) if confidence is None else confidence
    generator = torch.Generator().manual_seed(seed)
    return Task(targets, num_classes, epochs, torch.device("cpu"), FixedHistory(confidence), generator)


def make_step(logits, target, *, index=None, epoch=0, features=None, inputs=None, forward=None):
    """One batch; without more said, it is the whole training set in order."""
    target = torch.as_tensor(target)
    index = torch.arange(len(target)) if index is None else torch.as_tensor(index)
    inputs = torch.zeros(len(target), 1) if inputs is None else torch.as_tensor(inputs)
    features = None if features is None else torch.as_tensor(features)
    return Step(inputs, target, index, Output(torch.as_tensor(logits), features), epoch, forward)


def logits_with_loss(losses):
    """(N, 2) float64 logits whose cross entropy for label 0 is exactly what was asked."""
    losses = np.asarray(losses, dtype=np.float64)
    return torch.as_tensor(np.stack([-losses, np.log1p(-np.exp(-losses))], axis=-1))


def softmax(logits):
    """In float64, written out."""
    logits = np.asarray(logits, dtype=np.float64)
    exponent = np.exp(logits - logits.max(-1, keepdims=True))
    return exponent / exponent.sum(-1, keepdims=True)


class SmallNet(torch.nn.Module):
    """Features and logits of a 3-feature input; `networks` of them side by side."""

    def __init__(self, num_classes, networks, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        draw = lambda *shape: torch.nn.Parameter(torch.randn(shape, generator=generator))  # noqa: E731
        self.hidden = draw(networks, 3, 6)
        self.out = draw(networks, 6, num_classes)

    def forward(self, inputs):
        hidden = (inputs @ self.hidden).relu()  # (networks, N, 6)
        logits = hidden @ self.out
        return Output(logits[0], hidden[0]) if len(logits) == 1 else Output(logits, None)


class SmallRun:
    """Plain SGD on 23 random samples in batches of 5, 5, 5, 5, 3: enough to see what a method remembers."""

    def __init__(self, method, num_classes=4, epochs=9):
        numbers = np.random.default_rng(1)
        self.inputs = torch.as_tensor(numbers.normal(size=(23, 3)).astype(np.float32))
        targets = torch.as_tensor(numbers.integers(0, num_classes, 23))
        confidence = torch.as_tensor(numbers.uniform(0, 1, 23).astype(np.float32))
        self.task = make_task(targets, num_classes, epochs=epochs, confidence=confidence)
        self.method, self.epochs = method, epochs
        self.net = SmallNet(num_classes, method.networks)
        method.start(self.task)
        self.done = 0  # steps
        self.losses = []

    def go(self, steps):
        """Run this many steps further, with the hooks around them; an epoch has five."""
        for _ in range(steps):
            epoch, place = divmod(self.done, 5)
            index = torch.arange(23)[place * 5 : place * 5 + 5]
            inputs = self.inputs[index]
            output = self.net(inputs)
            step = Step(inputs, self.task.targets[index], index, output, epoch, self.net)
            loss = self.method.loss(step)
            self.losses.append(loss.detach().clone())
            self.net.zero_grad()
            loss.mean().backward()
            with torch.no_grad():
                for weight in self.net.parameters():
                    weight -= 0.1 * weight.grad
            self.done += 1
            if place == 4:
                self.method.end_epoch(epoch)

    def resumed(self, fresh_method):
        """The same run in new objects, from what a checkpoint would keep."""
        state = copy.deepcopy(self.method.state_dict())
        other = SmallRun(fresh_method, self.task.num_classes, self.epochs)
        other.net.load_state_dict(copy.deepcopy(self.net.state_dict()))
        other.task.generator.set_state(self.task.generator.get_state())
        other.method.load_state_dict(state)
        other.done = self.done
        return other
