"""The Gray loss: learn from what a label claims as far as it is believed, and from what it excludes.

    L_M = C * L_G + (1 - C) * L_C,   L_G = -log Q_y,   L_C = -sum_{k != y} log(1 - Q_k),   Q = softmax(logits)

One function, four implementations of the same numbers: `reference` (plain torch), `fused` (closed form, any
device), `triton` (CUDA kernels), and the one of small.py for small batches on the CPU. With K = 2 the loss
is cross entropy, whatever the confidence.
"""

import importlib.util

import torch
from torch import Tensor, nn

from graylearn.losses import small
from graylearn.losses.fused import gray_fused
from graylearn.losses.reference import gray_rows, relative_confidence, soft_gray_loss
from graylearn.losses.rows import (
    Inputs,
    check_batch,
    check_confidence,
    check_settings,
    check_tensors,
    compute_dtype,
    reduce_rows,
    widened,
)
from graylearn.torch_internals import forward_mode_active, is_traced, transforms_active

IMPLEMENTATIONS = ("auto", "reference", "fused", "triton")


HAS_TRITON = importlib.util.find_spec("triton") is not None


def _is_transformed() -> bool:
    """Whether torch derives a function from the loss in a way that only the reference follows."""
    return transforms_active() or forward_mode_active() or is_traced()


def _choose(logits: Tensor, target: Tensor, detach: bool) -> str:
    """The implementation that `impl="auto"` stands for; gray_loss's docstring says the rule."""
    if not detach or _is_transformed():
        return "reference"
    if small.suits(logits, target):
        return "small"
    if logits.is_cuda and HAS_TRITON:
        from graylearn.losses import gpu

        if gpu.suits(logits):
            return "triton"
    return "reference" if torch.compiler.is_compiling() else "fused"


def _relative(logits: Tensor, target: Tensor, ignore_index: int, detach: bool) -> Tensor:
    """The confidence called "relative", of target's shape."""
    scores = logits if logits.ndim > 1 else logits.unsqueeze(0)
    scores = scores.to(compute_dtype(logits.dtype))
    return relative_confidence(scores, target != ignore_index, detach).view_as(target)


