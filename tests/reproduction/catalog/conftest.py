"""A cache of decoded images of each test's own."""

import pytest


@pytest.fixture
def image_cache(tmp_path_factory, monkeypatch):
    """Decoded pictures go to a folder of this test's own, not to the user's."""
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path_factory.mktemp("cache")))
