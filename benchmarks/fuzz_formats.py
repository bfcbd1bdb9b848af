"""More of what is fuzzed: formats that other libraries read for us, and the files of Label Studio."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa

import graylearn as gl
from benchmarks.fuzz_mutate import changed, damaged
from graylearn.report.decisions import NONE, decisions_in, tasks

Case = Callable[[Random], None]
Make = Callable[[Path], Case]
PETS = pd.DataFrame(
    {
        "size": [1.5, 2.5, 3, 4, 5, 6],
        "colour": ["red", "blue", None, "red", "blue", "red"],
        "when": pd.to_datetime(["2024-01-01"] * 3 + ["2025-06-30"] * 3),
        "label": ["cat", "dog"] * 3,
    }
)
PLAIN = "size,colour,label\n1.5,red,cat\n2.5,blue,dog\n3,red,cat\n4,,dog\n5,red,cat\n6,blue,dog\n"


def check_samples(samples: gl.Samples) -> None:
    """Whether what was read fits together."""
    n = len(samples.y)
    assert n > 0
    assert len(samples.x) == n == len(samples.ids)
    assert samples.y.min() >= -1
    assert samples.y.max() < max(len(samples.classes), 1)
    assert len(set(samples.classes)) == len(samples.classes)


def read(path: Path, rng: Random) -> None:
    """Read a file or a folder one way or another."""
    label = rng.choice(["label", "label", -1, None])
    check_samples(gl.read(path, label=label, labelled=rng.random() > 0.1))


def of_file(path: Path, end: Callable[[Path, Random], Any] = read) -> Case:
    """Damage to the bytes of a file, and what reads it then."""
    whole = path.read_bytes()

    def case(rng: Random) -> None:
        path.write_bytes(damaged(whole, rng))
        end(path, rng)

    return case


def of_folder(folder: Path, names: Iterable[str], end: Callable[[Path, Random], Any]) -> Case:
    """Damage to the bytes of one of some files, or to a value of one that is JSON; the others are whole."""
    wholes = {name: (folder / name).read_bytes() for name in names}

    def case(rng: Random) -> None:
        for name, whole in wholes.items():
            (folder / name).write_bytes(whole)
        name = rng.choice(list(wholes))
        if name.endswith(".json") and rng.random() < 0.7:
            (folder / name).write_text(json.dumps(changed(json.loads(wholes[name]), rng)))
        else:
            (folder / name).write_bytes(damaged(wholes[name], rng))
        end(folder, rng)

    return case


def _zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def _zipped(content: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", content)
    return written.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, 1),
    "bz2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zst": _zstd,
    "zip": _zipped,
}


def read_compressed(folder: Path) -> Case:
    """Text in every compression: damage before or behind it."""
    whole = PLAIN.encode()

    def case(rng: Random) -> None:
        ending = rng.choice(list(PACKED))
        pack = PACKED[ending]
        path = folder / f"a.csv.{ending}"
        path.write_bytes(pack(damaged(whole, rng)) if rng.random() < 0.5 else damaged(pack(whole), rng))
        read(path, rng)

    return case


def read_excel(folder: Path) -> Case:
    """Workbooks: damage to the archive, or to one of the XML files in it."""
    path = folder / "a.xlsx"
    PETS.to_excel(path, index=False)
    whole = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def case(rng: Random) -> None:
        if rng.random() < 0.4:
            path.write_bytes(damaged(whole, rng))
        else:
            bad = rng.choice(list(members))
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in members.items():
                    archive.writestr(name, damaged(content, rng) if name == bad else content)
        read(path, rng)

    return case


def read_sqlite(folder: Path) -> Case:
    """A database of SQLite, its pages damaged."""
    path = folder / "a.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("PRAGMA page_size = 512")
        PETS.assign(when=PETS["when"].astype(str)).to_sql("pets", base, index=False)
    return of_file(path)


def read_duckdb(folder: Path) -> Case:
    """A database of DuckDB; where its checksums notice nothing, the damage is in free space."""
    import duckdb

    path = folder / "a.duckdb"
    with duckdb.connect(str(path)) as base:
        base.register("frame", PETS)
        base.execute("CREATE TABLE pets AS SELECT * FROM frame")
    check_samples(gl.read(path))  # hardly any damage goes unnoticed, so that no case may show it
    return of_file(path)


def read_hugging_face(folder: Path) -> Case:
    """A folder of `save_to_disk`: damage to what describes it, or to its rows."""
    import datasets

    path = folder / "pets"
    datasets.disable_progress_bars()
    datasets.Dataset.from_pandas(PETS.drop(columns="when")).save_to_disk(str(path))
    return of_folder(path, [each.name for each in path.iterdir()], read)


def label_studio(folder: Path) -> Case:
    """An export of Label Studio, as decisions."""
    path = folder / "export.json"
    row = {"label": "cat", "score": 0.5, "suggested": "dog", "data": {"text": "a"}}
    rows = [{"id": number, **row} for number in range(3)]
    exported: list[Any] = tasks(rows, "run")
    for task, choice in zip(exported, ("dog", NONE, "cat"), strict=True):
        answer = {
            "from_name": "label",
            "to_name": "sample",
            "type": "choices",
            "value": {"choices": [choice]},
        }
        task["annotations"] = [{"was_cancelled": False, "result": [answer]}]
    whole = json.dumps(exported).encode()
    path.write_bytes(whole)
    assert [each.decision for each in decisions_in(path)] == ["relabel", "drop", "keep"]

    def case(rng: Random) -> None:
        plain = rng.random() < 0.7
        path.write_bytes(json.dumps(changed(exported, rng)).encode() if plain else damaged(whole, rng))
        for each in decisions_in(path):
            assert each.decision in ("keep", "drop", "relabel")
            assert (each.decision == "relabel") == bool(each.label)
            assert isinstance(each.id, str)

    return case


FORMATS: dict[str, Make] = {
    "read compressed": read_compressed,
    "read excel": read_excel,
    "read sqlite": read_sqlite,
    "read duckdb": read_duckdb,
    "read hugging face": read_hugging_face,
    "label studio": label_studio,
}
