"""A fitted classifier in a folder: safetensors and JSON, and nothing that loading would execute.

    folder/
      model.json               parameters, classes, encoding; size and SHA-256 of the files below
      weights.safetensors      the network, and what new samples are compared with
      history.npz              the confidences of the training run
      audit/                   the audit, with its table for people; see Audit.save
      model-card.md            what was learned from, found and measured, for people; loading does not read it

The folder is written beside its place and put there whole: see graylearn.data.written.
"""

from __future__ import annotations

import dataclasses
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import nn

import graylearn
from graylearn.audit import Audit
from graylearn.data.atomic import checksum, replacing, signature, standing, write_text
from graylearn.data.batches import Augment, PixelScale, Preparation
from graylearn.data.samples import plain_classes
from graylearn.data.written import writing
from graylearn.errors import FULL, CheckpointError, first_few, warn
from graylearn.estimator.inputs import InputEncoder
from graylearn.estimator.models import ModelNetwork
from graylearn.estimator.networks import build_network, wide
from graylearn.estimator.rejection import check_reference, limit_at
from graylearn.methods import METHODS
from graylearn.nets import MLP
from graylearn.training import History, OptimizerSettings
from graylearn.training.checkpoint import DAMAGED, pack, plain, unpack

_PLAIN = {"n_features_in_": int, "n_iter_": int, "members_": int, "refined_": bool}
"""What model.json holds as it is, and its type."""
_MANIFEST, _WEIGHTS, _HISTORY, _AUDIT = "model.json", "weights.safetensors", "history.npz", "audit"
_AUDITED = (f"{_AUDIT}/audit.json", f"{_AUDIT}/arrays.npz")
_LONGEST = 1 << 12
"""Characters of the type of classes that are allowed whatever they are."""
_NETWORK, _REFERENCE = "network.", "reference."


def save_classifier(classifier: Any, path: str | Path) -> None:
    """Write the fitted classifier to the folder `path`, in place of one that was saved there."""
    folder = Path(path)
    try:
        with writing(folder, "classifier", folder=True) as partial:
            write_classifier(classifier, partial)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise CheckpointError(
            f"the classifier cannot be written to {folder} ({error.strerror}); make room and save again"
        ) from error


def write_classifier(classifier: Any, folder: Path) -> None:
    """Write the fitted classifier to an empty folder."""
    if isinstance(classifier.network_, ModelNetwork):
        raise CheckpointError(
            "trees and other models of scikit-learn are saved as code alone, which loading would execute: "
            "keep this classifier with joblib.dump, and load it only where you trust the file"
        )
    tensors = {_NETWORK + name: value for name, value in classifier.network_.state_dict().items()}
    tensors |= {_REFERENCE + name: torch.from_numpy(value) for name, value in classifier.reference_.items()}
    with replacing(folder / _WEIGHTS) as partial:
        partial.write_bytes(safetensors.torch.save(plain(tensors)))
    classifier.history_.write(folder / _HISTORY)
    if classifier.audit_ is not None:
        (folder / _AUDIT).mkdir()
        classifier.audit_.write(folder / _AUDIT)
    content = _content(classifier, folder)
    manifest = {"sha256": checksum(content), "model": content}
    write_text(folder / _MANIFEST, json.dumps(manifest, indent=1))
    write_text(folder / CARD, card(classifier))


def _content(classifier: Any, folder: Path) -> dict[str, Any]:
    """What model.json tells of the classifier and of the files beside it."""
    saved, unsaved = parameters_to_json(classifier.get_params(deep=False))
    scale = classifier.preparation_.scale
    names = getattr(classifier, "feature_names_in_", None)
    files = [_WEIGHTS, _HISTORY, *(_AUDITED if classifier.audit_ is not None else ())]
    return {
        "parameters": saved,
        "unsaved": unsaved,
        "classes": list(plain_classes(classifier.classes_.tolist())),
        "classes_type": classifier.classes_.dtype.str if classifier.classes_.dtype != object else "object",
        "encoder": classifier.encoder_.to_json(),
        "pixels": None if scale is None else {"mean": list(scale.mean), "std": list(scale.std)},
        **{name: kind(getattr(classifier, name)) for name, kind in _PLAIN.items()},
        "feature_names_in": None if names is None else [str(name) for name in names],
        "audited": classifier.audit_ is not None,
        "files": {name: signature(folder / name) for name in files},
    }


