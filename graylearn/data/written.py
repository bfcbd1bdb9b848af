"""What may be written where: every command and every `save` asks here.

Nothing is written over but what graylearn wrote there itself, as the same kind of thing, and nobody has
changed since. That is known by the hashes of a ledger, a small file per output in the user's cache folder: a
folder that somebody else made cannot say of itself that it is ours. Where the ledger is lost nothing is
replaced any more. Never written over, and never written into, is what is read (`of`); a copy of it is for no
more eyes than it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from graylearn.data.atomic import (
    alone,
    check_place,
    remove_left,
    replacing,
    replacing_folder,
    restrict,
    signature,
    write_text,
)
from graylearn.errors import FolderTakenError, Hint, SettingsError
from graylearn.paths import address_of, default_cache_folder, matching

Hashes = dict[str, str]
"""SHA-256 of each file of an output by its path within it, "" of the output that is one; of folders ""."""
Given = str | os.PathLike[str]


@contextmanager
def writing(
    path: Given,
    kind: str,
    *,
    folder: bool = False,
    of: Iterable[Given | None] = (),
    overwrite: bool = True,
    update: bool = False,
) -> Iterator[Path]:
    """Give an empty file or folder beside `path` to write to, which takes its place in the end.

    Args:
        path: the output, of which one process at a time writes.
        kind: what it is, in words: an output of another kind is not replaced.
        folder: whether it is a folder, which is replaced as a whole.
        of: what is read to make it: a file, a folder or a pattern of files.
        overwrite: whether to replace what graylearn wrote there before.
        update: whether what is there was read as one of its kind, and is replaced whoever wrote it.
    """
    path, of = place(path), list(of)
    check_read(path, of)
    path.parent.mkdir(parents=True, exist_ok=True)
    taken = FolderTakenError(f"another process is writing {path}: wait for it, or name another")

    with alone(path.with_name(f".graylearn-{path.name}.lock"), taken):
        remove_left(path)
        check_there(path, kind, folder=folder, overwrite=overwrite, update=update)
        replace = replacing_folder if folder else replacing
        with replace(path) as partial:
            restrict(partial, permissions(of))
            yield partial
            found = hashes(partial)
            check_there(path, kind, folder=folder, overwrite=overwrite, update=update)  # it may have come now
            record(path, kind, found, known(path, kind))
        record(path, kind, found)


def check_writable(
    path: Given,
    kind: str,
    *,
    folder: bool = False,
    of: Iterable[Given | None] = (),
    overwrite: bool = True,
    update: bool = False,
) -> None:
    """Raise now what `writing` would raise once there is something to write; nothing is written."""
    path = place(path)
    check_read(path, of)
    check_there(path, kind, folder=folder, overwrite=overwrite, update=update)
    check_place(path)


def place(given: Given) -> Path:
    """Where an output lies in truth, whatever links name it; no name that may be taken otherwise."""
    if address_of(given) is not None:
        raise SettingsError(f"{given} is an address, where nothing is written: name a file or folder here")
    path = real(given)
    if str(path).encode(errors="replace").decode() != str(path):
        raise SettingsError(f"{given} has a name that is not UTF-8: give another")
    if path.suffix.lower() != Path(given).suffix.lower() and Path(given).is_symlink():
        raise SettingsError(f"{given} is a link to {path}, which ends otherwise: name that")
    return path


def real(path: Given) -> Path:
    """Where something lies in truth, whatever links name it."""
    return Path(os.path.realpath(path))


def check_read(path: Path, of: Iterable[Given | None]) -> None:
    """Refuse to write over what is read, into a folder of it, or where a folder that holds it would go."""
    for each in _all_named(of):
        read = real(each)
        if path == read or _same(path, read):
            raise SettingsError(f"{path} is the data itself, which is never written over; name another")
        if path.is_relative_to(read) and read.is_dir():
            raise SettingsError(f"{path} lies inside the data, {each}; name one outside")
        if read.is_relative_to(path):
            raise SettingsError(f"{path} holds the data, {each}, which are never written over; name another")


def _all_named(of: Iterable[Given | None]) -> Iterator[Path]:
    """What is read, with the files that a pattern among it finds."""
    for given in (Path(each) for each in of if each is not None and str(each)):
        yield given
        yield from matching(given)


def check_there(path: Path, kind: str, *, folder: bool, overwrite: bool, update: bool = False) -> None:
    """Refuse a place where something is that may not be replaced."""
    if not os.path.lexists(path):
        return
    if path.is_dir() != folder:
        raise FolderTakenError(f"{path} is a {'file' if folder else 'folder'}; name another")
    if folder and Path.cwd().is_relative_to(path):
        raise FolderTakenError(f"{path} is the folder that you are in; name one inside it")
    if folder and not any(path.iterdir()):
        return
    if update and path.is_file() and not is_read_only(path):
        return
    ours = known(path, kind)
    if ours is None:
        raise FolderTakenError(
            f"{path} exists already, and is no {kind} that graylearn wrote: name another, or remove it first"
        )
    if not overwrite:
        raise FolderTakenError(
            f"{path} exists already; name another", Hint("overwrite", True, "to replace it")
        )
    if (name := foreign(path, ours)) is not None:
        raise changed(path / name)


def changed(path: Path) -> FolderTakenError:
    """The error of a file that stands where one is to be replaced, and is not as graylearn wrote it."""
    why = "is read-only" if is_read_only(path) else "is not as graylearn wrote it"
    return FolderTakenError(f"{path} {why}, so it is not replaced: name another, or remove it first")


def foreign(path: Path, ours: Mapping[str, list[str]]) -> str | None:
    """The first of an output that graylearn did not write, or that is read-only; None where none is."""
    for name in names(path):
        each = path / name
        if is_read_only(each) or (name not in ours) or _hash(each) not in ours[name]:
            return name
    return None


def is_read_only(path: Path) -> bool:
    """Whether its permissions say so, also to those who may do anything."""
    return not path.lstat().st_mode & stat.S_IWUSR


def hashes(path: Path) -> Hashes:
    """Of an output, or of a part of it."""
    return {name: _hash(path / name) for name in names(path)}


def known(path: Path, kind: str) -> dict[str, list[str]] | None:
    """The hashes that the files of an output may have; None where graylearn wrote none of this kind there."""
    with suppress(OSError, SettingsError, ValueError, KeyError, TypeError):
        saved = json.loads(_entry(path).read_text(encoding="utf-8"))
        if saved["path"] == str(path) and saved["kind"] == kind:
            return {str(name): list(each) for name, each in saved["files"].items()}
    return None


def record(path: Path, kind: str, found: Hashes, before: Mapping[str, list[str]] | None = None) -> None:
    """Keep the hashes of what is about to be there and, as long as it is, of what was there before."""
    files = {name: [each] for name, each in found.items()}
    for name, each in (before or {}).items():
        files[name] = list(dict.fromkeys([*files.get(name, ()), *each]))
    with suppress(OSError, SettingsError):  # no place to keep it: it will not be replaced
        entry = _entry(path)
        entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_text(entry, json.dumps({"path": str(path), "kind": kind, "files": files}))


def permissions(of: Iterable[Given | None]) -> int:
    """Those that all that is read has in common, as a mask."""
    mask = -1
    for path in _all_named(of):
        for each in (path, *path.rglob("*")) if path.is_dir() else (path,):
            with suppress(OSError):
                mode = each.stat().st_mode
                mask &= ~0o066 | mode  # what its owner may do stays
    return mask


def _entry(path: Path) -> Path:
    """Where the ledger keeps an output."""
    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return default_cache_folder() / "written" / f"{key}.json"


def names(path: Path) -> Iterator[str]:
    """Paths within an output of all that is in it; "" of a file."""
    if not path.is_dir() or path.is_symlink():
        yield ""
        return
    for inside, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield (Path(inside) / name).relative_to(path).as_posix()


def _hash(path: Path) -> str:
    """ "" of a folder; of what is no file, such as a link, that of nothing that graylearn writes."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return ""
    return str(signature(path)["sha256"]) if stat.S_ISREG(mode) else "no file"


def _same(one: Path, other: Path) -> bool:
    """Whether two paths name one existing file, as where letters of either case are one."""
    try:
        return one.samefile(other)
    except OSError:
        return False
