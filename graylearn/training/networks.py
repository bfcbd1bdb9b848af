"""The network as the loop sees it: logits, penultimate features if a method reads them, one net or two."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from graylearn.data.streams import Several
from graylearn.errors import SettingsError, first_line
from graylearn.methods.base import Output
from graylearn.torch_internals import BatchNorm
from graylearn.training.history import note_probabilities

Which: TypeAlias = str | int | Callable[[Any], Tensor] | None
"""Which part of what a network gives are the logits: a key, a number, a function; None = so called."""


class FeatureTap(nn.Module):
    """A user's network that also gives the features its last linear layer reads.

    A network with `forward_features(x)` and `classify(features)` is run in these two steps; of any other
    the input of the last `nn.Linear` it calls is caught on the way.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.two_steps = hasattr(model, "forward_features") and hasattr(model, "classify")
        self.linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
        if not self.two_steps and not self.linears:
            raise SettingsError(
                f"this method needs penultimate features, but {type(model).__name__} has no nn.Linear:"
                " give it forward_features(x) and classify(features)"
            )

    def forward(self, x: Tensor) -> Output:
        """Logits (N, K) and features (N, D)."""
        if self.two_steps:
            features: Tensor = self.model.forward_features(x)  # type: ignore[operator]
            return Output(self.model.classify(features), features)  # type: ignore[operator]
        read: Tensor | None = None

        def catch(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            nonlocal read
            read = inputs[0]  # the last layer called counts

        hooks = [linear.register_forward_pre_hook(catch) for linear in self.linears]
        try:
            logits = ask(self.model, x, None)
        finally:  # the network is the user's, who did not ask for hooks
            for hook in hooks:
                hook.remove()
        if read is None:
            raise SettingsError("the network called none of its linear layers, so there are no features")
        return Output(logits, read.flatten(1))


class Pair(nn.Module):
    """The user's network and a copy with fresh weights, for methods that train two: logits (2, N, K)."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.peer = fresh_copy(model)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of both, (2, N, K)."""
        return torch.stack([as_output(network(x)).logits for network in (self.model, self.peer)])


@torch.no_grad()
def fresh_copy(model: nn.Module) -> nn.Module:
    """A copy of `model` with weights drawn anew from the global random generator.

    Frozen weights (`requires_grad` False) were trained elsewhere and are kept.
    """
    peer = copy.deepcopy(model)
    for module in peer.modules():
        reset = getattr(module, "reset_parameters", None)
        own = list(module.parameters())
        if callable(reset) and (not own or any(value.requires_grad for value in own)):
            reset()
    pairs = list(zip(model.parameters(), peer.parameters(), strict=True))
    for mine, other in pairs:
        if not mine.requires_grad:  # beside a weight that is not, in one module
            other.copy_(mine)
    drawn = [(mine, other) for mine, other in pairs if mine.requires_grad]
    if drawn and all(torch.equal(mine, other) for mine, other in drawn):
        raise SettingsError(
            f"this method trains two networks, but {type(model).__name__} cannot be drawn anew:"
            " give its modules reset_parameters()"
        )
    return peer


def network_for(model: nn.Module, *, networks: int, needs_features: bool) -> nn.Module:
    """`model` wrapped so that one call gives all that the method reads."""
    if networks not in (1, 2):
        raise SettingsError(f"the method asks for {networks} networks, but one or two can be trained")
    if networks == 2:
        if needs_features:
            raise SettingsError("a method may train two networks or read features, not both")
        return Pair(model)
    return FeatureTap(model) if needs_features else model


class Adapted(nn.Module):
    """A user's network that reads several inputs, or gives more than logits, as one of logits alone."""

    def __init__(self, model: nn.Module, which: Which) -> None:
        super().__init__()
        self.model, self.which = model, which

    def forward(self, inputs: Any) -> Any:
        """Logits (N, K)."""
        return ask(self.model, inputs, self.which)


def _asked(model: nn.Module, inputs: Any) -> Any:
    apart = isinstance(inputs, Several) and not isinstance(model, Adapted)  # which takes them apart itself
    return inputs.call(model) if apart else model(inputs)


def ask(model: nn.Module, inputs: Any, which: Which) -> Any:
    """The logits that a network gives."""
    return _logits_in(_asked(model, inputs), which)


def _logits_in(answer: Any, which: Which) -> Any:
    if callable(which):
        return which(answer)
    if isinstance(answer, Tensor):
        return answer
    try:
        if which is not None:
            return answer[which]
        return answer["logits"] if isinstance(answer, Mapping) else answer.logits
    except (AttributeError, LookupError, TypeError) as error:
        has = f" of {', '.join(map(repr, answer))}" if isinstance(answer, Mapping) else ""
        such = next(iter(answer), 0) if isinstance(answer, Mapping) else 0
        raise SettingsError(
            f"the network gave {type(answer).__name__}{has}, expected logits (N, K) or something with"
            f" {'logits' if which is None else repr(which)} in it: have it return these alone, or say which"
            f" they are with logits=, such as {such!r} or a function of what it gave"
        ) from error


@contextlib.contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Eval mode within; then each module has its own mode again, frozen batch norms theirs too."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def one_of_logits(
    model: nn.Module, example: Any, which: Which = None, half: torch.dtype | None = None
) -> tuple[nn.Module, int]:
    """(the network, as one that gives logits of what it is given, and how many of them).

    Found by a pass over two samples that leaves no trace.
    """
    try:
        autocast = torch.autocast(example.device.type, half, enabled=half is not None)
        with in_eval_mode(model), torch.no_grad(), autocast:
            answer = _asked(model, example)
    except (RuntimeError, TypeError, ValueError) as error:
        own = {value.dtype for value in model.parameters() if value.is_floating_point()} - {torch.float32}
        mend = "call model.float() first" if own else "give one made for them"
        given = f"{example.dtype} samples of shape {tuple(example.shape[1:])}"
        if isinstance(example, Several):
            given = f"the inputs {', '.join(map(str, example.named))}"
        raise SettingsError(f"the network cannot read {given} ({first_line(error)}): {mend}") from error
    logits = _logits_in(answer, which)
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(example):
        shown = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise SettingsError(f"the network gave {shown} for {len(example)} samples, expected logits (N, K)")
    note_probabilities(logits)
    plain = which is None and isinstance(answer, Tensor) and not isinstance(example, Several)
    return model if plain else Adapted(model, which), logits.shape[1]


def batch_norms(model: nn.Module) -> list[nn.Module]:
    """The layers that measure each batch in training."""
    return [module for module in model.modules() if isinstance(module, BatchNorm)]


def frozen_norms(model: nn.Module) -> list[nn.Module]:
    """The batch norms that are to keep the statistics they have: those whose weights are all frozen, and in a
    model in training mode those in eval mode."""
    return [
        norm
        for norm in batch_norms(model)
        if (model.training and not norm.training)
        or (list(norm.parameters()) and not any(value.requires_grad for value in norm.parameters()))
    ]


def as_output(result: Any) -> Output:
    """What a network returned, as an Output; features beside the logits come from the tap alone."""
    output = result if isinstance(result, Output) else Output(result, None)
    if not isinstance(output.logits, Tensor):  # a network may return more in training than in eval mode
        raise SettingsError(
            f"the network gave {type(output.logits).__name__} in training mode, expected logits (N, K):"
            " have it return these alone, or say which they are with logits="
        )
    return output