def load_classifier(kind: Any, path: str | Path, given: dict[str, Any]) -> Any:
    """Read what `save_classifier` wrote. `given` are parameters instead of the saved ones."""
    folder = standing(Path(path))
    manifest = _read_manifest(folder)
    try:
        return _restored(kind, folder, manifest, given)
    except (CheckpointError, *DAMAGED) as error:
        if _read_manifest(folder) != manifest:
            return load_classifier(kind, path, given)  # another process saved while this one read
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(
            f"the classifier in {folder} cannot be used ({error}): save it again"
        ) from error


def _restored(kind: Any, folder: Path, manifest: dict[str, Any], given: dict[str, Any]) -> Any:
    """The classifier of the files, once each is known to be the one that model.json tells of."""
    unsaved = [name for name in manifest["unsaved"] if name not in given]
    if "network" in unsaved:
        raise CheckpointError(
            f"the classifier in {folder} has a network of your own, of which the weights alone are saved: "
            "pass network= to load, the module or the function that made it"
        )
    if unsaved:
        warn(
            f"{', '.join(unsaved)} could not be saved and took the default: pass it to load to fit again",
            UserWarning,
        )
    saved = {str(name): _unpacked(value) for name, value in manifest["parameters"].items()}
    classifier = kind(**(saved | given))
    for name, written in manifest["files"].items():
        if name not in (_WEIGHTS, _HISTORY, *_AUDITED) or signature(folder / name) != written:
            raise CheckpointError(f"{folder / name} is damaged, its bytes are not the ones that were written")
    classifier.encoder_ = InputEncoder.from_json(manifest["encoder"])
    classifier.classes_ = _classes(manifest["classes"], manifest["classes_type"])
    for name, made in _PLAIN.items():
        setattr(classifier, name, made(manifest[name]))
    if manifest["feature_names_in"] is not None:
        classifier.feature_names_in_ = np.array(manifest["feature_names_in"], dtype=object)
    _check_columns(classifier)
    pixels = manifest["pixels"]
    scale = None if pixels is None else PixelScale(tuple(pixels["mean"]), tuple(pixels["std"]))
    classifier.preparation_ = Preparation(scale=scale)
    tensors = safetensors.torch.load((folder / _WEIGHTS).read_bytes())
    classifier.network_ = _network_of(classifier, _part(tensors, _NETWORK), folder)
    classifier.reference_ = {name: value.numpy() for name, value in _part(tensors, _REFERENCE).items()}
    check_reference(classifier.reference_)
    classifier.history_ = History.load(folder / _HISTORY)
    classifier.audit_ = Audit.load(folder / _AUDIT) if manifest["audited"] else None
    return classifier


def _check_columns(classifier: Any) -> None:
    """Refuse names of columns that do not belong to what is read from them."""
    encoder = classifier.encoder_
    if (encoder.kind == "images") != (encoder.table is None):
        raise CheckpointError(f"the encoder reads {encoder.kind!r}, but is not one that does")
    if encoder.table is None:
        return
    names = list(encoder.names)
    told = classifier.feature_names_in_.tolist() if hasattr(classifier, "feature_names_in_") else names
    unknown = set(encoder.table.kinds_) - set(names)
    if told != names or len(names) != classifier.n_features_in_ or unknown:
        raise CheckpointError("the names of the columns do not fit those that the classifier was fitted on")
    if encoder.shape != (len(encoder.table.get_feature_names_out()),):
        raise CheckpointError("the features of the encoder do not fit the network")


