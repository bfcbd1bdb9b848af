"""Every epoch of an image cell is tested: on the test images as they are and on augmented ones."""

from reproduction.experiments import EXPERIMENTS
from reproduction.images import run_images
from reproduction.options import Options

CELL = EXPERIMENTS["table1"].cells(Options(quick=True, methods=("standard",), epochs=3))[0]


def test_the_last_epoch_is_the_row_s_own_accuracy():
    [(_, measured)] = run_images([CELL], None, "cpu")
    told = measured["epoch_tests"]
    assert {name: len(values) for name, values in told.items()} == {"plain": 3, "augmented": 3}
    assert told["plain"][-1] == round(measured["accuracy"], 4)
    assert told["plain"] != told["augmented"]


def test_a_recipe_and_options_change_what_is_trained():
    changes = ({}, *({"recipe": r} for r in ({"momentum": 0.0}, {"weight_decay": 0.1}, {"zipped": True})))
    accuracies = [next(iter(run_images([CELL.but(**c)], None, "cpu")))[1]["ece"] for c in changes]
    assert len(set(accuracies)) == len(changes)
