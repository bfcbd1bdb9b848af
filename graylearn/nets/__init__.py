"""Networks: one file per architecture, all built with `make(name, num_classes, in_shape)`."""

from graylearn.nets.base import Net
from graylearn.nets.densenet121 import DenseNet121
from graylearn.nets.mlp import MLP
from graylearn.nets.mobilenetv2 import MobileNetV2
from graylearn.nets.prototypes import PrototypeNet
from graylearn.nets.registry import NETS, make
from graylearn.nets.resnet18 import ResNet18
from graylearn.nets.senet18 import SENet18
from graylearn.nets.shufflenetv2 import ShuffleNetV2
from graylearn.nets.small_cnn import SmallCNN
from graylearn.nets.vgg19 import VGG19

__all__ = [
    "MLP",
    "NETS",
    "VGG19",
    "DenseNet121",
    "MobileNetV2",
    "Net",
    "PrototypeNet",
    "ResNet18",
    "SENet18",
    "ShuffleNetV2",
    "SmallCNN",
    "make",
]
