"""Features are computed once per sample: what did not change comes from the file."""

import numpy as np
import pytest

from graylearn.data.embed import embedded


def texts(*lines):
    return np.array(lines, dtype=object)


def pooled(lines, settings, folder, embed, batch_size=9):
    return embedded(lines, lambda: embed, "embedding", batch_size, folder, settings)


@pytest.fixture
def asked():
    """What was embedded, and an embedding that keeps it."""
    seen = []

    def embed(some):
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

    def stopped(some):
        if seen:
            raise KeyboardInterrupt
        return embed(some)

    lines = texts("one", "two", "one", "three", "four")  # a copy is embedded once
    with pytest.raises(KeyboardInterrupt):
        pooled(lines, "m", tmp_path / "cache", stopped, batch_size=2)
    found = pooled(lines, "m", tmp_path / "cache", embed, batch_size=2)
    assert seen == [["one", "two"], ["four", "three"]]
    assert found[:, 0].tolist() == [3, 3, 3, 5, 4]
