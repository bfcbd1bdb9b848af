"""The page on methods: its table is complete; the method that the guide shows how to add works as shown."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from hand_made import logits_with_loss, make_step
from sklearn.datasets import load_digits

from graylearn.methods import METHODS, make_method
from graylearn.nets import MLP
from graylearn.options import documented
from graylearn.training import PRESETS, train

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "methods.md").read_text(encoding="utf-8")
GUIDE = (DOCS / "guides" / "extend.md").read_text(encoding="utf-8")


def code_after(page, heading):
    """The first Python block below a heading."""
    return re.search(r"```python\n(.*?)```", page.split(heading)[1], re.DOTALL)[1]


@pytest.fixture
def trimmed(monkeypatch):
    """The shown method, registered as shown, and taken out again afterwards."""
    monkeypatch.setitem(METHODS, "trimmed", None)  # restored to absent when the test is over
    source = code_after(GUIDE, "## A method")
    exec(compile(source, "docs/guides/extend.md", "exec"), {"__name__": "shown"})
    return source


def rows_after(heading):
    """Name -> line of the tables of one section."""
    section = PAGE.split(heading)[1].split("\n## ")[0]
    return {found[1]: found[0] for found in re.finditer(r"^\| `([^`]+)` \|.*$", section, re.MULTILINE)}


def test_every_preset_is_in_the_table_with_its_length_and_rate():
    rows = rows_after("## Presets")
    assert list(rows) == list(PRESETS)
    for name, row in rows.items():
        preset = PRESETS[name]
        assert row.endswith(f"| {preset.epochs}, {preset.batch_size} |"), name
        rate = f"{preset.optimizer.learning_rate:g}".removeprefix("0")
        said = f"| {preset.optimizer.name} {rate}"
        if name == "paper-warm":
            assert preset.optimizer == PRESETS["paper"].optimizer
            said = "| as `paper` |"
        assert said in row.lower(), name


def test_every_method_says_what_it_and_its_options_are():
    for name, method in METHODS.items():
        assert method.__doc__, name
        assert {field.name for field in fields(method)} <= set(documented(method)), name


def test_the_table_has_the_methods_in_order_with_every_option():
    rows = rows_after("## All of them")
    assert list(rows) == list(METHODS)[: len(rows)]  # later ones explain themselves in their file
    for name, row in rows.items():
        inherited = "those of `spl`" in row
        for field in fields(METHODS[name]):
            assert f"`{field.name}`" in row or (inherited and field.name != "gamma"), (name, field.name)


def test_first_example_runs():
    shown = {}
    exec(compile(code_after(PAGE, "# Methods"), "docs/reference/methods.md", "exec"), shown)
    assert shown["method"] == METHODS["co-teaching"](noise_rate=0.2)


def test_shown_method_is_short_and_does_what_it_says(trimmed):
    assert len(trimmed.strip().splitlines()) < 20
    losses = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    step = make_step(logits_with_loss(losses), torch.zeros(5, dtype=torch.int64))
    found = make_method("trimmed", share=0.2).loss(step)
    np.testing.assert_allclose(found.numpy(), [0, 1.25, 3.75, 2.5, 5.0])


@pytest.mark.usefixtures("trimmed")
def test_shown_method_trains_by_name():
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    torch.manual_seed(0)
    result = train(
        MLP(10, (64,)), (x, y), method="trimmed", epochs=5, batch_size=32, device="cpu", log="none"
    )
    assert result.log[-1]["accuracy"] > 0.9
