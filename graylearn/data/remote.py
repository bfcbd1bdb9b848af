"""Data at an address (s3, gs, http, hf, ...), fetched by fsspec into the cache and read from there.

What was fetched is found again while the other side tells of the same size, time and tag.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from graylearn.data.atomic import replacing
from graylearn.errors import DataError, first_line
from graylearn.paths import Limit, address_of, as_path, default_cache_folder, inside
from graylearn.progress import progress_bar

_TELLS = ("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "created", "updated", "md5Hash")
"""What file systems say of a file that changes where its content does."""
_CHUNK = 1 << 22


def local(source: str | os.PathLike[str]) -> Path:
    """The path of data on this machine: as given, or where what an address names was fetched to."""
    address = address_of(source)
    return as_path(source) if address is None else fetch(address)


def fetch(address: str) -> Path:
    """The file, or the folder of files that a folder or a glob names, in the cache."""
    try:
        import fsspec  # comes with torch

        system, path = fsspec.core.url_to_fs(address)
        is_web = address.startswith("http")
        if re.search(r"[*[]" if is_web else r"[*?[]", path):
            files = sorted(system.glob(path))
        elif not is_web and system.isdir(path):
            files = sorted(system.find(path))
        else:
            return _fetched(system, path, [path], address) / _path_in(path).name
        if not files:
            raise DataError(f"{address} does not exist")
        return _fetched(system, path, files, address)
    except DataError:
        raise
    except Exception as error:  # each file system fails in its own way, some for want of a package
        why: BaseException = error
        if isinstance(error, FileNotFoundError):
            cause = error.__cause__
            status = getattr(cause, "status", 404)
            if status in (404, 410) and not isinstance(cause, OSError):
                raise DataError(f"{address} does not exist") from error
            why = cause or error  # nobody answered who would know, or not with what was asked
            if status < 400:
                raise DataError(
                    f"{address} is not read: the server sends one elsewhere without end"
                ) from error
        raise DataError(
            f"{address} is not read ({first_line(why)}): give another, or save the data to a file and give "
            "that"
        ) from error


def _fetched(system: Any, path: str, files: list[str], address: str) -> Path:
    """The folder that holds these files, those of a folder where they lay in it."""
    infos = [system.info(file) for file in files]
    told = [[str(info.get(name)) for name in _TELLS] for info in infos]
    key = hashlib.sha256(repr([address, files, told]).encode()).hexdigest()[:40]
    folder = default_cache_folder() / f"fetched-{key}"
    root = os.path.commonpath([str(_path_in(file).parent) for file in files])
    missing = []
    for file, info in zip(files, infos, strict=True):
        target = inside(folder, str(_path_in(file).relative_to(root)))
        if not target.exists():
            missing.append((file, target, int(info.get("size") or 0)))
    with progress_bar(f"Fetching {_path_in(path).name}", sum(size for *_, size in missing)) as advance:
        for file, target, size in missing:
            limit = Limit(address, size=size)  # what is sent may be packed
            with replacing(target) as partial, system.open(file, "rb") as source, partial.open("wb") as copy:
                while chunk := source.read(_CHUNK):
                    limit.take(len(chunk))
                    copy.write(chunk)
            advance(size)
    return folder


def _path_in(address: str) -> PurePosixPath:
    """An address as a path; one on the web may go on behind it, as a.csv?download=true does."""
    return PurePosixPath(re.sub(r"^(https?://[^?#]*).*", r"\1", address))
