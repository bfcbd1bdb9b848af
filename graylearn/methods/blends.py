"""Methods that learn from inputs of their own making: blends, and what belongs to no class."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.errors import SettingsError
from graylearn.losses.reference import excluded
from graylearn.methods.base import Count, Factor, Method, Range, Step, Task, register

_SMALL = 1 << 16
"""Most values of inputs whose shuffles are gathered all at once."""


def blendable(inputs: Tensor, method: str) -> Tensor:
    """The inputs in at least float32, refused if a mean of inputs has no meaning."""
    if not isinstance(inputs, Tensor):
        raise SettingsError(
            f"{method} blends inputs of one tensor, but the network reads several: choose another method"
        )
    if not inputs.is_floating_point():
        raise SettingsError(
            f"{method} blends inputs, so it needs floating point ones, but these are {inputs.dtype}: "
            "give it embeddings or normalised images, or choose another method"
        )
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))


def sum_with_shuffles(inputs: Tensor, others: Tensor) -> Tensor:
    """inputs + inputs[others[0]] + inputs[others[1]] + ..., added in this order; others is (shuffles, N)."""
    if inputs.device.type == "cpu" and inputs.numel() <= _SMALL and not inputs.requires_grad:
        # 19 shuffles of 16 x 8 on an ARM core: 26 us instead of 250, and the same bits
        rows = inputs.numpy()
        taken = rows[others.numpy()]
        taken[0] += rows
        return torch.from_numpy(np.add.reduce(taken, axis=0))
    total = inputs
    for other in others:
        total = total + inputs[other]
    return total


# lcvd: learning from cross-class vicinity, a blend of classes belongs to none (Zhao, Cao and Lin, 2023).


@register("lcvd")
@dataclass
class CrossClassVicinity(Method):
    """CE + beta times the mean, over the classes blended into x~, of -log(1 - Q_c(x~)).

    x~ is the mean of an input and of `blended` - 1 others, drawn by shuffling the batch.
    """

    beta: Factor = 1.0
    """Weight of the second term. Default: the authors'."""
    blended: Annotated[int, Range(2)] = 20
    """How many inputs make one x~. Default: the authors', an input and 19 shuffles."""

    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample plus what its blend must not be taken for."""
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        return loss + self.beta * self._vicinity_loss(step)

    def _vicinity_loss(self, step: Step) -> Tensor:
        inputs, target = blendable(step.inputs, "lcvd"), step.target
        others = self._shuffles(len(target), inputs.device)
        took_part = torch.zeros_like(step.logits, dtype=torch.bool).scatter_(1, target[:, None], True)
        took_part.scatter_(1, target[others].T, True)
        blend = sum_with_shuffles(inputs, others)
        logits = step.forward((blend / self.blended).to(step.inputs.dtype)).logits
        rejected = excluded(logits.to(step.logits.dtype))
        return torch.where(took_part, rejected, 0.0).sum(1) / took_part.sum(1)

    def _shuffles(self, size: int, device: torch.device) -> Tensor:
        """(blended - 1, size) orders of the batch."""
        generator = self.task.generator
        orders = [torch.randperm(size, generator=generator, device=device) for _ in range(self.blended - 1)]
        return torch.stack(orders)


def outside_inputs(outliers: Any, step: Step, generator: torch.Generator, method: str) -> Tensor:
    """Inputs that belong to no class, as many as the batch has samples: drawn from `outliers` (M, ...), or,
    without any, the batch with the values of each column or pixel shuffled among its samples.
    """
    inputs = blendable(step.inputs, method)
    if outliers is None:
        flat = inputs.flatten(1)
        order = torch.rand(flat.shape, generator=generator, device=flat.device).argsort(dim=0)
        return flat.gather(0, order).view_as(inputs).to(step.inputs.dtype)
    known = torch.as_tensor(outliers)
    if known.shape[1:] != inputs.shape[1:] or not len(known):
        raise SettingsError(
            f"{method}: outliers have shape {tuple(known.shape)}, but must be samples as the network reads "
            f"them, (M, {', '.join(map(str, inputs.shape[1:]))})"
        )
    rows = torch.randint(len(known), (len(inputs),), generator=generator, device=inputs.device)
    return known[rows.to(known.device)].to(inputs.device, step.inputs.dtype)


def uniform_loss(logits: Tensor) -> Tensor:
    """(N,) cross entropy to the uniform distribution, -1/K sum_k log Q_k."""
    return logits.logsumexp(dim=1) - logits.mean(dim=1)


# oe: outlier exposure, the target of what belongs to no class is uniform (Hendrycks et al., 2019).


@register("oe")
@dataclass
class OutlierExposure(Method):
    """L_G + weight * (-1/K sum_k log Q_k(x_out)), x_out of no class: also cross entropy, to the uniform."""

    weight: Factor = 0.5
    """Of the second term. Default: the authors'."""
    outliers: Any = field(default=None, repr=False, compare=False)
    """(M, ...) samples known to belong to no class, as the network reads them. Default: the batch with its
    columns shuffled, each by itself, which is ours and much less than known samples are."""

    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample, and what one input of no class adds to it."""
        outside = outside_inputs(self.outliers, step, self.task.generator, "oe")
        said = step.forward(outside).logits.to(step.logits.dtype)
        loss = F.cross_entropy(step.logits, step.target, reduction="none")
        return loss + self.weight * uniform_loss(said)


# prior-network: logits as a Dirichlet, sharp on classes and flat elsewhere (Malinin and Gales, 2019).

_LARGEST = 30.0
"""Of a logit: beyond exp(30) samples of a class, their number makes no difference."""


@register("prior-network")
@dataclass
class PriorNetwork(Method):
    """[KL(Dir(a) | Dir(b)) + weight * KL(Dir(a(x_out)) | Dir(1))] / concentration, a = exp(z).

    b is 1 + concentration for the label and 1 for every other class. This is the reverse divergence, from the
    network to the target; for a_0 = sum a, b_0 = sum b, psi the digamma function,
    KL = ln G(a_0) - sum ln G(a_k) - ln G(b_0) + sum ln G(b_k) + sum (a_k - b_k)(psi(a_k) - psi(a_0)).
    Q = softmax(z) = a / a_0 is its mean. Divided, so that it is as large as cross entropy: that is ours.
    """

    concentration: Annotated[float, Range(1e-6)] = 100.0
    """How much more the label has than the other classes. Default: the authors'."""
    weight: Factor = 1.0
    """Of the term of inputs of no class. Default: the authors'."""
    outliers: Any = field(default=None, repr=False, compare=False)
    """(M, ...) samples known to belong to no class, as the network reads them. Default: as in `oe`."""

    per_sample = False

    def loss(self, step: Step) -> Tensor:
        """The divergence of each sample, and that of one input of no class."""
        logits = step.logits
        target = 1.0 + self.concentration * F.one_hot(step.target, logits.shape[1])
        loss = dirichlet_divergence(logits, target)
        if self.weight:
            outside = outside_inputs(self.outliers, step, self.task.generator, "prior-network")
            said = step.forward(outside).logits
            loss = loss + self.weight * dirichlet_divergence(said, torch.ones_like(target))
        return (loss / self.concentration).to(logits.dtype)


