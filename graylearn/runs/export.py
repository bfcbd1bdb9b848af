"""`export`: the model of a run as an ONNX file or as a folder for MLflow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from graylearn.errors import FolderTakenError, SettingsError, first_few
from graylearn.estimator import GrayClassifier
from graylearn.estimator.rejection import REJECT_AT
from graylearn.runs.folder import RunFolder
from graylearn.runs.model import load_model

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

    A name that ends in .onnx is an ONNX file, one without an ending a folder for MLflow. One that is there
    already is replaced only with `overwrite`, and a folder only if it is one for MLflow.
    """
    path = Path(out)
    if path.suffix.lower() not in (".onnx", ""):
        raise SettingsError(
            f"{path} ends in {path.suffix!r}; end it in .onnx for an ONNX file, or in nothing for a folder "
            "of MLflow"
        )
    to_onnx = path.suffix != ""
    if path.exists() and path.is_dir() == to_onnx:
        raise FolderTakenError(f"{path} is a {'folder' if to_onnx else 'file'}; name another with --out")
    if path.exists() and (to_onnx or any(path.iterdir())):
        _check_replaceable(path, overwrite)
    classifier, reads = _model_and_inputs(Path(model))
    if to_onnx:
        from graylearn.integrations.onnx import save_model as save_onnx

        save_onnx(classifier, path, reject_at=reject_at)
    else:
        from graylearn.integrations.mlflow import save_model as save_mlflow

        with TemporaryDirectory(prefix=f".{path.name}.", dir=_made(path.absolute().parent)) as beside:
            written = Path(beside) / path.name
            save_mlflow(classifier, written, reject_at=reject_at)
            if path.exists():
                path.rename(Path(beside) / "replaced")
            written.rename(path)
    classes = [str(name) for name in classifier.classes_.tolist()]
    return Exported(str(path), "onnx" if to_onnx else "mlflow", reads, classes, reject_at)


def _check_replaceable(path: Path, overwrite: bool) -> None:
    """Refuse to write where something is, unless it may be replaced and is what this writes."""
    if path.is_dir() and not (path / "MLmodel").exists():
        raise FolderTakenError(f"{path} is not empty and no model of MLflow; name another folder with --out")
    if not overwrite:
        raise FolderTakenError(
            f"{path} exists already; name another with --out, or replace it with --overwrite"
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _model_and_inputs(folder: Path) -> tuple[GrayClassifier, str]:
    """The classifier of a run or of a folder of its own, and what it reads in words."""
    if RunFolder(folder).settings_file.exists() or not (folder / "model.json").exists():
        run = load_model(folder)
        classifier, encoding = run.classifier, run.encoding
        if encoding.way.endswith("embedding"):
            reads = f"the {classifier.n_features_in_} {encoding.words}, which are made before,"
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
