"""`export`: the model of a run as an ONNX file or as a folder for MLflow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graylearn.data.written import check_writable
from graylearn.errors import SettingsError, first_few
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import REJECT_AT
from graylearn.integrations import mlflow, onnx
from graylearn.runs.folder import RunFolder
from graylearn.runs.predict import load_model

_NAMED = 6
"""Columns that are named; of others their number is told."""


@dataclass(frozen=True)
class Exported:
    """What was written."""

    out: str
    format: str
    """onnx or mlflow."""
    reads: str
    """What it is given a sample, in words."""
    classes: list[str]
    reject_at: float

    @property
    def words(self) -> str:
        """What it holds, for people."""
        kind = {"onnx": "an ONNX file", "mlflow": "a folder for MLflow"}[self.format]
        return (
            f"{self.out}: {kind} that reads {self.reads} and answers class (one of {len(self.classes)}), "
            "probabilities, ood_score, and rejected: whether ood_score is larger than that of "
            f"{100 * self.reject_at:.4g}% of the samples that belong"
        )


def export(
    model: str | Path, out: str | Path, reject_at: float = REJECT_AT, *, overwrite: bool = False
) -> Exported:
    """Write the model of a run folder, or one that `GrayClassifier.save` wrote, for use elsewhere.

    A name that ends in .onnx is an ONNX file, one without an ending a folder for MLflow. One that graylearn
    wrote is replaced only with `overwrite`, anything else never.
    """
    path = Path(out)
    if path.suffix.lower() not in (".onnx", ""):
        raise SettingsError(
            f"{path} ends in {path.suffix!r}; end it in .onnx for an ONNX file, or in nothing for a folder "
            "of MLflow"
        )
    to_onnx = path.suffix != ""
    to = onnx if to_onnx else mlflow
    check_writable(path, to.KIND, folder=not to_onnx, overwrite=overwrite)
    classifier, reads = _model_and_inputs(Path(model))
    to.save_model(classifier, path, reject_at=reject_at)
    classes = [str(name) for name in classifier.classes_.tolist()]
    return Exported(str(path), "onnx" if to_onnx else "mlflow", reads, classes, reject_at)


def _model_and_inputs(folder: Path) -> tuple[GrayClassifier, str]:
    """The classifier of a run or of a folder of its own, and what it reads in words."""
    if RunFolder(folder).settings_file.exists() or not (folder / "model.json").exists():
        _, source, classifier = load_model(folder)
        if source.encoding.way.endswith("embedding"):
            reads = f"the {classifier.n_features_in_} {source.encoding.words}, which are made before,"
            return classifier, reads
    else:
        classifier = GrayClassifier.load(folder)
    return classifier, _inputs(classifier)


def _inputs(classifier: GrayClassifier) -> str:
    if classifier.encoder_.kind != "rows":
        return "images as the classifier does"
    if not hasattr(classifier, "feature_names_in_"):
        return f"X, {classifier.n_features_in_} numbers a sample"
    table = classifier.encoder_.table
    names = list(classifier.feature_names_in_) if table is None else list(table.kinds_)
    return f"the columns {first_few(names, _NAMED)}"
