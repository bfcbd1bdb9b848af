"""The files of a checkpoint: damaged and foreign ones are refused, nothing in them is executed."""

import json

import numpy as np
import pytest
import safetensors.torch
import torch
from training_helpers import fit_into

from graylearn.errors import CheckpointError
from graylearn.training.checkpoint import NAME, _checksum, load_checkpoint, save_checkpoint


@pytest.mark.parametrize("damage", ["flip", "flip the header", "cut", "empty"])
def test_a_damaged_file_is_found_and_named(damage, tmp_path):
    fit_into(tmp_path, epochs=1)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[-100] ^= 1
    elif damage == "flip the header":
        content[content.index(b"accuracy")] ^= 1
    path.write_bytes({"cut": content[:-1], "empty": b""}.get(damage, content))
    with pytest.raises(CheckpointError, match=f"{NAME} is damaged"):
        fit_into(tmp_path, epochs=1, resume=True)


def test_no_file_of_a_checkpoint_is_a_pickle(tmp_path):
    fit_into(tmp_path, method="spl", epochs=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "log.jsonl"]
    for line in (tmp_path / "log.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)
    with safetensors.safe_open(tmp_path / NAME, "pt") as file:
        json.loads(file.metadata()["state"], parse_constant=pytest.fail)


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
    save_checkpoint(tmp_path, {"w": torch.rand(2, 3, 4).transpose(0, 2)}, state)
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


@pytest.mark.parametrize(
    "state",
    ['{"$dict": [[1]]}', "[" * 100_000, '{"$tensor": "a99999"}', "[]", "{"],
)
def test_a_checkpoint_that_somebody_else_signed_is_an_error_of_one_sentence(state, tmp_path):
    fit_into(tmp_path, epochs=1)
    arrays = safetensors.torch.load_file(tmp_path / NAME)
    signed = {"state": state, "sha256": _checksum(arrays, state)}
    safetensors.torch.save_file(arrays, tmp_path / NAME, signed)
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(tmp_path)
