"""FiftyOne: samples with fields and tags as its reader takes them, and its samples.json as decisions."""

import json

import pytest

from graylearn.errors import DataError
from graylearn.report import Decision
from graylearn.report.decisions import decisions_in, metadata, samples

ROWS = [
    {"id": f"{label}/{name}.png", "label": label, "score": score, "kind": kind, "level": level,
     "suggested": suggested, "path": f"/photos/{label}/{name}.png"}
    for name, label, score, kind, level, suggested in (
        ("a", "cat", 0.9, "mislabelled", "sure", "dog"),
        ("b", "cat", 0.8, "ood", "review", None),
        ("c", "dog", 0.7, "mislabelled", "review", "cat"),
        ("d", "dog", 0.6, "mislabelled", "", "cat"),
        ("e", "dog", 0.5, "mislabelled", "", "cat"),
        ("f", "dog", 0.4, "mislabelled", "", "cat"),
    )
]  # fmt: skip


def test_samples_are_what_fiftyone_writes_itself():
    """By what fiftyone 1.22 gives for Sample.to_dict(), whose keys and classes these are."""
    made = json.loads(json.dumps(samples(ROWS, "run-1")))
    assert set(made) == {"samples"}
    first, second = made["samples"][:2]
    assert first == {
        "filepath": "/photos/cat/a.png",
        "tags": ["suspect", "mislabelled", "sure"],
        "ground_truth": {"_cls": "Classification", "tags": [], "label": "cat"},
        "suggested": {"_cls": "Classification", "tags": [], "label": "dog"},
        "graylearn_score": 0.9,
        "graylearn_id": "cat/a.png",
        "graylearn_label": "cat",
        "graylearn_run": "run-1",
    }
    assert second["suggested"] is None
    assert "version" not in metadata(["cat", "dog"])  # with one FiftyOne expects its database's own fields


def test_what_people_decided_comes_back(tmp_path):
    exported = samples(ROWS, "run-1")
    for each in exported["samples"]:  # what the database adds
        each |= {"_id": {"$oid": "6afafcd7d12d4c939bcca801"}, "created_at": {"$date": "2026-01-01T00:00:00Z"}}
    for each, tag in zip(exported["samples"], ("accept", "accept", "keep", "drop", None, None), strict=True):
        each["tags"] += [] if tag is None else [tag]
    exported["samples"][4]["ground_truth"] = {"_cls": "Classification", "label": "cat"}
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(exported))
    found = decisions_in(path)
    assert found == [
        Decision("cat/a.png", "relabel", "dog"),
        Decision("cat/b.png", "drop"),
        Decision("dog/c.png", "keep"),
        Decision("dog/d.png", "drop"),
        Decision("dog/e.png", "relabel", "cat"),
    ]
    assert {each.run for each in found} == {"run-1"}
    assert [each.given for each in found] == ["cat", "cat", "dog", "dog", "dog"]


def test_what_is_unclear_is_refused(tmp_path):
    path = tmp_path / "samples.json"
    exported = samples(ROWS[:1])
    exported["samples"][0]["tags"] += ["keep", "drop"]
    odd = {**exported["samples"][0], "tags": [], "ground_truth": "cat"}
    for content, told in (
        (exported, "sample 1 is not .* the tags keep and drop"),
        ({"samples": [{}]}, "has no graylearn_id"),
        ({"samples": [odd]}, "sample 1 is not as FiftyOne exports it"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(DataError, match=told):
            decisions_in(path)
