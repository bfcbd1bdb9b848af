"""Every network: its known size, its two steps, odd inputs, memory formats."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from graylearn.errors import SettingsError
from graylearn.nets import Net, ResidualBlock, make
from reproduction.nets.squeezenet import FIRES

# Parameters at 10 classes and 3x32x32 inputs, and features. Of the published forms, the well-known counts; of
# the others, layer by layer: weights and biases of an MLP, kernels and batch norms of a small CNN, and of
# SqueezeNet's stem and the three convolutions of each fire module.
OF_FIRES = sum(
    s * (i + 2) + e * (s + 2) + e * (9 * s + 2)
    for i, (s, e) in zip([64, *(2 * e for _, e in FIRES[:-1])], FIRES, strict=True)
)
KNOWN = {
    "mlp": ((3072 + 1) * 128 + (128 + 1) * 128 + (128 + 1) * 10, 128),
    "small_cnn": (9 * (3 * 32 + 32 * 64 + 64 * 128) + 2 * (32 + 64 + 128) + (128 + 1) * 10, 128),
    "resnet18": (11_173_962, 512),
    "vgg19": (20_040_522, 512),
    "shufflenetv2": (1_263_854, 1024),
    "mobilenetv2": (2_296_922, 1280),
    "senet18": (11_260_354, 512),
    "densenet121": (6_956_298, 1024),
    "squeezenet": (64 * (27 + 2) + OF_FIRES + 513 * 10, 512),
}
CONVOLUTIONAL = ("resnet18", "small_cnn")


def count_parameters(net):
    return sum(parameter.numel() for parameter in net.parameters())


def meta(name, num_classes, in_shape):
    """The network without memory behind its weights: counting needs none."""
    with torch.device("meta"):
        return make(name, num_classes, in_shape)


def images(count, *shape, seed=0):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", KNOWN)
def test_has_the_known_number_of_parameters(name):
    net, (parameters, features) = meta(name, 10, (3, 32, 32)), KNOWN[name]
    assert count_parameters(net) == parameters
    assert net.num_features == features
    assert net.num_classes == 10
    # Each further class is a row of weights and a bias.
    assert count_parameters(meta(name, 100, (3, 32, 32))) == parameters + 90 * (features + 1)


@pytest.mark.parametrize("name", KNOWN)
def test_classifies_its_own_features_and_its_gradient_leads_down(name):
    torch.manual_seed(0)
    net = make(name, 5, (3, 32, 32))
    for layer in net.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    x = images(3, 3, 32, 32)
    logits = net(x)
    assert isinstance(net, Net)
    assert logits.shape == (3, 5)
    target = torch.tensor([0, 1, 4])
    loss = F.cross_entropy(logits, target)
    loss.backward()
    for path, parameter in net.named_parameters():
        assert parameter.grad is not None, path
        assert parameter.grad.isfinite().all(), path
    # A step down the gradient, short enough for the loss to be a straight line, lowers it as foretold.
    square = sum(parameter.grad.square().sum() for parameter in net.parameters())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.01 / square * parameter.grad
        assert (loss - F.cross_entropy(net(x), target)).item() == pytest.approx(0.01, rel=0.3)
    net.eval()
    with torch.no_grad():
        features = net.forward_features(x)
        assert features.shape == (3, KNOWN[name][1])
        torch.testing.assert_close(net.classify(features), net(x))


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_channels_last_gives_the_same_logits_at_another_size_and_one_channel(name):
    side = 12
    net = make(name, 4, (1, side, side + 8)).eval()
    x = images(2, 1, side, side + 8)
    turned = copy.deepcopy(net).to(memory_format=torch.channels_last)
    with torch.no_grad():
        expected, found = net(x), turned(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_the_smallest_images_work_and_smaller_ones_are_refused(name):
    side = {"small_cnn": 4}.get(name, 8)
    with torch.no_grad():
        assert make(name, 2, (3, side, side)).eval()(images(1, 3, side, side)).shape == (1, 2)
    with pytest.raises(SettingsError, match=f"{name} halves images down to nothing below {side}x{side}"):
        meta(name, 2, (3, side, side - 1))


@pytest.mark.parametrize(
    "build",
    [
        lambda: make("small_cnn", 4, (1, 16, 16)),
        lambda: nn.Sequential(ResidualBlock(1, 8, stride=2), nn.Flatten()),
    ],
)
def test_compiles_whole_and_agrees_with_itself(build):
    torch.manual_seed(0)
    net = build()
    twin = copy.deepcopy(net)
    compiled = torch.compile(twin, backend="aot_eager", fullgraph=True)
    x = images(4, 1, 16, 16)
    expected, found = net(x), compiled(x)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    expected.square().mean().backward()
    found.square().mean().backward()
    for mine, other in zip(net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(other.grad, mine.grad, rtol=1e-3, atol=1e-4)


def test_mlp_takes_widths_dropout_and_samples_of_any_shape():
    net = make("mlp", 3, (7,), hidden=(20, 10), dropout=0.5)
    assert [layer.out_features for layer in net.modules() if isinstance(layer, nn.Linear)] == [20, 10, 3]
    assert net(images(6, 7)).shape == (6, 3)
    features = net.forward_features(images(400, 7))
    assert (features == 0).float().mean() > 0.6  # ReLU zeroes about half, dropout half of the rest
    net.eval()
    x = images(6, 7)
    assert torch.equal(net(x), net(x))
    assert make("mlp", 3, (2, 5, 4))(images(6, 2, 5, 4)).shape == (6, 3)
    linear = make("mlp", 3, (7,), hidden=())
    assert count_parameters(linear) == 7 * 3 + 3
    assert torch.equal(linear.forward_features(x), x)
