"""Settings from flags, TOML and YAML, and back."""

import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graylearn.errors import SettingsError
from graylearn.runs.settings import RunSettings, read_settings, settings_from, to_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    data=TEXT,
    label=st.none() | TEXT,
    without=st.lists(TEXT, max_size=3),
    epochs=st.none() | st.integers(1, 10**6),
    test_share=st.none() | st.floats(0.01, 0.99),
    refine=st.booleans(),
)
def test_toml_holds_every_setting_exactly(data, label, without, epochs, test_share, refine):
    settings = RunSettings(
        data=data, label=label, without=tuple(without), epochs=epochs, test_share=test_share, refine=refine
    )
    written = to_toml(settings, "a comment\nof two lines")
    assert settings_from(tomllib.loads(written), "here") == settings


def test_toml_and_yaml_say_the_same(tmp_path):
    values = {"label": "quality", "epochs": 3, "refine": False, "without": ["a", "b"], "learning_rate": 0.01}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "s.toml").write_text(
        'label = "quality"\nepochs = 3\nrefine = false\nwithout = ["a", "b"]\nlearning_rate = 0.01\n'
    )
    expected = RunSettings(label="quality", epochs=3, refine=False, without=("a", "b"), learning_rate=0.01)
    for name in ("s.yaml", "s.toml"):
        assert settings_from(read_settings(tmp_path / name), name) == expected


def test_paths_in_a_file_are_relative_to_it(tmp_path):
    (tmp_path / "s.toml").write_text('data = "in/a.csv"\ntest = "/far/b.csv"\n')
    values = read_settings(tmp_path / "s.toml")
    assert values == {"data": str(tmp_path / "in" / "a.csv"), "test": "/far/b.csv"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("epoch = 3", "did you mean epochs?"),
        ('epochs = "three"', "expected a whole number"),
        ("test_share = 2.0", "between 0 and 1"),
        ('id = "a"\nno_id = true', "both id and no_id"),
    ],
)
def test_wrong_settings_are_named(tmp_path, content, words):
    (tmp_path / "s.toml").write_text(content + "\n")
    with pytest.raises(SettingsError) as caught:
        read_settings(tmp_path / "s.toml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.yaml", "[1, 2]", "expected names and values"),
        ("s.yaml", "a: " + "[" * 2000, "not valid YAML"),
        ("absent.toml", None, "cannot be read"),
    ],
)
def test_files_that_hold_no_settings(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(SettingsError, match=words):
        read_settings(tmp_path / name)


def test_yaml_runs_no_code(tmp_path):
    (tmp_path / "s.yaml").write_text("label: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(SettingsError, match="not valid YAML"):
        read_settings(tmp_path / "s.yaml")
