"""The files of a checkpoint: damaged and foreign ones are refused, nothing in them is executed."""

import json

import pytest
import safetensors.torch
from training_helpers import fit_into

from graylearn.errors import CheckpointError
from graylearn.training.checkpoint import NAME, _checksum, load_checkpoint


@pytest.mark.parametrize("cut", [False, True])
def test_a_damaged_file_is_found_and_named(cut, tmp_path):
    fit_into(tmp_path, epochs=1)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[content.index(b"accuracy")] ^= not cut
    path.write_bytes(content[:-1] if cut else content)
    with pytest.raises(CheckpointError, match=f"{NAME} is damaged"):
        fit_into(tmp_path, epochs=1, resume=True)


def test_no_file_of_a_checkpoint_is_a_pickle(tmp_path):
    fit_into(tmp_path, method="spl", epochs=1)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    with safetensors.safe_open(tmp_path / NAME, "pt") as file:
        json.loads(file.metadata()["state"], parse_constant=pytest.fail)


def test_files_of_the_user_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "my-own-notes").mkdir()
    (tmp_path / "my-own-notes" / "a.txt").write_text("keep")
    fit_into(tmp_path)
    assert (tmp_path / "my-own-notes" / "a.txt").read_text() == "keep"


@pytest.mark.parametrize("state", ["[" * 100_000, '{"$tensor": "a99999"}'])
def test_a_checkpoint_that_somebody_else_signed_is_an_error_of_one_sentence(state, tmp_path):
    fit_into(tmp_path, epochs=1)
    arrays = safetensors.torch.load_file(tmp_path / NAME)
    signed = {"state": state, "sha256": _checksum(arrays, state)}
    safetensors.torch.save_file(arrays, tmp_path / NAME, signed)
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(tmp_path)
