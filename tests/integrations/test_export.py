"""`graylearn export`: an ONNX file or a folder of MLflow made of a run answers as `predict` does."""

import mlflow
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from blobs import blobs

from graylearn import runs
from graylearn.errors import CheckpointError, FolderTakenError, SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.runs.predict import export, predict

pytestmark = pytest.mark.filterwarnings("ignore")  # what MLflow says of its own parts


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, and its finished runs: a fit and an audit."""
    folder = tmp_path_factory.mktemp("export")
    x, y = blobs()
    table = pd.DataFrame(x, columns=["one", "two", "three"])
    table["colour"] = np.array(["red", "green"])[np.arange(90) % 2]
    table.assign(label=np.array(["cat", "dog", "cow"])[y]).to_csv(folder / "data.csv", index=False)
    options = {"data": str(folder / "data.csv"), "label": "label", "epochs": 2, "mode": "history"}
    quiet = runs.RunProgress(quiet=True)
    runs.run(runs.RunSettings(**options, refine=False), folder / "run", progress=quiet)
    runs.run(runs.RunSettings(**options, command="audit"), folder / "audit", progress=quiet)
    return folder


def answers_of_onnx(path, table):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {
        name: table[name].to_numpy(object if name == "colour" else np.float64)
        for name in (each.name for each in session.get_inputs())
    }
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, inputs), strict=True))


def test_both_answer_as_predict_does(made, tmp_path):
    said = predict(made / "run", made / "data.csv", reject_at=0.8, top=1)
    none = said["none_of_these"].to_numpy(bool)
    assert 0 < none.sum() < len(none)
    table = pd.read_csv(made / "data.csv").drop(columns="label")
    onnx = export(made / "run", tmp_path / "model.onnx", 0.8)
    found = answers_of_onnx(tmp_path / "model.onnx", table)
    export(made / "run", tmp_path / "served", 0.7)
    with pytest.raises(FolderTakenError, match=r"served exists already.*overwrite=True"):
        export(made / "run", tmp_path / "served", 0.8)
    served = export(made / "run", tmp_path / "served", 0.8, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "served"}
    asked = mlflow.pyfunc.load_model(str(tmp_path / "served")).predict(table)
    for each in (found, asked):
        np.testing.assert_allclose(each["ood_score"], said["ood_score"], atol=1e-5)
        np.testing.assert_array_equal(each["rejected"], none)
        np.testing.assert_array_equal(np.asarray(each["class"])[~none], said["class"][~none])
    assert (onnx["format"], served["format"]) == ("onnx", "mlflow")
    assert onnx["classes"] == served["classes"] == ["cat", "cow", "dog"]
    assert onnx["reads"] == "the columns one, two, three, colour"


def test_a_saved_classifier_is_exported_too(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    GrayClassifier(epochs=1, audit=None, random_state=0).fit(x, x[:, 0] > 0).save(tmp_path / "saved")
    done = export(tmp_path / "saved", tmp_path / "model.onnx")
    assert done["reads"] == "X, 3 numbers a sample"
    assert (tmp_path / "model.onnx").exists()


def test_what_cannot_be_is_told_and_leaves_nothing(made, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "file").touch()
    for model, out, kind, why in (
        (made / "run", "model.pb", SettingsError, "ends in '.pb'"),
        (made / "run", "full", FolderTakenError, "no MLflow model"),
        (made / "run", "folder.onnx", FolderTakenError, "is a folder"),
        (made / "run", "file", FolderTakenError, "is a file"),
        (made / "audit", "model.onnx", SettingsError, "an audit without a model"),
        (made, "model.onnx", CheckpointError, "not a run folder"),
    ):
        with pytest.raises(kind, match=why):
            export(model, tmp_path / out, overwrite=True)
    with pytest.raises(SettingsError, match="reject_at is 7"):
        export(made / "run", tmp_path / "model.onnx", 7)
    assert {path.name for path in tmp_path.rglob("*")} == {"full", "mine.txt", "folder.onnx", "file"}
