"""MLflow: a fitted GrayClassifier as a pyfunc model, kept as the folder that `save` writes, without a pickle.

log_model(classifier, name="model", input_example=X[:5])   # in a run; or save_model(classifier, "folder")
mlflow.pyfunc.load_model("folder").predict(X)              # one row per sample, see `Served.predict`
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

import graylearn
from graylearn.data.written import writing
from graylearn.errors import SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import REJECT_AT, limit_at
from graylearn.estimator.saving import write_classifier
from graylearn.lazy import require

KIND = "MLflow model"


class Served:
    """What MLflow asks: a classifier, and the share of samples that belong which it answers."""

    def __init__(self, classifier: GrayClassifier, reject_at: float = REJECT_AT) -> None:
        self.classifier = classifier
        self.limit = limit_at(reject_at, classifier.reference_["quantiles"], "reject_at")

    def predict(self, X: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """One row per sample: class (the most probable one), rejected (it seems to belong to none of them),
        ood_score, and `probability CLASS` for each class.
        """
        asked, score = self.classifier, self.classifier.ood_score(X)
        said = asked.predict_proba(X)
        answers = {
            "class": asked.classes_[said.argmax(axis=1)],
            "rejected": score > self.limit,
            "ood_score": score,
        }
        answers |= {f"probability {name}": said[:, k] for k, name in enumerate(asked.classes_.tolist())}
        return pd.DataFrame(answers, index=X.index if isinstance(X, pd.DataFrame) else None)


def save_model(
    classifier: GrayClassifier, path: str | Path, *, reject_at: float = REJECT_AT, **options: Any
) -> None:
    """Write the classifier as an MLflow model to a folder; options are those of mlflow.pyfunc.save_model.

    The signature is that of the `input_example`, where one is given.
    reject_at: as in `GrayClassifier.predict`; `load_model(path, model_config={"reject_at": ...})` changes it.
    """
    with _as_pyfunc(classifier, reject_at, options) as arguments, writing(path, KIND, folder=True) as folder:
        require("mlflow.pyfunc", "serve").save_model(folder, **arguments)


def log_model(
    classifier: GrayClassifier, name: str = "model", *, reject_at: float = REJECT_AT, **options: Any
) -> Any:
    """Log the classifier as an MLflow model; options and what is returned are mlflow.pyfunc.log_model's.

    The signature and reject_at: as in `save_model`.
    """
    with _as_pyfunc(classifier, reject_at, options) as arguments:
        return require("mlflow.pyfunc", "serve").log_model(name=name, **arguments)


@contextmanager
def _as_pyfunc(
    classifier: GrayClassifier, reject_at: float, options: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What MLflow is told, with the user's options; the folder that it copies is there while this lasts."""
    served = Served(classifier, reject_at)  # a share that cannot be is refused before anything is written
    if not isinstance(classifier.network, str):
        raise SettingsError(
            "the classifier has a network of your own, of which the weights alone are saved, so that MLflow "
            "could not load it: use one of graylearn.nets by its name, or write a PythonModel of your own"
        )
    signature, example = {}, options.get("input_example")
    if example is not None:  # MLflow finds the signature itself only for a PythonModel
        infer = require("mlflow.models", "serve").infer_signature
        signature = {"signature": infer(example, served.predict(example))}
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "classifier"
        kept.mkdir()
        write_classifier(classifier, kept)
        yield {
            "loader_module": __name__,
            "data_path": str(kept),
            "model_config": {"reject_at": reject_at},
            "pip_requirements": [f"graylearn=={graylearn.__version__}"],  # MLflow would guess, by loading it
            **signature,
            **options,
        }


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Served:
    """What MLflow calls to load the model."""
    return Served(GrayClassifier.load(path), **(model_config or {}))
