"""The judge in numpy: chances that add up, its file and its id; tests/judge hold it against torch."""

import dataclasses
import json

import numpy as np
import pytest

from graylearn.audit import judge as module
from graylearn.audit.evidence import COLUMNS, Evidence
from graylearn.audit.judge import Judge, read_judge, shipped, write_judge


def evidence(n=40, seed=0):
    """Columns of every size, of which some rows and some columns are not known."""
    random = np.random.default_rng(seed)
    matrix = (3 * random.normal(size=(n, len(COLUMNS)))).astype(np.float32)
    matrix[:, random.random(len(COLUMNS)) < 0.2] = np.nan
    return Evidence(matrix, random.dirichlet([1, 1, 1], n), np.zeros((n, 3)), random.integers(3, size=n))


@pytest.fixture(scope="module")
def several():
    """Three networks, of which two are not as shipped."""
    random = np.random.default_rng(0)
    weights = {
        name: value if name in ("mean", "scale")
        else np.concatenate([value[:1]] + [value[:1] + 0.05 * random.normal(size=value[:1].shape)] * 2)
        for name, value in shipped().weights.items()
    }  # fmt: skip
    return Judge({name: value.astype(np.float32) for name, value in weights.items()}, shipped().settings)


def test_chances_add_up_and_another_order_of_rows_says_the_same(several):
    given = evidence(500)
    found = several(given)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    turn = np.random.default_rng(1).permutation(500)
    turned = several(
        Evidence(**{field.name: getattr(given, field.name)[turn] for field in dataclasses.fields(given)})
    )
    np.testing.assert_allclose(turned, found[turn], atol=1e-6)


def test_a_row_is_told_of_those_with_its_label_and_its_looks(several):
    given = evidence(200)
    before, pools = several(given), given.label * 3 + given.looks
    moved = np.zeros(3)
    for changed in range(40):
        same, label = pools == pools[changed], given.label == given.label[changed]
        matrix = given.matrix.copy()
        matrix[changed] = 9.0
        away = np.abs(several(dataclasses.replace(given, matrix=matrix)) - before).mean(axis=1)
        away[changed] = np.nan
        moved += [np.nanmean(away[rows]) for rows in (same, label & ~same, ~label)]
    assert moved[0] > moved[1] > moved[2] > 0


def test_a_judge_comes_back_from_its_file_with_its_id(several, tmp_path):
    write_judge(several, tmp_path / "once.npz")
    once = read_judge(tmp_path / "once.npz")
    write_judge(once, tmp_path / "twice.npz")
    again = read_judge(tmp_path / "twice.npz")
    assert again.id == once.id
    assert again.settings == several.settings
    given = evidence()
    np.testing.assert_array_equal(again(given), once(given))
    np.testing.assert_allclose(once(given), several(given), atol=0.02)  # half precision


def test_what_is_shipped_fits_the_evidence():
    judge = shipped()
    assert judge.weights["mean"].shape == judge.weights["scale"].shape == (len(COLUMNS),)
    assert 0.2 <= judge.settings["threshold"] <= judge.settings["sure"] <= 1
    assert judge.settings["reach"] > 0
    assert module.SHIPPED.stat().st_size < 1_000_000


def test_its_card_is_of_these_weights_and_names_every_licence():
    card = json.loads(module.SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["judge"] == shipped().id
    assert {name: card[name] for name in ("threshold", "sure")}.items() <= shipped().settings.items()
    assert card["networks"] == len(shipped().weights["in.w"])
    assert all(source["name"] and source["licence"] and source["origin"] for source in card["sources"])
    left_out = [family for together in card["left out together"] for family in together]
    assert set(card["families"]) == set(left_out)
