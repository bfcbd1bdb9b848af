"""What goes into the page: previews within limits, and JSON that cannot end its element."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import ExifTags, Image
from report_tables import make_table

from graylearn.errors import DataError
from graylearn.report import Preview, ReportData, image_preview, write_report
from graylearn.report import payload as payload_module
from graylearn.report.payload import build_payload, to_json

CLASSES = ("cat", "dog", "owl")


def made(**fields):
    return ReportData(**({"title": "Pets", "table": make_table(), "classes": CLASSES} | fields))


def test_photos_stand_upright(tmp_path):
    image = Image.new("RGB", (60, 40))
    turned = image.getexif()
    turned[ExifTags.Base.Orientation] = 6  # the camera was held on its side
    image.save(tmp_path / "photo.jpg", exif=turned)
    with Image.open(tmp_path / "photo.jpg") as opened:
        for picture in (tmp_path / "photo.jpg", opened):
            shown = base64.b64decode(str(image_preview(picture).content).partition(",")[2])
            assert Image.open(io.BytesIO(shown)).size == (40, 60)


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"classes": ("cat", "dog")}, "label of the table has 'owl'"),
        (
            {"previews": lambda _: Preview("image", "https://example.org/a.png")},
            "must be a data:image/ address",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_and_nothing_is_written(tmp_path, fields, said):
    with pytest.raises(DataError, match=said):
        write_report(tmp_path / "report.html", made(**fields))
    assert list(tmp_path.iterdir()) == []
