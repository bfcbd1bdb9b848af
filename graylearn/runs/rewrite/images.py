"""Image folders: a new tree with each image in the folder of its class, or a manifest of where they lie."""

from __future__ import annotations

import csv
import io
import os
import shutil
from pathlib import Path, PurePosixPath

from graylearn.data.progress import progress_bar
from graylearn.errors import SettingsError
from graylearn.runs.rewrite.change import Change, write_bytes


def rewrite_image_folder(data: Path, out: Path, change: Change, *, link: bool, overwrite: bool) -> None:
    """A new tree with each image in the folder of its class, or a manifest where `out` ends in .csv."""
    label_of = {place: change.labels[change.label_of[place]] for place in change.places}
    if out.suffix.lower() == ".csv":
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(["path", "label"])
        for place in change.places:
            relative = os.path.relpath(data / change.ids[place], out.absolute().parent)
            writer.writerow([Path(relative).as_posix(), label_of[place]])
        write_bytes(out, written.getvalue().encode("utf-8"))
        return
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        taken = {change.ids[place] for place in change.places if change.label_of[place] == place}
        with progress_bar("Images", len(change.places)) as advance:
            for place in change.places:
                name = change.ids[place]
                if change.label_of[place] != place:
                    name = _free_name(name, label_of[place], taken)
                    taken.add(name)
                target = partial / name
                target.parent.mkdir(parents=True, exist_ok=True)
                _bring(data / change.ids[place], target, link)
                advance(1)
        if overwrite and out.is_dir():
            shutil.rmtree(out)
        elif out.exists():
            out.unlink()
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _free_name(name: str, label: str, taken: set[str]) -> str:
    """The path of an image in another class's folder, changed where one of that name is there."""
    old_label, *inside = PurePosixPath(name).parts
    moved = PurePosixPath(label, *inside)
    number = 1
    while str(moved) in taken:
        stem = f"{PurePosixPath(name).stem} (from {old_label}{f' {number}' if number > 1 else ''})"
        moved = PurePosixPath(label, *inside[:-1], stem + PurePosixPath(name).suffix)
        number += 1
    return str(moved)


def _bring(source: Path, target: Path, link: bool) -> None:
    if link:
        try:
            os.link(source, target)
            return
        except OSError as error:
            raise SettingsError(
                f"{target.parent} cannot hold hard links to {source.parent} ({error.strerror}); "
                "leave out --link to copy"
            ) from error
    shutil.copy2(source, target)
