"""Shards of evidence, and what is trained on them: tiny ones, in seconds."""

import json

import numpy as np
import pytest
import torch

from graylearn.audit.evidence import COLUMNS, Evidence
from graylearn.audit.judge import pools_of, read_judge
from judge import evaluate, shards, ship, train
from judge.generators import GENERATORS
from judge.sources import SOURCES, load

ROWS = 60


@pytest.fixture(scope="module")
def sources():
    return load()


def made_up(pieces=42, seed=0):
    """A shard as `shards.shard` writes it: a sample is wrong where the first column is large.

    Of every family of FOLDS there are three pieces, of which one is clean.
    """
    random = np.random.default_rng(seed)
    families = [family for fold in train.FOLDS for family in fold]
    matrix = random.normal(size=(pieces, ROWS, len(COLUMNS))).astype(np.float16)
    truth = (matrix[:, :, 0] > 1.3).astype(np.int8)
    truth[::3], matrix[::3, :, 0] = 0, np.minimum(matrix[::3, :, 0], 1.0)
    matrix[:, :, 5] = np.nan
    info = [
        {"family": families[number // 3 % len(families)], "of": "features", "source": "digits",
         "plan": "labels", "scheme": "uniform",
         "bad": float((each > 0).mean()), "foreign": 0.0}
        for number, each in enumerate(truth)
    ]  # fmt: skip
    return {
        "matrix": matrix.reshape(-1, len(COLUMNS)), "truth": truth.ravel(),
        "weight": np.full(pieces * ROWS, 1 / ROWS, np.float32), "suggested": truth.ravel() > 0,
        "label": random.integers(3, size=pieces * ROWS).astype(np.int16),
        "looks": random.integers(3, size=pieces * ROWS).astype(np.int16),
        "piece": np.repeat(np.arange(pieces), ROWS).astype(np.int32), "info": json.dumps(info),
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shards").mkdir()
    for number in range(2):
        np.savez(tmp_path / "shards" / f"{number:05d}.npz", **made_up(seed=number))
    np.savez(tmp_path / "shards" / "00002.partial.npz", x=np.zeros(1))  # of a process that was killed
    return tmp_path


@pytest.fixture
def pieces(folder):
    return train.read_pieces(folder / "shards")


# Shards.


def test_what_is_kept_of_a_set_stands_for_all_of_it(sources):
    for seed in (3, 4):
        for kept in shards.one(seed, sources):
            n = len(kept["truth"])
            assert kept["matrix"].shape == (n, len(COLUMNS))
            assert n <= shards.LIKELY + shards.OTHER
            assert kept["weight"].sum() == pytest.approx(1.0, abs=1e-5)
            assert set(kept["truth"].tolist()) <= {0, 1, 2}
            assert len(kept["label"]) == len(kept["looks"]) == n
            assert not kept["suggested"][kept["truth"] != 1].any()
            assert 0 <= kept["info"]["foreign"] <= kept["info"]["bad"] <= 1
            json.dumps(kept["info"])


def test_rows_are_drawn_so_that_their_weights_give_the_share_of_the_whole():
    random = np.random.default_rng(0)
    label = random.integers(3, size=2000)
    p = random.dirichlet([1, 1, 1], 2000)
    evidence = Evidence(np.zeros((2000, 1), np.float32), p, p, label)
    wrong = (p[np.arange(2000), label] < 0.2) & (random.random(2000) < 0.7)
    shares = []
    for _ in range(40):
        kept, weight = shards.sampled(random, evidence, label)
        assert len(kept) == shards.LIKELY + shards.OTHER
        assert weight.sum() == pytest.approx(1.0)
        shares.append(weight @ wrong[kept])
    assert np.mean(shares) == pytest.approx(wrong.mean(), abs=0.02)


# Training.


def test_families_of_every_source_and_generator_are_left_out_once():
    folds = [family for fold in train.FOLDS for family in fold]
    assert len(folds) == len(set(folds))
    assert {source.family for source in SOURCES} | set(GENERATORS) == set(folds)


def test_the_network_that_is_trained_is_the_one_that_the_library_asks(pieces):
    torch.manual_seed(0)
    nets = train.Networks.new(2, pieces.x.shape[2]).eval()
    judge = train.as_judge(nets, pieces, {"threshold": 0.5, "sure": 0.9, "reach": 1.0})
    matrix = made_up()["matrix"][:ROWS].astype(np.float32)
    random = np.random.default_rng(0)
    label = random.integers(3, size=ROWS)
    evidence = Evidence(matrix, random.dirichlet([1, 1, 1], ROWS), np.zeros((ROWS, 3)), label)
    x = torch.from_numpy(judge.prepared(matrix))[None]
    pools = {name: torch.from_numpy(pool)[None] for name, pool in pools_of(label, evidence.looks).items()}
    weight = torch.full((1, ROWS), 1 / ROWS)
    with torch.no_grad():
        said = nets(x, weight, pools).softmax(-1)[:, 0].double().numpy()
    chances = judge(evidence)
    np.testing.assert_allclose(chances, np.mean(said, axis=0), atol=1e-5)


def test_training_learns_what_is_wrong_and_a_seed_repeats_it(pieces, monkeypatch):
    monkeypatch.setattr(train, "BATCH", 8)
    index = torch.arange(len(pieces))
    sees = torch.ones(1, len(pieces), dtype=torch.bool)
    said = train.said(train.fitted(pieces, sees, 25, 0), pieces, index)
    short, again = (train.fitted(pieces, sees, 1, 0) for _ in range(2))
    for one, other in zip(short.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    bad = pieces.truth[:, :ROWS] > 0
    posterior = 1 - said[:, :ROWS, 0]
    assert posterior[bad].mean() > posterior[~bad].mean() + 0.3


def test_a_network_learns_nothing_of_what_it_does_not_see(pieces, monkeypatch):
    monkeypatch.setattr(train, "BATCH", 8)
    sees = torch.ones(2, len(pieces), dtype=torch.bool)
    sees[1, ::2] = False
    before = train.fitted(pieces, sees, 1, 0).some(slice(1, 2))
    pieces.truth[::2] = 2 - pieces.truth[::2]
    after = train.fitted(pieces, sees, 1, 0)
    for one, other in zip(before.parameters(), after.some(slice(1, 2)).parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.equal(after.weights["out_w"][0], before.weights["out_w"][0])


def test_settings_keep_clean_sets_clean_and_ranges_hold_the_share(pieces):
    index = torch.arange(len(pieces))
    wrong = (pieces.truth > 0).float()
    random = torch.Generator().manual_seed(0)
    posterior = (0.7 * wrong + 0.3 * torch.rand(wrong.shape, generator=random) ** 3).clamp(0, 1)
    p = torch.stack([1 - posterior, posterior, torch.zeros_like(posterior)], dim=-1)
    found = train.settings_from(p, pieces, index, 0.003)
    clean = np.array([train.plan_of(info) == "clean" for info in pieces.info])
    assert clean.sum() >= 20
    assert train.measured(p, pieces, index, found["threshold"])[1][clean].mean() <= 0.003
    assert found["threshold"] <= found["sure"] <= 0.995
    total = (pieces.weight * wrong).sum(1).numpy()
    share = (pieces.weight * posterior).sum(1).numpy()
    side = (pieces.weight * (posterior * (1 - posterior)).sqrt()).sum(1).numpy()
    assert 0.85 < np.mean(np.abs(total - share) <= found["reach"] * side + 1e-6) < 1.0


def test_a_training_from_end_to_end_writes_judges_that_the_library_asks(folder, monkeypatch, capsys):
    monkeypatch.setattr(train, "BATCH", 8)
    monkeypatch.setattr(train, "MEMBERS", 2)
    train.main(folder, sets=0, epochs=1, clean=0.9)
    assert "84 pieces of evidence" in capsys.readouterr().out
    card = json.loads((folder / "card.json").read_text())
    assert card["networks"] == 2
    assert {"name": "digits"}.items() <= card["sources"][0].items()
    judges = {path.stem: read_judge(path) for path in folder.glob("*.npz") if path.stem != "left_out"}
    families = {family for fold in train.FOLDS for family in fold}
    assert set(judges) == {"judge"} | {f"without-{family}" for family in families}
    assert len(judges["judge"].weights["in.w"]) == 2
    assert judges["judge"].settings == card["settings"]
    case = {"features": np.random.default_rng(0).normal(size=(60, 3)), "label": np.arange(60) % 2}
    found = evaluate.judged(case, folder / "judge.npz", "auto")
    assert found["posterior"].shape == (60,)
    assert found["suspected"].sum() == (found["posterior"] > card["settings"]["threshold"]).sum()
    monkeypatch.setattr(ship, "SHIPPED", folder / "shipped.npz")
    monkeypatch.setattr(ship, "CARD", folder / "shipped.json")
    (folder / "rows.jsonl").write_text(
        json.dumps(
            {
                "experiment": "judge",
                "called": "judge",
                "name": "a",
                "group": "people",
                "overlap": "auto",
                "f1": 0.5,
            }
        )
    )
    ship.main(folder, rows=folder / "rows.jsonl", commit="abc")
    told = json.loads((folder / "shipped.json").read_text())
    assert told["judge"] == read_judge(folder / "shipped.npz").id == judges["judge"].id
    assert told["commit"] == "abc"
    assert told["measured on families left out"] == {"people: mean F1": 0.5}
    assert evaluate.weights_for("table", folder) == folder / "without-table.npz"
    assert evaluate.weights_for("unheard-of", folder) == folder / "judge.npz"
