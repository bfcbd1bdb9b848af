"""VGG-19 with batch norm in the form for 32x32 images: one linear layer in place of three.

Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition.
20,040,522 parameters at 10 classes. That well-known count includes biases of the convolutions, which
batch norm makes needless, so they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from graylearn.nets import ConvNet, image_channels

STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # width, convolutions


class VGG19(ConvNet):
    """Sixteen 3x3 convolutions in five stages, each followed by max pooling; 512 features."""

    def __init__(self, num_classes: int, in_shape: Sequence[int]) -> None:
        super().__init__(num_classes, in_shape)
        channels = image_channels("vgg19", in_shape, minimum=2 ** len(STAGES))
        layers: list[nn.Module] = []
        for width, convolutions in STAGES:
            for _ in range(convolutions):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(channels, num_classes)
