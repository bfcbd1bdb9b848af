"""Whether an installed wheel is whole: import it from where it was installed, fit, save, load and audit.

Run by `make dist` in an environment that has the wheel and nothing of this checkout.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import files, version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import graylearn as gl
from graylearn.audit.duplicates import find_duplicates

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Fail with an AssertionError where something of the package is missing."""
    where = Path(gl.__file__)
    assert ROOT / "graylearn" not in where.parents, f"{where} is the checkout, not the wheel"
    assert version("graylearn") == gl.__version__
    tops = {path.parts[0] for path in files("graylearn") or () if not path.parts[0].startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graylearn"}, tops
    X, y = load_iris(return_X_y=True)
    copies = find_duplicates(np.concatenate([X[:3], X[1:2]]))
    assert [list(group) for group in copies.groups] == [[1, 3]], copies.groups  # all before scipy 1.11.3
    classifier = gl.GrayClassifier(epochs=2, random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(f"{folder}/model")
        again = gl.GrayClassifier.load(f"{folder}/model")
        np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
        table = Path(folder) / "iris.csv"
        np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,label", comments="")
        program = Path(sys.executable).with_name("graylearn")
        subprocess.run(
            [program, "audit", str(table), "--label", "label", "--out", f"{folder}/run"], check=True
        )
        assert (Path(folder) / "run" / "report.html").stat().st_size > 10_000
    print(f"graylearn {gl.__version__} works from its wheel")


if __name__ == "__main__":
    main()
