"""The commands of the page run the cells that it shows, and little else."""

import pytest
from page_rows import ABSENT, levels, rows_of, write_stores

from reproduction.options import Options
from reproduction.page import generate
from reproduction.page.commands import commands
from reproduction.records import records


@pytest.mark.parametrize(
    ("experiment", "options", "expected"),
    [
        ("alpha", Options(), "python -m reproduction alpha"),
        ("alpha", Options(epochs_scale=0.3), "python -m reproduction alpha --epochs-scale 0.3"),
        (
            "regimes",
            Options(epochs_scale=0.2, batch_size=512),
            "python -m reproduction regimes --epochs-scale 0.2 --batch-size 512",
        ),
        ("alpha", Options(seeds=(0, 1, 2)), "python -m reproduction alpha --seeds 0-2"),
        ("alpha", Options(train_size=900), "python -m reproduction alpha --train-size 900"),
        (
            "sources",
            Options(preset="fast", epochs=15, batch_size=512),
            "python -m reproduction sources --preset fast --epochs-scale 0.075 --batch-size 512",
        ),
        ("table2", Options(protocol=("tuned",)), "python -m reproduction table2 --protocol tuned"),
        (
            "ablation",
            Options(datasets=("svhn",), epochs=10, preset="paper-warm"),
            "python -m reproduction ablation --preset paper-warm --epochs-scale 0.05 --datasets svhn",
        ),
        (
            "alpha",
            Options(labels=("random",), alphas=(0.05, 0.5), methods=("standard", "gl"), only=True),
            "python -m reproduction alpha --labels random --alphas 0.05,0.5 --methods standard,gl --only",
        ),
        (
            "architectures",
            Options(nets=("vgg19", "densenet121"), methods=("standard", "gl"), only=True),
            "python -m reproduction architectures --nets vgg19,densenet121 --methods standard,gl --only",
        ),
    ],
)
def test_the_command_runs_these_very_cells(experiment, options, expected):
    made = rows_of(experiment, lambda cell: 0.9, options, without=ABSENT)
    assert commands(experiment, records(made)) == [expected]


def test_one_command_stands_for_what_another_runs_as_well():
    made = rows_of("regimes", lambda cell: 0.9, Options(epochs_scale=0.6, batch_size=512))
    assert commands("regimes", records(made)) == [
        "python -m reproduction regimes --epochs-scale 0.6 --batch-size 512"
    ]


def test_a_seed_of_some_runs_has_a_command_of_its_own():
    few = Options(seeds=(1,), labels=("random",), methods=("standard",), only=True)
    made = rows_of("sources", lambda cell: 0.9, without=ABSENT) + rows_of(
        "sources", lambda cell: 0.9, few, without=ABSENT
    )
    assert commands("sources", records(made)) == [
        "python -m reproduction sources",
        "python -m reproduction sources --seeds 1 --labels random --methods standard --only",
    ]
    # the seeds that an experiment declares for its core methods are no parts
    assert commands("table1", records(rows_of("table1", lambda cell: 0.9, without=ABSENT))) == [
        "python -m reproduction table1"
    ]


def test_a_command_names_the_methods_of_its_rule(tmp_path):
    made = rows_of("table1", levels(), Options(epochs=4, datasets=("svhn",)), without=ABSENT)
    page = generate(write_stores(tmp_path, table1=made))
    claim = page.split('<a id="ood-hurts"></a>')[1].split("<a id=")[0]
    assert "--methods oracle,standard --only`." in claim
