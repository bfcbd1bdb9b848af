"""The notebooks: kept with what they printed. `make notebooks`, in CI too, runs all of them."""

import nbformat
import pytest
from pages import ROOT

FOLDER = ROOT / "examples" / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_what_its_code_printed(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kept = [output for cell in cells for output in cell.outputs]
    assert kept
    assert {output.output_type for output in kept} <= {"stream", "execute_result", "display_data"}
    assert "site-packages" not in str(kept), "a path of the machine it ran on"
    assert path.stat().st_size < 100_000
