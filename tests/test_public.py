"""The public face: what people import is there, and nothing optional is needed to import it."""

import inspect
import subprocess
import sys

import graylearn as gl

FIXED = {
    "gray_loss": ("logits", "target", "confidence", "weight", "ignore_index", "reduction"),
    "contaminate": ("x", "y", "ood_x", "alpha", "labels", "ood_groups", "flip", "seed"),
    "train": ("model", "data", "method"),
    "audit": ("X", "y"),
}

OPTIONAL = ("triton", "polars", "datasets", "transformers", "sentence_transformers", "timm", "skorch",
            "cleanlab", "pyod", "skrub", "matplotlib", "typer", "hypothesis", "pytest")  # fmt: skip


def test_every_name_of_the_public_list_exists():
    assert [name for name in gl.__all__ if not hasattr(gl, name)] == []
    assert sorted(gl.__all__) == sorted(set(gl.__all__))


def test_the_fixed_signatures_hold():
    for name, parameters in FIXED.items():
        known = inspect.signature(getattr(gl, name)).parameters
        assert [p for p in parameters if p not in known] == [], name


def test_losses_and_methods_have_their_fixed_names():
    losses = ["mae_loss", "bootstrap_loss", "symmetric_loss", "negative_loss", "complementary_loss",
              "generalized_loss"]  # fmt: skip
    assert [name for name in losses if not callable(getattr(gl.losses, name, None))] == []
    wanted = ["standard", "mae", "bt", "spl", "il", "sl", "nl", "srcc", "lcvd", "gl", "gl-label"]
    assert [name for name in wanted if name not in gl.METHODS] == []


def test_importing_needs_no_optional_package():
    """A fresh interpreter in which the optional packages cannot be found still imports graylearn."""
    code = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))  # as if they were not installed
import torch, graylearn
z = torch.randn(4, 3, requires_grad=True)
graylearn.gray_loss(z, torch.tensor([0, 1, 2, 0])).backward()
assert z.grad is not None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
