"""Labels that people gave, as cells: read from their file, checked against the images, told when missing."""

import json
from pathlib import Path

import numpy as np
import pytest

from graylearn.errors import DataError, SettingsError
from reproduction.cells import Cell
from reproduction.experiments import EXPERIMENTS
from reproduction.options import Options
from reproduction.sets import cell_samples

RESULTS = Path(__file__).parents[2] / "results"
WORST = Cell(
    "image", "cifar10", "gl", 0, ood="none", labels="worst", net="resnet18", preset="paper", epochs=1
)


@pytest.fixture
def folder(tmp_path):
    """A data folder with twenty pictures of CIFAR-10's shape, of which people got five wrong."""
    rng = np.random.default_rng(0)
    clean = np.arange(20) % 10
    worst = np.where(np.arange(20) < 5, (clean + 1) % 10, clean)
    pictures = {
        f"{part}_x": rng.integers(0, 255, (20, 32, 32, 3), dtype=np.uint8) for part in ("train", "test")
    }
    names = np.array([f"class {k}" for k in range(10)])
    np.savez(tmp_path / "cifar10.npz", **pictures, train_y=clean, test_y=clean, class_names=names)
    (tmp_path / "cifar-10n").mkdir()
    np.savez(
        tmp_path / "cifar-10n" / "labels.npz", clean=clean.astype(np.uint8), worst=worst.astype(np.uint8)
    )
    return tmp_path


def test_the_labels_are_those_of_the_file_and_their_faults_are_known(folder):
    train, test = cell_samples(WORST, folder)
    assert train.is_flipped.nonzero()[0].tolist() == [0, 1, 2, 3, 4]
    assert train.y[:5].tolist() == [1, 2, 3, 4, 5]
    assert train.true_y.tolist() == test.y.tolist()
    assert not train.is_ood.any()
    assert train.clean().y.tolist() == train.true_y.tolist()
    with pytest.raises(DataError, match="has no aggregate; it has clean, worst"):
        cell_samples(WORST.but(labels="aggregate"), folder)


def test_labels_of_other_images_are_refused(folder):
    with np.load(folder / "cifar-10n" / "labels.npz") as arrays:
        np.savez(folder / "cifar-10n" / "labels.npz", clean=arrays["clean"][::-1], worst=arrays["worst"])
    with pytest.raises(DataError, match="of other images, or in another order"):
        cell_samples(WORST, folder)


def test_a_cell_of_people_has_no_ood_samples_and_shares_the_oracle():
    cells = EXPERIMENTS["human"].cells(Options(alphas=(0.3,)))
    assert {(cell.alpha, cell.ood) for cell in cells} == {(0.0, "none")}
    oracles = {cell.key for cell in cells if cell.method == "oracle"}
    assert len(oracles) == 1
    assert oracles <= {cell.key for cell in EXPERIMENTS["table1"].cells()}
    assert str(cells[0]) == "cifar10 standard seed 0 aggregate labels, resnet18, paper 200 epochs"
    with pytest.raises(SettingsError, match="labels are 'best'; choose from specific, random, aggregate"):
        Options(labels=("best",))


def test_every_committed_result_is_found_under_the_key_of_its_cell():
    for name in EXPERIMENTS:
        path = RESULTS / f"{name}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            row = json.loads(line)
            assert Cell.from_dict(row["cell"]).key == row["key"]
