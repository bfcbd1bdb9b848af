"""Features are computed once a sample: what did not change comes from the file."""

import numpy as np
import pytest

from graylearn.data import Samples
from graylearn.runs.prepare import pooled


def texts(*lines):
    x = np.array(lines, dtype=object)
    return Samples(x, np.zeros(len(x), dtype=np.int64), ("a",), np.arange(len(x)), "text")


@pytest.fixture
def asked():
    """What was embedded, and an embedding that keeps it."""
    seen = []

    def embed(samples, on_batch):
        seen.append(list(samples.x))
        return np.array([[len(line), ord(line[0])] for line in samples.x], dtype=np.float32)

    return seen, embed


def test_only_what_is_new_is_embedded(tmp_path, asked):
    seen, embed = asked
    first = pooled(texts("one", "two", "three"), "m", tmp_path / "cache", embed)
    again = pooled(texts("three", "four", "one"), "m", tmp_path / "cache", embed)
    assert seen == [["one", "two", "three"], ["four"]]
    assert first.dtype == again.dtype == np.float32
    assert again.tolist() == [first[2].tolist(), [4, ord("f")], first[0].tolist()]
    pooled(texts("one"), "another", tmp_path / "cache", embed)
    assert seen[-1] == ["one"]


def test_a_damaged_file_is_made_anew(tmp_path, asked):
    seen, embed = asked
    for damage in (b"", b"PK\x03\x04 no archive"):
        pooled(texts("one"), "m", tmp_path, embed)
        (file,) = tmp_path.glob("features-*.npz")
        file.write_bytes(damage)
        assert pooled(texts("one"), "m", tmp_path, embed).tolist() == [[3, ord("o")]]
    assert len(seen) == 3


def test_what_was_embedded_is_kept_when_it_is_stopped(tmp_path, asked):
    seen, embed = asked

    def stopped(samples, on_batch):
        on_batch([2, 0], embed(samples.take([2, 0]), on_batch))
        raise KeyboardInterrupt

    lines = texts("one", "two", "one", "three", "four")  # a copy is embedded once
    with pytest.raises(KeyboardInterrupt):
        pooled(lines, "m", tmp_path / "cache", stopped)
    found = pooled(lines, "m", tmp_path / "cache", embed)
    assert seen == [["three", "one"], ["two", "four"]]
    assert found[:, 0].tolist() == [3, 3, 3, 5, 4]
