"""Keeping a classifier: folders of safetensors and JSON, pickle and joblib, and files that are not ours."""

import errno
import hashlib
import json
import pickle
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from torch import nn

from graylearn.errors import CheckpointError
from graylearn.estimator import GrayClassifier
from graylearn.methods import Method
from graylearn.methods.robust import Symmetric
from graylearn.training import OptimizerSettings


@pytest.fixture(scope="module")
def flowers(iris):
    x, _, y, _ = iris
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(
        garden=np.where(x[:, 0] > 6, "north", "south")
    )
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return frame, names


@pytest.fixture(scope="module")
def fitted(flowers):
    classifier = GrayClassifier(
        method=Symmetric(alpha=0.2),
        network_options={"hidden": (16,)},
        epochs=6,
        optimizer=OptimizerSettings("adam", 0.01, betas=(0.8, 0.99)),
        class_weight={"setosa": 2.0, "versicolor": 1.0, "virginica": 1.5},
        random_state=0,
        device="cpu",
    )
    return classifier.fit(*flowers)


def test_what_is_loaded_is_what_was_saved(fitted, flowers, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GrayClassifier.load(tmp_path / "model")
    x, _ = flowers
    np.testing.assert_array_equal(loaded.predict_proba(x), fitted.predict_proba(x))
    np.testing.assert_array_equal(loaded.predict(x), fitted.predict(x))
    np.testing.assert_array_equal(loaded.predict(x, reject_at=0.9), fitted.predict(x, reject_at=0.9))
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert list(loaded.feature_names_in_) == list(x.columns)
    assert loaded.get_params() == fitted.get_params()
    pd.testing.assert_frame_equal(loaded.audit_.table, fitted.audit_.table)
    np.testing.assert_array_equal(loaded.history_.label_confidence, fitted.history_.label_confidence)
    assert loaded.n_iter_ == 6
    assert (tmp_path / "model" / "audit" / "table.csv").exists()
    loaded.fit(*flowers)  # and it can be fitted again
    np.testing.assert_array_equal(loaded.predict_proba(x), fitted.predict_proba(x))


@pytest.mark.parametrize(
    "labels", [np.array([3, 5, 9]), np.array([0.5, 1.5, 2.0]) * 2, np.array(["x", "y", "z"], object)]
)
def test_labels_keep_their_type(labels, iris, tmp_path):
    x, _, y, _ = iris
    classifier = GrayClassifier(epochs=1, audit=None, device="cpu").fit(x, labels[y])
    classifier.save(tmp_path)
    loaded = GrayClassifier.load(tmp_path)
    assert loaded.classes_.dtype == classifier.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(x), classifier.predict(x))


def test_images_keep_their_scale(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    y = np.arange(40) % 2
    classifier = GrayClassifier(epochs=2, device="cpu", random_state=0, augment=True).fit(images, y)
    classifier.save(tmp_path)
    loaded = GrayClassifier.load(tmp_path)
    np.testing.assert_allclose(loaded.predict_proba(images), classifier.predict_proba(images), rtol=1e-5)


def test_a_network_of_ones_own_is_given_again(iris, tmp_path):
    x, _, y, _ = iris
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    classifier = GrayClassifier(network=module, epochs=2, device="cpu", audit=None).fit(x, y)
    classifier.save(tmp_path)
    with pytest.raises(CheckpointError, match="pass network= to load"):
        GrayClassifier.load(tmp_path)
    with pytest.raises(CheckpointError, match="do not fit the network"):
        GrayClassifier.load(tmp_path, network=nn.Linear(4, 3))
    again = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    loaded = GrayClassifier.load(tmp_path, network=again)
    np.testing.assert_allclose(loaded.predict_proba(x), classifier.predict_proba(x), rtol=1e-6)


class Own(Method):
    def loss(self, step):
        return nn.functional.cross_entropy(step.logits, step.target, reduction="none")


def test_a_method_of_ones_own_is_told_to_be_missing(iris, tmp_path):
    x, _, y, _ = iris
    GrayClassifier(method=Own(), epochs=1, device="cpu", audit=None).fit(x, y).save(tmp_path)
    with pytest.warns(UserWarning, match="method could not be saved"):
        loaded = GrayClassifier.load(tmp_path)
    assert loaded.predict(x).shape == (100,)
    assert isinstance(GrayClassifier.load(tmp_path, method=Own()).method, Own)


def test_saving_again_replaces_the_audit_too(fitted, iris, tmp_path):
    x, _, y, _ = iris
    fitted.save(tmp_path)
    GrayClassifier(epochs=1, audit=None, device="cpu").fit(x, y).save(tmp_path)
    assert GrayClassifier.load(tmp_path).audit_ is None
    assert not (tmp_path / "audit").exists()


def test_what_is_not_ours_is_not_read(fitted, tmp_path):
    (tmp_path / "model.json").write_text('{"format": "another"}')
    with pytest.raises(CheckpointError, match="not of a saved classifier"):
        GrayClassifier.load(tmp_path)
    with pytest.raises(CheckpointError, match="no saved classifier"):
        GrayClassifier.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="is a file"):
        fitted.save(tmp_path / "file")


