"""What may be written where: one promise for every command and every `save`."""

import json
import os
import shutil
import stat
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import warm
from blobs import blobs
from PIL import Image

import graylearn as gl
from graylearn.cli.main import app
from graylearn.data.atomic import alone
from graylearn.data.formats import FORMATS
from graylearn.data.written import record, writing
from graylearn.errors import FolderTakenError, GraylearnError, SettingsError
from graylearn.integrations import mlflow, onnx
from graylearn.report import ReportData, write_report
from graylearn.runs import RunProgress, RunSettings, check, run
from graylearn.runs.apply import apply_decisions, write_tasks
from graylearn.runs.folder import KIND
from graylearn.runs.oddities import write_copies
from graylearn.runs.predict import check_out, export, write_predictions

pytestmark = pytest.mark.filterwarnings("ignore")  # what MLflow says of its own parts

QUIET = RunProgress(quiet=True)
QUICK = {"epochs": 1, "mode": "history"}


def pictures(folder):
    """A folder of two classes, six pictures each."""
    for number in range(12):
        path = folder / ("cat", "dog")[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 80, (8, 8, 3)) + 120 * (number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table and pictures, and a run of each."""
    folder = tmp_path_factory.mktemp("made")
    x, y = blobs(60)
    table = pd.DataFrame(x, columns=list("abc")).assign(label=np.array(["ant", "bee", "cow"])[y])
    pd.concat([table, table[:3]]).to_csv(folder / "data.csv", index=False)
    table[:9].to_csv(folder / "test.csv", index=False)
    pictures(folder / "photos")
    run(table_of(folder), folder / "run", progress=QUIET)
    photos = RunSettings(command="audit", data=str(folder / "photos"), features="pixels", **QUICK)
    run(photos, folder / "photos-run", progress=QUIET)
    return folder


def table_of(folder):
    return RunSettings(
        data=str(folder / "data.csv"), label="label", test=str(folder / "test.csv"), refine=False, **QUICK
    )


@pytest.fixture(scope="module")
def fitted():
    x, y = blobs(60)
    return gl.GrayClassifier(epochs=1, audit="history", refine=False, device="cpu", random_state=0).fit(x, y)


def _apply(run_name, **options):
    return lambda made, fitted, out: apply_decisions(
        made / run_name, None, out, suspects="drop", overwrite=True, ask=bool, **options
    )


def _predict(made, fitted, out):
    of = (made / "data.csv", made / "test.csv")
    check_out(out, of)
    write_predictions([pd.DataFrame({"id": [1], "class": ["ant"]})], out, of)


CHECKED = check.Checked("data.csv", 60, (), 0, 0)


def _checked(kind):
    return lambda made, fitted, out: check.write(CHECKED, {kind: out}, [made / "data.csv"])


def _report(made, fitted, out):
    found = fitted.audit_
    write_report(out, ReportData(title="Pets", table=found.table, classes=tuple(map(str, found.classes))))


WRITERS = {
    # name: (ending, whether it is a folder, the data it reads, what writes it)
    "audit": ("", True, "data.csv", lambda made, fitted, out: run(
        RunSettings(command="audit", data=str(made / "data.csv"), label="label", **QUICK),
        out, overwrite=True, progress=QUIET,
    )),
    "apply": (".csv", False, "data.csv", _apply("run")),
    "apply, pictures": ("", True, "photos", _apply("photos-run")),
    "apply, a list of pictures": (".csv", False, "photos", _apply("photos-run")),
    "predict": (".csv", False, "data.csv", _predict),
    "predict, Parquet": (".parquet", False, "test.csv", _predict),
    "tasks": (".json", False, "data.csv", lambda made, fitted, out: write_tasks(made / "run", out)),
    "tasks, FiftyOne": ("", True, "photos", lambda made, fitted, out: write_tasks(
        made / "photos-run", out, "fiftyone"
    )),
    "duplicates": (".csv", False, "data.csv", lambda made, fitted, out: write_copies(
        table_of(made), out, QUIET
    )),
    "check --junit": (".xml", False, "data.csv", _checked(check.JUNIT)),
    "check --sarif": (".sarif", False, "data.csv", _checked(check.SARIF)),
    "export": (".onnx", False, None, lambda made, fitted, out: export(made / "run", out, overwrite=True)),
    "export, MLflow": ("", True, None, lambda made, fitted, out: export(made / "run", out, overwrite=True)),
    "onnx.save_model": (".onnx", False, None, lambda made, fitted, out: onnx.save_model(fitted, out)),
    "mlflow.save_model": ("", True, None, lambda made, fitted, out: mlflow.save_model(fitted, out)),
    "GrayClassifier.save": ("", True, None, lambda made, fitted, out: fitted.save(out)),
    "Audit.save": ("", True, None, lambda made, fitted, out: fitted.audit_.save(out)),
    "History.save": (".npz", False, None, lambda made, fitted, out: fitted.history_.save(out)),
    "write_report": (".html", False, None, _report),
}  # fmt: skip
every = pytest.mark.parametrize("name", WRITERS)


def content(path):
    """What is at a path, whatever it is; None where nothing is."""
    if path.is_dir():
        return {
            each.relative_to(path).as_posix(): each.is_dir() or each.read_bytes() for each in path.rglob("*")
        }
    return path.read_bytes() if path.exists() else None


def refused(name, made, fitted, out):
    """Whether writing is refused, and costs nothing of what is beside it or there."""
    before = content(out.parent)
    with pytest.raises((FolderTakenError, SettingsError)) as told:
        WRITERS[name][3](made, fitted, out)
    after = content(out.parent)
    assert {file: after.get(file) for file in before} == before, told.value
    return str(told.value)


@every
def test_what_somebody_else_made_is_never_replaced(name, made, fitted, tmp_path):
    ending, folder, *_ = WRITERS[name]
    out = tmp_path / f"mine{ending}"
    if folder:
        (out / "model").mkdir(parents=True)
        (out / "settings.toml").write_text("mine = 1")
        for file in ("model.json", "MLmodel", "audit.json", "model/weights.safetensors", "metadata.json"):
            (out / file).write_text("mine")
    else:
        out.write_text("mine")
    refused(name, made, fitted, out)


@every
def test_what_graylearn_wrote_is_replaced_until_somebody_changes_it(name, made, fitted, tmp_path):
    ending, folder, _, write = WRITERS[name]
    out = tmp_path / f"out{ending}"
    write(made, fitted, out)
    files = sorted(each.name for each in tmp_path.iterdir())
    write(made, fitted, out)
    assert sorted(each.name for each in tmp_path.iterdir()) == files  # no lock, nothing half written
    assert not [each for each in files if each.startswith(".")]
    one = next(each for each in sorted(out.rglob("*")) if each.is_file()) if folder else out
    one.chmod(0o444)
    assert "read-only" in refused(name, made, fitted, out)
    one.chmod(0o644)
    one.write_bytes(one.read_bytes() + b" ")
    assert one.name in refused(name, made, fitted, out)


@pytest.mark.parametrize("name", [name for name, each in WRITERS.items() if each[1] and name != "audit"])
def test_what_somebody_laid_into_a_folder_is_never_lost(name, made, fitted, tmp_path):
    WRITERS[name][3](made, fitted, tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    assert "thesis.tex" in refused(name, made, fitted, tmp_path / "out")


@every
def test_an_output_of_another_kind_is_never_replaced(name, made, fitted, tmp_path):
    ending, folder, *_ = WRITERS[name]
    out = tmp_path / f"out{ending}"
    with writing(out, "something else", folder=folder) as partial:
        (partial / "a.txt" if folder else partial).write_text("of another command")
    refused(name, made, fitted, out)


@every
def test_two_processes_do_not_write_one_output(name, made, fitted, tmp_path):
    ending, _folder, _, write = WRITERS[name]
    out = tmp_path / f"out{ending}"
    lock = tmp_path / f".graylearn-out{ending}.lock"
    if name == "audit":
        out.mkdir()
        lock = out / ".lock"
    with alone(lock, AssertionError()), pytest.raises(FolderTakenError, match=r"another (process|run)"):
        write(made, fitted, out)


READING = [name for name, each in WRITERS.items() if each[2] is not None]


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("way", ["itself", "link", "inside", "around"])
def test_what_is_read_is_never_written_over(name, way, made, fitted, tmp_path):
    ending, folder, reads, _ = WRITERS[name]
    here = tmp_path / "here"
    shutil.copytree(made, here)
    for each in ("run", "photos-run"):
        for file in ("data.json", "settings.toml"):
            text = (here / each / file).read_text().replace(str(made), str(here))
            (here / each / file).write_text(text)
    data = here / reads
    out = data
    if way == "link":
        out = tmp_path / f"link{ending}"
        out.symlink_to(data)
    elif way == "inside":
        if not data.is_dir():
            pytest.skip("the data are a file")
        out = data / f"out{ending}"
    elif way == "around":
        if not folder:
            pytest.skip("a file holds none")
        out = here
    before = content(here)
    with pytest.raises(GraylearnError):
        WRITERS[name][3](here, fitted, out)
    assert content(here) == before


@pytest.mark.parametrize("name", READING)
def test_a_copy_is_for_no_more_eyes_than_what_it_was_made_from(name, made, fitted, tmp_path):
    ending, _, reads, write = WRITERS[name]
    data = made / reads
    files = [data, *data.rglob("*")] if data.is_dir() else [data]
    modes = {each: stat.S_IMODE(each.stat().st_mode) for each in files}
    out = tmp_path / f"out{ending}"
    try:
        for each in files:
            each.chmod(0o700 if each.is_dir() else 0o600)
        write(made, fitted, out)
    finally:
        for each, mode in modes.items():
            each.chmod(mode)
    assert stat.S_IMODE(out.stat().st_mode) & 0o077 == 0


def test_every_option_that_writes_is_held_to_it():
    """A command or a `save` that is new has to be put into WRITERS."""
    options = {
        (command.name, option)
        for command in app.registered_commands
        for option in command.callback.__annotations__
        if option in ("out", "junit", "sarif", "accept")
    } | {
        (command.name, "out")
        for command in app.registered_commands
        if "out" in getattr(getattr(command.callback, "__signature__", None), "parameters", ())
    }
    told = {("fit", "out"), ("check", "accept")}  # as audit, and below
    told |= {(name.partition(",")[0], "out") for name in WRITERS}
    told |= {("check", "junit"), ("check", "sarif")}
    assert options <= told, options - told


def test_accepted_suspects_are_updated_and_nothing_else_is_taken_for_them(tmp_path):
    accepted = tmp_path / "accepted.json"
    check.accept(CHECKED, accepted)
    accepted.write_text(accepted.read_text() + "\n\n")  # as somebody else's, brought by version control
    check.accept(CHECKED, accepted)
    accepted.write_text('{"mine": 1}')
    with pytest.raises(GraylearnError):
        check.accept(CHECKED, accepted)
    assert accepted.read_text() == '{"mine": 1}'


def test_a_run_folder_cannot_say_of_itself_that_graylearn_wrote_it(made, tmp_path):
    out = tmp_path / "theirs"
    shutil.copytree(made / "run", out)  # whole, with every mark of a run; but nobody made it here
    before = content(out)
    with pytest.raises(FolderTakenError, match="not known that graylearn wrote"):
        run(table_of(made), out, overwrite=True, progress=QUIET)
    assert content(out).items() >= before.items()


def test_what_a_person_laid_into_a_run_folder_stays(made, tmp_path):
    out = tmp_path / "run"
    for _ in range(2):
        run(table_of(made), out, overwrite=True, progress=QUIET)
        (out / "decisions.csv").write_text("id,decision\n")
    assert (out / "decisions.csv").exists()
    (out / "model" / "notes.txt").write_text("mine")
    with pytest.raises(FolderTakenError, match=r"notes\.txt"):
        run(table_of(made), out, overwrite=True, progress=QUIET)
    assert (out / "model" / "notes.txt").read_text() == "mine"


KILLED = """
import json, os, signal, sys
from pathlib import Path
from graylearn.data import atomic
from graylearn.data.written import writing
from graylearn.runs import folder as runs
from graylearn.runs.settings import RunSettings

place, sent = Path(sys.argv[1]), int(sys.argv[2])


def killed(number, work, *given):
    child = os.fork()
    if child == 0:
        left = [number]

        def count(event, given):
            writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), sent)

        sys.addaudithook(count)
        try:
            work(*given)
            os._exit(0)
        except KeyboardInterrupt:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
