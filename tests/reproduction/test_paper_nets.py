"""The paper's networks: their known sizes and depths, odd inputs, and that their gradients lead down."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from graylearn.nets import Net, make
from reproduction.nets import PAPER_NETS
from reproduction.nets.squeezenet import FIRES

PARAMETERS = {
    "vgg19": 20_040_522,
    "shufflenetv2": 1_263_854,
    "mobilenetv2": 2_296_922,
    "senet18": 11_260_354,
    "densenet121": 6_956_298,
    # kernels and batch norms of the stem, of each fire module's three convolutions, and the linear layer
    "squeezenet": 64 * (27 + 2)
    + sum(
        s * (i + 2) + e * (s + 2) + e * (9 * s + 2)
        for i, (s, e) in zip([64, *(2 * e for _, e in FIRES[:-1])], FIRES, strict=True)
    )
    + 513 * 10,
}
"""At 10 classes and 3x32x32 inputs: the well-known counts, or layer by layer."""
FEATURES = {
    "vgg19": 512,
    "shufflenetv2": 1024,
    "mobilenetv2": 1280,
    "senet18": 512,
    "densenet121": 1024,
    "squeezenet": 512,
}


def meta(name, num_classes, in_shape):
    """The network without memory behind its weights: counting needs none."""
    with torch.device("meta"):
        return make(name, num_classes, in_shape)


def images(count, *shape, seed=0):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", PAPER_NETS)
def test_has_the_known_number_of_parameters(name):
    net = meta(name, 10, (3, 32, 32))
    assert sum(parameter.numel() for parameter in net.parameters()) == PARAMETERS[name]
    assert net.num_features == FEATURES[name]


@pytest.mark.parametrize("name", PAPER_NETS)
def test_its_gradient_leads_down(name):
    torch.manual_seed(0)
    net = make(name, 5, (3, 32, 32))
    for layer in net.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    x, target = images(3, 3, 32, 32), torch.tensor([0, 1, 4])
    loss = F.cross_entropy(net(x), target)
    assert isinstance(net, Net)
    loss.backward()
    # A step down the gradient, short enough for the loss to be a straight line, lowers it as foretold.
    square = sum(parameter.grad.square().sum() for parameter in net.parameters())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.01 / square * parameter.grad
        assert (loss - F.cross_entropy(net(x), target)).item() == pytest.approx(0.01, rel=0.3)
