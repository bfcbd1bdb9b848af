"""What goes into the page: counts, columns, previews within limits, and JSON that cannot end its element."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import ExifTags, Image
from report_tables import make_table

import graylearn as gl
from graylearn.errors import DataError
from graylearn.report import (
    Preview,
    ReportData,
    image_preview,
    preview_blocks,
    preview_samples,
    row_preview,
    text_preview,
    write_report,
)
from graylearn.report import payload as payload_module
from graylearn.report.json_text import to_json
from graylearn.report.payload import build_payload

CLASSES = ("cat", "dog", "owl")


def made(**fields):
    return ReportData(**({"title": "Pets", "table": make_table(), "classes": CLASSES} | fields))


def test_rows_are_sorted_by_score_and_say_their_place():
    table = make_table()
    shuffled = table.sample(frac=1.0, random_state=3).reset_index(drop=True)
    main, _ = build_payload(made(table=shuffled))
    expected = shuffled.sort_values("score", ascending=False)
    assert main["index"] == expected.index.tolist()
    assert main["id"] == expected["id"].tolist()
    assert [CLASSES[k] for k in main["label"]] == expected["label"].tolist()
    assert main["score"] == [round(10_000 * value) for value in expected["score"]]
    assert main["counts"] == {"ok": 60, "mislabelled": 40, "ood": 20}
    assert main["shares"] == pytest.approx({"ok": 0.5, "mislabelled": 0.333, "ood": 0.167})
    assert sum(map(sum, main["perClass"])) == 120
    assert [sum(row) for row in main["histogram"]] == [60, 40, 20]


@pytest.mark.parametrize("names", [["a", "b", "c"], [3, 5, 7]], ids=["text", "numbers"])
def test_an_audit_fits_without_ado(names):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4))
    y = np.array(names)[np.arange(90) % 3]
    audit = gl.audit(x, y, epochs=2, repeats=1)
    main, _ = build_payload(
        ReportData(
            title="noise",
            table=audit.table,
            classes=audit.classes,
            contamination=audit.contamination,
        )
    )
    assert main["total"] == 90
    assert main["classes"] == list(map(str, names))
    assert [names[k] for k in main["label"]] == audit.table["label"].to_numpy()[main["index"]].tolist()
    assert json.loads(to_json(main))["contamination"] == pytest.approx(audit.contamination)


def test_curves_are_kept_for_suspects_first_and_thinned():
    epochs = np.linspace(0, 1, 200)[:, None] * np.ones((1, 120))
    epochs[0, 7] = np.nan
    main, _ = build_payload(made(curves=epochs))
    curves = main["curves"]
    stored = np.frombuffer(base64.b64decode(curves["bytes"]), np.uint8).reshape(-1, curves["points"])
    assert curves["index"][:60] == list(range(60))
    assert stored.shape == (120, payload_module.CURVE_POINTS) == (120, 48)
    assert stored[0, 0] == 0
    assert stored[0, -1] == 254
    assert stored[7, 0] == 255
    few, _ = build_payload(made(curves={3: [0.5, 1.0], 5: [0.0, 0.25, 0.5]}))
    assert few["curves"]["index"] == [3, 5]
    stored = np.frombuffer(base64.b64decode(few["curves"]["bytes"]), np.uint8)
    assert stored.tolist() == [127, 254, 255, 0, 64, 127]


def test_photos_stand_upright(tmp_path):
    image = Image.new("RGB", (60, 40))
    turned = image.getexif()
    turned[ExifTags.Base.Orientation] = 6  # the camera was held on its side
    image.save(tmp_path / "photo.jpg", exif=turned)
    with Image.open(tmp_path / "photo.jpg") as opened:
        for picture in (tmp_path / "photo.jpg", opened):
            shown = base64.b64decode(str(image_preview(picture).content).partition(",")[2])
            assert Image.open(io.BytesIO(shown)).size == (40, 60)


def test_pictures_stop_at_their_limit_and_suspects_come_first(monkeypatch):
    monkeypatch.setattr(preview_blocks, "MAX_PICTURES", 70)
    asked = []

    def look(index):
        asked.append(index)
        return image_preview(np.full((4, 4), index, dtype=np.uint8))

    monkeypatch.setattr(preview_blocks, "PREVIEWS_A_BLOCK", 30)
    main, blocks = build_payload(made(previews=look))
    assert main["previews"]["index"] == list(range(70))
    assert main["previews"]["leftOut"] == 50
    assert [len(json.loads(block)) for block in blocks] == [30, 30, 10]
    assert len(asked) == 70


def test_previews_stop_at_their_bytes(monkeypatch):
    monkeypatch.setattr(preview_blocks, "MAX_PREVIEW_BYTES", 1_000)
    main, _ = build_payload(made(previews=lambda index: text_preview("x" * 90)))
    assert len(main["previews"]["index"]) == 9  # ["text","x…",0] takes 102 characters
    assert main["previews"]["leftOut"] == 111


def test_a_long_list_keeps_every_suspect(monkeypatch):
    monkeypatch.setattr(payload_module, "MAX_SAMPLES", 70)
    table = make_table()
    table["score"] = table["score"].to_numpy()[::-1]  # suspects have the smallest scores
    main, _ = build_payload(made(table=table))
    assert main["total"] == 120
    assert len(main["id"]) == 70
    assert main["suspected"].count("1") == 60


def test_json_cannot_end_its_element_and_says_the_same():
    hostile = [
        "</script><script>alert(1)</script>",
        "<!--",
        "a & b",
        "\u2028\u2029",
        "\0",
        "\udcff",
        "\u202e",
    ]
    text = to_json({"texts": hostile, "numbers": [1.5, float("nan"), float("inf")]})
    assert not re.search("[<>&\u2028\u2029\0\x7f-\uffff]", text)
    assert json.loads(text) == {"texts": hostile, "numbers": [1.5, None, None]}


def test_what_is_no_number_is_null_wherever_it_stands():
    nan = float("nan")
    assert to_json([1, nan]) == to_json((1, nan)) == "[1,null]"
    assert to_json(["a", [0, {"b": nan}], None, True]) == '["a",[0,{"b":null}],null,true]'


def test_thumbnails_are_small_and_keep_their_shape():
    def decoded(preview):
        kind, data = preview.content.split(";base64,")
        return kind, Image.open(io.BytesIO(base64.b64decode(data)))

    kind, tall = decoded(image_preview(np.zeros((400, 200, 3), np.uint8)))
    assert (kind, tall.size) == ("data:image/jpeg", (80, 160))
    digit = np.arange(64, dtype=np.float64).reshape(8, 8)
    kind, tiny = decoded(image_preview(digit))
    assert (kind, tiny.size) == ("data:image/png", (8, 8))
    assert np.array_equal(np.asarray(tiny), np.round(digit * 255 / 63).astype(np.uint8))
    clear = Image.new("RGBA", (10, 10), (255, 0, 0, 0))
    assert decoded(image_preview(clear))[1].getpixel((5, 5)) == (255, 255, 255)
    wide = Image.new("I;16", (10, 10), 0x8080)  # Pillow alone would clip it to white
    assert decoded(image_preview(wide))[1].getpixel((5, 5)) in (128, (128, 128, 128))


def test_text_and_rows_are_cut_and_say_so():
    assert text_preview("abc") == Preview("text", "abc", 0)
    assert text_preview("x" * 1_000).left_out == 400
    row = row_preview({f"c{i}": i for i in range(50)} | {"c0": 0.123456789, "c1": None})
    assert row.left_out == 10
    assert row.content["c0"] == "0.123457"
    assert row.content["c1"] == ""
    moments = {"day": pd.Timestamp("2026-02-11"), "moment": pd.Timestamp("2026-02-11 09:30")}
    assert row_preview(moments).content == {"day": "2026-02-11", "moment": "2026-02-11 09:30:00"}


def test_samples_show_what_they_are():
    def samples(x, kind):
        return gl.Samples(x, np.zeros(len(x), np.int64), ("a",), np.arange(len(x)), kind)

    texts = preview_samples(samples(np.array(["one", "two"], dtype=object), "text"))
    assert texts(1) == Preview("text", "two", 0)
    frame = pd.DataFrame({"width": [1.5, np.nan], "name": ["x", None]})
    assert preview_samples(samples(frame, "table"))(0).content == {"width": "1.5", "name": "x"}
    assert preview_samples(samples(frame, "table"))(1).content == {"width": "", "name": ""}
    images = preview_samples(samples(np.zeros((2, 40, 40, 3), np.uint8), "image"))
    assert images(0).kind == "image"
    assert preview_samples(samples(np.zeros((2, 8, 8)), "array"))(0).kind == "image"
    assert preview_samples(samples(np.zeros((2, 3)), "array"))(0).content == {"0": "0", "1": "0", "2": "0"}
    assert preview_samples(samples(np.zeros(2), "array"))(0) is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"classes": ("cat", "dog")}, "label of the table has 'owl'"),
        ({"curves": np.zeros((5, 7))}, "curves have shape \\(5, 7\\)"),
        ({"previews": {0: Preview("image", "https://example.org/a.png")}}, "must be a data:image/ address"),
    ],
)
def test_what_does_not_fit_together_is_refused_and_nothing_is_written(tmp_path, fields, said):
    with pytest.raises(DataError, match=said):
        write_report(tmp_path / "report.html", made(**fields))
    assert list(tmp_path.iterdir()) == []
