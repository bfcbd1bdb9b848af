"""`graylearn check`: what fails, what was accepted, and what other programs are told."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from markdown_it import MarkdownIt
from PIL import Image
from typer.testing import CliRunner

from graylearn.cli.main import app
from graylearn.errors import SettingsError
from graylearn.runs.check import FOUND, allowed_of, check, markdown
from graylearn.runs.settings import RunSettings

ROOT = Path(__file__).parents[2]
SARIF_LEVELS = {"none", "note", "warning", "error"}
BASELINE_STATES = {"new", "unchanged", "updated", "absent"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of four groups with thirty wrong labels; the same with its rows turned round and one more."""
    folder = tmp_path_factory.mktemp("check")
    random = np.random.default_rng(0)
    y = np.arange(240) % 4
    x = np.eye(4)[y] * 9 + random.normal(size=(240, 4))
    wrong = y.copy()
    wrong[:30] = (y[:30] + random.integers(1, 4, 30)) % 4
    frame = pd.DataFrame(x.round(3), columns=list("abcd")).assign(label=[f"k|{k}" for k in wrong])
    frame.to_csv(folder / "data.csv", index=False)
    later = frame.iloc[::-1].copy()
    later.iloc[100, 4] = f"k|{(y[139] + 1) % 4}"
    later = pd.concat([later, later.iloc[[10]].assign(label="k|3" if y[229] != 3 else "k|2")])
    later.to_csv(folder / "later.csv", index=False)
    return folder


def ran(folder, *words, quiet=True, **environment):
    words = [word if word.startswith("-") or "." not in word else str(folder / word) for word in words]
    words += ["--overlap", "none", *(["-q"] if quiet else [])]
    return CliRunner().invoke(app, ["check", *words], env=environment)


@pytest.fixture(scope="module")
def accepted(folder):
    """What a first check says, and a second after all that it found was accepted."""
    first = ran(folder, "data.csv", "--cache", "cache.d", "--json")
    done = ran(folder, "data.csv", "--cache", "cache.d", "--against", "accepted.json", "--accept")
    assert done.exit_code == 0, done.output
    return first, ran(folder, "data.csv", "--cache", "cache.d", "--against", "accepted.json")


def test_suspects_fail_once_and_not_when_they_were_accepted(accepted):
    first, second = accepted
    assert first.exit_code == 4
    found = json.loads(first.stdout)
    assert not found["passes"]
    assert len({each["id"] for each in found["problems"]} & {str(line) for line in range(2, 32)}) > 25
    assert second.exit_code == 0, second.output
    count = len({each["id"] for each in found["problems"]})
    assert "passes: 0 new suspects in 240 samples (0 allowed), " in second.output
    assert f", {count} accepted ones (" in second.output
    kinds = [each["kind"] for each in found["problems"]]
    assert f"({kinds.count('mislabelled')} mislabelled" in second.output


def test_what_is_new_is_told_though_rows_have_moved(folder, accepted):
    page = folder / "page.md"
    files = ("--junit", "check.xml", "--sarif", "check.sarif")
    done = ran(folder, "later.csv", "--against", "accepted.json", *files, GITHUB_STEP_SUMMARY=str(page))
    assert done.exit_code == 4, done.output
    log = json.loads((folder / "check.sarif").read_text())
    check_sarif(log)
    results = log["runs"][0]["results"]
    new = [each for each in results if each["baselineState"] == "new"]
    lines = {each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in new}
    assert {102, 12, 242} <= lines  # the row that was relabelled, and the two that contradict each other
    assert len(new) < len(results)
    assert not {each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in results} - set(
        range(2, 243)
    )
    check_junit(ElementTree.parse(folder / "check.xml").getroot(), new)
    told = page.read_text()
    assert "❌ graylearn check" in told
    assert "k&#124;" in told
    assert "2 copies with another label; some are more than one of these) in 241 samples" in done.output
    let = ran(folder, "later.csv", "--against", "accepted.json", "--max-suspects", "5%")
    assert let.exit_code == 0, let.output


