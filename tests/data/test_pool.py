"""Features are computed once per sample: what did not change comes from the file."""

import numpy as np
import pytest

from graylearn.data.embed import pooled


def texts(*lines):
    return np.array(lines, dtype=object)


@pytest.fixture
def asked():
    """What was embedded, and an embedding that keeps it."""
    seen = []

    def embed(some, keep):
        seen.append(list(some))
        return np.array([[len(line), ord(line[0])] for line in some], dtype=np.float32)

    return seen, embed


def test_only_what_is_new_is_embedded(tmp_path, asked):
    seen, embed = asked
    first = pooled(texts("one", "two", "three"), "m", tmp_path / "cache", embed)
    again = pooled(texts("three", "four", "one"), "m", tmp_path / "cache", embed)
    pooled(texts("two"), "m", tmp_path / "cache", embed)
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

    def stopped(some, keep):
        keep([2, 0], embed(some[[2, 0]], keep))
        raise KeyboardInterrupt

    lines = texts("one", "two", "one", "three", "four")  # a copy is embedded once
    with pytest.raises(KeyboardInterrupt):
        pooled(lines, "m", tmp_path / "cache", stopped)
    found = pooled(lines, "m", tmp_path / "cache", embed)
    assert seen == [["three", "one"], ["two", "four"]]
    assert found[:, 0].tolist() == [3, 3, 3, 5, 4]
