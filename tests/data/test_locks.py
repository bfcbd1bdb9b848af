"""A lock is held by one thread or process at a time; what a killed one left is cleared away."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from graylearn.data.atomic import alone
from graylearn.data.written import writing
from graylearn.errors import DataError, FolderTakenError


def taken(lock):
    with alone(lock, DataError("somebody is at work")):
        return False


def test_another_thread_holds_it(tmp_path):
    lock = tmp_path / ".lock"
    with (
        alone(lock, DataError("first")),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(DataError, match="somebody is at work"),
    ):
        pool.submit(taken, lock).result()
    assert taken(lock) is False


WRITE = """
import sys
from graylearn.data.written import writing
with writing(sys.argv[1], "table") as partial:
    partial.write_text("half")
    print("written", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_of_a_file_goes_with_the_next_and_only_one_writes(tmp_path):
    path = tmp_path / "a [1].csv"
    (tmp_path / ".graylearn-0123abcd-b.csv").write_text("of another file")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout.readline() == b"written\n"
        with pytest.raises(FolderTakenError, match="another process is writing"), writing(path, "table"):
            pass
    finally:
        writer.kill()
        writer.communicate()
    assert [each.read_text() for each in tmp_path.glob(".graylearn-*-a*")] == ["half"]
    with writing(path, "table") as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole"
    assert {each.name for each in tmp_path.iterdir()} == {path.name, ".graylearn-0123abcd-b.csv"}
