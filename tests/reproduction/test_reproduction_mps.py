"""The daemon that shares a GPU: started where it is there and does not run, ended by who started it."""

import os
from pathlib import Path

import pytest

from reproduction.mps import shared_gpu

CONTROL = """#!/bin/sh
where="${CUDA_MPS_PIPE_DIRECTORY:-FOLDER/default}"
if [ "$1" = -d ]; then echo "start $where" >> FOLDER/said; mkdir -p "$where"; touch "$where/runs"; exit 0; fi
read word
echo "$word $where" >> FOLDER/said
[ -e "$where/runs" ] || exit 1
[ "$word" = quit ] && rm "$where/runs"
exit 0
"""


@pytest.fixture
def control(tmp_path, monkeypatch):
    """A program of the daemon's name that notes what it is told; gives the notes."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nvidia-cuda-mps-control"
    program.write_text(CONTROL.replace("FOLDER", str(tmp_path)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    monkeypatch.delenv("CUDA_MPS_LOG_DIRECTORY", raising=False)
    return lambda: (tmp_path / "said").read_text().splitlines()


def test_a_daemon_is_started_for_those_inside_and_ended(control, tmp_path):
    with shared_gpu() as shared:
        assert shared
        folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
        assert os.environ["CUDA_MPS_LOG_DIRECTORY"] == folder
    assert control() == [f"get_server_list {tmp_path}/default", f"start {folder}", f"quit {folder}"]
    assert not Path(folder).exists()
    assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ


def test_a_daemon_that_runs_is_used_and_left(control, tmp_path):
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "runs").touch()
    with shared_gpu() as shared:
        assert shared
        assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ
    assert control() == [f"get_server_list {tmp_path}/default"]
    assert (tmp_path / "default" / "runs").exists()
