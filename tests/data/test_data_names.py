"""The public names of the data package are there and documented, those of its catalog among them."""

import graylearn.data as data
from graylearn.data import catalog


def test_every_public_name_is_there_and_documented():
    for module in (data, catalog):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            thing = getattr(module, name)
            assert not callable(thing) or thing.__doc__, f"{name} has no docstring"


def test_the_catalog_is_reached_from_the_package_itself():
    assert set(catalog.__all__) <= set(data.__all__)


def test_the_core_names_others_rely_on_are_public():
    core = {
        "Samples",
        "Contaminated",
        "contaminate",
        "read",
        "load",
        "download",
        "table_task",
        "datasets_table",
    }
    assert core <= set(data.__all__)
