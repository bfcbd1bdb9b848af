"""Downloading: resumable, checksummed, and atomic, with the standard library alone.

A file is written to NAME.part beside its final name and moved there only when it is whole and its checksum is
right. What a cut connection leaves in NAME.part is continued, not fetched again, also by a later run; pooch,
which would do the rest, starts from the first byte each time, and these files have up to gigabytes.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import TypeAlias

from graylearn.data.atomic import alone, flush, signature
from graylearn.errors import DataError
from reproduction.catalog.entries import CATALOG, Entry, find_entry
from reproduction.catalog.files import data_folder

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes there are so far and the bytes there will be (None where the server does not say)."""

CHUNK = 1 << 18
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of a server that may pass."""


def download(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    mirror: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Fetch a dataset of the catalog into the data folder and return that folder; what is there is kept.

    `mirror` is a base address to fetch the same files from instead of the publisher's; the checksums hold.
    """
    entry = find_entry(name)
    if not entry.downloadable:
        fetchable = ", ".join(other.name for other in CATALOG.values() if other.downloadable)
        raise DataError(
            f"{entry.title} cannot be downloaded from here; get it at {entry.source} and put "
            f"{', '.join(entry.files)} into the data folder (to be downloaded: {fetchable})"
        )
    return fetch_entry(entry, data_folder(folder), mirror=mirror, progress=progress)


