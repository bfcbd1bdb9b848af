"""Downloads from a real server on loopback that also cuts, lies and refuses."""

import hashlib
import http.server
import io
import pickle
import tarfile
import threading
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from graylearn.errors import DataError
from reproduction.catalog.download import fetch_entry
from reproduction.catalog.entries import CATALOG, RemoteFile

CONTENT = np.random.default_rng(0).bytes(1_000_003)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(http.server.BaseHTTPRequestHandler):
        files: ClassVar = {"/file.bin": CONTENT}
        asked: ClassVar = []
        cut = None

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.asked.append(self.path)
            content = self.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: self.cut])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        Handler.address = f"http://127.0.0.1:{running.server_address[1]}"
        yield Handler
        running.shutdown()
        thread.join()


def plain(server):
    """An entry of one file that is used as it is."""
    remote = RemoteFile(f"{server.address}/file.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    return replace(CATALOG["svhn"], downloads=(remote,))


def packed(server, archive):
    server.files = {"/cifar-10-python.tar.gz": archive}
    remote = RemoteFile(
        f"{server.address}/cifar-10-python.tar.gz",
        len(archive),
        hashlib.sha256(archive).hexdigest(),
        "cifar-10-batches-py",
    )
    return replace(CATALOG["cifar10"], downloads=(remote,))


def test_a_whole_file_arrives_leaves_nothing_else_and_is_not_fetched_again(server, tmp_path):
    seen = []
    folder = tmp_path / "new" / "folder"
    assert fetch_entry(plain(server), folder, lambda done, total: seen.append((done, total))) == folder
    assert (folder / "file.bin").read_bytes() == CONTENT
    assert names(folder) == ["file.bin"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    fetch_entry(plain(server), folder)
    assert server.asked == ["/file.bin"]


def test_a_cut_connection_leaves_nothing_and_the_next_run_begins_anew(server, tmp_path):
    server.cut = 300_000
    with pytest.raises(DataError, match=r"has 300000 bytes .* published are 1000003"):
        fetch_entry(plain(server), tmp_path)
    assert names(tmp_path) == []
    server.cut = None
    fetch_entry(plain(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_another_file_than_the_published_is_refused(server, tmp_path):
    for content in (CONTENT[:-1], CONTENT + b"!", CONTENT[:-1] + b"?"):
        server.files = {"/file.bin": content}
        with pytest.raises(DataError, match=f"has {len(content)} bytes and SHA-256"):
            fetch_entry(plain(server), tmp_path)
        assert names(tmp_path) == []
        (tmp_path / "file.bin").write_bytes(content)  # also where it lies there already
        with pytest.raises(DataError, match="remove it if it is there"):
            fetch_entry(plain(server), tmp_path)
        (tmp_path / "file.bin").unlink()


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


def test_an_archive_is_unpacked_and_then_kept(server, tmp_path):
    meta = pickle.dumps({"label_names": ["a"]})
    entry = packed(server, make_tar({"cifar-10-batches-py/batches.meta": meta}))
    fetch_entry(entry, tmp_path)
    assert names(tmp_path) == ["cifar-10-batches-py"]
    assert (tmp_path / "cifar-10-batches-py" / "batches.meta").read_bytes() == meta
    fetch_entry(entry, tmp_path)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"not a tar",
        make_tar({"cifar-10-batches-py/x": b"1", "../outside": b"2"}),
        make_tar({"cifar-10-batches-py/x": b"1"}, link=("cifar-10-batches-py/link", "/etc/passwd")),
        make_tar({"cifar-10-batches-py/x": bytes(100_000)})[:-40],
    ],
    # gzip writes the time into its header: named by their bytes, two processes would not agree on the tests
    ids=["no archive", "outside", "link", "cut off"],
)
def test_archives_that_are_broken_or_reach_outside_leave_nothing(server, tmp_path, content):
    inside = tmp_path / "inside"
    with pytest.raises(DataError, match="cannot unpack"):
        fetch_entry(packed(server, content), inside)
    assert names(inside) == []
    assert names(tmp_path) == ["inside"]
