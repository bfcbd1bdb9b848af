"""Downloads against a real server on loopback that cuts, lies, refuses and changes its mind."""

import hashlib
import http.server
import io
import pickle
import signal
import tarfile
import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from warm import Process

from graylearn.errors import DataError
from reproduction.catalog.download import download, download_file, fetch_entry, unpack
from reproduction.catalog.entries import CATALOG

CONTENT = np.random.default_rng(0).bytes(1_000_003)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Behaviour:
    """What the server does; `requests` is what it was asked."""

    files: dict = field(default_factory=lambda: {"/file.bin": CONTENT})
    etag: str | None = '"one"'
    cuts: list = field(default_factory=list)  # bytes to send before closing, one a request
    answers: list = field(default_factory=list)  # status codes to answer instead, one a request
    ranges: bool = True
    send_length: bool = True
    shift: int = 0  # lie about where a range starts
    hold: threading.Event | None = None
    requests: list = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    behaviour = Behaviour()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            behaviour.requests.append(dict(self.headers))
            behaviour.asked.set()
            if behaviour.hold is not None:
                behaviour.hold.wait()
            if behaviour.answers and (code := behaviour.answers.pop(0)) != 200:
                self.send_response(code)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = behaviour.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start, code = 0, 200
            asked = self.headers.get("Range")
            same = self.headers.get("If-Range", behaviour.etag) == behaviour.etag
            if asked and behaviour.ranges and same:
                start, code = int(asked.removeprefix("bytes=").rstrip("-")) + behaviour.shift, 206
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            self.send_response(code)
            if behaviour.etag:
                self.send_header("ETag", behaviour.etag)
            if code == 206:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            body = content[start:]
            if behaviour.send_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if behaviour.cuts:
                body = body[: behaviour.cuts.pop(0)]
            self.wfile.write(body)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        behaviour.address = f"http://127.0.0.1:{running.server_address[1]}"
        yield behaviour
        if behaviour.hold is not None:
            behaviour.hold.set()
        running.shutdown()
        thread.join()


def fetch(server, folder, **changes):
    options = {"sha256": SHA256, "size": len(CONTENT), "backoff": 0.01, "timeout": 600} | changes
    return download_file(f"{server.address}/file.bin", folder / "file.bin", **options)


