"""The image cache: nasty files, a kill in the middle, a second run at once."""

import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from graylearn.data import images
from graylearn.data.images import cache_images, decode_image
from graylearn.errors import DataWarning


def encoded(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def decoded(data: bytes, size: int = 8) -> np.ndarray:
    return np.frombuffer(decode_image(data, size), np.uint8).reshape(size, size, 3)


@pytest.fixture
def folder(tmp_path):
    """Ten PNG files, each of one grey level."""
    images = tmp_path / "images"
    images.mkdir()
    for level in range(10):
        Image.new("RGB", (12, 12), (level * 20,) * 3).save(images / f"{level}.png")
    return images


def files_of(folder):
    return sorted(folder.iterdir(), key=lambda path: int(path.stem))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.new("RGB", (9, 9), (10, 20, 30)), (10, 20, 30)),
        (Image.new("L", (9, 9), 77), (77, 77, 77)),
        (Image.new("1", (9, 9), 1), (255, 255, 255)),
        (Image.new("RGBA", (9, 9), (200, 0, 0, 0)), (255, 255, 255)),  # clear: the white behind it
        (Image.new("RGBA", (9, 9), (255, 0, 0, 128)), (255, 127, 127)),  # 255 * (1 - 128/255)
        (Image.new("LA", (9, 9), (0, 51)), (204, 204, 204)),  # 255 * (1 - 51/255)
        (Image.new("I;16", (9, 9), 0x8080), (128, 128, 128)),  # 0x8080 / 0x0101
        (Image.new("I;16", (9, 9), 255), (1, 1, 1)),
        (Image.new("RGB", (9, 9), (10, 20, 30)).convert("P", palette=Image.Palette.ADAPTIVE), (10, 20, 30)),
    ],
    ids=["rgb", "grey", "bits", "clear", "half-clear", "grey-alpha", "16-bit", "16-bit-dark", "palette"],
)
def test_modes_of_png(image, expected):
    np.testing.assert_allclose(decoded(encoded(image)), np.broadcast_to(expected, (8, 8, 3)), atol=1)


def test_cmyk_jpeg():
    red = Image.new("RGB", (16, 16), (200, 30, 40))
    data = encoded(red.convert("CMYK"), "JPEG", quality=95)
    np.testing.assert_allclose(decoded(data), np.broadcast_to((200, 30, 40), (8, 8, 3)), atol=4)


def test_wide_tiff_and_float_tiff():
    ramp = Image.fromarray(np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8))
    np.testing.assert_allclose(
        decoded(encoded(ramp, "TIFF"))[..., 0].ravel(), np.linspace(0, 255, 64), atol=1
    )
    unit = Image.fromarray(np.linspace(0, 1, 64).astype(np.float32).reshape(8, 8))
    np.testing.assert_allclose(
        decoded(encoded(unit, "TIFF"))[..., 0].ravel(), np.linspace(0, 255, 64), atol=1
    )
    signed = Image.fromarray(np.linspace(-40, 60, 64).astype(np.float32).reshape(8, 8))
    np.testing.assert_allclose(
        decoded(encoded(signed, "TIFF"))[..., 0].ravel(), np.linspace(0, 255, 64), atol=1
    )
    flat = Image.fromarray(np.full((8, 8), -3, dtype=np.float32))
    assert decoded(encoded(flat, "TIFF")).std() == 0


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation(orientation):
    upright = np.zeros((16, 16, 3), np.uint8)
    upright[:8, :8] = (255, 255, 255)  # the marked corner is top left
    # How a camera stores an upright scene under each orientation, from the EXIF standard.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright.transpose(1, 0, 2)[::-1, ::-1],
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(Image.fromarray(np.ascontiguousarray(stored)), "PNG", exif=exif)
    assert decoded(data, 16).tolist() == upright.tolist()


def test_middle_square_keeps_proportions():
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 255  # the middle square
    assert (decoded(encoded(Image.fromarray(wide)), 10) == 255).all()
    assert (decoded(encoded(Image.fromarray(wide.transpose(1, 0, 2).copy())), 10) == 255).all()


def test_animation_gives_its_first_frame():
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_allclose(decoded(data), np.broadcast_to((255, 0, 0), (8, 8, 3)), atol=3)


NOISE = Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8))


