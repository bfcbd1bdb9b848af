"""Run the notebooks from top to bottom; an error in a cell ends it.

python examples/run_notebooks.py               # all of examples/notebooks
python examples/run_notebooks.py csv --write   # one, and keep what it printed
"""

import argparse
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"


def run(path: Path, *, write: bool = False) -> nbformat.NotebookNode:
    """The notebook with the outputs of this run; `write` puts them into the file."""
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = NotebookClient(
        book,
        timeout=1800,  # against a hang, not against a slow machine
        startup_timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    client.execute()
    for cell in book.cells:  # what libraries warn of names folders of this machine
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    if write:
        nbformat.write(book, path)
    return book


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="notebooks by name; all unless told")
    parser.add_argument("--write", action="store_true", help="keep what they printed in the files")
    asked = parser.parse_args()
    names = asked.names or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    for name in names:
        began = time.perf_counter()
        run(FOLDER / f"{name}.ipynb", write=asked.write)
        print(f"{name}: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
