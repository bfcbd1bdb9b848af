"""How a cell's method learns where the paper's code and its text may be read in more than one way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from graylearn.methods import Method, make_method
from graylearn.methods.base import Output, Step, Task
from reproduction.cells import Cell


def method_of(cell: Cell) -> Method:
    """The method of an image cell, with its options and what its recipe puts before it."""
    name = "standard" if cell.method == "oracle" else cell.method
    method = make_method(name, **dict(cell.options))
    return SoftmaxFirst(method) if dict(cell.recipe).get("double_softmax") else method


@dataclass
class SoftmaxFirst(Method):
    """Any method, given softmax(z) where it expects logits z, as the released code for tables does."""

    inner: Method
    """The method that takes the softmax again."""

    def __post_init__(self) -> None:
        self.per_sample = self.inner.per_sample
        # of the class for other methods, of the object here: what it asks for is what the inner one does
        self.needs_features = self.inner.needs_features  # type: ignore[misc]
        self.networks = self.inner.networks  # type: ignore[misc]

    def start(self, task: Task) -> None:
        """Told to the inner method, as all that follows."""
        self.inner.start(task)

    def loss(self, step: Step) -> Tensor:
        """The inner method's loss of softmax(z), in further passes of the network too."""

        def forward(inputs: Tensor) -> Output:
            return _squashed(step.forward(inputs))

        return self.inner.loss(replace(step, output=_squashed(step.output), forward=forward))

    def end_epoch(self, epoch: int) -> None:
        """After each epoch."""
        self.inner.end_epoch(epoch)


def _squashed(output: Output) -> Output:
    return Output(output.logits.float().softmax(-1), output.features)
