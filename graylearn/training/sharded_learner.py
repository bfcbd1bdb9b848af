"""How one step changes a network that FSDP has sharded over several processes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graylearn.training.learner import ModuleLearner
from graylearn.training.sharding import clip_norm, is_part, part_of


class ShardedLearner(ModuleLearner):
    """Trains a module that `fully_shard` was called for: it brings weights and gradients together itself."""

    in_parts = True

    def __init__(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, example: Any, **others: Any
    ) -> None:
        super().__init__(network, optimizer, **others)
        self.example = example
        """Some samples, to take part in a step with that has none for this process."""

    def nothing(self) -> Tensor:
        """No losses, after a pass: the other processes wait for this one in theirs."""
        return self.forward_again(self.example).logits.sum(dim=1)[:0]

    def _add_up_gradients(self) -> None:
        """Those of parts are means over the processes already, and become sums; others are added up."""
        assert self.group is not None
        whole = []
        for value in self._learned():
            if not is_part(value):
                whole.append(value)
            elif value.grad is not None:
                value.grad *= self.group.size
        if whole:
            self.group.add_up_gradients(whole)

    def _clip(self, most: float) -> None:
        clip_norm(self._learned(), most)

    @torch.no_grad()
    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Take the parts of this process of whole weights."""
        own = self.network.state_dict()
        self.network.load_state_dict({name: part_of(value, own[name]) for name, value in weights.items()})
