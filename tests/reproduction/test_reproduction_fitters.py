"""Fitters: a cell's numbers are its own, and each protocol does what it says."""

import platform

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from graylearn.errors import SettingsError
from graylearn.estimator import pipeline
from graylearn.methods import METHODS, make_method
from graylearn.methods.base import Output, Step
from reproduction import measure, tables
from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.images import run_images
from reproduction.measure import rounded
from reproduction.options import Options
from reproduction.released import SoftmaxFirst, released_method
from reproduction.tables import run_tables

WINE = Cell("table", "wine", "gl", 0, epochs=2)


def numbers(measured):
    """What must not depend on the machine's mood."""
    kept = {name: value for name, value in measured.items() if name not in ("seconds", "images_per_second")}
    return kept | {"reliability": str(kept.get("reliability"))}  # whose NaN of empty bins equal nothing


@pytest.mark.skipif(
    platform.machine() not in ("arm64", "aarch64"), reason="kernels for this processor sum by shape"
)
def test_a_cell_gets_the_same_bits_in_a_stack_and_alone():
    # wine's features are unscaled and reach 1,680, so that a last bit would grow into whole points
    methods = ("oracle", "standard", "gl", "bt", "sl", "spl", "lcvd", "srcc", "il")
    epochs = {"il": 7}  # its first round is after five
    cells = [
        WINE.but(method=method, seed=seed, epochs=epochs.get(method, 2))
        for method in methods
        for seed in (0, 1, 3)
    ]
    together = run_tables(cells, None)
    for cell, measured in list(zip(cells, together, strict=True))[::4]:
        assert numbers(run_tables([cell], None)[0]) == numbers(measured), cell


def test_protocols_differ_in_what_they_say():
    paper, released, tuned = (
        run_tables([Cell("table", "iris", "gl", 0, **settings)], None)[0]
        for settings in (
            {"epochs": 4},
            {"protocol": "released", "net": "mlp-128", "epochs": 4, "batch_size": 128},
            {"protocol": "tuned", "epochs": 16, "batch_size": 64},
        )
    )
    assert paper["ood_samples"] == 9  # of 80 others: alpha .1
    assert released["ood_samples"] == 50  # the whole class
    assert tuned["epochs"] in (2, 4, 8, 16)
    assert tuned["ood_auroc"] == pytest.approx(0.5, abs=0.5)


def test_tuned_takes_the_shortest_of_the_best_training_times():
    class Said:
        predicted = np.zeros((8, 10), dtype=np.uint8)

    # 10 held-out samples of class 1: after 1, 2, 4 and 8 epochs 3, 9, 9 and 5 are right
    for epoch, right in {1: 3, 2: 9, 4: 9, 7: 5}.items():
        Said.predicted[epoch, :right] = 1
    fit = tables.Fit(WINE.but(epochs=8), None, None)
    fit.result = type("Result", (), {"history": Said})
    type(fit).y, before = np.ones(10, dtype=np.int64), type(fit).y
    try:
        assert tables._best_epochs(fit, np.arange(10)) == 2
    finally:
        type(fit).y = before


def test_refining_a_table_begins_with_its_gl_fit_and_needs_four_classes():
    digits = Cell("table", "digits", "gl", 0, epochs=3, train_size=400, alpha=0.2)
    gl, refined = run_tables([digits, digits.but(method="gl+refine")], None)
    assert refined["refined"]
    assert refined["accuracy"] != gl["accuracy"]
    assert 0 < refined["audit_flagged"] < 1
    assert refined["audit_auroc"] > 0.8
    two = run_tables([WINE, WINE.but(method="gl+refine")], None)
    assert not two[1]["refined"]
    assert two[1]["accuracy"] == two[0]["accuracy"]


def test_gl_and_its_refined_cell_share_one_training(monkeypatch):
    trained = []
    train = pipeline.train

    def counted(*arguments, **options):
        trained.append(type(options["method"]).__name__)
        return train(*arguments, **options)

    monkeypatch.setattr(pipeline, "train", counted)
    gl = next(c for c in EXPERIMENTS["table1"].cells(Options(quick=True, epochs=1)) if c.method == "gl")
    pair = (gl, gl.but(method="gl+refine"))
    found = list(run_images(pair, None, "cpu"))
    assert [cell for cell, _ in found] == list(pair)
    assert trained == ["Gray"] + ["SoftTargets"] * found[1][1]["refined"]
    assert found[1][1]["ood_auroc"] == found[0][1]["ood_auroc"]
    alone = list(run_images(pair[1:], None, "cpu"))
    assert numbers(alone[0][1]) == numbers(found[1][1])


def test_an_image_cell_measures_calibration_in_twenty_bins():
    cell = next(c for c in EXPERIMENTS["calibration"].cells(Options(quick=True, epochs=1)))
    ((_, measured),) = run_images([cell], None, "cpu")
    bins = rounded(measured)["reliability"]
    assert [len(bins[name]) for name in ("edges", "confidence", "accuracy", "count")] == [21, 20, 20, 20]
    filled = [place for place, count in enumerate(bins["count"]) if count]
    gaps = [abs(bins["confidence"][b] - bins["accuracy"][b]) * bins["count"][b] for b in filled]
    assert sum(gaps) / sum(bins["count"]) == pytest.approx(measured["ece"], abs=1e-5)
    assert measured["samples"] == 133
    assert measured["ood_samples"] == 13


def test_measured_numbers_are_plain_json():
    logits = np.array([[2.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    found = rounded(measure.tested(logits, np.array([0, 0]), with_bins=True))
    assert found["accuracy"] == 0.5
    assert found["reliability"]["accuracy"].count(None) == 18  # an empty bin has none
    assert rounded({"a": [float("nan"), 1 / 3]}) == {"a": [None, 0.333333]}


def step(logits, target, forward=None):
    return Step(
        torch.zeros(len(target), 3), target, torch.arange(len(target)), Output(logits, None), 0, forward
    )


def test_the_released_network_takes_a_softmax_before_the_loss_does():
    logits, target = torch.randn(6, 4, dtype=torch.float64).float() * 5, torch.tensor([0, 1, 2, 3, 0, 1])
    twice = released_method("standard").loss(step(logits, target))
    torch.testing.assert_close(twice, F.cross_entropy(logits.softmax(1), target, reduction="none"))
    # softmax(z) lies in [0, 1], so whatever the logits, no loss is below log(e + K - 1) - 1
    sure = released_method("standard").loss(step(100 * F.one_hot(target, 4).float(), target))
    assert float(sure.min()) == pytest.approx(float(np.log(np.e + 3) - 1), rel=1e-5)


def test_released_methods_are_the_lighter_ones_of_that_code():
    kinds = {name: repr(released_method(name).inner) for name in ("mae", "bt", "spl", "il", "lcvd", "gl")}
    assert all("released=True" in kinds[name] for name in ("mae", "bt", "spl"))
    assert kinds["il"] == repr(make_method("il-lite"))
    assert "finetune=True" in kinds["lcvd"]
    assert kinds["gl"] == repr(make_method("gl"))
    for name in METHODS:
        wrapped = SoftmaxFirst(make_method(name))
        assert wrapped.needs_features == wrapped.inner.needs_features
        assert wrapped.networks == wrapped.inner.networks


def test_a_net_of_a_table_names_its_widths():
    assert tables.hidden_widths("mlp-128-64") == (128, 64)
    with pytest.raises(SettingsError, match="expected the widths of its layers"):
        tables.hidden_widths("resnet18")