def gray_loss(
    logits: Tensor,
    target: Tensor,
    *,
    confidence: str | Tensor = "max",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    detach: bool = True,
    impl: str = "auto",
) -> Tensor:
    """Gray loss of class labels, with every convention of `torch.nn.functional.cross_entropy`.

    Args:
        logits: (K,), (N, K) or (N, K, d1, ...) unnormalised scores; float32, float64, bfloat16 or float16
            (the half types are computed in float32).
        target: (), (N,) or (N, d1, ...) class indices, any integer dtype; or probabilities of the classes, of
            the shape and kind of the logits: the loss is then the one to expect where the label is drawn by
            them.
        confidence: how far the label is believed, C: "max", the largest probability, as the authors train;
            "label", the probability of the label, as the paper writes; "relative", the largest probability
            over its median among all labels of the batch that are not ignored, at most 1, as the method
            gl-relative trains; or a tensor with one value in [0, 1] per label.
        weight: (K,) one weight per class; the mean divides by the sum of the rows' weights.
        ignore_index: targets of this value count nothing.
        reduction: "none", "mean" or "sum".
        label_smoothing: how much of each target is spread over all classes, such as 0.1.
        detach: treat C as a constant in the gradient. False gives the gradient of the paper's literal
            objective: lowering C where the loss is large becomes a way to lower the loss, at a uniform start
            the gradient at the label has the wrong sign for K >= 20, and training suffers (39.5 % accuracy
            where the detached form reached 94.5 %). Only the reference can do it.
        impl: "auto" takes the reference where detach is False, under a torch.func transform, in forward-mode
            differentiation (a dual_level) and under a tracer such as make_fx; the Triton kernels on CUDA
            (float32 and half types, also inside torch.compile); the reference inside torch.compile elsewhere;
            and otherwise the fused form, but on the CPU for batches of up to 8192 scores a leaner one, at a
            third to half of its cost. All can be differentiated twice. Where "auto" would take the reference
            for what torch does with the loss, "fused" is the reference too.

    A label that is no class and a confidence outside [0, 1] raise on the CPU, unless the row is ignored. On
    CUDA and while tracing, where looking would stall or cannot be done, such a row's loss and gradient are
    NaN.

    ```python
    import torch

    import graylearn as gl

    logits, labels = torch.randn(8, 5, requires_grad=True), torch.randint(0, 5, (8,))
    gl.gray_loss(logits, labels).backward()                 # believed by the largest probability; the mean
    gl.gray_loss(logits, labels, confidence="label", reduction="none")      # (8,) as the paper writes it
    ```
    """
    check_settings(confidence=confidence, weight=weight, reduction=reduction, label_smoothing=label_smoothing)
    check_tensors(logits=logits, target=target)
    target = widened(target)
    if detach and isinstance(confidence, Tensor):
        confidence = confidence.detach()
    if label_smoothing or target.is_floating_point():
        if not detach or impl not in ("auto", "reference"):
            raise ValueError(
                f"detach={detach} and impl={impl!r} are for class indices without label_smoothing; expected"
                " detach=True and impl='auto' or 'reference'"
            )
        inputs = Inputs(logits, target, confidence, weight, ignore_index, reduction)
        return soft_gray_loss(inputs, label_smoothing)
    check_batch(logits, target, weight)
    check_confidence(confidence, target, ignore_index)
    if impl not in IMPLEMENTATIONS:
        raise ValueError(f"impl is {impl!r}; expected one of {', '.join(IMPLEMENTATIONS)}")
    if impl == "auto":
        impl = _choose(logits, target, detach)
    elif not detach and impl != "reference":
        raise ValueError(f"detach=False needs impl='reference' or 'auto'; got impl={impl!r}")
    elif impl == "fused" and (_is_transformed() or torch.compiler.is_compiling()):
        impl = "reference"
    if isinstance(confidence, str) and confidence == "relative":
        confidence = _relative(logits, target, ignore_index, detach)
    inputs = Inputs(logits, target, confidence, weight, ignore_index, reduction)
    if impl == "triton" and logits.numel():
        from graylearn.losses import gpu

        return gpu.gray_triton(inputs)
    if impl == "small":
        loss = small.gray_small(inputs)
        if loss is not None:
            return loss
    if impl != "reference":
        return gray_fused(inputs)
    rows = inputs.rows()
    full = rows.logits.to(compute_dtype(logits.dtype))
    return reduce_rows(gray_rows(full, rows.target, rows.confidence(confidence), detach), rows, reduction)


class GrayLoss(nn.CrossEntropyLoss):
    """`gray_loss` as a module: put it where `nn.CrossEntropyLoss` stood, with class weights as `weight=`.

    It is one to those who ask whether a criterion takes logits, as skorch does before it makes probabilities.

    ```python
    import torch

    import graylearn as gl

    criterion = gl.GrayLoss(weight=torch.tensor([1.0, 2.0, 1.0]))
    criterion(torch.randn(4, 3), torch.tensor([0, 2, 1, 1]))
    ```
    """

    weight: Tensor | None

    def __init__(
        self,
        confidence: str = "max",
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        detach: bool = True,
        impl: str = "auto",
        label_smoothing: float = 0.0,
    ) -> None:
        check_settings(confidence=confidence, weight=weight, label_smoothing=label_smoothing)
        super().__init__(
            weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
        )
        if not isinstance(confidence, str):
            raise TypeError(
                f"confidence is a {type(confidence).__name__}; expected 'max', 'label' or 'relative'. Class "
                "weights go to weight=, one confidence per sample to the call: criterion(logits, target, "
                "confidence)"
            )
        self.confidence = confidence
        self.detach = detach
        self.impl = impl

    def forward(self, logits: Tensor, target: Tensor, confidence: Tensor | None = None) -> Tensor:
        """The loss; `confidence`, one value per sample, goes before the module's own rule."""
        return gray_loss(
            logits,
            target,
            confidence=self.confidence if confidence is None else confidence,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
            detach=self.detach,
            impl=self.impl,
        )

    def extra_repr(self) -> str:
        """The settings that people change."""
        names = ("confidence", "ignore_index", "reduction", "label_smoothing")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