def _network_of(classifier: Any, weights: dict[str, torch.Tensor], folder: Path) -> nn.Module:
    """The network that answers, with its weights.

    One by name is described without memory and takes the tensors of the file, whatever size it claims to be.
    """
    by_name, shape = isinstance(classifier.network, str), classifier.encoder_.shape
    options, num_classes = classifier.network_options, len(classifier.classes_)
    try:
        with torch.device("meta" if by_name else "cpu"):
            network = build_network(classifier.network, options, num_classes, shape, seed=0)
            if isinstance(network, MLP):
                network = wide(network, classifier.members_)
        network.load_state_dict(weights, assign=by_name)
    except RuntimeError as error:
        raise CheckpointError(
            f"the weights in {folder} do not fit the network ({str(error).splitlines()[-1].strip()}): "
            "give the one that was saved"
        ) from error
    return network.eval()


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _classes(saved: Any, type_name: Any) -> NDArray[Any]:
    kind = np.dtype(object if type_name == "object" else str(type_name))
    if kind.kind not in "biufUO":
        raise CheckpointError(f"classes are of type {type_name!r}: expected numbers, text or bools")
    classes = np.array(plain_classes(saved), dtype=object)
    if kind.itemsize > 4 * max(_LONGEST, *(len(str(name)) for name in classes)):
        raise CheckpointError(f"classes are of type {type_name!r}, far longer than any of them")
    return classes.astype(kind)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"there is no saved classifier in {folder} ({error})") from error
    content = manifest.get("model") if isinstance(manifest, dict) else None
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is not of a saved classifier")
    if manifest.get("sha256") != checksum(content):
        raise CheckpointError(f"{path} is damaged: its checksum does not fit; save the classifier again")
    return content


# -- parameters as JSON, and back; what is code of the user's is named, not saved ----------------------------


def _kinds() -> dict[str, Callable[..., Any]]:
    """Types of parameters beside plain values, by the name that they are saved under."""
    return {"optimizer": OptimizerSettings, "augment": Augment, **METHODS}


def parameters_to_json(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(what JSON can hold, the names of the parameters it cannot)."""
    saved: dict[str, Any] = {}
    unsaved: list[str] = []
    for name, value in parameters.items():
        try:
            saved[name] = _packed(value)
        except CheckpointError:  # it is code, or holds some
            unsaved.append(name)
    return saved, unsaved


def _packed(value: Any) -> Any:
    if isinstance(value, torch.device):
        return str(value)
    for name, kind in _kinds().items():
        if kind is type(value):
            return {"is": name, "fields": pack(dataclasses.asdict(value), None)}
    return pack(value, None)


def _unpacked(value: Any) -> Any:
    """The parameter that was packed as `value`."""
    if isinstance(value, dict) and "is" in value:
        return _kinds()[value["is"]](**unpack(value["fields"], {}))
    return unpack(value, {})


# -- the card: data, audit, measures and limits for people, in Markdown --------------------------------------

CARD = "model-card.md"
_MOST = 50
"""Classes and columns that are named."""
_SPEAKING = re.compile(r"^[-+=]|_|[:;](?=\S)|(?<=\w)\.(?=[^\W\d])|[^\w\s.,:;()'%+/=-]")
"""Characters that mean something to Markdown or HTML where they stand: a dot between letters makes a link of
www.example.com, a colon one of https://example.com."""


def card(classifier: Any) -> str:
    """The card as Markdown; names of classes and columns are text in it, whatever they hold."""
    sections = {
        "Data": _data(classifier),
        "Audit of the training set": _audit(classifier),
        "Measures": _measures(classifier),
        "Limits": _limits(classifier),
    }
    body = [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items()]
    return "\n\n".join([f"# Model card\n\n{_model(classifier)}", *body]) + "\n"


def as_text(value: Any, longest: int = 80) -> str:
    """A name as text that Markdown and HTML show as it is, on one line."""
    text = str(value).encode("utf-8", "backslashreplace").decode()
    text = " ".join("".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in text).split())
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return _SPEAKING.sub(lambda found: f"&#{ord(found[0])};", text)


