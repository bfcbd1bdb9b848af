"""The paper's networks beside ResNet18, known to graylearn by their names once this is imported."""

from graylearn.nets import NETS, make
from reproduction.nets.densenet121 import DenseNet121
from reproduction.nets.mobilenetv2 import MobileNetV2
from reproduction.nets.senet18 import SENet18
from reproduction.nets.shufflenetv2 import ShuffleNetV2
from reproduction.nets.squeezenet import SqueezeNet
from reproduction.nets.vgg19 import VGG19

__all__ = ["PAPER_NETS", "make"]

PAPER_NETS = {
    "vgg19": VGG19,
    "shufflenetv2": ShuffleNetV2,
    "mobilenetv2": MobileNetV2,
    "senet18": SENet18,
    "squeezenet": SqueezeNet,
    "densenet121": DenseNet121,
}
"""By name, as NETS has them from now on."""
NETS.update(PAPER_NETS)
