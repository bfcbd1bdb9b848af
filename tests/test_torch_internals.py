"""What graylearn uses of torch without a promise is where it is looked for, and does what it is used for."""

import ast
import re
from pathlib import Path

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from graylearn import torch_internals as internals

PACKAGE = Path(internals.__file__).parent


def test_private_names_of_torch_stand_in_one_file():
    """torch._x, tensor._x and torch.nn.modules.x._Y anywhere else would break without this test."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.name == "torch_internals.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            private = isinstance(node, ast.Attribute) and re.fullmatch(r"_[a-zA-Z]\w*", node.attr)
            if private and ast.unparse(node).startswith(("torch.", "nn.", "F.")):
                found.append(f"{path}: {ast.unparse(node)}")
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                found += [f"{path}: {node.module} {name}" for name in names if name.startswith("_")]
    assert not found, f"move these to graylearn/torch_internals.py: {found}"


def test_every_kind_of_hook_is_seen():
    adders = [
        lambda model: model.register_forward_hook(lambda *_: None),
        lambda model: model.register_forward_pre_hook(lambda *_: None),
        lambda model: model.register_full_backward_hook(lambda *_: None),
        lambda model: model.register_full_backward_pre_hook(lambda *_: None),
        lambda model: model.weight.register_hook(lambda _: None),
        lambda model: model.weight.register_post_accumulate_grad_hook(lambda _: None),
    ]
    assert not internals.has_hooks(nn.Linear(2, 2))
    for add in adders:
        model = nn.Linear(2, 2)
        add(model)
        assert internals.has_hooks(nn.Sequential(model))


def test_transforms_dual_levels_and_tracers_are_seen():
    seen = []
    assert not internals.transforms_active()
    torch.func.grad(lambda x: (seen.append(internals.transforms_active()), x.sum())[1])(torch.ones(2))
    torch.vmap(lambda x: (seen.append(internals.is_batched(x)), x)[1])(torch.ones(2))
    assert not internals.forward_mode_active()
    with forward_ad.dual_level():
        seen.append(internals.forward_mode_active())
    assert not internals.is_traced()
    make_fx(lambda x: (seen.append(internals.is_traced()), x + 1)[1])(torch.ones(2))
    assert seen == [True] * 4
