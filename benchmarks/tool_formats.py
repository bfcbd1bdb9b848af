"""What other tools' own readers make of our files, and what comes back from them.

    python benchmarks/tool_formats.py write FOLDER
    OTHER/bin/python benchmarks/tool_formats.py review FOLDER [--junit-xsd FILE]
    python benchmarks/tool_formats.py read FOLDER       # results/tool_formats.jsonl

`write` makes suspects for Label Studio and FiftyOne, a SARIF log and JUnit XML. `review` runs where the tools
are installed (fiftyone, label-studio-sdk, sarif-pydantic, lxml), which need not be where graylearn is: their
readers take the files, a person's decisions are made with their own classes, and their writers write them.
`read` compares what graylearn reads back with what was decided.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

CLASSES = ("cat", 'a "b" <c>', "ünï|cödé")
ROWS: list[dict[str, Any]] = [
    {
        "id": f"{k}/{n}.png",
        "label": CLASSES[k],
        "score": 0.9 - 0.1 * n,
        "kind": "ood" if n == 2 else "mislabelled",
        "level": "sure",
        "suggested": None if n == 2 else CLASSES[(k + 1) % 3],
        "path": f"/photos/{k}/{n}.png",
        "data": {"image": f"/photos/{k}/{n}.png"},
    }
    for k in range(3)
    for n in range(4)
]
DECIDED = {0: "accept", 1: "keep", 2: "accept", 3: "drop"}
"""By the number of a sample in its class."""


def expected() -> list[list[Any]]:
    found = []
    for row in ROWS:
        done = DECIDED[int(row["id"].split("/")[1][0])]
        label = row["suggested"] if done == "accept" else None
        decision = "keep" if done == "keep" else "relabel" if label else "drop"
        found.append([row["id"], decision, label])
    return sorted(found)


def write(folder: Path) -> None:
    from graylearn.report import fiftyone, label_studio
    from graylearn.runs import check_files
    from graylearn.runs.check import WORDS, Checked, Problem

    (folder / "fiftyone").mkdir(parents=True, exist_ok=True)
    (folder / "fiftyone" / "metadata.json").write_text(json.dumps(fiftyone.metadata(CLASSES)))
    (folder / "fiftyone" / "samples.json").write_text(json.dumps(fiftyone.samples(ROWS, "run-1")))
    (folder / "tasks.json").write_text(json.dumps(label_studio.tasks(ROWS, "run-1")))
    (folder / "tasks.xml").write_text(label_studio.interface(CLASSES, "image"))
    problems = [
        Problem(f"{n:024x}", kind, f"sample {n}", n + 2, "cat", CLASSES[1] if n else None, "sure", n % 2 == 0)
        for n, kind in enumerate(WORDS)
    ]
    checked = Checked("data & more.csv", 100, tuple(problems), 1, 0, tuple(WORDS))
    (folder / "check.sarif").write_text(check_files.sarif(checked))
    (folder / "check.xml").write_text(check_files.junit(checked))


def review(folder: Path, junit_xsd: Path | None) -> None:
    seen = {
        "fiftyone": _review_fiftyone(folder),
        "label-studio-sdk": _review_label_studio(folder),
        "sarif-pydantic": _validate_sarif(folder / "check.sarif"),
    }
    if junit_xsd is not None:
        seen["junit xsd"] = _validate_junit(folder / "check.xml", junit_xsd)
    (folder / "review.json").write_text(json.dumps(seen))
    print(seen)


def _review_fiftyone(folder: Path) -> str:
    import fiftyone as fo
    from fiftyone.utils.data.importers import FiftyOneDatasetImporter

    importer = FiftyOneDatasetImporter(str(folder / "fiftyone"))
    assert importer._is_legacy_format_data()
    with importer._to_legacy_importer() as reader:
        samples = list(reader)
    assert len(samples) == len(ROWS)
    for sample, row in zip(samples, ROWS, strict=True):
        assert sample.filepath == row["path"]
        assert isinstance(sample.ground_truth, fo.Classification)
        assert sample.ground_truth.label == row["label"]
        done = DECIDED[int(row["id"].split("/")[1][0])]
        if done == "accept" and sample.suggested is not None and row["label"] == "cat":
            sample.ground_truth = sample.suggested  # edited in the App instead of tagged
        else:
            sample.tags.append(done)
    exported = {"samples": [json.loads(sample.to_json()) for sample in samples]}
    (folder / "samples.json").write_text(json.dumps(exported))
    return str(fo.__version__)


def _review_label_studio(folder: Path) -> str:
    import importlib.metadata

    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface((folder / "tasks.xml").read_text())
    interface.validate()
    tasks = json.loads((folder / "tasks.json").read_text())
    for task in tasks:
        for prediction in task["predictions"]:
            assert not interface.validate_prediction(prediction, return_errors=True)
        done = DECIDED[int(task["data"]["graylearn_id"].split("/")[1][0])]
        result = json.loads(json.dumps(task["predictions"][0]["result"]))
        if done == "keep":
            result[0]["value"]["choices"] = [task["data"]["graylearn_label"]]
        elif done == "drop":
            result[0]["value"]["choices"] = ["none of these"]
        task["annotations"] = [{"result": result, "was_cancelled": False}]
        assert interface.validate_annotation(task["annotations"][0])
    (folder / "export.json").write_text(json.dumps(tasks))
    return importlib.metadata.version("label-studio-sdk")


def _validate_sarif(path: Path) -> str:
    import importlib.metadata

    from sarif_pydantic import Sarif

    log = Sarif.model_validate_json(path.read_text())
    assert len(log.runs[0].results) == 5
    return importlib.metadata.version("sarif-pydantic")


def _validate_junit(path: Path, xsd: Path) -> str:
    from lxml import etree

    etree.XMLSchema(etree.parse(str(xsd))).assertValid(etree.parse(str(path)))
    return xsd.name


def read(folder: Path, out: Path) -> None:
    import record

    from graylearn.report.decision_files import decisions_in

    seen = json.loads((folder / "review.json").read_text())
    same = {}
    for tool, file in (("fiftyone", "samples.json"), ("label-studio-sdk", "export.json")):
        found = sorted([each.id, each.decision, each.label] for each in decisions_in(folder / file))
        same[tool] = found == expected()
    row = record.record("tool_formats", tools=seen, decisions=len(ROWS), same=same)
    record.append(row, out)
    print(same)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["write", "review", "read"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--junit-xsd", type=Path)
    results = Path(__file__).resolve().parent.parent / "results"
    parser.add_argument("--out", type=Path, default=results / "tool_formats.jsonl")
    args = parser.parse_args()
    if args.step == "write":
        write(args.folder)
    elif args.step == "review":
        review(args.folder, args.junit_xsd)
    else:
        sys.path.insert(0, str(Path(__file__).resolve().parent))
        read(args.folder, args.out)


if __name__ == "__main__":
    main()