"""
FILLED = """
def fill(out, names, text):
    with writing(out, "folder", folder=True) as folder:
        for name in names:
            (folder / name).write_text(text)


number, going = 0, True
while going:
    number += 1
    out = place / str(number) / "out"
    fill(out, "ab", "old")
    going = killed(number, fill, out, "abc", "new")
    atomic.settle(out)  # as the next that writes there begins
    held = {each.name: each.read_text() for each in out.iterdir()}
    fill(out, "a", "newest")  # it is still known to be ours
    print(json.dumps([held, sorted(each.name for each in out.parent.rglob("*"))]), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")
@pytest.mark.parametrize("sent", [2, 9])
def test_a_folder_that_is_replaced_is_the_old_or_the_new_one_after_any_kill(sent, tmp_path):
    said, errors, code = warm.Process(KILLED + FILLED, tmp_path, sent).communicate()
    assert code == 0, errors
    rows = [json.loads(line) for line in said.splitlines()]
    old, new = dict.fromkeys("ab", "old"), dict.fromkeys("abc", "new")
    held = [row[0] for row in rows]
    assert held == sorted(held, key=lambda files: files == new)
    assert all(files in (old, new) for files in held)
    assert held.count(old) > 5
    assert held.count(new) > 2
    for _, left in rows:
        assert [name for name in left if not name.endswith(".lock")] == ["a", "out"]


RUN = """
def run(out, overwrite):
    with runs.writing(out, RunSettings(data="/a.csv"), overwrite=overwrite) as folder:
        folder.data.write_text("{}")
        folder.stages.mkdir()
        for name in "ab":
            (folder.stages / name).write_text("work")
        folder.finish({"found": 1})


number, going = 0, True
while going:
    number += 1
    out = place / str(number)
    going = killed(number, run, out, False)
    left = runs.RunFolder(out)
    print(json.dumps([left.is_finished, left.stages.exists()]), flush=True)
    run(out, True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")
def test_a_run_is_replaced_wherever_it_was_killed(tmp_path):
    said, errors, code = warm.Process(KILLED + RUN, tmp_path, 9).communicate()
    assert code == 0, errors
    assert said.count("[true, true]") > 2  # between its summary and the end of its stages


def test_names_of_files_do_not_lead_out_of_their_folder(made, tmp_path):
    here = tmp_path / "here"
    shutil.copytree(made, here)
    (here / "x").mkdir()
    shutil.copy(here / "photos" / "cat" / "0.png", here / "x" / "stolen.png")
    folder = here / "photos-run"
    plain = pq.read_table(folder / "samples.parquet").to_pandas()
    evil = {"id": "../x/stolen.png", "label": str(tmp_path / "elsewhere")}
    for column, name in evil.items():
        samples = plain.copy()
        samples.loc[samples[column] == samples[column][0], column] = name
        if column == "label":
            samples["sha256"] = FORMATS["folder"].fingerprint(here / "photos", samples["id"].tolist())[1]
        samples.to_parquet(folder / "samples.parquet", index=False)
        data = json.loads((folder / "data.json").read_text().replace(str(made), str(here)))
        (folder / "data.json").write_text(json.dumps(data))
        decisions = here / "decisions.csv"
        decided = f"relabel,{name}" if column == "label" else "drop,"
        decisions.write_text(f"id,decision,label\n{samples['id'].iloc[-1]},{decided}\n")
        before = content(tmp_path)
        with pytest.raises(GraylearnError, match="leads out of"):
            apply_decisions(folder, decisions, here / "deep" / "out")
        after = content(tmp_path)
        assert {file for file in after if file not in before} <= {"here/deep"}


@every
@pytest.mark.parametrize("way", ["address", "half of a character", "link to another ending"])
def test_names_that_another_program_would_take_otherwise_are_refused(
    name, way, made, fitted, tmp_path, monkeypatch
):
    ending, *_, write = WRITERS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"link{ending}").symlink_to("there.other")
    out = {"address": f"s3://bucket/x{ending}", "half of a character": os.fsdecode(b"\xff") + ending}
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SettingsError):
        write(made, fitted, out.get(way, f"link{ending}"))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "link",
    ["report.html", "model", "stages", "stages/part-00000", ".graylearn-moving", ".graylearn-replaced"],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_links_in_a_run_folder_lead_nowhere(link, overwrite, made, tmp_path):
    out, mine = tmp_path / "run", tmp_path / "mine"
    mine.mkdir()
    (mine / "rows").write_text("mine")
    shutil.copytree(made / "run", out)
    if not overwrite:
        (out / "summary.json").unlink()  # so that the run goes on
    at = out / link
    shutil.rmtree(at, ignore_errors=True)
    at.unlink(missing_ok=True)
    at.parent.mkdir(exist_ok=True)
    at.symlink_to(mine)
    before = content(out)
    with pytest.raises(FolderTakenError, match="is not as graylearn wrote it"):
        run(table_of(made), out, overwrite=overwrite, progress=QUIET)
    assert content(mine) == {"rows": b"mine"}
    assert content(out) == before


def test_what_somebody_laid_where_a_finished_run_had_its_stages_stays(made, tmp_path):
    out = tmp_path / "run"
    run(table_of(made), out, progress=QUIET)
    apply_decisions(made / "run", None, out / "stages" / "clean.csv", suspects="drop", ask=bool)
    with pytest.raises(FolderTakenError, match=r"clean\.csv is not as graylearn wrote it"):
        run(table_of(made), out, overwrite=True, progress=QUIET)
    assert (out / "stages" / "clean.csv").exists()


def test_what_a_killed_run_wrote_last_is_taken_for_its_own(made, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    record(out.resolve(), KIND, {"settings.toml": "of one that was refused before"})
    (out / "settings.toml").write_text("# of the one that was killed\n")
    run(table_of(made), out, progress=QUIET)
    assert (out / "summary.json").exists()


def test_who_has_no_home_may_write_but_not_replace(tmp_path, monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("GRAYLEARN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", nobody)
    for refused in (nullcontext(), pytest.raises(FolderTakenError)):
        with refused, writing(tmp_path / "a.txt", "text") as partial:
            partial.write_text("first")
    assert (tmp_path / "a.txt").read_text() == "first"
