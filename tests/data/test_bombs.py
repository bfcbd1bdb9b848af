"""Small files that would fill the memory are refused at a limit, which a user can raise."""

import gzip

import numpy as np
import pyarrow as pa
import pytest

from graylearn import paths
from graylearn.data.read import read
from graylearn.errors import DataError


@pytest.fixture
def small_limit(monkeypatch):
    """A million bytes are always allowed, and beyond that 200 times the size of the file."""
    monkeypatch.setattr(paths, "UNPACKED", 1_000_000)


def write_gzip(path, raw):
    path.write_bytes(gzip.compress(raw))


def write_zstd(path, raw):
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(raw)


@pytest.mark.parametrize(("name", "write"), [("a.csv.gz", write_gzip), ("a.csv.zst", write_zstd)])
def test_compressed_text(tmp_path, monkeypatch, small_limit, name, write):
    path = tmp_path / name
    write(path, b"a,label\n" + b"1,x\n" * 1_000_000)
    assert path.stat().st_size < 40_000
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes; set GRAYLEARN_MAX_UNPACKED"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", "10000000")
    assert len(read(path)) == 1_000_000


def test_arrays(tmp_path, monkeypatch, small_limit):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((1_000_000, 4)), y=np.arange(1_000_000) % 2)
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ bytes"):
        read(path)
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    assert read(path).x.shape == (1_000_000, 4)


def test_what_is_merely_compressed_well_is_read(tmp_path, small_limit):
    rng = np.random.default_rng(0)
    rows = "".join(f"{value:.3f},{'xy'[row % 2]}\n" for row, value in enumerate(rng.normal(size=200_000)))
    write_gzip(tmp_path / "a.csv.gz", ("a,label\n" + rows).encode())
    assert len(read(tmp_path / "a.csv.gz")) == 200_000