def _model(classifier: Any) -> str:
    network = (
        classifier.network if isinstance(classifier.network, str) else type(classifier.network_).__name__
    )
    method: Any = classifier.method_
    name = method if isinstance(method, str) else type(method).__name__
    members = f", a committee of {classifier.members_}" if classifier.members_ > 1 else ""
    return (
        f"A `GrayClassifier` of graylearn {graylearn.__version__}: method {as_text(name)}, network "
        f"{as_text(network)}{members}, {classifier.n_iter_} epochs"
        f"{', fitted again on what the audit believes' if classifier.refined_ else ''}."
    )


def _data(classifier: Any) -> list[str]:
    encoder, count = classifier.encoder_, len(classifier.classes_)
    labels = classifier.history_.targets.cpu().numpy()
    if encoder.kind == "images":
        channels, height, width = encoder.shape
        kind = f"images of {height} x {width} pixels, {channels} channels"
    else:
        kind = f"rows of {classifier.n_features_in_} columns, {encoder.shape[0]} features once encoded"
    lines = [f"{len(labels)} samples of {count} classes; {kind}.", "", "| class | samples | suspected |"]
    lines.append("|---|---:|---:|")
    samples = np.bincount(labels, minlength=count)
    suspected = None
    if classifier.audit_ is not None:
        suspected = np.bincount(labels[classifier.audit_.suspected], minlength=count)
    for k, name in enumerate(classifier.classes_[:_MOST].tolist()):
        flagged = "not audited" if suspected is None else suspected[k]
        lines.append(f"| {as_text(name)} | {samples[k]} | {flagged} |")
    if count > _MOST:
        lines.append(f"| and {count - _MOST} more | {samples[_MOST:].sum()} | |")
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None:
        lines += ["", f"Columns: {first_few([as_text(name) for name in names], _MOST, '; ')}."]
    return lines


def _audit(classifier: Any) -> list[str]:
    if classifier.audit_ is None:
        return ["None was made: nobody looked for samples that do not belong."]
    # verdicts on single samples are in audit/table.csv
    return [f"- {as_text(line, 1000)}" for line in classifier.audit_.summary(top=0).split("\n")]


def _measures(classifier: Any) -> list[str]:
    lines = ["Of the training set alone, against labels of which some may be wrong:", ""]
    history, audit = classifier.history_, classifier.audit_
    if len(history.predicted):
        seen = ~np.isnan(history.label_confidence[-1])
        right = history.predicted[-1] == history.targets.cpu().numpy()
        lines.append(
            f"- predicted as labelled in the last epoch of the first fit: {np.mean(right[seen]):.1%}"
        )
    if audit is not None and audit.mode == "held-out":
        right = audit.probabilities.argmax(axis=1) == audit.label
        lines.append(
            f"- predicted as labelled by views that leave the sample's own label out: {right.mean():.1%}"
        )
        if audit.suspected.any() and audit.keep.any():
            lines.append(f"- the same of samples that are not suspected: {right[audit.keep].mean():.1%}")
    for share in (0.95, 0.99):
        limit = limit_at(share, classifier.reference_["quantiles"], "reject_at")
        told = f"{limit:.3g}" if np.isfinite(limit) else "none, because too few samples were seen"
        lines.append(f"- `ood_score` beyond which `reject_at={share}` answers none of the classes: {told}")
    return lines


def _limits(classifier: Any) -> list[str]:
    audit = classifier.audit_
    lines = [
        "- No test set was seen. Measure it on samples whose labels you trust before it decides anything.",
        "- It knows the classes above alone. Samples of no class are told by `ood_score` only as far as they "
        "look unlike the training samples; `reject_at` keeps its share only for samples like those.",
        "- Probabilities were not calibrated on samples kept aside.",
    ]
    if audit is not None and audit.suspected.any() and not classifier.refined_:
        instead = "the second fit promised no gain" if classifier.refine else "`refine=True` weighs them"
        lines.append(f"- The suspected samples were learned from like all others: {instead}.")
    if audit is not None and audit.overlap == "possible":
        lines.append("- Classes were taken to overlap: labels mistaken for one another may not be suspected.")
    if len(classifier.classes_) == 2:
        lines.append("- With two classes the Gray loss is cross entropy.")
    return lines
