"""What is fuzzed: everything that reads what somebody else wrote, one target each.

A target is made once, in a folder of its own, and then called with a `random.Random` a case. A case ends in
right data, which the target looks at, or in the error that it is allowed; everything else is a finding.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import pickle
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import safetensors.torch
import torch
from PIL import Image

import graylearn as gl
from benchmarks.fuzz_formats import FORMATS, PETS, PLAIN, Case, Make, check_samples, of_file, of_folder
from benchmarks.fuzz_mutate import VALUES, changed, damaged
from graylearn.data.images import UnreadableImageError, decode_image
from graylearn.errors import GraylearnError
from graylearn.losses import gray_loss
from graylearn.report import read_decisions
from graylearn.runs.settings import FIELDS, read_settings, settings_from, to_toml
from graylearn.training.checkpoint import NAME, _checksum, load_checkpoint
from graylearn.training.history import History
from reproduction.catalog.safe_pickle import load_plain_pickle

ALLOWED: tuple[type[Exception], ...] = (GraylearnError, UnreadableImageError)
"""How a case may end that does not end in right data: in one sentence."""

TEXTS = {
    "plain.csv": PLAIN,
    "decimal.csv": "id;preis;tag;label\n1;37,22;31.12.2024;x\n2;-;01.02.2024;y\n3;1.234,5;03.03.2024;x\n",
    "quoted.tsv": 'text\tlabel\n"a\n""b"""\tx\nc\ty\n"d, e"\tx\n',
    "lines.jsonl": '{"text":"a b","label":1}\n{"text":"c","label":2}\n{"text":null,"label":1}\n',
    "list.json": '[{"a":1.5,"b":[1,2],"label":1},{"a":2,"b":[3,4],"label":2},{"a":null,"b":[0,1],"label":1}]',
}


def read_text(folder: Path) -> Case:
    """CSV, TSV and JSON, as text."""
    cases = []
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
        cases.append(of_file(folder / name))
    return lambda rng: rng.choice(cases)(rng)


def read_parquet(folder: Path) -> Case:
    """Parquet, of plain columns and of vectors."""
    PETS.to_parquet(folder / "a.parquet")
    vectors = pa.table(
        {"v": [[float(row)] * 5 for row in range(6)], "w": [["a"]] * 6, "label": list("xyxyxy")}
    )
    pa.parquet.write_table(vectors.drop(["w"]), folder / "b.parquet", row_group_size=4)
    pa.parquet.write_table(vectors, folder / "c.parquet", data_page_version="2.0")
    cases = [of_file(folder / name) for name in ("a.parquet", "b.parquet", "c.parquet")]
    return lambda rng: rng.choice(cases)(rng)


def read_feather(folder: Path) -> Case:
    """Feather, compressed and not, and a stream."""
    PETS.to_feather(folder / "a.feather")
    PETS.to_feather(folder / "b.arrow", compression="uncompressed")
    table = pa.Table.from_pandas(PETS)
    with pa.ipc.new_stream(folder / "c.arrow", table.schema) as stream:
        stream.write_table(table)
    views = pa.table(
        {"a": pa.array(["a", "text longer than a view"] * 3, pa.string_view()), "label": list("xyxyxy")}
    )
    with pa.ipc.new_file(folder / "d.arrow", views.schema) as file:
        file.write_table(views)
    cases = [of_file(folder / name) for name in ("a.feather", "b.arrow", "c.arrow", "d.arrow")]
    return lambda rng: rng.choice(cases)(rng)


def read_npz(folder: Path) -> Case:
    """numpy's archives, also with members that are damaged and packed again."""
    x, y = np.arange(24.0).reshape(6, 4), np.arange(6) % 2
    np.savez_compressed(folder / "a.npz", x=x, y=y)
    np.save(folder / "b.npy", x)
    cases = [of_file(folder / "a.npz"), of_file(folder / "b.npy")]
    member = (folder / "b.npy").read_bytes()
    labels = io.BytesIO()
    np.save(labels, y)

    def packed_again(rng: Random) -> None:
        path = folder / "c.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", damaged(member, rng))
            archive.writestr("y.npy", labels.getvalue())
        check_samples(gl.read(path))

    return lambda rng: rng.choice([*cases, packed_again])(rng)


