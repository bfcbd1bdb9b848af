"""The pages of the reproduction say what the stores say: verdicts and sentences turn with the numbers."""

import json
import re
from pathlib import Path

import pytest

from reproduction import paper
from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.options import Options
from reproduction.page import check, details, figure, sections, update
from reproduction.page.claims import RULES
from reproduction.page.evidence import Evidence
from reproduction.page.verdicts import Part
from reproduction.records import records
from reproduction.statistics import Interval, interval

WORDS = 3000
"""What a reader has the patience for."""


def row(cell, accuracy, **measured):
    """A row of the store as a sweep writes it."""
    return {
        "experiment": "",
        "key": cell.key,
        "cell": cell.to_dict(),
        "measured": {"accuracy": accuracy, "samples": 100, **measured},
    }


def evidence(**stores):
    return Evidence({name: records({**r, "experiment": name} for r in rows) for name, rows in stores.items()})


def image(method, seed, dataset="cifar100", ood="mini-imagenet", **settings):
    return Cell("image", dataset, method, seed, ood=ood, net="resnet18", preset="paper", epochs=200,
                batch_size=128, **settings)  # fmt: skip


def with_gain(points, seeds=(0, 1, 2), **settings):
    """Standard training at 77 % and GL so many points above, a little different under each seed."""
    level = {"standard": 0.77, "gl": 0.77 + points / 100}
    return [
        row(image(method, seed, **settings), value + seed * 0.001 + (seed * 0.0001 if method == "gl" else 0))
        for method, value in level.items()
        for seed in seeds
    ]


def test_the_committed_pages_and_figure_are_as_the_results_make_them():
    assert check() == []


def test_the_page_is_short_and_its_tables_are_whole():
    lab = Path(__file__).parents[2] / "docs" / "lab"
    page = (lab / "reproduction.md").read_text(encoding="utf-8")
    assert len(page.split()) <= WORDS
    for text in (page, (lab / "reproduction-details.md").read_text(encoding="utf-8")):
        for grid in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in grid.splitlines()}) == 1, grid


def test_every_claim_has_a_rule_and_without_results_nothing_is_claimed(tmp_path):
    assert list(RULES) == [claim.name for claim in paper.CLAIMS]
    empty = Evidence.read(tmp_path)
    assert {rule(empty).word for rule in RULES.values()} == {"not tested"}
    page = " ".join(sections.page(empty).split())
    assert f"0 are contradicted, 0 show no difference, and {len(paper.CLAIMS)} were not tested" in page
    assert "**Contradicted.**" not in page
    assert "Not run." in page
    details.page(empty)
    assert figure.draw(empty) == ""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_any_store_alone_makes_both_pages(name):
    protocols = ("paper", "tuned") if name == "table2" else ("paper",)
    cells = EXPERIMENTS[name].cells(Options(seeds=(0,), protocol=protocols))
    found = evidence(**{name: [row(cell, 0.9 + 0.01 * (cell.method == "gl")) for cell in cells]})
    sections.page(found)
    assert f"| `{name}` |" in details.page(found)


@pytest.mark.parametrize(
    ("mean", "half", "n", "printed", "own", "word"),
    [
        (3.0, 1.0, 3, 10.0, True, "reproduced"),  # smaller, but on the paper's side
        (0.0, 0.5, 3, 10.0, True, "contradicted"),
        (0.0, 0.5, 3, 10.0, False, "no difference seen"),  # other data contradict nothing
        (0.0, 0.5, 2, 10.0, True, "not tested"),  # two seeds decide nothing
        (0.3, 0.6, 3, None, True, "no difference seen"),
        (5.0, 8.0, 10, 10.0, True, "not tested"),  # zero and the printed gain both fit
    ],
)
def test_the_word_of_a_part(mean, half, n, printed, own, word):
    assert Part("", Interval(mean, half, n), printed, own).word == word


@pytest.mark.parametrize(
    ("points", "settings", "word"),
    [
        (10.0, {}, "reproduced"),
        (0.0, {}, "contradicted"),
        (0.0, {"dataset": "cifar10", "ood": "mini-imagenet/0"}, "contradicted"),
        (0.0, {"dataset": "cifar10", "ood": "tiny-imagenet"}, "no difference seen"),
        (0.0, {"dataset": "svhn", "ood": "mini-imagenet/0", "alpha": 0.076}, "no difference seen"),
        (0.0, {"seeds": (0,)}, "not tested"),
        (0.0, {"alpha": 0.55}, "not tested"),  # another share is another experiment
        (0.0, {"recipe": {"weight_decay": 0.0}}, "not tested"),
    ],
)
def test_images_are_judged_on_the_papers_own_data_and_protocol(points, settings, word):
    found = evidence(table1=with_gain(points, **settings))
    assert RULES["images-standard"](found).word == word


def test_a_stand_in_keeps_its_column_but_decides_nothing_where_the_own_source_has_three_seeds():
    own = with_gain(0.0, dataset="cifar10", ood="mini-imagenet/0")
    other = with_gain(3.0, dataset="cifar10", ood="tiny-imagenet")
    more = [row(image("bt", 0, dataset="cifar10", ood="tiny-imagenet"), 0.7)]

    def columns(*rows):
        found = evidence(table1=[each for part in rows for each in part])
        judged = RULES["images-standard"](found)
        shown = [s.stand_in for s in found.settings() if (s.dataset, s.labels) == ("cifar10", "random")]
        return shown, [part.what for part in judged.parts], judged.word

    assert columns(own, other) == ([False], ["CIFAR-10 r"], "contradicted")
    assert columns(own, other, more) == ([True, False], ["CIFAR-10 r"], "contradicted")
    starred = ["CIFAR-10\\* r", "CIFAR-10 r"]
    assert columns(own[:2] + own[3:5], other) == ([True, False], starred, "reproduced")


def test_the_pages_and_the_figure_are_written_and_checked(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    made = [{**r, "experiment": "table1"} for r in with_gain(1.0)]
    (results / "table1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made))
    docs = tmp_path / "docs"
    names = ["reproduction.md", "reproduction-details.md", figure.NAME]
    assert check(results, docs) == names
    assert [path.name for path in update(results, docs)] == names
    assert check(results, docs) == update(results, docs) == []
    (results / "table1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made[1:]))
    assert set(check(results, docs)) >= {"reproduction.md", figure.NAME}


def test_an_interval_is_students():
    found = interval([0.1, 0.2, 0.3])
    assert (found.mean, found.n) == (pytest.approx(0.2), 3)
    assert found.half == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-5)
    assert str(interval([0.25])) == "+0.2"
    assert interval([]) is None
