"""The tools of an assistant, as the SDK's own client calls them: through a process, and in this one."""

import json
import sys

import anyio
import numpy as np
import pandas as pd
import pytest
from mcp import Client, StdioServerParameters, types
from PIL import Image
from sklearn.datasets import load_digits

from graylearn.cli.mcp import LOG, served
from graylearn.runs import RunProgress, RunSettings, run

QUIET = RunProgress(quiet=True)
OX = {"id": "cat/0.png", "decision": "relabel", "label": "ox"}
ME = types.Implementation(name="a-client", version="3")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a table of which 24 labels are wrong, and with photos; a run of each."""
    folder = tmp_path_factory.mktemp("assistant")
    x, y = (part[:600] for part in load_digits(return_X_y=True))
    names = np.array([f"digit {k}" for k in range(10)])
    table = pd.DataFrame(x, columns=[f"p{k}" for k in range(64)]).assign(label=names[y])
    wrong = np.random.default_rng(0).permutation(600)[:24]
    table.loc[wrong, "label"] = names[(y[wrong] + 3) % 10]
    table.insert(0, "id", [f"scan {k}" for k in range(600)])
    table.to_csv(folder / "digits.csv", index=False)
    for number in range(40):
        path = folder / "photos" / ("cat", "dog")[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 80, (8, 8, 3)) + 120 * (number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    photos = RunSettings(command="audit", data=str(folder / "photos"), features="pixels", epochs=1)
    run(photos, folder / "photos-run", progress=QUIET)
    return folder


def talk(server, *calls):
    """What a client is answered: (whether it is an error, its parts) of each call."""

    async def main():
        async with Client(server, client_info=ME) as client:
            return [await client.call_tool(name, given) for name, given in calls]

    return [(each.is_error, each.content) for each in anyio.run(main)]


def told(answer):
    is_error, content = answer
    assert not is_error, content
    return json.loads(content[0].text)


def test_a_set_is_audited_decided_and_cleaned_over_standard_input(data):
    """In a process of its own, as an assistant starts it."""
    before = (data / "digits.csv").read_bytes()
    command = "from graylearn.cli import main; main()"
    server = StdioServerParameters(command=sys.executable, args=["-c", command, "mcp", str(data)])
    found, listed = map(
        told,
        talk(
            server,
            ("audit", {"data": "digits.csv", "label": "label", "run": "run"}),
            ("suspects", {"run": "run", "count": 3}),
        ),
    )
    assert found["samples"] == 600
    assert 15 < found["suspected"] == listed["suspects"] < 40
    assert len(listed["listed"]) == 3
    first, second = listed["listed"][:2]
    assert first["kind"] == "mislabelled"
    assert max(first["likely"], key=first["likely"].get) == first["suggested"] != first["label"]
    assert first["decided"] is None
    assert not (data / "run" / LOG).exists()
    decisions = [
        {"id": first["id"], "decision": "relabel", "label": first["suggested"], "why": "its neighbours"},
        {"id": second["id"], "decision": "drop"},
    ]
    seen, logged, left, written = map(
        told,
        talk(
            served(data),  # in this process: another has the log and the run of the one before
            ("look", {"run": "run", "id": first["id"]}),
            ("decide", {"run": "run", "decisions": decisions, "by": "Ada"}),
            ("suspects", {"run": "run", "undecided": True}),
            ("apply", {"run": "run", "out": "clean.csv"}),
        ),
    )
    assert set(seen["content"]) >= {"p0", "p1"}
    assert len(seen["nearest"]) == 3
    assert logged["decided"] == 2
    assert left["suspects"] == listed["suspects"] - 2
    assert (written["relabelled"], written["dropped"]) == (1, 1)
    clean = pd.read_csv(data / "clean.csv").set_index("id")
    assert clean.loc[first["id"], "label"] == first["suggested"]
    assert second["id"] not in clean.index
    assert (data / "digits.csv").read_bytes() == before


def test_every_decision_is_logged_with_who_made_it_and_the_last_one_counts(data):
    run(
        RunSettings(command="audit", data=str(data / "digits.csv"), label="label"),
        data / "logged",
        progress=QUIET,
    )
    server = served(data)
    one = {"run": "logged", "decisions": [{"id": "scan 5", "decision": "drop"}], "by": "a model"}
    two = {"run": "logged", "decisions": [{"id": "scan 5", "decision": "keep"}], "by": "Ada"}
    answers = talk(server, ("decide", one), ("decide", two))
    assert [told(each)["decided"] for each in answers] == [1, 1]
    log = [json.loads(line) for line in (data / "logged" / LOG).read_text().splitlines()]
    assert [(line["by"], line["through"], line["decision"]) for line in log] == [
        ("a model", "a-client 3", "drop"),
        ("Ada", "a-client 3", "keep"),
    ]
    assert told(talk(server, ("apply", {"run": "logged", "out": "kept.csv"}))[0])["dropped"] == 0


def test_nothing_is_written_without_apply(data):
    def files():
        return {path: path.read_bytes() for path in data.rglob("*") if path.is_file() and path.name != LOG}

    server, before = served(data), files()
    talk(
        server,
        ("suspects", {"run": "photos-run"}),
        ("look", {"run": "photos-run", "id": "cat/0.png"}),
        (
            "decide",
            {"run": "photos-run", "decisions": [{"id": "cat/0.png", "decision": "drop"}], "by": "Ada"},
        ),
        ("check", {"data": "digits.csv", "label": "label", "allowed": "5%"}),
    )
    assert files() == before


def test_a_photo_is_shown_as_a_picture(data):
    is_error, (words, picture) = talk(served(data), ("look", {"run": "photos-run", "id": "dog/1.png"}))[0]
    assert not is_error
    assert json.loads(words.text)["label"] == "dog"
    assert picture.mime_type == "image/png"


def test_a_check_passes_or_fails_and_passes_over_a_row_without_a_label(data):
    rows = (data / "digits.csv").read_text()
    (data / "open.csv").write_text(rows + "scan 600" + "," * 65 + "\n")
    given = {"data": "open.csv", "label": "label"}
    strict, loose = talk(served(data), ("check", given), ("check", {**given, "allowed": "50%"}))
    assert (told(strict)["passes"], told(loose)["passes"]) == (False, True)


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("audit", {"data": "../elsewhere.csv"}, "lies outside"),
        ("audit", {"data": "s3://bucket/data.csv"}, "lies outside"),
        ("suspects", {"run": "photos"}, "run folder"),
        ("look", {"run": "photos-run", "id": "cat/99.png"}, "cat/99.png"),
        ("decide", {"run": "photos-run", "decisions": [], "by": " "}, "who"),
        ("decide", {"run": "photos-run", "by": "Ada", "decisions": [OX]}, "class"),
        ("apply", {"run": "photos-run", "out": "../out"}, "lies outside"),
        ("apply", {"run": "photos-run", "out": "photos", "undecided": "drop"}, "never written over"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_sentence(data, tool, given, words):
    is_error, content = talk(served(data), (tool, given))[0]
    assert is_error
    assert words in content[0].text
    assert "Traceback" not in content[0].text


def test_a_log_that_leads_elsewhere_is_not_written(data, tmp_path):
    log, elsewhere = data / "photos-run" / LOG, tmp_path / "elsewhere"
    log.unlink(missing_ok=True)
    elsewhere.write_text("")
    log.symlink_to(elsewhere)
    given = {"run": "photos-run", "by": "Ada", "decisions": [{**OX, "decision": "keep"}]}
    is_error, _ = talk(served(data), ("decide", given))[0]
    log.unlink()
    assert is_error
    assert elsewhere.read_text() == ""


def test_decisions_about_another_run_do_not_count(data):
    """The log stays where a run is made anew; it speaks of the one before."""
    log = data / "photos-run" / LOG
    log.write_text(json.dumps({"run": "another", "id": "cat/0.png", "decision": "drop"}) + "\n")
    is_error, content = talk(served(data), ("apply", {"run": "photos-run", "out": "none"}))[0]
    assert is_error
    assert "nothing to apply" in content[0].text