@pytest.mark.parametrize("workers", [0, 2])
def test_pixels_in_order(folder, tmp_path, monkeypatch, workers):
    monkeypatch.setattr(images, "_AT_ONCE", 3)
    cached = cache_images(files_of(folder), size=8, folder=tmp_path / "cache", workers=workers)
    assert cached.images.shape == (10, 8, 8, 3)
    assert cached.images.dtype == np.uint8
    assert not cached.images.flags.writeable
    assert cached.images[:, 0, 0, 0].tolist() == [level * 20 for level in range(10)]
    assert cached.kept.tolist() == list(range(10))


@pytest.mark.parametrize("workers", [0, 1])
def test_unreadable_files_are_listed_and_left_out(folder, tmp_path, workers):
    files = files_of(folder)
    files[3].write_bytes(b"not an image")
    files[7].unlink()
    with pytest.warns(DataWarning) as caught:
        cached = cache_images(files, size=8, folder=tmp_path / "cache", workers=workers)
    told = str(caught[0].message)
    assert "2 of 10 images cannot be read" in told
    assert f"{files[3]} (is not an image that Pillow knows)" in told
    assert f"{files[7]} (No such file" in told
    assert cached.kept.tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    assert cached.images[:, 0, 0, 0].tolist() == [level * 20 for level in cached.kept]


def test_second_run_reads_no_file(folder, tmp_path, monkeypatch):
    files = files_of(folder)
    first = cache_images(files, size=8, folder=tmp_path / "cache")
    monkeypatch.setattr("graylearn.data.images.decode_all", None)
    second = cache_images(files, size=8, folder=tmp_path / "cache")
    np.testing.assert_array_equal(first.images, second.images)


def test_changed_content_is_decoded_anew(folder, tmp_path):
    files, cache = files_of(folder), tmp_path / "cache"
    cache_images(files, size=8, folder=cache)
    before = files[5].stat()
    replacement = encoded(Image.new("RGB", (12, 12), (90, 90, 90)))
    assert len(replacement) == before.st_size, "the same length, and below the same modification time"
    files[5].write_bytes(replacement)
    os.utime(files[5], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache_images(files, size=8, folder=cache).images[5, 0, 0, 0] == 90


@pytest.mark.parametrize("damage", ["cut", "no-meta", "bad-meta"])
def test_damaged_entry_is_made_anew(folder, tmp_path, damage):
    files, cache = files_of(folder), tmp_path / "cache"
    cache_images(files, size=8, folder=cache)
    (entry,) = cache.glob("images-*")
    if damage == "cut":
        os.truncate(entry / "pixels.bin", 100)
    elif damage == "no-meta":
        (entry / "meta.json").unlink()
    else:
        (entry / "meta.json").write_text("{")
    again = cache_images(files, size=8, folder=cache)
    assert again.images[:, 0, 0, 0].tolist() == [level * 20 for level in range(10)]


@pytest.mark.parametrize(
    "where", [("open", "pixels.bin"), ("os.rename", ".graylearn-")], ids=["before", "after"]
)
def test_a_killed_run_leaves_no_cache_and_its_rest_is_cleared(tmp_path, where):
    images, cache = tmp_path / "images", tmp_path / "cache"
    images.mkdir()
    for number in range(5):
        (images / f"{number}.jpg").write_bytes(encoded(NOISE, "JPEG") + bytes([number]))
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from graylearn.data.images import cache_images\n"
        "files = sorted(Path(sys.argv[1]).iterdir(), key=lambda path: int(path.stem))\n"
        "def end(event, given):\n"
        "    if event == sys.argv[3] and sys.argv[4] in str(given[0]): os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(end)\n"
        "cache_images(files, size=64, folder=sys.argv[2], workers=1)"
    )
    done = subprocess.run([sys.executable, "-c", script, images, cache, *where])
    assert done.returncode == -signal.SIGKILL
    assert list(cache.glob(".graylearn-*")), "killed in the middle"
    assert not list(cache.glob("images-*"))
    files = sorted(images.iterdir(), key=lambda path: int(path.stem))[:3]
    assert cache_images(files, size=8, folder=cache).images.shape == (3, 8, 8, 3)
    assert not list(cache.glob(".graylearn-*"))


def test_names_that_are_not_plain_text(tmp_path):
    names = ["ü ä.png", "line\nbreak.png", "quote'\".png", os.fsdecode(b"latin-\xe9.png")]
    for name in names:
        Image.new("RGB", (4, 4), (7, 7, 7)).save(tmp_path / name)
    paths = [tmp_path / name for name in names]
    cached = cache_images(paths, size=4, folder=tmp_path / "cache", workers=1)
    assert (cached.images == 7).all()