def test_a_whole_file_arrives_and_leaves_nothing_else(server, tmp_path):
    seen = []
    path = fetch(server, tmp_path / "new" / "folder", progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["file.bin"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    fetch(server, tmp_path / "new" / "folder")
    assert len(server.requests) == 1  # it is there and right: nothing is asked again


def test_cut_connections_are_continued_not_repeated(server, tmp_path):
    server.cuts = [300_000, 1, 400_000, 0, 200_000]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    starts = [request.get("Range") for request in server.requests]
    assert starts == [None, *(f"bytes={n}-" for n in (300_000, 300_001, 700_001, 700_001, 900_001))]
    assert all(request["If-Range"] == '"one"' for request in server.requests[1:])
    assert names(tmp_path) == ["file.bin"]


def test_a_later_run_goes_on_where_an_earlier_one_gave_up(server, tmp_path):
    server.cuts = [600_000, 0, 0]
    with pytest.raises(
        DataError, match=r"the connection was cut, 2 times in a row; what came so far is kept"
    ):
        fetch(server, tmp_path, tries=2)
    assert not (tmp_path / "file.bin").exists()
    assert (tmp_path / "file.bin.part").stat().st_size == 600_000
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.requests[-1]["Range"] == "bytes=600000-"


def test_a_killed_run_is_continued(server, tmp_path):
    server.hold = threading.Event()
    code = (
        "import sys; from pathlib import Path; from reproduction.catalog.download import download_file;"
        "download_file(sys.argv[1], Path(sys.argv[2]))"
    )
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    child = Process(code, f"{server.address}/file.bin", tmp_path / "file.bin")
    try:
        server.asked.wait()
        with pytest.raises(DataError, match="another run is downloading this file"):
            fetch(server, tmp_path)
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    server.hold.set()
    assert (tmp_path / "file.bin.part").exists()
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == ["file.bin"]
    assert server.requests[-1]["Range"] == "bytes=1000-"


@pytest.mark.parametrize(
    "change",
    [
        {"ranges": False},
        {"etag": 'W/"weak"'},
        {"shift": 7},
    ],
)
def test_odd_servers_still_give_the_right_bytes(server, tmp_path, change):
    for name, value in change.items():
        setattr(server, name, value)
    server.cuts = [400_000]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert 'W/"weak"' not in [request.get("If-Range") for request in server.requests]


def test_a_part_of_another_file_is_noticed_by_the_checksum_and_dropped(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 500_000)
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    (tmp_path / "file.bin").unlink()
    (tmp_path / "file.bin.part").write_bytes(b"x" * len(CONTENT))  # as long as the file: the range is refused
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    (tmp_path / "file.bin").unlink()
    (tmp_path / "file.bin.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_no_file(server, tmp_path):
    with pytest.raises(DataError, match=rf"has SHA-256 {SHA256} but the published one is {'0' * 64}"):
        fetch(server, tmp_path, sha256="0" * 64)
    assert names(tmp_path) == []
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:10])
    with pytest.raises(DataError, match="SHA-256"):
        fetch(server, tmp_path, sha256="0" * 64)
    assert names(tmp_path) == []


def test_what_is_not_there_is_said_at_once(server, tmp_path):
    del server.files["/file.bin"]
    with pytest.raises(DataError, match=r"cannot download http.*/file.bin: the server answered 404"):
        fetch(server, tmp_path)
    assert len(server.requests) == 1


def make_tar(members, *, link=None):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo(link[0])
            info.type, info.linkname = tarfile.SYMTYPE, link[1]
            tar.addfile(info)
    return buffer.getvalue()


def test_a_dataset_is_fetched_unpacked_and_then_kept(server, tmp_path):
    archive = make_tar({"cifar-10-batches-py/batches.meta": pickle.dumps({"label_names": ["a"]})})
    server.files = {"/cifar-10-python.tar.gz": archive}
    server.cuts = [len(archive) // 2]
    remote = replace(
        CATALOG["cifar10"].downloads[0], size=len(archive), sha256=hashlib.sha256(archive).hexdigest()
    )
    entry = replace(CATALOG["cifar10"], downloads=(remote,))
    assert fetch_entry(entry, tmp_path, mirror=server.address + "/") == tmp_path
    assert names(tmp_path) == ["cifar-10-batches-py"]
    fetch_entry(entry, tmp_path, mirror=server.address)
    assert len(server.requests) == 2


def test_download_refuses_what_it_does_not_know_or_cannot_fetch(server, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="no dataset 'imagenet'"):
        download("imagenet", tmp_path)
    with pytest.raises(
        DataError, match=r"Gene cannot be downloaded .*archive.ics.uci.edu.* data.csv, labels.csv"
    ):
        download("Gene", tmp_path)
    monkeypatch.delenv("GRAYLEARN_DATA", raising=False)
    with pytest.raises(DataError, match="GRAYLEARN_DATA"):
        download("cifar10")
    monkeypatch.setenv("GRAYLEARN_DATA", str(tmp_path))
    with pytest.raises(DataError, match="404"):
        download("CIFAR-100", mirror=server.address)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not a tar", "cannot unpack"),
        (make_tar({"cifar/x": b"1", "../outside": b"2"}), "cannot unpack"),
        (make_tar({"cifar/x": b"1"}, link=("cifar/link", "/etc/passwd")), "cannot unpack"),
        (make_tar({"cifar/x": bytes(100_000)})[:-40], "cannot unpack"),
        (make_tar({"other/x": b"1"}), "does not hold the folder cifar"),
    ],
    # gzip writes the time into its header: named by their bytes, two processes would not agree on the tests
    ids=["no archive", "outside", "link", "cut off", "other folder"],
)
def test_archives_that_are_broken_or_reach_outside_leave_nothing(tmp_path, content, said):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.tar.gz").write_bytes(content)
    with pytest.raises(DataError, match=said):
        unpack(inside / "a.tar.gz", "cifar")
    assert names(inside) == ["a.tar.gz"]
    assert names(tmp_path) == ["inside"]
