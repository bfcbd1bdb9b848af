"""Label Studio: tasks as its import reads them, and its export as decisions."""

import json
from xml.etree import ElementTree

import pytest

from graylearn.errors import DataError
from graylearn.report import Decision
from graylearn.report.decisions import NONE, decisions_in, interface, tasks

ROWS = [
    {"id": 7, "label": "cat", "score": 0.9, "suggested": "dog", "data": {"text": "woof"}},
    {"id": "b", "label": "dog", "score": 0.8, "suggested": None, "data": {"text": "hello"}},
    {"id": "c", "label": "dog", "score": 0.7, "suggested": "cat", "data": {"text": "meow"}},
    {"id": "d", "label": "dog", "score": 0.6, "suggested": "cat", "data": {"text": "purr"}},
]


def test_tasks_fit_the_interface():
    """By the published format of tasks: data, predictions of model_version, score and result."""
    classes = ["cat", 'a "b" <c>', "two\n lines\t'"]
    view = ElementTree.fromstring(interface(classes, "text"))
    shown, control = list(view)
    assert [choice.get("value") for choice in control] == [*classes, NONE]
    made = json.loads(json.dumps(tasks(ROWS, "run-1")))
    for task, row in zip(made, ROWS, strict=True):
        assert set(task) == {"data", "predictions"}
        assert shown.get("value").removeprefix("$") in task["data"]
        (prediction,) = task["predictions"]
        assert set(prediction) == {"model_version", "score", "result"}
        assert prediction["score"] == row["score"]
        (result,) = prediction["result"]
        assert result["from_name"] == control.get("name")
        assert result["to_name"] == control.get("toName") == shown.get("name")
        assert result["type"] == "choices"
        assert result["value"]["choices"] == [row["suggested"] or NONE]


def test_a_class_is_not_taken_for_the_answer_that_drops():
    with pytest.raises(DataError, match="a class is called 'none of these', as the answer is that drops"):
        interface(["cat", "none of these"], "text")


def test_what_people_decided_comes_back(tmp_path):
    exported = tasks(ROWS, "run-1")
    for task, choice in zip(exported, ("dog", NONE, "dog", None), strict=True):
        answer = {
            "from_name": "label",
            "to_name": "sample",
            "type": "choices",
            "value": {"choices": [choice]},
        }
        old = {"was_cancelled": True, "result": [answer]}
        task["annotations"] = [old] if choice is None else [{"result": []}, {"result": [answer]}]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(exported))
    found = decisions_in(path)
    assert found == [Decision("7", "relabel", "dog"), Decision("b", "drop"), Decision("c", "keep")]
    assert {each.run for each in found} == {"run-1"}
    assert [each.given for each in found] == ["cat", "dog", "dog"]


def answered(choices):
    return {"result": [{"from_name": "label", "value": {"choices": choices}}]}


def exported(**task):
    return json.dumps([{"data": {"graylearn_id": 1, "graylearn_label": "cat"}, **task}])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "no JSON export"),
        ('[{"data": {}}]', "has no graylearn_id"),
        (json.dumps(tasks(ROWS)), "tasks without answers"),
        (exported(annotations=3), "task 1 is not as Label Studio exports it"),
        (exported(annotations=[answered(["dog"])], data={"graylearn_id": 1}), "'graylearn_label'"),
    ],
)
def test_other_files_are_refused(tmp_path, content, told):
    (tmp_path / "export.json").write_text(content)
    with pytest.raises(DataError, match=told):
        decisions_in(tmp_path / "export.json")
