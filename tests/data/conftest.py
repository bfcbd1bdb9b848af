"""Files to read and a cache of decoded images, each of one test alone."""

import pytest


@pytest.fixture
def csv(tmp_path):
    """Write a file of the given content and give its path."""

    def write(content: str | bytes, name: str = "dirty.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def image_cache(tmp_path_factory, monkeypatch):
    """Decoded pictures go to a folder of this test's own, not to the user's."""
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path_factory.mktemp("cache")))
