"""Images as one would still know them: turned, stretched, moved, in other colours and without a square."""

from __future__ import annotations

import torch
from torch import Tensor


def half_distorted(images: Tensor, generator: torch.Generator) -> Tensor:
    """About every second image distorted, drawn anew each time."""
    other = torch.rand(len(images), 1, 1, 1, generator=generator, device=images.device) < 0.5
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
