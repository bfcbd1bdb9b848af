"""The public face: what people import is there, and nothing optional is needed to import it."""

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import face
import numpy as np
import pytest
from warm import Process

import graylearn as gl

OPTIONAL = ("triton", "polars", "datasets", "transformers", "sentence_transformers", "timm", "skorch",
            "lightning", "accelerate", "lightgbm", "xgboost", "cleanlab", "pyod", "skrub", "matplotlib",
            "typer", "hypothesis", "pytest")  # fmt: skip


def fresh(code, *words):
    """Run code in a fresh interpreter; gives what it prints."""
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fresh_but_for_the_libraries(code, *words):
    """The same where torch and its kind are there already, which takes seconds less."""
    said, errors, ended = Process(code, *words).communicate()
    assert ended == 0, errors
    return said


def test_every_name_of_the_public_list_exists():
    assert [name for name in gl.__all__ if not hasattr(gl, name)] == []
    assert sorted(gl.__all__) == sorted(set(gl.__all__))
    assert set(gl.__all__) <= set(dir(gl))
    assert not {"TYPE_CHECKING", "getter", "lazy", "_NAMES"} & set(dir(gl))


def test_type_checkers_see_the_names_that_are_there():
    """What the package imports for type checkers is the public list, from where it truly comes from."""
    tree = ast.parse(Path(gl.__file__).read_text(encoding="utf-8"))
    block = next(
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert sorted(seen) == sorted(gl.__all__)
    for name, room in seen.items():
        home = importlib.import_module(f"graylearn.{name}" if room == "graylearn" else room)
        assert getattr(gl, name) is (home if room == "graylearn" else getattr(home, name)), name


def test_the_fixed_signatures_hold():
    """`python tests/face.py --write` makes the table anew; what is gone then needs its reason in it."""
    table, gone = face.read_table()
    now = {name: spelled or "-" for name, (spelled, _) in face.items().items()}
    assert now == {name: spelled for name, (spelled, _) in table.items()}
    held = {test for _, test in table.values()} - {"-"}
    assert held <= face.tests().keys()
    assert not gone.keys() & now.keys()
    assert face.REASON_MISSING not in gone.values()


def test_importing_needs_no_optional_package():
    """A process in which the optional packages cannot be found still has every public name."""
    fresh_but_for_the_libraries(f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))  # as if they were not installed
import torch, graylearn
for name in graylearn.__all__:
    getattr(graylearn, name)
z = torch.randn(4, 3, requires_grad=True)
graylearn.gray_loss(z, torch.tensor([0, 1, 2, 0])).backward()
assert z.grad is not None
""")


HEAVY = ("torch", "sklearn", "scipy", "pandas", "pyarrow", "numpy")


def test_the_version_comes_without_the_heavy_packages():
    fresh(f"""
import sys, graylearn
assert graylearn.__version__
assert not set({HEAVY!r}) & set(sys.modules)
""")


def test_the_classifier_comes_without_torch():
    """Its import took twice as long with it; a fit brings it."""
    fresh("""
import sys, graylearn
graylearn.GrayClassifier(epochs=3).get_params()
assert "torch" not in sys.modules
""")


def test_rows_are_audited_where_there_is_no_torch():
    said = fresh("""
import sys

class Missing:
    def find_spec(name, *_):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing)
import graylearn as gl, numpy as np, pandas as pd
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
X, y = load_iris(return_X_y=True)
y[::10] = (y[::10] + 1) % 3
frame = pd.DataFrame(X, columns=list("abcd"))
audits = [gl.audit(frame, y), gl.audit(X, y, model=LogisticRegression())]
said = LogisticRegression().fit(X, y).predict_proba(X)
audits.append(gl.Audit.from_predictions(said, y))
print([round(gl.metrics.auroc(each.score, np.arange(150) % 10 == 0), 1) for each in audits])
""")
    assert min(map(float, said.strip("[]\n").split(","))) > 0.8


@pytest.mark.parametrize("command", ["graylearn.cli", "reproduction.cli"])
def test_help_comes_without_the_heavy_packages(command):
    said = fresh(
        f"""
import sys
from {command} import main
try:
    main()
except SystemExit as end:
    assert not end.code
assert not set({HEAVY!r}) & set(sys.modules)
""",
        "--help",
    )
    assert "Usage" in said


@pytest.mark.parametrize("first", ["import graylearn.audit.views", "from graylearn import estimator"])
def test_audit_is_the_function_whatever_was_imported_first(first):
    """The room of the same name is imported on the way, which must not put it in the function's place."""
    said = fresh_but_for_the_libraries(f"""
{first}
import graylearn as gl
import numpy as np
from graylearn import audit
from graylearn.audit import views, Audit  # the room is still where imports look for it
X = np.random.default_rng(0).normal(size=(40, 3))
X[20:] += 5
found = gl.audit(X, np.repeat([0, 1], 20))
assert gl.audit is audit and isinstance(found, Audit)
print(len(found))
""")
    assert said == "40\n"


def test_a_classifier_unpickles_in_a_process_that_imported_nothing(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[20:] += 5
    model = gl.GrayClassifier(epochs=3, audit=None, random_state=0).fit(x, np.repeat([0, 1], 20))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps((model, x)))
    said = fresh_but_for_the_libraries(
        """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    model, x = pickle.load(file)
print(*model.predict(x))
""",
        str(tmp_path / "model.pickle"),
    )
    assert said.split() == [str(each) for each in model.predict(x)]
