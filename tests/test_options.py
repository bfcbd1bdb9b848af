"""Each option is declared once, and every face follows from the declaration."""

import dataclasses
import inspect
import pickle
import re
from functools import cache

import pytest
import typer
from typer.testing import CliRunner

import graylearn as gl
from graylearn.cli.main import app
from graylearn.errors import DataError, Hint, SettingsError
from graylearn.options import Learning, documented
from graylearn.runs.settings import FIELDS, Reading, RunSettings, Sizing, in_flags
from graylearn.training import Settings

CALLED = {"mode": "audit", "seed": "random_state"}
"""Options that scikit-learn, or a parameter that was there first, call otherwise."""


def test_every_setting_of_a_training_is_declared_with_its_meaning_once():
    own, shared = documented(Settings), documented(Learning)
    fields = {field.name for field in dataclasses.fields(Settings)}
    assert fields <= own.keys() | shared.keys()
    assert not own.keys() & shared.keys()


def test_an_option_that_is_not_there_is_a_type_error_that_names_the_nearest():
    with pytest.raises(TypeError, match="there is no option 'epoch'; did you mean epochs"):
        gl.train(None, None, epoch=3)
    with pytest.raises(TypeError, match="there is no option 'lr'; did you mean learning_rate"):
        gl.train(None, None, lr=0.1)
    with pytest.raises(TypeError, match=r"optimizer=gl\.training\.OptimizerSettings\(weight_decay=\.\.\.\)"):
        gl.train(None, None, weight_decay=0.1)
    with pytest.raises(TypeError, match=r"schedule=gl\.training\.ScheduleSettings\(warmup=\.\.\.\)"):
        gl.train(None, None, warmup=0.1)


def test_the_classifier_has_the_declared_options_and_no_other_default():
    parameters = inspect.signature(gl.GrayClassifier).parameters
    told = gl.GrayClassifier.__doc__
    assert told is not None
    for field in dataclasses.fields(Learning):
        name = CALLED.get(field.name, field.name)
        assert name in parameters, f"GrayClassifier has no {name}"
        assert re.search(rf"^ +{name}: ", told, re.MULTILINE), name
        given = parameters[name].default
        # fit takes no seed of its own accord, and a second fit is asked for; 0 and False are None there
        assert given == field.default or name in ("refine", "random_state") or not (given or field.default), (
            name
        )


def test_reading_has_the_same_options_in_python_and_in_runs():
    # source, id=False, and what is made of the samples
    of_runs_alone = {"data", "no_id", "features", "embedding"}
    assert set(Reading.__annotations__) - of_runs_alone <= set(inspect.signature(gl.read).parameters)


@cache
def help_of(word):
    return CliRunner().invoke(app, [word, "--help-all"], env={"COLUMNS": "300"}).output


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "command"])
def test_help_says_each_option_once_and_what_it_means(name):
    word = "audit" if name in Sizing.__annotations__ else "fit"
    command = typer.main.get_command(app).commands[word]
    found = [parameter for parameter in command.params if parameter.name == name]
    assert len(found) == 1
    meaning = documented(RunSettings)[name].partition(" None: ")[0]
    assert found[0].help.startswith(meaning)
    if name != "data":
        flags = [line.split("<")[0] for line in help_of(word).splitlines() if line.startswith("│")]
        assert sum(f"--{name.replace('_', '-')} " in line for line in flags) == 1


@pytest.mark.parametrize(
    ("error", "python", "flags"),
    [
        (
            DataError("no labels;", Hint("labelled", False, "for data without")),
            "no labels; pass labelled=False for data without",
            "no labels",
        ),
        (
            DataError("two are lists;", Hint("without", ("tags", "my box"), "to do without")),
            "two are lists; pass without=('tags', 'my box') to do without",
            "two are lists; pass --without tags --without 'my box' to do without",
        ),
        (
            SettingsError.wrong("batch_size", 0, "a whole number of at least 1"),
            "batch_size is 0, expected a whole number of at least 1",
            "--batch-size is 0, expected a whole number of at least 1",
        ),
    ],
)
def test_each_face_words_an_error_its_own_way(error, python, flags):
    assert str(error) == python
    assert error.worded(in_flags) == flags
    again = pickle.loads(pickle.dumps(error))  # errors cross processes
    assert str(again) == python
    assert (again.option, again.value, again.hints) == (error.option, error.value, error.hints)


def test_an_error_that_quotes_a_file_is_one_line_that_steers_no_terminal():
    error = DataError("the column a\r\n  b\x1b[31m\x85\u2028c is not there")
    assert str(error) == "the column a b\\x1b[31m c is not there"
