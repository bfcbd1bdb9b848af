"""The files of a checkpoint: damaged and foreign ones are refused, nothing in them is executed."""

import hashlib
import json

import numpy as np
import pytest
import torch
from training_helpers import fit_into

from graylearn.errors import CheckpointError
from graylearn.training.checkpoint import load_checkpoint, save_checkpoint


@pytest.mark.parametrize("name", ["weights.safetensors", "state.npz", "state.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_file_is_found_and_named(name, damage, tmp_path):
    fit_into(tmp_path, epochs=1)
    (path,) = tmp_path.glob(f"*/{name}")
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "cut":
        path.write_bytes(content[:-1])
    else:
        path.unlink()
    with pytest.raises(CheckpointError, match=name):
        fit_into(tmp_path, epochs=1, resume=True)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 9, "folder": "x", "files": {}}']
)
def test_a_damaged_manifest_is_found(text, tmp_path):
    fit_into(tmp_path, epochs=1)
    (tmp_path / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError):
        fit_into(tmp_path, epochs=1, resume=True)


def test_no_file_of_a_checkpoint_is_a_pickle(tmp_path):
    fit_into(tmp_path, method="spl", epochs=1)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 5
    for path in files:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                assert all(file[name].dtype != object for name in file.files)
        elif path.suffix in (".json", ".jsonl"):
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line, parse_constant=pytest.fail)
        else:
            assert path.suffix == ".safetensors"


def test_values_come_back_as_they_were(tmp_path):
    state = {
        "numbers": [1, 2.5, float("inf"), float("-inf"), True, None, "text"],
        "tuple": (1, (2, "three")),
        3: torch.arange(4, dtype=torch.int16),
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "empty": torch.empty(0, 3),
        "array": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "scalar": torch.tensor(2.0, dtype=torch.float64),
        "nan": float("nan"),
    }
    save_checkpoint(tmp_path, {"w": torch.rand(2, 3, 4).transpose(0, 2)}, state, epoch=1, step=2)
    weights, back = load_checkpoint(tmp_path)
    assert weights["w"].shape == (4, 3, 2)
    assert back["numbers"] == state["numbers"]
    assert back["tuple"] == state["tuple"]
    assert np.isnan(back["nan"])
    for name in (3, "half", "empty", "scalar"):
        assert back[name].dtype == state[name].dtype
        assert torch.equal(back[name], state[name])
    np.testing.assert_array_equal(back["array"], state["array"])


def test_files_of_the_user_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "my-own-notes").mkdir()
    (tmp_path / "my-own-notes" / "a.txt").write_text("keep")
    fit_into(tmp_path)
    assert (tmp_path / "my-own-notes" / "a.txt").read_text() == "keep"


def test_what_a_kill_left_of_an_old_checkpoint_goes_with_the_next(tmp_path):
    (tmp_path / "00001-0000002-0123abcd").mkdir()
    (tmp_path / ".partial-0123abcd").mkdir()
    fit_into(tmp_path, epochs=1)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1


def signed_again(folder, name, content):
    """As somebody may who knows how checkpoints are signed."""
    manifest = json.loads((folder / "checkpoint.json").read_text())
    (folder / manifest["folder"] / name).write_bytes(content)
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "checkpoint.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("weights.safetensors", b"\xff" * 40),
        ("state.npz", b"PK"),
        ("state.json", b'{"$dict": [[1]]}'),
        ("state.json", b"[" * 100_000),
        ("state.json", b'{"$tensor": "a0", "dtype": "nothing"}'),
        ("state.json", b"[]"),
    ],
)
def test_a_checkpoint_that_somebody_else_signed_is_an_error_of_one_sentence(name, content, tmp_path):
    fit_into(tmp_path, epochs=1)
    signed_again(tmp_path, name, content)
    with pytest.raises(CheckpointError, match="cannot be used"):
        load_checkpoint(tmp_path)


def test_a_checkpoint_lies_beside_its_manifest(tmp_path):
    fit_into(tmp_path / "run", epochs=1)
    manifest = json.loads((tmp_path / "run" / "checkpoint.json").read_text())
    (tmp_path / "run" / manifest["folder"]).rename(tmp_path / "elsewhere")
    (tmp_path / "run" / "checkpoint.json").write_text(json.dumps({**manifest, "folder": "../elsewhere"}))
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(tmp_path / "run")