def test_names_on_the_page_of_a_build_are_text():
    """No link, no picture, nobody who is told, no other row of the table, whatever a label holds."""
    hostile = "@name [a](https://example.org) ![b](c) <img src=x> | **d** #1 `e`\n\n# head www.example.org"
    problem = SimpleNamespace(id=hostile, label=hostile, suggested=hostile, kind="ood", level="sure")
    told = (hostile,)
    checked = SimpleNamespace(passes=False, words=hostile, notes=told, data_notes=told, new=[problem])
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown(checked))
    assert set(re.findall(r"<(\w+)", shown)) == set(
        re.findall(r"\w+", "h3 p ul li table thead tr th tbody td code")
    )
    assert shown.count("<tr>") == 2
    without_code = re.sub(r"<code>.*?</code>", "", shown)
    assert "@" not in without_code


def check_sarif(log):
    """The part of the schema of SARIF 2.1.0 that concerns what is written: what must be, and what may."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert set(run) <= {"tool", "results"}
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert isinstance(rule["shortDescription"]["text"], str)
    for result in run["results"]:
        assert set(result) <= {
            "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "baselineState",
        }  # fmt: skip
        assert isinstance(result["message"]["text"], str)
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in SARIF_LEVELS
        assert result["baselineState"] in BASELINE_STATES
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for location in result["locations"]:
            place = location["physicalLocation"]
            assert " " not in place["artifactLocation"]["uri"]
            assert place["region"]["startLine"] >= 1


def check_junit(suites, new):
    """What the schema of Ant's JUnit reports says of what is written, in its order."""
    assert suites.tag == "testsuites"
    assert not suites.attrib
    (suite,) = suites
    assert suite.tag == "testsuite"
    counts = {"tests", "failures", "errors", "skipped", "time", "id"}
    assert set(suite.attrib) == {*counts, "name", "package", "hostname", "timestamp"}
    assert all(suite.get(name).isdecimal() for name in counts)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    first, *cases, out, err = suite
    assert (first.tag, out.tag, err.tag) == ("properties", "system-out", "system-err")
    assert int(suite.get("tests")) == len(cases) == len(FOUND)
    failed = [case for case in cases if len(case)]
    assert int(suite.get("failures")) == len(failed) == len({each["ruleId"] for each in new})
    for case in cases:
        assert case.tag == "testcase"
        assert set(case.attrib) == {"name", "classname", "time"}
    for case in failed:
        (failure,) = case
        assert failure.tag == "failure"
        assert set(failure.attrib) == {"message", "type"}
    assert sum(len(case[0].text.splitlines()) for case in failed) == len(new)


def test_samples_of_the_test_set_in_the_training_set_and_what_was_noted(folder):
    frame = pd.read_csv(folder / "data.csv")
    frame["day"] = [f"{13 + row % 9}/02/2020" for row in range(len(frame))]
    frame.to_csv(folder / "dated.csv", index=False)
    frame.iloc[[50, 60]].to_csv(folder / "holdout.csv", index=False)
    done = ran(folder, "dated.csv", "--test", "holdout.csv", "--json", quiet=False)
    assert "note: column 'day' is text, read as dates" in done.stderr
    assert "Warning" not in done.stderr
    leaked = {each["id"] for each in json.loads(done.stdout)["problems"] if each["kind"] == "leaked"}
    assert leaked == {"52", "62"}


def test_what_could_not_be_judged_is_told_where_nothing_was_found(folder):
    (folder / "few.csv").write_text("a,label\n" + "".join(f"{row},{'xy'[row % 2]}\n" for row in range(8)))
    too_few = "not judged: 8 samples are too few (at least 30)"
    words = ("few.csv", "--cache", "few.d")
    page = folder / "summary.md"
    assert too_few in ran(folder, *words, GITHUB_STEP_SUMMARY=str(page)).output
    assert f"- {too_few}" in page.read_text(encoding="utf-8")
    assert too_few in json.loads(ran(folder, *words, "--json").stdout)["notes"], "from the cache too"
    (kept,) = (folder / "few.d").glob("*.json")
    kept.write_text('{"samples": 8')
    assert too_few in ran(folder, *words).output, "what is damaged is audited anew"
    assert json.loads(kept.read_text())["samples"] == 8


