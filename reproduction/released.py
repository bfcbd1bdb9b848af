"""What the code that the paper's authors released does, as far as it differs from the paper's text.

Its network for tables ends in a softmax, and its losses take a softmax of that again, so the largest logit a
loss ever sees is one above the smallest. Its comparison methods are lighter than those they are named after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from graylearn.methods import Method, make_method
from graylearn.methods.base import Output, Step, Task

RELEASED_METHODS: dict[str, tuple[str, dict[str, bool]]] = {
    "mae": ("mae", {"released": True}),
    "bt": ("bt", {"released": True}),
    "spl": ("spl", {"released": True}),
    "il": ("il-lite", {}),
    "lcvd": ("lcvd", {"finetune": True}),
}
"""Methods that are another thing there; the others are the same."""


def released_method(name: str) -> Method:
    """The method as the released code has it, behind a network that ends in a softmax."""
    known, options = RELEASED_METHODS.get(name, (name, {}))
    return SoftmaxFirst(make_method(known, **options))


@dataclass
class SoftmaxFirst(Method):
    """Any method, given softmax(z) where it expects logits z."""

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

    def start_epoch(self, epoch: int) -> None:
        """Before each epoch."""
        self.inner.start_epoch(epoch)

    def loss(self, step: Step) -> Tensor:
        """The inner method's loss of softmax(z), in further passes of the network too."""

        def forward(inputs: Tensor) -> Output:
            return _squashed(step.forward(inputs))

        return self.inner.loss(replace(step, output=_squashed(step.output), forward=forward))

    def end_epoch(self, epoch: int) -> None:
        """After each epoch."""
        self.inner.end_epoch(epoch)

    def learning_rate_scale(self, epoch: int) -> float:
        """The inner method's."""
        return self.inner.learning_rate_scale(epoch)


def _squashed(output: Output) -> Output:
    return Output(output.logits.float().softmax(-1), output.features)
