"""Methods that learn from inputs of their own making: blends, distorted images, what is of no class."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.functional import one_hot

from graylearn.array_types import MANY_COLUMNS
from graylearn.errors import SettingsError
from graylearn.losses.reference import excluded
from graylearn.methods.base import Count, Factor, Method, Range, Share, Step, Task, register

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


# Distorted images that a person still recognises: turned, stretched, moved, recoloured, a square left out.


def some_distorted(images: Tensor, generator: torch.Generator, often: Tensor | float) -> Tensor:
    """Each image distorted as often as it says, (N, 1, 1, 1) or one for all, drawn anew each time."""
    other = torch.rand(len(images), 1, 1, 1, generator=generator, device=images.device) < often
    new = distorted(images, generator)
    return torch.where(other, new, images, out=torch.empty_like(images))  # laid out as the images are


def distorted(images: Tensor, generator: torch.Generator) -> Tensor:
    """The images (N, C, H, W) changed, each in its own way; values are taken to have mean 0 and spread 1."""
    count, size = len(images), images.shape[-2:]

    def draw(low: float, high: float, *shape: int) -> Tensor:
        drawn = torch.rand(count, *shape, generator=generator, device=images.device)
        return low + (high - low) * drawn

    full = images.float()
    angle, across, along = draw(-0.5, 0.5), draw(0.75, 1.25), draw(0.75, 1.25)
    shear, moved = draw(-0.3, 0.3), draw(-0.25, 0.25, 2)
    cos, sin = angle.cos(), angle.sin()
    rows = (across * cos, shear - sin, moved[:, 0], sin, along * cos, moved[:, 1])
    grid = torch.nn.functional.affine_grid(
        torch.stack(rows, 1).view(count, 2, 3), list(full.shape), align_corners=False
    )
    full = torch.nn.functional.grid_sample(full, grid, padding_mode="reflection", align_corners=False)
    full = torch.lerp(full.mean(1, keepdim=True), full, draw(0.2, 1.8, 1, 1, 1))  # less or more colour
    full = torch.lerp(full.mean((1, 2, 3), keepdim=True), full, draw(0.4, 1.6, 1, 1, 1))  # contrast
    full = full + draw(-0.5, 0.5, 1, 1, 1) + draw(-0.2, 0.2, full.shape[1], 1, 1)
    left_out = (
        _beside(draw(0, 1, 1), size[0])[:, None, :, None] & _beside(draw(0, 1, 1), size[1])[:, None, None]
    )
    return full.masked_fill(left_out, 0.0).to(images.dtype)


def _beside(centre: Tensor, size: int) -> Tensor:
    """(N, size) what lies within a quarter of `size` of each centre, (N, 1), in shares of `size`."""
    at = torch.arange(size, device=centre.device) - size * centre
    return at.abs() < size / 4


def _mixed(values: Tensor, other: Tensor, part: Tensor) -> Tensor:
    """(N, ...) values with so much of others for the rest; part is (N,), or (1,) for all."""
    return torch.lerp(values[other], values, part.to(values.dtype).view(-1, *[1] * (values.ndim - 1)))


# choose: the target is chosen in each step between the label and the network's own predictions (ours).


@register("choose")
@dataclass
class Choose(Method):
    """Cross entropy on mixed pairs of samples, with targets between the label and the mean prediction.

    t = s y + (1 - s) sharpened a, where a is the mean over epochs of the network's predictions for the
    sample and s = a_y / max a: a label that they find likely is taught, any other is replaced by them.
    Predictions of the current epoch alone would trust what was just memorised.
    """

    begin: Share = 0.15
    """Share of the epochs before which targets are the labels. Default: ours."""
    momentum: Share = 0.9
    """Weight of the past in the mean prediction. Default: ours."""
    sharpness: Factor = 2.0
    """Power that sharpens the mean prediction into a target; 1 leaves it as it is. Default: ours."""
    mixed: bool | None = None
    """Learn from mixed pairs of samples, whose shares are drawn uniformly, instead of the samples. None mixes
    images and rows of 32 numbers and more, but no short rows: what lies between two rows of a table is often
    of a third class (it cost two points on tables, and won as many on features of photos)."""
    distorted: bool = True
    """Distort every second image (turned, moved, recoloured); samples of other shapes stay as they are."""

    each: ClassVar[bool] = False
    """Each pair is mixed in a share of its own, and images are distorted the more often, the more their label
    is doubted."""
    per_sample = False
    plans_epochs = True
    state: ClassVar[tuple[str, ...]] = ("answers", "asked")

    def start(self, task: Task) -> None:
        """No answers yet."""
        super().start(task)
        self.answers = torch.zeros(task.num_samples, task.num_classes, device=task.device)
        self.asked = torch.zeros(task.num_samples, dtype=torch.bool, device=task.device)

    def loss(self, step: Step) -> Tensor:
        """Cross entropy of each sample or pair with what is chosen for it."""
        return self.soft_loss(step, one_hot(step.target, step.logits.shape[1]).to(step.logits.dtype))

    def soft_loss(self, step: Step, share: Tensor) -> Tensor:
        """The same, with a distribution over the classes in the place of the label."""
        target, logits = self._chosen(step, share), step.logits
        numbers = isinstance(step.inputs, Tensor) and step.inputs.is_floating_point()
        distorts = self.distorted and numbers and step.inputs.ndim == 4
        mixes = numbers and step.inputs[0].numel() >= MANY_COLUMNS if self.mixed is None else self.mixed
        inputs = step.inputs
        if mixes or distorts:
            inputs, generator = blendable(inputs, self._name), self.task.generator
            if distorts:
                often = 1 - (target * share).sum(1).view(-1, 1, 1, 1) / 2 if self.each else 0.5
                inputs = some_distorted(inputs, generator, often)
            if mixes:
                other = torch.randperm(len(inputs), generator=generator, device=inputs.device)
                count = len(inputs) if self.each else 1
                drawn = torch.rand(count, generator=generator, device=inputs.device)
                part = torch.maximum(drawn, 1 - drawn)  # a pair counts what its first sample weighs
                inputs = _mixed(inputs, other, part)
                target = _mixed(target, other, part)
            inputs = inputs.to(step.inputs.dtype)
        if inputs is not step.inputs or self.average is not None:
            # a further pass, so that the history is of the samples as they are
            logits = step.forward(inputs).logits.to(target.dtype)
        return -(target * logits.log_softmax(1)).sum(1)

    def _chosen(self, step: Step, told: Tensor) -> Tensor:
        """(N, K) what to teach of each sample; its answer joins the mean."""
        said = step.logits.detach().softmax(1)
        kept = self.momentum * self.asked[step.index].to(said.dtype).unsqueeze(1)
        answer = torch.lerp(said, self.answers[step.index].to(said.dtype), kept)
        self.answers[step.index] = answer.to(self.answers.dtype)
        self.asked[step.index] = True
        if step.epoch < self.begin * self.task.epochs:
            return told
        answer = self._weighed(answer)
        relative = answer / answer.amax(1, keepdim=True)
        believed = (relative * told).sum(1, keepdim=True)
        sharp = relative**self.sharpness
        return torch.lerp(sharp / sharp.sum(1, keepdim=True), told, believed)

    def _weighed(self, answer: Tensor) -> Tensor:
        """The mean answers, as far as they are to be followed in each class."""
        return answer


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