def test_a_place_that_other_programs_find(folder):
    """Records of a list count from 0 and are no lines; what means something else in an address is spelled."""
    records = pd.read_csv(folder / "data.csv")
    records.to_json(folder / "wrong #1.json", orient="records")
    records.to_json(folder / "lines.jsonl", orient="records", lines=True)
    for name, is_line in (("wrong #1.json", False), ("lines.jsonl", True)):
        done = ran(folder, name, "--sarif", "places.sarif", "--json")
        places = json.loads((folder / "places.sarif").read_text())["runs"][0]["results"]
        places = [each["locations"][0]["physicalLocation"] for each in places]
        assert places[0]["artifactLocation"]["uri"].endswith("wrong%20%231.json" if not is_line else name)
        assert all(("region" in each) == is_line for each in places)
        first = json.loads(done.stdout)["problems"][0]
        assert (first["line"] == int(first["id"])) if is_line else first["line"] is None


def test_how_many_are_allowed():
    assert allowed_of("2%", 240) == 4
    assert [allowed_of("29%", 100), allowed_of("0.7%", 1000), allowed_of("0.57%", 10_000)] == [29, 7, 57]
    assert allowed_of(" 7 ", 240) == 7
    for wrong in ("some", "-1", "nan%", "inf", "200%", "0.02"):
        with pytest.raises(SettingsError, match="max_suspects is"):
            allowed_of(wrong, 10)
    with pytest.raises(SettingsError, match="max_suspects is 'few'"):  # before anything is read
        check(RunSettings(data="not-there.csv"), max_suspects="few")


@pytest.mark.parametrize("flag", ["--cache", "--junit"])
def test_what_cannot_be_written_is_told_before_the_audit(folder, flag):
    """The place lies in what is a file."""
    done = ran(folder, "data.csv", flag, "later.csv/place.d", quiet=False)
    assert done.exit_code == 1
    assert re.fullmatch(r"error: \S*later\.csv\S*: (File exists|Not a directory)\n", done.output)


def test_hook_and_action_call_what_there_is():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].split() == ["graylearn", "check"]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    install, *_, last = action["runs"]["steps"]
    # never a name from the registry: this version, whichever it is
    assert action["inputs"]["install"]["default"] == ""
    assert install["run"] == 'python -m pip install "${INSTALL:-$GITHUB_ACTION_PATH}"'
    command = last["run"]
    known = {name for each in app.registered_commands if each.name == "check" for name in flags_of(each)}
    assert {word for word in command.split() if word.startswith("--")} <= known


def flags_of(command):
    import typer

    made = typer.main.get_command(app).commands[command.name]
    return [name for each in made.params for name in each.opts]


def test_images_that_a_table_lists_go_by_their_paths_and_change_without_it(tmp_path):
    names = [f"{k}.png" for k in range(24)]
    pixels = np.random.default_rng(0).integers(0, 256, (24, 16, 16, 3), dtype=np.uint8)
    for name, image in zip(names, pixels, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    pd.DataFrame({"path": names, "label": ["a", "b"] * 12}).to_csv(tmp_path / "data.csv", index=False)
    words = ["check", str(tmp_path / "data.csv"), "--cache", str(tmp_path / "cache"), "--features", "pixels"]
    words += ["--epochs", "1", "--json", "-q"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["problems"] == []
    (tmp_path / "3.png").write_bytes((tmp_path / "2.png").read_bytes())
    found = json.loads(CliRunner().invoke(app, words).stdout)["problems"]
    told = [(each["kind"], each["id"], each["line"]) for each in found]
    assert told == [("contradicting", "2.png", None), ("contradicting", "3.png", None)]
