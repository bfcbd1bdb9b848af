"""Figures come from the rows, read without colour, and are the same file for the same rows."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from page_rows import Cell, row, rows_of

from graylearn.metrics import reliability
from reproduction.figures import draw, fingerprint, recorded_fingerprint
from reproduction.figures.draw import DRAWERS
from reproduction.figures.lengths import length_curves
from reproduction.figures.panels import (
    _pooled,
    ablation_bars,
    accuracy_and_gain,
    alpha_curves,
    network_name,
    regime_points,
    reliability_diagrams,
    source_name,
)
from reproduction.figures.scale import bulk
from reproduction.figures.style import LOOKS
from reproduction.options import Options
from reproduction.records import groups, records

ONE_SEED = Options(seeds=(0,), epochs=4)


def bins_of(probabilities, target):
    found = reliability(probabilities, target)
    clean = [[None if np.isnan(v) else float(v) for v in part] for part in (found.accuracy, found.confidence)]
    return {"count": found.count.tolist(), "accuracy": clean[0], "confidence": clean[1]}


def some(cell):
    numbers = np.random.default_rng(len(cell.method) + 7 * cell.seed)
    level = {"oracle": 0.95, "standard": 0.95 - 0.1 * cell.alpha}.get(cell.method, 0.94)
    measured = {"accuracy": level, "ece": 0.02}
    if cell.method != "oracle":
        probabilities = numbers.dirichlet([0.2] * 10, 200)
        measured["reliability"] = bins_of(probabilities, numbers.integers(0, 10, 200))
    return measured


def rows(experiment, options=ONE_SEED):
    made = rows_of(experiment, some, options, without=("gene", "cifar100", "arrhythmia", "svhn"))
    return [entry for entry in made if entry["cell"]["ood"][-2:] not in ("/3", "/4", "/5", "/6", "/7", "/8")]


@pytest.mark.parametrize("experiment", DRAWERS)
def test_every_figure_is_a_png_and_a_readable_svg(experiment, tmp_path):
    made = rows(experiment)
    if experiment == "table1":  # it compares lengths
        made += rows(experiment, Options(seeds=(0,), epochs=8))
    written = draw(experiment, made, tmp_path)
    assert {path.suffix for path in written} == {".png", ".svg"}
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            texts = "".join(ET.parse(path).getroot().itertext())
            assert "GL" in texts  # text is kept as text
            assert "<dc:date>" not in path.read_text(encoding="utf-8")


def test_the_same_rows_in_any_order_give_the_same_files(tmp_path):
    made = [entry for entry in rows("sources") if entry["cell"]["ood"] in ("tiny-imagenet/2", "none")]
    first = draw("sources", made, tmp_path / "a")
    second = draw("sources", made[::-1], tmp_path / "b")
    for one, two in zip(first, second, strict=True):
        assert one.name == two.name
        assert one.read_bytes() == two.read_bytes()


def test_a_figure_carries_the_fingerprint_of_its_rows(tmp_path):
    made = rows("regimes")
    svg = next(path for path in draw("regimes", made, tmp_path) if path.suffix == ".svg")
    assert recorded_fingerprint(svg) == fingerprint("regimes", made)
    changed = [{**made[0], "measured": {"accuracy": 0.123}}, *made[1:]]
    assert fingerprint("regimes", changed) != recorded_fingerprint(svg)


def test_nothing_to_draw_draws_nothing(tmp_path):
    assert draw("alpha", [], tmp_path) == []
    assert draw("table1", rows("table1"), tmp_path) == []  # one length of training
    assert draw("table2", rows("table2"), tmp_path) == []
    alone = [made for made in rows("architectures") if made["cell"]["method"] == "standard"]
    assert draw("architectures", alone, tmp_path) == []  # nothing to compare it with
    one = [made for made in rows("architectures") if made["cell"]["net"] == "vgg19"]
    assert draw("architectures", one, tmp_path) == []  # one network
    assert draw("calibration", [row(Cell("image", "cifar10", "gl", 0), 0.9, "calibration")], tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_schedules_do_not_share_a_figure(tmp_path):
    other = rows_of("alpha", some, Options(seeds=(0,), epochs=8))
    names = {path.name for path in draw("alpha", rows("alpha") + other, tmp_path)}
    assert {name for name in names if name.endswith("svg")} == {
        "alpha-cifar10-paper-4.svg",
        "alpha-cifar10-paper-8.svg",
    }


def test_distances_from_the_oracle_stand_over_the_length_of_training():
    made = []
    for epochs in (60, 20, 200):
        level = {"standard": 0.9, "gl": 0.9 + epochs / 10000, "oracle": 0.93}
        options = Options(seeds=(0,), epochs=epochs, datasets=("cifar10",), methods=tuple(level), only=True)
        made += rows_of("table1", lambda cell, level=level: level[cell.method], options)
    drawn = length_curves(groups(records(made)))
    assert [axis.get_title() for axis in drawn.axes] == [
        "CIFAR-10, random labels",
        "CIFAR-10, specific labels",
    ]
    curve = next(c for c in drawn.axes[0].containers if c.get_label() == "GL")
    places, means = (np.array(part, dtype=float) for part in curve.lines[0].get_data())
    assert list(places.round()) == [0, 1, 2]
    np.testing.assert_allclose(means, [-2.8, -2.4, -1])
    assert [tick.get_text() for tick in drawn.axes[0].get_xticklabels()] == [
        "20 epochs\noracle 93.0\nbatch 128",
        "60 epochs\noracle 93.0\nbatch 128",
        "200 epochs\noracle 93.0\nbatch 128",
    ]


@pytest.mark.parametrize(("lengths", "shown"), [((20, 200), ["20", "200"]), ((200,), ["36", "200"])])
def test_lengths_in_other_steps_stand_only_where_the_papers_are_of_one(lengths, shown):
    named = {"seeds": (0,), "datasets": ("cifar10",), "methods": ("standard", "gl", "oracle"), "only": True}
    made = rows_of("table1", some, Options(**named, epochs=36, batch_size=512))
    for epochs in lengths:
        made += rows_of("table1", some, Options(**named, epochs=epochs))
    ticks = length_curves(groups(records(made))).axes[0].get_xticklabels()
    assert [tick.get_text().split()[0] for tick in ticks] == shown


def test_curves_show_the_accuracies():
    drawn = alpha_curves(groups(records(rows("alpha"))))
    curve = next(c for c in drawn.axes[0].containers if c.get_label() == "Standard")
    alphas, means = (np.array(part, dtype=float) for part in curve.lines[0].get_data())
    np.testing.assert_allclose(alphas, np.arange(1, 11) / 20)
    np.testing.assert_allclose(means, 95 - 10 * alphas)


def test_two_shares_are_not_joined_by_a_line():
    def lines(alphas):
        made = rows_of("alpha", some, Options(seeds=(0,), epochs=4, alphas=alphas))
        drawn = alpha_curves(groups(records(made)))
        curve = next(c for c in drawn.axes[0].containers if c.get_label() == "GL")
        return curve.lines[0].get_linestyle()

    assert lines((0.1, 0.5)) == "None"
    assert lines((0.1, 0.2, 0.5)) == "-"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([90.0, 90.2, 90.4, 90.5, 26.0], (90.0, 90.5)),  # one that failed
        ([90.0, 90.2, 90.4, 90.5, 89.0], None),  # a point off is worth its place
        ([10.0, 30.0, 50.0, 70.0, 90.0], None),  # spread out, not off
        ([90.0, 26.0], None),  # which of two is off?
        ([], None),
    ],
)
def test_bulk_leaves_out_only_what_is_far_off(values, expected):
    assert bulk(values) == expected


def test_a_run_that_failed_does_not_press_the_others_into_a_line():
    nets = ("resnet18", "senet18", "mobilenetv2", "shufflenetv2", "densenet121", "vgg19")
    made = []
    for place, net in enumerate(nets):
        for method, level in {"standard": 0.9, "gl": 0.26 if net == "vgg19" else 0.904}.items():
            cell = Cell("image", "cifar10", method, 0, ood="svhn", net=net, labels="random")
            made.append(row(cell, level + 0.001 * place, "architectures"))
    drawn = accuracy_and_gain(groups(records(made)), network_name, "network")
    upper, lower = drawn.axes
    low, high = upper.get_ylim()
    assert 89.5 < low < 90 < 90.9 < high < 91.2
    assert -1 < lower.get_ylim()[0] < 0
    assert [text.get_text() for text in upper.texts] == ["26.5"]
    assert [text.get_text() for text in lower.texts] == ["-64.0"]
    at_the_edge = upper.lines[-1]
    assert at_the_edge.get_ydata()[0] == low
    assert not at_the_edge.get_clip_on()
    labels = [label for axis in drawn.axes for label in axis.get_legend_handles_labels()[1]]
    assert sorted(set(labels)) == ["GL", "Standard"]


def test_points_are_of_the_seeds_that_all_methods_have():
    made = [
        row(Cell("image", "cifar10", method, seed, ood=f"svhn/{place}", labels="random"), level, "sources")
        for place in range(2)
        for method, seed, level in (("standard", 0, 0.9), ("standard", 1, 0.8), ("gl", 0, 0.91))
    ]
    drawn = accuracy_and_gain(groups(records(made)), source_name, "source")
    points = {c.get_label(): np.array(c.lines[0].get_ydata(), float) for c in drawn.axes[0].containers}
    np.testing.assert_allclose(points["Standard"], [90, 90])
    np.testing.assert_allclose([bar.get_height() for bar in drawn.axes[1].patches], [1, 1])


def test_bars_stand_around_their_category_whatever_methods_it_has():
    made = [
        row(Cell("image", "cifar10", method, 0, ood="svhn", net=net, labels="random"), 0.9, "architectures")
        for net, methods in {"resnet18": ("standard", "gl", "gl+refine"), "vgg19": ("standard", "gl")}.items()
        for method in methods
    ]
    lower = accuracy_and_gain(groups(records(made)), network_name, "network").axes[1]
    centres = sorted(bar.get_x() + bar.get_width() / 2 for bar in lower.patches)
    np.testing.assert_allclose(centres, [-0.2, 0.2, 1.0])


def test_numbers_at_one_place_of_the_edge_stand_on_each_other():
    near = (0.9, 0.901, 0.902)
    gains = {"nl": (0.1, 0.2, 0.895), **dict.fromkeys(("gl", "gl-label", "gl+refine", "oracle"), near)}
    made = [
        row(Cell("image", dataset, method, 0, ood="svhn"), level, "ablation")
        for place, dataset in enumerate(("cifar10", "svhn", "tiny-imagenet/100"))
        for method, level in {"standard": 0.9, **{m: v[place] for m, v in gains.items()}}.items()
    ]
    axis = ablation_bars(groups(records(made))).axes[0]
    told = {text.get_text(): text.xyann[1] for text in axis.texts}
    assert told == {"-80.0": 3, "-70.0": 11, "mean -50.2": 19}
    assert axis.get_title() == "3 image settings"


def test_bins_of_few_samples_are_outlines():
    bins = {"count": [0, 3, 60], "accuracy": [None, 1.0, 0.9], "confidence": [None, 0.4, 0.95]}
    made = [
        row(Cell("image", "cifar10", "gl", 0, ood="svhn"), 0.9, "calibration", ece=0.02, reliability=bins)
    ]
    axis = reliability_diagrams(groups(records(made))).axes[0]
    outlines = [c for c in axis.containers if c.get_label() == "of fewer than 10 samples"]
    assert [bar.get_height() for bar in outlines[0]] == [1.0]
    filled = next(c for c in axis.containers if c.get_label() == "accuracy")
    assert [bar.get_height() for bar in filled] == [0.9]


def test_regimes_are_distances_to_the_oracle_worst_on_top():
    made = [
        row(Cell("image", "cifar10", method, 0, ood="svhn", labels=labels), value, "regimes")
        for labels, costs in {"random": 0.01, "specific": 0.05}.items()
        for method, value in {"oracle": 0.9, "standard": 0.9 - costs, "gl": 0.9}.items()
    ]
    axis = regime_points(groups(records(made))).axes[0]
    standard = next(line for line in axis.lines if line.get_label() == "Standard")
    np.testing.assert_allclose(standard.get_xdata(), [-1, -5])
    assert "specific" in axis.get_yticklabels()[1].get_text()


def test_reliability_pools_seeds_by_their_counts():
    numbers = np.random.default_rng(0)
    parts = [(numbers.dirichlet([0.3] * 5, n), numbers.integers(0, 5, n)) for n in (50, 150)]
    made = [
        row(Cell("image", "cifar10", "gl", seed), 0.9, "calibration", reliability=bins_of(*part))
        for seed, part in enumerate(parts)
    ]
    together = reliability(np.vstack([p for p, _ in parts]), np.concatenate([y for _, y in parts]))
    [group] = groups(records(made))
    count, accuracy, confidence = _pooled(group, "gl")
    filled = together.count > 0
    assert len(count) == 20
    np.testing.assert_array_equal(count, together.count)
    np.testing.assert_allclose(accuracy[filled], together.accuracy[filled])
    np.testing.assert_allclose(confidence[filled], together.confidence[filled])
    title = reliability_diagrams([group]).axes[0].get_title()
    assert float(re.search(r"ECE ([\d.]+)", title)[1]) == pytest.approx(100 * together.ece, abs=0.051)


def test_methods_differ_without_colour():
    for part in ("marker", "hatch"):
        shapes = [getattr(shown, part) for shown in LOOKS.values()]
        assert len(set(shapes)) == len(shapes)
    drawn_as_lines = [LOOKS[name].line + LOOKS[name].marker for name in LOOKS]
    assert len(set(drawn_as_lines)) == len(drawn_as_lines)
