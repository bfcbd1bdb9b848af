"""confident: a classifier unsure of what a generator makes at the border of the data (Lee et al., 2018)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from graylearn.methods.base import Method, Step, Task, register
from graylearn.methods.blend import blendable
from graylearn.methods.checks import Count, Factor
from graylearn.methods.exposure import uniform_loss


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