def fetch_entry(
    entry: Entry, folder: Path, *, mirror: str | None = None, progress: Progress | None = None
) -> Path:
    """Fetch and unpack every file of an entry that is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for remote in entry.downloads:
        url = remote.url if mirror is None else f"{mirror.rstrip('/')}/{remote.name}"
        path = folder / remote.name
        if remote.unpacks_to is not None and (folder / remote.unpacks_to).is_dir():
            continue
        download_file(url, path, sha256=remote.sha256, size=remote.size, progress=progress)
        if remote.unpacks_to is not None:
            unpack(path, remote.unpacks_to)
            path.unlink()
    return folder


def download_file(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    tries: int = 5,
    backoff: float = 1.0,
    timeout: float = 30.0,
    progress: Progress | None = None,
) -> Path:
    """Fetch a file to `path`, going on where an earlier try stopped.

    A try that brings no new byte counts against `tries` and is followed by a pause that doubles from
    `backoff` seconds; a try that brings some starts the count anew.
    """
    if not url.startswith(("http://", "https://")):
        raise DataError(f"{url} is not an http or https address")
    if path.exists():
        _check(path, url, sha256, size)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".part.lock")
    with alone(lock, DataError(f"another run is downloading this file ({lock} is held); wait for it")):
        transfer = _Transfer(url, path, size, timeout, progress)
        continued = transfer.received > 0
        while not path.exists():
            transfer.run(tries, backoff)
            try:
                _check(transfer.part, url, sha256, size)
            except DataError:
                transfer.forget()
                if not continued:
                    raise
                # Perhaps the part was of an older version of the file: once more from the first byte.
                continued = False
                continue
            flush(transfer.part)
            transfer.part.replace(path)
        transfer.forget()
    return path


class _Transfer:
    """One file on its way: what has come, what the server said it is, and how to get the rest."""

    def __init__(
        self, url: str, path: Path, size: int | None, timeout: float, progress: Progress | None
    ) -> None:
        self.url, self.size, self.timeout, self.progress = url, size, timeout, progress
        self.part = path.with_name(path.name + ".part")
        self.note = path.with_name(path.name + ".part.json")  # whose first bytes the part holds

    @property
    def received(self) -> int:
        """Bytes there are so far."""
        return self.part.stat().st_size if self.part.exists() else 0

    def forget(self) -> None:
        """Remove what has come, and the note about it."""
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def run(self, tries: int, backoff: float) -> None:
        """Try until the file is whole or `tries` in a row brought nothing."""
        fruitless = 0
        while True:
            before, pause, reason = self.received, 0.0, "the connection was cut"
            try:
                if self._once():
                    return
            except urllib.error.HTTPError as error:
                with error:
                    reason = f"the server answered {error.code} {error.reason}"
                    pause = _retry_after(error.headers)
                    if error.code == 416:  # nothing beyond what we have: it is whole, or it changed
                        if self._is_whole(error.headers):
                            return
                        self.forget()
                    elif error.code not in TRY_AGAIN:
                        raise DataError(f"cannot download {self.url}: {reason}") from error
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            fruitless = 0 if self.received > before else fruitless + 1
            if fruitless >= tries:
                raise DataError(
                    f"cannot download {self.url}: {reason}, {tries} times in a row; what came so far is kept "
                    f"in {self.part} and a new try goes on from there"
                )
            if fruitless:
                time.sleep(max(pause, backoff * 2 ** (fruitless - 1)))

    def _once(self) -> bool:
        """One request: write what comes, and tell whether the file is whole now."""
        start = self.received
        with urllib.request.urlopen(self._request(start), timeout=self.timeout) as response:
            if start and response.status != 206:  # the server ignores ranges, or the file changed
                self.forget()
                start = 0
            elif start and _first_byte(response.headers) != start:
                self.forget()
                return False
            length = response.headers.get("Content-Length")
            total = start + int(length) if length is not None else None
            if self.size is not None and total not in (None, self.size):
                raise DataError(
                    f"{self.url} has {total} bytes but was published with {self.size}; it is not that file"
                )
            self._write_note(response.headers)
            got = start
            with self.part.open("ab") as file:
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    got += len(chunk)
                    if self.progress is not None:
                        self.progress(got, total)
        expected = total if total is not None else self.size
        return expected is None or got >= expected

    def _request(self, start: int) -> urllib.request.Request:
        request = urllib.request.Request(self.url, headers={"User-Agent": "graylearn"})
        request.add_header("Accept-Encoding", "identity")
        if start:
            request.add_header("Range", f"bytes={start}-")
            if validator := self._read_note():
                request.add_header("If-Range", validator)
        return request

    def _write_note(self, headers: Message) -> None:
        """Keep what tells one version of the file from another; weak tags do not promise equal bytes."""
        tag = headers.get("ETag", "")
        validator = headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
        self.note.write_text(json.dumps({"url": self.url, "validator": validator}))

    def _read_note(self) -> str | None:
        try:
            note = json.loads(self.note.read_text())
            validator = note["validator"] if note["url"] == self.url else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return validator if isinstance(validator, str) else None

    def _is_whole(self, headers: Message) -> bool:
        """Whether the length a refused range names is what we have."""
        total = headers.get("Content-Range", "").rpartition("/")[2]
        return total.isdigit() and int(total) == self.received


def unpack(archive: Path, member: str) -> Path:
    """Unpack a tar archive that holds the folder `member` beside it, whole or not at all."""
    target = archive.parent / member
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpack-") as temporary:
        try:
            with tarfile.open(archive) as tar:
                _extract(tar, Path(temporary).resolve())
        except (tarfile.TarError, EOFError, OSError) as error:
            raise DataError(f"cannot unpack {archive}: {error}") from error
        inside = Path(temporary) / member
        if not inside.is_dir():
            raise DataError(f"{archive} does not hold the folder {member}")
        shutil.rmtree(target, ignore_errors=True)
        inside.rename(target)
    return target


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive; links and whatever lies outside are refused.

    `TarFile.extractall` has a filter for that only since Python 3.11.4.
    """
    for member in tar:
        target = (folder / member.name).resolve()
        content = tar.extractfile(member) if member.isfile() else None
        if not target.is_relative_to(folder) or not (content or member.isdir()):
            raise tarfile.ExtractError(f"{member.name} is no file or folder inside it")
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)


def _check(path: Path, url: str, sha256: str | None, size: int | None) -> None:
    """Raise unless the file has the published size and checksum."""
    found = signature(path)
    if size is not None and found["bytes"] != size:
        raise DataError(
            f"{path} has {found['bytes']} bytes but {url} was published with {size}; remove it and try again"
        )
    if sha256 is not None and found["sha256"] != sha256:
        raise DataError(
            f"{path} from {url} has SHA-256 {found['sha256']} but the published one is {sha256}; "
            "remove it and try again, or try a mirror"
        )


def _first_byte(headers: Message) -> int | None:
    """Where a partial answer starts."""
    text = headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip()
    return int(text) if text.isdigit() else None


def _retry_after(headers: Message) -> float:
    """Seconds a busy server asks to wait, at most a minute."""
    text = headers.get("Retry-After", "")
    return min(float(text), 60.0) if text.isdigit() else 0.0