def images(folder: Path) -> Case:
    """Every kind of image that is taken."""
    small = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    wholes = []
    for kind in ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM", "TGA"):
        written = io.BytesIO()
        Image.fromarray(small).save(written, kind)
        wholes.append(written.getvalue())

    def case(rng: Random) -> None:
        assert len(decode_image(damaged(rng.choice(wholes), rng), 8)) == 8 * 8 * 3

    return case


def pickles(folder: Path) -> Case:
    """The pickles of image datasets, and ones that call things."""
    x, path = np.arange(12, dtype=np.uint8).reshape(3, 4), folder / "batch"
    wholes = [pickle.dumps({"data": x, b"labels": [0, 1, 0]}, protocol) for protocol in range(6)]
    wholes.append(b"cos\nsystem\n(S'false'\ntR.")

    def case(rng: Random) -> None:
        path.write_bytes(damaged(rng.choice(wholes), rng))
        assert isinstance(load_plain_pickle(path), dict)

    return case


def _signature(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@functools.cache
def _fitted() -> gl.GrayClassifier:
    frame = PETS.drop(columns="label")
    x = pd.concat([frame] * 4, ignore_index=True)
    classifier = gl.GrayClassifier(network_options={"hidden": [4]}, epochs=2, refine=False, random_state=0)
    classifier.fit(x, PETS["label"].tolist() * 4)
    return classifier


def _damaged_header(whole: bytes, rng: Random) -> bytes:
    """safetensors with another header, whose length fits."""
    (size,) = struct.unpack("<Q", whole[:8])
    header = json.dumps(changed(json.loads(whole[8 : 8 + size]), rng)).encode()
    return struct.pack("<Q", len(header)) + header + whole[8 + size :]


def model(folder: Path) -> Case:
    """A saved classifier, its files damaged; half of the time signed again, as a stranger may."""
    classifier = _fitted()
    classifier.save(folder)
    frame = PETS.drop(columns="label")
    names = ("weights.safetensors", "history.npz", "audit/audit.json", "audit/arrays.npz")
    wholes = {name: (folder / name).read_bytes() for name in names}
    text = (folder / "model.json").read_text()
    manifest = json.loads(text)

    def case(rng: Random) -> None:
        for name, whole in wholes.items():
            (folder / name).write_bytes(whole)
        if rng.random() < 0.2:
            (folder / "model.json").write_bytes(damaged(text.encode(), rng))
        else:
            content = manifest["model"]
            if rng.random() < 0.6:
                content = changed(content, rng)
            else:
                name = rng.choice(names)
                if name == "weights.safetensors" and rng.random() < 0.5:
                    bad = _damaged_header(wholes[name], rng)
                elif name.endswith(".json"):
                    bad = json.dumps(changed(json.loads(wholes[name]), rng)).encode()
                else:
                    bad = damaged(wholes[name], rng)
                (folder / name).write_bytes(bad)
                content = {**content, "files": {**content["files"], name: _signature(bad)}}
            signed = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            whole = {**manifest, "model": content, "sha256": signed}
            (folder / "model.json").write_text(json.dumps(whole))
        loaded = gl.GrayClassifier.load(folder)
        if rng.random() < 0.1:
            assert loaded.predict_proba(frame).shape == (6, len(loaded.classes_))

    return case


def audits(folder: Path) -> Case:
    """A saved audit."""
    audit = _fitted().audit_
    assert audit is not None
    audit.save(folder)

    def end(folder: Path, rng: Random) -> None:
        assert len(gl.Audit.load(folder).table) == len(audit.ids)

    return of_folder(folder, ("audit.json", "arrays.npz"), end)


def histories(folder: Path) -> Case:
    """A saved history."""
    path = folder / "history.npz"
    _fitted().history_.save(path)
    return of_file(path, lambda path, rng: History.load(path))


def checkpoints(folder: Path) -> Case:
    """A checkpoint, its bytes or its header damaged, or its state changed and signed again."""
    x, y = torch.randn(12, 3), torch.arange(12) % 2
    gl.train(torch.nn.Linear(3, 2), (x, y), epochs=1, checkpoint=folder, log="none")
    path = folder / NAME
    whole = path.read_bytes()
    arrays = safetensors.torch.load(whole)  # from a file they are mapped, and the file is damaged below
    with safetensors.safe_open(path, "pt") as file:
        state = json.loads(file.metadata()["state"])

    def case(rng: Random) -> None:
        if rng.random() < 0.5:
            text = json.dumps(changed(state, rng))
            bad = safetensors.torch.save(arrays, {"state": text, "sha256": _checksum(arrays, text)})
        else:
            bad = _damaged_header(whole, rng) if rng.random() < 0.5 else damaged(whole, rng)
        path.write_bytes(bad)
        weights, found = load_checkpoint(folder)
        assert isinstance(weights, dict)
        assert isinstance(found, dict)

    return case


def settings(folder: Path) -> Case:
    """Settings in TOML and YAML, and values that no file could spell."""
    toml = (
        'data = "a.csv"\nlabel = "y"\nepochs = 3\nrefine = false\nwithout = ["a", "b"]\nlearning_rate = 0.1\n'
    )
    yaml = "data: a.csv\nlabel: y\nepochs: 3\nrefine: no\nwithout: [a, b]\nlearning_rate: 1e-1\n"
    names = [*FIELDS, "epoch", "", "word"]

    def case(rng: Random) -> None:
        if rng.random() < 0.4:
            values = {rng.choice(names): rng.choice(VALUES) for _ in range(3)}
            found = settings_from(values, "here")
        else:
            is_toml = rng.random() < 0.5
            path = folder / ("a.toml" if is_toml else "a.yaml")
            path.write_bytes(damaged((toml if is_toml else yaml).encode(), rng))
            found = settings_from(read_settings(path), str(path))
        again = folder / "again.toml"
        again.write_text(to_toml(found), encoding="utf-8")
        back = settings_from(read_settings(again), "again")
        paths = dict.fromkeys(("data", "test", "annotations"))  # these are read beside the file
        assert vars(back) | paths == vars(found) | paths

    return case


def decisions(folder: Path) -> Case:
    """The decisions of a report."""
    path = folder / "decisions.csv"
    path.write_text(
        'id,decision,label,given,run\n2,keep,,ant,ab\n3,drop,,bee,ab\n"4, ""x""",relabel,cow,ant,ab\n'
    )

    def end(path: Path, rng: Random) -> None:
        found = read_decisions(path)
        assert len({decision.id for decision in found}) == len(found)
        assert all((decision.decision == "relabel") == bool(decision.label) for decision in found)

    return of_file(path, end)


# The loss: arguments of any type, shape and value; what comes back is compared in float64.

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
OTHERS: tuple[Any, ...] = (None, 1, "mean", [1.0, 2.0], torch.tensor(1), torch.tensor([True]), torch.zeros(0))
ODD = (math.inf, -math.inf, math.nan, 1e38, -1e38, 1e-45, 0.0, 88.8, -104.0)
RAISED = (ValueError, TypeError, RuntimeError, IndexError)
"""What torch.nn.functional raises of arguments that cannot be."""


def _arguments(rng: Random) -> tuple[list[Any], dict[str, Any]]:
    seed = torch.Generator().manual_seed(rng.randrange(1 << 30))
    n, k = rng.choice((0, 1, 2, 5, 33)), rng.choice((0, 1, 2, 3, 10, 40))
    shape = rng.choice(((n, k), (n, k), (n, k), (k,), (n, k, 2), (n, k, 2, 3), ()))
    logits: Any = torch.randn(shape, generator=seed, dtype=torch.float64) * rng.choice((0.01, 1, 30, 1e4))
    for _ in range(rng.choice((0, 0, 0, 2))):
        if logits.numel():
            logits.view(-1)[rng.randrange(logits.numel())] = rng.choice(ODD)
    logits = logits.to(rng.choice(FLOATS))
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target: Any = torch.randint(0, max(k, 1), rows, generator=seed)
    if rng.random() < 0.2 and target.numel():
        target.view(-1)[rng.randrange(target.numel())] = rng.choice((-100, -1, k, 1 << 40, 0))
    target = target.to(rng.choice((torch.int64,) * 5 + (torch.int32, torch.uint8, torch.float32, torch.bool)))
    options: dict[str, Any] = {
        "confidence": rng.choice(
            ("max", "label", "relative", "max", "none", torch.rand(rows, generator=seed))
        ),
        "weight": rng.choice((None, None, torch.rand(k, generator=seed), torch.zeros(k), torch.ones(k + 1))),
        "ignore_index": rng.choice((-100, -100, 0, -1, 1 << 40)),
        "reduction": rng.choice(("mean", "sum", "none", "mean", "average")),
        "detach": rng.random() < 0.9,
        "impl": rng.choice(("auto", "auto", "fused", "reference", "fast")),
    }
    if rng.random() < 0.1:
        logits = rng.choice(OTHERS)
    if rng.random() < 0.1:
        target = rng.choice(OTHERS)
    if rng.random() < 0.2:
        options[rng.choice(list(options))] = rng.choice(OTHERS)
    return [logits, target], options


def loss(folder: Path) -> Any:
    """`gray_loss`: a sentence, or the value and gradient that the reference has in float64."""

    def case(rng: Random) -> None:
        (logits, target), options = _arguments(rng)
        tensor = isinstance(logits, torch.Tensor) and logits.is_floating_point()
        if tensor:
            logits.requires_grad_()
        try:
            value = gray_loss(logits, target, **options)
        except RAISED as error:
            sentence = str(error)
            assert sentence
            assert "\n" not in sentence, sentence
            assert "unsupported operand" not in sentence, sentence
            return
        if value.numel() and value.requires_grad:
            value.sum().backward()
        exact = logits.detach().double().requires_grad_()
        weight = options["weight"]
        plain = {**options, "impl": "reference", "weight": None if weight is None else weight.double()}
        if isinstance(options["confidence"], torch.Tensor):
            plain["confidence"] = options["confidence"].double()
        expected = gray_loss(exact, target, **plain)
        assert value.shape == expected.shape
        coarse = logits.dtype in (torch.bfloat16, torch.float16)
        close = {"rtol": 2e-2, "atol": 2e-2} if coarse else {"rtol": 1e-4, "atol": 1e-5}
        largest = torch.finfo(value.dtype).max
        fits = torch.isfinite(expected) & (expected.abs() < largest * 0.9)
        torch.testing.assert_close(value.double()[fits], expected[fits], **close, check_dtype=False)
        if logits.grad is not None and fits.all() and torch.isfinite(exact.detach()).all():
            expected.sum().backward()
            torch.testing.assert_close(logits.grad.double(), exact.grad, **close, check_dtype=False)

    return case


TARGETS: dict[str, Make] = FORMATS | {
    "read text": read_text,
    "read parquet": read_parquet,
    "read feather": read_feather,
    "read npz": read_npz,
    "images": images,
    "pickles": pickles,
    "model": model,
    "audit": audits,
    "history": histories,
    "checkpoint": checkpoints,
    "settings": settings,
    "decisions": decisions,
    "loss": loss,
}
"""Every target by its name."""
