"""A classifier as an MLflow model: it answers as it did, in a process that has nothing else, and no net."""

import os
import subprocess
import sys

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from clouds import clouds

from graylearn.errors import SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.integrations import mlflow as ours

pytestmark = pytest.mark.filterwarnings("ignore")  # what MLflow says of its own parts

LOAD = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("no net here")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import mlflow.pyfunc
import numpy as np

mlflow.pyfunc.load_model(sys.argv[1]).predict(np.load(sys.argv[2])).to_pickle(sys.argv[3])
"""


@pytest.fixture(scope="module")
def rows():
    x, given, _ = clouds()
    return x, np.array(["a", "b", "class", "rejected", "e"])[given]


@pytest.fixture(scope="module")
def fitted(rows):
    return GrayClassifier(epochs=3, audit=None, random_state=0, device="cpu").fit(*rows)


def check(answers, fitted, x, reject_at):
    """The answers are those of the classifier itself."""
    assert list(answers.columns) == [
        "class", "rejected", "ood_score", *(f"probability {name}" for name in fitted.classes_)
    ]  # fmt: skip
    np.testing.assert_array_equal(answers["class"], fitted.predict(x))
    np.testing.assert_array_equal(answers["ood_score"], fitted.ood_score(x))
    np.testing.assert_array_equal(answers.iloc[:, 3:], fitted.predict_proba(x))
    none = [answer is None for answer in fitted.predict(x, reject_at=reject_at)]
    np.testing.assert_array_equal(answers["rejected"], none)
    assert 0 < sum(none) < len(x)


def test_a_fresh_process_without_net_answers_the_same(fitted, rows, tmp_path):
    ours.save_model(fitted, tmp_path / "model", reject_at=0.9)
    asked = np.concatenate([rows[0][:60], 9 * rows[0][:20]])
    np.save(tmp_path / "x.npy", asked)
    paths = [str(tmp_path / name) for name in ("model", "x.npy", "answers")]
    environment = os.environ | {"MLFLOW_TRACKING_URI": (tmp_path / "runs").as_uri()}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *paths], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    check(pd.read_pickle(tmp_path / "answers"), fitted, asked, 0.9)
    assert not [path for path in (tmp_path / "model").rglob("*") if path.suffix in (".pkl", ".pickle")]


def test_a_logged_model_is_loaded_and_its_share_can_be_changed(fitted, rows, tmp_path):
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run():
            logged = ours.log_model(fitted)
        served = mlflow.pyfunc.load_model(logged.model_uri, model_config={"reject_at": 0.5})
    finally:
        mlflow.set_tracking_uri(before)
    frame = pd.DataFrame(rows[0][:40], index=np.arange(40) + 100)
    answers = served.predict(frame)
    assert list(answers.index) == list(frame.index)
    check(answers, fitted, rows[0][:40], 0.5)


def test_an_example_tells_what_is_read_and_answered(fitted, rows, tmp_path):
    ours.save_model(fitted, tmp_path / "model", input_example=rows[0][:3])
    signature = mlflow.models.get_model_info(str(tmp_path / "model")).signature
    (read,) = signature.inputs.inputs
    assert read.shape == (-1, rows[0].shape[1])
    assert signature.outputs.input_names() == [
        "class", "rejected", "ood_score", *(f"probability {name}" for name in fitted.classes_)
    ]  # fmt: skip
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    check(served.predict(rows[0]), fitted, rows[0], 0.99)
    np.testing.assert_array_equal(served.input_example, rows[0][:3])


def test_what_could_not_be_loaded_is_refused(rows, tmp_path):
    own = GrayClassifier(network=torch.nn.Linear(8, 5), epochs=1, audit=None, device="cpu").fit(*rows)
    with pytest.raises(SettingsError, match="network of your own"):
        ours.save_model(own, tmp_path / "model")
    with pytest.raises(SettingsError, match="reject_at"):
        ours.save_model(own, tmp_path / "model", reject_at=2)
    assert not (tmp_path / "model").exists()
