"""Pictures that show little are told: in the table, the notes, the report, and by `check`."""

import json
import re
import shutil
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageFilter

import graylearn as gl
from graylearn.data.formats import images
from graylearn.runs import RunProgress, RunSettings, find, prepare, run
from graylearn.runs.apply import apply_decisions
from graylearn.runs.check import check

QUIET = RunProgress(quiet=True)
ODD = {
    "cat/solid.png": "of one colour",
    "cat/dark.png": "dark",
    "dog/blurred.png": "blurred",
    "dog/tiny.png": "tiny",
    "dog/long.png": "of an odd shape",
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """80 pictures of two kinds of stripes, and one of each that is odd."""
    folder = tmp_path_factory.mktemp("odd") / "photos"
    rng = np.random.default_rng(0)

    def picture(kind):
        noise = rng.integers(0, 120, (48, 48, 3))
        stripes = 130 * ((np.arange(48) // 6 + rng.integers(2)) % 2)
        pixels = noise + (stripes[:, None, None] if kind == "cat" else stripes[None, :, None])
        return Image.fromarray(pixels.astype(np.uint8))

    for kind in ("cat", "dog"):
        (folder / kind).mkdir(parents=True)
        for number in range(40):
            picture(kind).save(folder / kind / f"{number}.png")
    Image.new("RGB", (48, 48), (40, 90, 160)).save(folder / "cat" / "solid.png")
    picture("cat").point(lambda value: value // 12).save(folder / "cat" / "dark.png")
    stripes = 200 * (np.arange(48) // 12 % 2)[:, None] + np.zeros(48)  # red and green, alike in brightness
    colours = np.stack([stripes, 200 - stripes, stripes * 0], axis=2).astype(np.uint8)
    blurred = np.asarray(Image.fromarray(colours).filter(ImageFilter.GaussianBlur(4)))
    Image.fromarray(blurred + rng.integers(0, 3, (48, 48, 3), np.uint8)).save(folder / "dog" / "blurred.png")
    picture("dog").resize((8, 8)).save(folder / "dog" / "tiny.png")
    picture("dog").resize((400, 60)).save(folder / "dog" / "long.png")
    return folder


def settings(photos, **others):
    given = {"features": "pixels", "size": 48, "epochs": 1}
    return RunSettings(command="audit", data=str(photos), **(given | others))


@pytest.fixture(params=[None, 100], ids=["whole", "part"])
def chosen(request, photos, monkeypatch):
    """Settings of a run on the pictures as a whole, and of one that reads them in blocks."""

    def embed(samples, **_):
        return samples.x[:, ::6, ::6].reshape(len(samples), -1).astype(np.float32)

    monkeypatch.setattr(prepare, "embed_images", embed)
    monkeypatch.setattr(images, "IMAGES", 20)
    return settings(photos, features="embed", part_size=request.param, epochs=None)


def test_a_run_tells_them_in_its_table_notes_and_report(chosen, tmp_path):
    summary = run(chosen, tmp_path / "run", progress=QUIET)
    table = pd.read_csv(tmp_path / "run" / "audit.csv").set_index("id")
    assert table["picture"].dropna().to_dict() == ODD
    assert summary["pictures"] == dict.fromkeys(ODD.values(), 1)
    assert any("5 pictures may show too little" in note for note in summary["notes"])
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    main = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    shown = {
        words: [main["id"][main["index"].index(index)] for index in which] for words, which in main["checks"]
    }
    assert shown == {words: [name] for name, words in ODD.items()}


def test_a_check_finds_them(chosen):
    found = check(chosen, progress=QUIET)
    assert {each.id: each.suggested for each in found.new if each.kind == "picture"} == ODD
    assert "5 pictures that show little" in found.words


def test_a_suspect_of_one_colour_is_of_no_class(chosen, photos, tmp_path, monkeypatch):
    data = shutil.copytree(photos, tmp_path / "photos")
    for number in range(6):
        (data / "cat" / f"{number}.png").rename(data / "dog" / f"wrong{number}.png")
    chosen = replace(chosen, data=str(data))
    tables = []
    for name, odd in {"plain": (), "solid": (0, 80)}.items():  # of which 80 is a suspect
        monkeypatch.setattr(find, "odd_pictures", lambda _, odd=odd: {"of one colour": list(odd)})
        summary = run(chosen, tmp_path / name, progress=QUIET)
        tables.append(pd.read_csv(tmp_path / name / "audit.csv"))
        assert summary["found"]["ood"] == (tables[-1]["kind"] == "ood").sum()
    before, after = tables
    assert before.loc[80, ["kind", "suggested"]].tolist() == ["mislabelled", "cat"]
    before.loc[80, ["kind", "suggested"]] = "ood", np.nan
    same = [name for name in after if name != "picture"]
    pd.testing.assert_frame_equal(after[same], before[same])
    done = apply_decisions(tmp_path / "solid", None, tmp_path / "clean", suspects="suggested")
    assert done["dropped"] == (after["kind"] == "ood").sum()


def test_what_holds_for_a_fifth_of_a_set_is_how_it_looks(photos, tmp_path):
    """Night shots are dark, and none of them is odd."""
    for path in photos.rglob("*.png"):
        target = tmp_path / "night" / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as picture:
            picture.point(lambda value: value // 12).save(target)
    found = check(settings(tmp_path / "night"), progress=QUIET)
    assert "dark" not in {each.suggested for each in found.new}


def test_photos_are_as_large_from_python_as_on_the_command_line(photos, monkeypatch):
    read = sys.modules["graylearn.data.read"]  # the name in its package is the function
    for installed, size in ((True, 128), (False, 64)):
        monkeypatch.setattr(read, "can_embed_images", lambda installed=installed: installed)
        assert gl.read(photos).x.shape[1:] == (size, size, 3)