def dirichlet_divergence(logits: Tensor, target: Tensor) -> Tensor:
    """(N,) KL(Dir(exp(logits)) | Dir(target)), in float64: its terms are large and nearly cancel."""
    own, other = logits.double().clamp(-_LARGEST, _LARGEST).exp(), target.double()
    own_sum, other_sum = own.sum(dim=1, keepdim=True), other.sum(dim=1, keepdim=True)
    constant = own_sum.lgamma() - other_sum.lgamma()
    terms = other.lgamma() - own.lgamma() + (own - other) * (own.digamma() - own_sum.digamma())
    return constant.squeeze(1) + terms.sum(dim=1)


# confident: a classifier unsure of what a generator makes at the border of the data (Lee et al., 2018).


@register("confident")
@dataclass
class Confident(Method):
    """L_G + beta * KL(U | Q(G(noise))), with a generator G that is trained beside the network.

    G makes inputs that a discriminator D takes for samples, and of which the network is unsure:
    min over G, max over D of E log D(x) + E log(1 - D(G(noise))) + beta E KL(U | Q(G(noise))), where G raises
    log D(G(noise)) instead, as GANs are trained. So what G makes lies where the data thin out, and there the
    network learns to be unsure. Both have one hidden layer and Adam, which is ours: the authors have images.
    """

    beta: Factor = 1.0
    """Weight of the divergence, for the network and for G. Default: the authors' largest."""
    noise: Count = 32
    """Numbers that G starts from. Default: ours."""
    hidden: Count = 64
    """Width of G and D. Default: ours."""
    rate: Factor = 1e-3
    """Of the Adam that trains G and D. Default: ours."""

    per_sample = False
    state = ("weights", "moments", "steps")

    def start(self, task: Task) -> None:
        """G and D are made when the first batch tells how large an input is."""
        super().start(task)
        self.weights = torch.empty(0, device=task.device)
        self.moments = torch.empty(2, 0, device=task.device)
        self.steps = 0

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample, and how sure the network is of one input that G made."""
        inputs = blendable(step.inputs, "confident")
        flat = inputs.flatten(1).float()
        if not len(self.weights):
            self._draw_weights(flat.shape[1])
        with torch.enable_grad(), torch.autocast(flat.device.type, enabled=False):
            weights = self.weights.detach().requires_grad_()
            generator, discriminator = self._layers(weights, flat.shape[1])
            noise = torch.randn(len(flat), self.noise, generator=self.task.generator, device=flat.device)
            made = _two_layers(noise, generator)
        said = step.forward(made.view_as(inputs).to(step.inputs.dtype)).logits.to(step.logits.dtype)
        unsure = uniform_loss(said) - math.log(said.shape[1])
        with torch.enable_grad(), torch.autocast(flat.device.type, enabled=False):
            fixed = [part.detach() for part in discriminator]
            real, fake = _two_layers(flat, discriminator), _two_layers(made.detach(), discriminator)
            of_discriminator = F.softplus(-real).mean() + F.softplus(fake).mean()
            of_generator = F.softplus(-_two_layers(made, fixed)).mean() + self.beta * unsure.mean()
            (gradient,) = torch.autograd.grad(of_discriminator + of_generator, weights, retain_graph=True)
        self._step(gradient)
        return F.cross_entropy(step.logits, step.target, reduction="none") + self.beta * unsure

    def _shapes(self, width: int) -> list[tuple[int, ...]]:
        """Weights and biases of G, then of D."""
        sizes = [(self.noise, self.hidden, width), (width, self.hidden, 1)]
        pairs = itertools.chain.from_iterable(itertools.pairwise(each) for each in sizes)
        return [shape for fan_in, fan_out in pairs for shape in ((fan_in, fan_out), (fan_out,))]

    def _draw_weights(self, width: int) -> None:
        generator, device = self.task.generator, self.task.device
        parts = [
            torch.randn(shape, generator=generator, device=device) / math.sqrt(shape[0])
            if len(shape) == 2
            else torch.zeros(shape, device=device)
            for shape in self._shapes(width)
        ]
        self.weights = torch.cat([part.flatten() for part in parts])
        self.moments = torch.zeros(2, len(self.weights), device=device)

    def _layers(self, weights: Tensor, width: int) -> tuple[list[Tensor], list[Tensor]]:
        """(G, D), each two layers of weight and bias, as views of the flat weights."""
        shapes = self._shapes(width)
        parts = weights.split_with_sizes([math.prod(shape) for shape in shapes])
        layers = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
        return layers[:4], layers[4:]

    def _step(self, gradient: Tensor) -> None:
        """Adam, with the first decay that GANs are trained with."""
        self.steps += 1
        first = 0.5 * self.moments[0] + 0.5 * gradient
        second = 0.999 * self.moments[1] + 0.001 * gradient.square()
        self.moments = torch.stack([first, second])
        mean, square = first / (1 - 0.5**self.steps), second / (1 - 0.999**self.steps)
        self.weights = self.weights - self.rate * mean / (square.sqrt() + 1e-8)


def _two_layers(x: Tensor, layers: list[Tensor]) -> Tensor:
    weight, bias, second_weight, second_bias = layers
    return F.leaky_relu(x @ weight + bias, 0.2) @ second_weight + second_bias
