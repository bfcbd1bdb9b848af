"""Networks: one file per architecture, all built with `make(name, num_classes, in_shape)`."""

from graylearn.nets.base import Net
from graylearn.nets.mlp import MLP
from graylearn.nets.prototypes import PrototypeNet
from graylearn.nets.registry import NETS, make
from graylearn.nets.resnet18 import ResNet18
from graylearn.nets.small_cnn import SmallCNN

__all__ = [
    "MLP",
    "NETS",
    "Net",
    "PrototypeNet",
    "ResNet18",
    "SmallCNN",
    "make",
]
