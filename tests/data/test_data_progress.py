"""The bar of reading and embedding: its title is what it says, whatever a file is called."""

import pytest

from graylearn.progress import progress_bar


@pytest.mark.parametrize("name", ["[red]a.csv", "a[/red].csv"])
def test_a_title_is_no_markup(name, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich: as on a terminal
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar(f"Fetching {name}", 2) as advance:
        advance(1)
    assert name in capsys.readouterr().err
