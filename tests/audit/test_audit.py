"""The audit as it is called: real sets, its table, what it takes and what it refuses."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score

from graylearn.audit import Audit, audit
from graylearn.data import Samples
from graylearn.errors import DataError, DataWarning, SettingsError


@pytest.mark.parametrize("load", [load_wine, load_iris, load_digits])
def test_clean_sets_flag_next_to_nothing(load):
    """Iris has a row or two that its own authors typed wrongly."""
    x, y = load(return_X_y=True)
    assert audit(x[:900], y[:900]).suspected.mean() <= 0.02


def test_foreign_samples_and_flips_lead_the_order_and_are_told_apart(mix):
    data, found = mix
    bad = data.is_ood | data.is_flipped
    assert roc_auc_score(bad, found.score) > 0.95
    assert bad[found.suspected].mean() >= 0.9
    assert found.suspected[bad].mean() >= 0.85
    assert found.foreign[data.is_ood].mean() > found.foreign[data.is_flipped].mean() + 0.3
    flipped = data.is_flipped & found.suspected & (found.suggested >= 0)
    assert (found.suggested[flipped] == data.true_y[flipped]).mean() > 0.9


def test_table_says_what_the_arrays_say(mix):
    data, found = mix
    table = found.table
    names = ("id", "label", "confidence", "score", "suspected", "level", "kind", "suggested", "because")
    assert tuple(table) == names
    assert (table["id"] == data.ids).all()
    assert (table["label"] == np.array(data.classes)[data.y]).all()
    assert table["score"].between(0, 1).all()
    assert table["confidence"].between(0, 1).all()
    ok = table["kind"] == "ok"
    assert (ok == ~table["suspected"]).all()
    assert (table["suggested"][ok] == table["label"][ok]).all()
    wrong = table["kind"] == "mislabelled"
    assert (table["suggested"][wrong] != table["label"][wrong]).all()
    assert table["suggested"][table["kind"] == "ood"].isna().all()
    text = found.summary()
    assert f"suspected: {found.suspected.sum()}" in text


def test_clean_takes_any_container(some):
    n, kept = len(some), int(some.keep.sum())
    assert 0 < kept < n
    array = np.arange(n)
    np.testing.assert_array_equal(some.clean(array), array[some.keep])
    assert torch.equal(some.clean(torch.arange(n)), torch.arange(n)[torch.from_numpy(some.keep)])
    assert some.clean(list(range(n))) == list(array[some.keep])
    assert some.clean(pd.DataFrame({"a": array}))["a"].tolist() == list(array[some.keep])
    assert some.clean(pl.DataFrame({"a": array}))["a"].to_list() == list(array[some.keep])
    for column in (pl.Series(array), pa.array(array), pa.chunked_array([array])):
        assert some.clean(column).to_numpy().tolist() == list(array[some.keep])
    assert some.clean(csr_array(array[:, None])).toarray()[:, 0].tolist() == list(array[some.keep])
    samples = Samples(array[:, None], some.label, some.classes, some.ids, "array")
    assert list(some.clean(samples).ids) == list(some.ids[some.keep])
    with pytest.raises(DataError, match="pass the data that was audited"):
        some.clean(array[1:])


@pytest.mark.parametrize(("format", "read"), [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
def test_names_that_are_not_unicode_are_kept_and_spelt_out(some, tmp_path, format, read):
    """File names of other systems: Python has a lone surrogate for each byte that is not UTF-8."""
    ids = some.ids.copy()
    suspect, other = np.argsort(-some.score)[:2]
    ids[suspect], ids[other] = "\udcff.png", "жук 🐞 \ud800"
    classes = ("ant\udcfe", *some.classes[1:])
    strange = dataclasses.replace(some, ids=ids, classes=classes)
    assert strange.table["id"].tolist() == ids.tolist()
    assert strange.table["label"].tolist() == [classes[k] for k in some.label]
    assert "\\udcff.png: labelled" in strange.summary()
    strange.summary().encode()
    strange.save(tmp_path, format=format)
    written = read(tmp_path / f"table.{format}")
    assert written["id"][suspect] == "\\udcff.png"
    assert written["id"][other] == "жук 🐞 \\ud800"
    assert set(written["label"]) == {"ant\\udcfe", "bee", "cat", "dog", "eel"}
    plain = np.setdiff1d(np.arange(len(ids)), [suspect, other])
    assert written["id"][plain].tolist() == ids[plain].tolist()
    back = Audit.load(tmp_path)
    assert back.classes == classes
    pd.testing.assert_frame_equal(back.table, strange.table)


@pytest.mark.parametrize(
    "counts",
    [(1,), (2,), (1, 1), (3, 2), (25, 1), (40, 40), (60, 1), (200, 6, 1), (30, 0, 30), (5,) * 20],
    ids=str,
)
def test_odd_sets_are_survived_and_never_give_nan(counts):
    random = np.random.default_rng(0)
    label = np.repeat(np.arange(len(counts)), counts)
    x = random.normal(size=(len(label), 6)) + 3 * label[:, None] * random.normal(size=6)
    found = audit(x, label, classes=range(len(counts)))
    for name in ("confidence", "score", "posterior", "foreign", "beliefs", "probabilities"):
        assert np.isfinite(getattr(found, name)).all(), name
    assert len(found.table) == len(label)
    assert found.suspected.mean() <= 0.1
    assert isinstance(found.summary(), str)
    if len(label) < 30:
        assert not found.suspected.any()
        assert any("too few" in note for note in found.notes)


def test_constant_and_broken_columns_are_survived():
    x, y = load_wine(return_X_y=True)
    x = np.hstack([x, np.ones((len(x), 1)), np.full((len(x), 1), np.nan), np.full((len(x), 1), 1e308)])
    x[0, 0], x[1, 1] = np.inf, np.nan
    with pytest.warns(DataWarning, match="^1 infinite value in column 0 among 178 rows: taken as missing"):
        found = audit(x, y)
    assert np.isfinite(found.score).all()


def test_string_labels_and_frames_keep_their_names():
    x, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(x, index=[f"bottle {i}" for i in range(len(x))])
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    found = audit(frame, names)
    assert found.classes == ("barbera", "barolo", "grignolino")
    assert found.table["id"][3] == "bottle 3"
    assert (found.table["label"] == names).all()


def test_text_labels_beside_probabilities_want_the_classes():
    chances = np.full((6, 3), 1 / 3)
    with pytest.raises(DataError, match=r"labels are text \(0, 1, 2\): say in classes= which .* 3 columns"):
        Audit.from_predictions(chances, ["0", "1", "2"] * 2)
    assert Audit.from_predictions(chances, ["0", "1", "2"] * 2, classes=["0", "1", "2"]).classes == tuple(
        "012"
    )


def test_a_seed_may_be_of_any_length():
    """As numpy.random.SeedSequence().entropy gives one."""
    x, y = np.eye(8), [0, 1] * 4
    assert len(audit(x, y, seed=2**127)) == 8


def test_wrong_inputs_say_what_is_wrong():
    x, y = np.zeros((10, 2)), np.arange(10) % 2
    with pytest.raises(SettingsError, match="mode is 'fast'"):
        audit(x, y, mode="fast")
    for name, wrong in (("folds", 1), ("repeats", 1.5), ("epochs", 0), ("seed", -1), ("seed", None)):
        with pytest.raises(SettingsError, match=f"{name} is {wrong}, expected a whole number of at least"):
            audit(x, y, **{name: wrong})
    with pytest.raises(DataError, match="one label per row"):
        audit(x, y[:-1])
    with pytest.raises(DataError, match="Complex data not supported"):
        audit(np.full((10, 2), 1j), y)
    with pytest.raises(DataError, match="y is missing"):
        audit(x)
    with pytest.raises(DataError, match="not logits"):
        Audit.from_predictions(np.full((10, 2), 3.0), y)
    with pytest.raises(DataError, match="one id per sample"):
        audit(x, y, ids=[1, 2])
    with pytest.raises(SettingsError, match="overlap is 'some', expected auto, none or possible"):
        audit(np.zeros((40, 3)), np.arange(40) % 2, overlap="some")