@pytest.mark.parametrize(
    "name", ["model.json", "weights.safetensors", "history.npz", "audit/audit.json", "audit/arrays.npz"]
)
def test_damage_is_noticed(name, fitted, tmp_path):
    fitted.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for broken in (b"", whole[:middle], flipped, b"\x80\x04" + whole):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(CheckpointError):
            GrayClassifier.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointError):
        GrayClassifier.load(tmp_path)


def signed(folder, **changes):
    """Change the manifest, with the right checksum, as someone who means it would write."""
    whole = json.loads((folder / "model.json").read_text())
    content = whole["model"] | changes
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(whole | {"model": content, "sha256": digest}))


def resign(folder, name):
    """Make the manifest agree with a file that was changed."""
    content = (folder / name).read_bytes()
    files = json.loads((folder / "model.json").read_text())["model"]["files"]
    files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    signed(folder, files=files)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"members_": 10**9}, "do not fit the network"),
        ({"classes_type": "<U99999999"}, "classes are of type '<U99999999', far longer than any of them"),
        ({"feature_names_in": ["a", "b", "c", "d", "meadow"]}, "names of the columns do not fit"),
        ({"encoder": {"shape": [10**12]}}, "do not fit the network"),
        ({"parameters": {"network_options": {"$dict": [["hidden", [10**9]]]}}}, "do not fit"),
    ],
)
def test_what_a_manifest_describes_is_compared_before_memory_is_asked_for(changes, words, fitted, tmp_path):
    fitted.save(tmp_path)
    content = json.loads((tmp_path / "model.json").read_text())["model"]
    merged = {
        name: content[name] | value if isinstance(value, dict) else value for name, value in changes.items()
    }
    signed(tmp_path, **merged)
    with pytest.raises(CheckpointError, match=words):
        GrayClassifier.load(tmp_path)


def test_a_history_that_unpacks_to_a_thousand_times_its_size_is_refused(fitted, tmp_path):
    fitted.save(tmp_path)
    np.savez_compressed(tmp_path / "history.npz", label=np.zeros(100_000_000, dtype=np.uint8))
    resign(tmp_path, "history.npz")
    with pytest.raises(CheckpointError, match="it unpacks to more than"):
        GrayClassifier.load(tmp_path)


def test_arrays_that_promise_more_than_they_hold_are_refused(fitted, tmp_path):
    fitted.save(tmp_path)
    with zipfile.ZipFile(tmp_path / "history.npz", "w") as archive, archive.open("label.npy", "w") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
        np.lib.format.write_array_header_1_0(file, header)
    resign(tmp_path, "history.npz")
    with pytest.raises(CheckpointError, match=r"history\.npz"):
        GrayClassifier.load(tmp_path)


def test_pickle_and_joblib(fitted, flowers, tmp_path):
    x, _ = flowers
    expected = fitted.predict_proba(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(x), expected)
    joblib.dump(fitted, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(x), expected)


def test_a_full_disk_is_told_and_saving_again_leaves_nothing_behind(fitted, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("graylearn.estimator.saving.safetensors.torch.save", full)
        with pytest.raises(CheckpointError, match=r"No space left on device.*make room and save again"):
            fitted.save(tmp_path)
    fitted.save(tmp_path)
    assert not list(tmp_path.rglob(".*"))
