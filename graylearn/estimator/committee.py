"""Several networks trained side by side: a committee that answers as one network.

The mean of the logits of several multilayer perceptrons is itself a multilayer perceptron, as wide as all of
them together and without connections between them. So a committee is kept, saved and asked like one network.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graylearn.methods import Method, as_method
from graylearn.nets import MLP
from graylearn.training import OptimizerSettings, Settings, seeding


def can_stand_side_by_side(network: nn.Module, settings: Settings) -> bool:
    """Whether several of this network can be trained as one stack and joined."""
    return type(network) is MLP and isinstance(settings.optimizer, OptimizerSettings)


def can_share_a_stack(method: str | Method) -> bool:
    """Whether a stack with held-out samples can train by this method: one network, whose features it leaves.

    Those that read features learn from all samples of a batch, also from those whose loss counts nothing.
    """
    made = as_method(method)
    return made.networks == 1 and not made.needs_features


def wide(one: MLP, count: int) -> MLP:
    """A network of the shape that so many of this one have together, with weights of its own."""
    dropout = next((part.p for part in one.body if isinstance(part, nn.Dropout)), 0.0)
    hidden = [count * part.out_features for part in one.body if isinstance(part, nn.Linear)]
    return MLP(one.num_classes, one.in_shape, hidden=hidden, dropout=dropout)


@torch.no_grad()
def joined(members: Sequence[MLP]) -> MLP:
    """One network that says the mean of the members' logits, exactly; they are of one shape."""
    first, count = members[0], len(members)
    layers = [[part for part in member.body if isinstance(part, nn.Linear)] for member in members]
    with torch.device("meta"):  # weights that are about to be replaced need not be drawn
        together = wide(first, count)
    deep = [name for name, part in together.body.named_children() if isinstance(part, nn.Linear)]
    weights: dict[str, Tensor] = {}
    for depth, name in enumerate(deep):
        own = [parts[depth] for parts in layers]
        blocks = [part.weight for part in own]
        # all read the same inputs; from then on each reads its own
        weights[f"body.{name}.weight"] = (
            torch.cat(blocks) if depth == 0 else torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
        )
        weights[f"body.{name}.bias"] = torch.cat([part.bias for part in own])
    heads = [member.head.weight / count for member in members]
    weights["head.weight"] = torch.cat(heads, dim=1) if deep else torch.stack(heads).sum(0)
    weights["head.bias"] = torch.stack([member.head.bias for member in members]).mean(0)
    # assigned, not written into: to make room for them on a device, torch imports sympy, a second
    together.load_state_dict(weights, assign=True)
    return together.eval()


def member_seeds(seed: int, count: int) -> list[int]:
    """The seeds of a committee: the first member is what one network would be."""
    return [seed, *(seeding.derive(seed, "member", index) for index in range(1, count))]
