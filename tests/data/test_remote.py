"""Data at an address: fetched once, read from the cache, fetched anew where it changed."""

import gzip
import http.server
import threading
from pathlib import Path

import pandas as pd
import pytest

import graylearn as gl
from graylearn import paths
from graylearn.data.read import open_blocks
from graylearn.data.remote import local
from graylearn.data.tables import ReadOptions
from graylearn.errors import DataError
from graylearn.paths import address_of


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAYLEARN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def served(tmp_path):
    """A folder, the address that it is served at, and the requests for contents so far."""
    folder, asked = tmp_path / "served", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(folder))

        def do_GET(self):
            asked.append(self.path)
            self.answer(super().do_GET)

        def do_HEAD(self):
            self.answer(super().do_HEAD)

        def answer(self, otherwise):
            if self.path == "/fails.csv":
                self.send_error(500)
            elif self.path == "/turns.csv":
                self.send_response(302)
                self.send_header("Location", self.path)
                self.end_headers()
            elif self.path == "/packed.csv":
                packed = gzip.compress(b"a,label\n" + b"1,x\n2,y\n" * 500_000)
                self.send_response(200)
                self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(packed)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(packed)
            else:
                otherwise()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_a_file_of_a_web_server(served):
    folder, address, asked = served
    (folder / "few.csv").write_text("a,label\n1,x\n2,y\n")
    samples = gl.read(f"{address}/few.csv")
    assert samples.x["a"].tolist() == [1, 2]
    assert samples.classes == ("x", "y")
    before = len(asked)
    assert len(gl.read(f"{address}/few.csv")) == 2
    assert len(asked) == before  # only its size was asked for
    (folder / "few.csv").write_text("a,label\n1,x\n2,y\n3,y\n")
    assert len(gl.read(f"{address}/few.csv")) == 3
    with pytest.raises(DataError, match="does not exist"):
        gl.read(f"{address}/gone.csv")
    with pytest.raises(DataError, match=r"a\.csv is not read \(.*Cannot connect to host 127\.0\.0\.1:9"):
        gl.read("http://127.0.0.1:9/a.csv")  # a port that nobody has


@pytest.mark.parametrize(
    ("name", "told"), [("fails", "500, message='Internal Server Error'"), ("turns", "without end")]
)
def test_what_a_server_cannot_answer_is_not_called_missing(served, name, told):
    with pytest.raises(DataError, match=rf"{name}\.csv is not read.*{told}"):
        gl.read(f"{served[1]}/{name}.csv")


def test_what_is_packed_on_its_way_stops_at_the_limit(served, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "UNPACKED", 100_000)
    monkeypatch.setattr(paths, "RATIO", 20)
    with pytest.raises(DataError, match=r"packed\.csv cannot be read: it unpacks to more than [\d,]+ bytes"):
        gl.read(f"{served[1]}/packed.csv")
    assert not [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]
    monkeypatch.setenv("GRAYLEARN_MAX_UNPACKED", str(1 << 30))
    assert len(gl.read(f"{served[1]}/packed.csv")) == 1_000_000


@pytest.mark.parametrize("more", ["?download=true", "?raw=1&path=/a/b.txt", "#top"])
def test_what_stands_behind_the_path_of_a_web_address_is_no_part_of_the_name(served, more):
    folder, address, _ = served
    (folder / "few.csv").write_text("a,label\n1,x\n2,y\n")
    assert local(f"{address}/few.csv{more}").name == "few.csv"
    assert gl.read(f"{address}/few.csv{more}").x["a"].tolist() == [1, 2]


def test_folders_and_globs_of_any_file_system():
    import fsspec

    system = fsspec.filesystem("memory")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]})
    for number in range(3):
        with system.open(f"/bucket/set/{number}.parquet", "wb") as file:
            frame.assign(a=frame["a"] + 10 * number).to_parquet(file)
    assert gl.read("memory://bucket/set").x["a"].tolist() == [1, 2, 3, 11, 12, 13, 21, 22, 23]
    blocks = open_blocks("memory://bucket/set/[01].parquet", ReadOptions())
    assert blocks.label_counts() == {"x": 4, "y": 2}
    assert [block.samples.x["a"].tolist() for block in blocks.read(("x", "y"))] == [[1, 2, 3], [11, 12, 13]]
    with pytest.raises(DataError, match="does not exist"):
        local("memory://bucket/set/*.csv")
    system.rm("/bucket", recursive=True)


def test_what_is_an_address():
    assert address_of(Path("s3://bucket/a.csv")) == "s3://bucket/a.csv"  # a path makes one slash of two
    assert address_of("C:/data/a.csv") is None
    assert address_of("folder/a.csv") is None
    with pytest.raises(DataError, match=r"address of a file on this machine: give its path, /data/a\.csv"):
        address_of("file:///data/a.csv")
