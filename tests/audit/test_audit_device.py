"""Everything of an audit that is made on a device stays there until it is asked back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode, resolve_name

from graylearn.audit import beliefs, blocks, neighbours, pooling
from graylearn.audit.beliefs import AskedAgain
from graylearn.audit.evidence import gather
from graylearn.audit.result import Audit

FAR = "cuda:0"


class Elsewhere(TorchFunctionMode):
    """A device that is the CPU, and refuses as another would what mixes its tensors with those of the CPU."""

    def __init__(self):
        super().__init__()
        self.calls = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = (resolve_name(function) or getattr(function, "__name__", "")).split(".")[-1]
        given = [each for each in _flat((args, kwargs)) if isinstance(each, torch.Tensor)]
        far = [each for each in given if hasattr(each, "far")]
        near = [each for each in given if not hasattr(each, "far") and each.dim() > 0]
        if name == "__get__" and getattr(function, "__self__", None) is torch.Tensor.device:
            return torch.device(FAR) if far else torch.device("cpu")
        moved = name in ("to", "as_tensor", "tensor")
        asked = [str(each) for each in _flat((args[1:], kwargs)) if _is_device(each)]
        asked += [FAR for each in args[1:2] if name == "to" and hasattr(each, "far")]
        goes = FAR in asked
        cleaned = tuple(_here(each) for each in args), {key: _here(each) for key, each in kwargs.items()}
        found = function(*cleaned[0], **cleaned[1])
        if name == "numpy" and far:
            raise TypeError("a tensor of another device has no numpy array")
        if far and near and not moved and name not in ("__getitem__", "__get__"):
            raise RuntimeError(f"{name} of tensors on two devices")
        if far and name == "__setitem__" and near and any(each is args[2] for each in near):
            raise RuntimeError("values of another device")
        stays = (
            goes
            or (bool(far) and not asked and name != "cpu")
            or (name == "__getitem__" and hasattr(args[0], "far"))
        )
        if name == "__getitem__" and far and not hasattr(args[0], "far"):
            raise RuntimeError("a tensor of the CPU at an index of another device")
        if far:
            self.calls.add(name)
        return _tagged(found, stays)


def _is_device(value):
    return isinstance(value, torch.device) or (isinstance(value, str) and value.startswith(("cuda", "cpu")))


def _here(value):
    return "cpu" if _is_device(value) else value


def _flat(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return [inner for each in value for inner in _flat(each)]
    return [value]


def _tagged(found, far):
    for each in _flat(found) if isinstance(found, (tuple, list)) else [found]:
        if isinstance(each, torch.Tensor):
            if far:
                each.far = True
            elif hasattr(each, "far"):
                del each.far
    return found


@pytest.fixture
def clouds():
    random = np.random.default_rng(0)
    label = np.arange(600) % 5
    x = (4 * random.normal(size=(5, 6))[label] + random.normal(size=(600, 6))).astype(np.float32)
    label[:60] = random.integers(0, 5, 60)
    p = random.dirichlet(np.ones(5), 600) * 0.2 + 0.8 * np.eye(5)[np.arange(600) % 5]
    return x, label, p


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch):
    """How a set is worked on: whole, or by a part that says what the rest is like."""
    if request.param == "large":
        monkeypatch.setattr(neighbours, "EXACT", 100)
        monkeypatch.setattr(neighbours, "KNOWN", 400)
        for each in (beliefs, blocks, pooling):
            monkeypatch.setattr(each, "ENOUGH", 200)
        monkeypatch.setattr(blocks, "ENOUGH_OF_CLASS", 20)


@pytest.mark.usefixtures("size")
def test_an_audit_on_a_device_mixes_nothing_and_says_the_same(clouds):
    x, label, p = clouds

    def judged(device):
        seen = gather(p, label, tuple("abcde"), x, "held-out", "none", device)
        return Audit.from_evidence(seen, label)

    expected = judged("cpu")
    with Elsewhere() as mode:
        found = judged(FAR)
    assert {"topk", "softmax"} <= mode.calls
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-6)
    assert expected.suspected.sum() > 20


@pytest.mark.usefixtures("size")
def test_beliefs_are_asked_about_on_the_device(clouds):
    x, label, _ = clouds
    belief = np.eye(5)[label]
    with Elsewhere() as mode:
        views = AskedAgain(x, device=FAR)
        said = views.by_vote(belief), views.by_kernel(belief)
    here = AskedAgain(x)
    np.testing.assert_allclose(said[0], here.by_vote(belief))
    np.testing.assert_allclose(said[1], here.by_kernel(belief), atol=1e-6)
    assert "softmax" in mode.calls
