"""The model card that is saved with every classifier: data, audit, measures and limits, in Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

import graylearn
from graylearn.errors import first_few
from graylearn.estimator.rejection import limit_at

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


def plain(value: Any, longest: int = 80) -> str:
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
        f"A `GrayClassifier` of graylearn {graylearn.__version__}: method {plain(name)}, network "
        f"{plain(network)}{members}, {classifier.n_iter_} epochs"
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
        lines.append(f"| {plain(name)} | {samples[k]} | {flagged} |")
    if count > _MOST:
        lines.append(f"| and {count - _MOST} more | {samples[_MOST:].sum()} | |")
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None:
        lines += ["", f"Columns: {first_few([plain(name) for name in names], _MOST, '; ')}."]
    return lines


def _audit(classifier: Any) -> list[str]:
    if classifier.audit_ is None:
        return ["None was made: nobody looked for samples that do not belong."]
    # verdicts on single samples are in audit/table.csv
    return [f"- {plain(line, 1000)}" for line in classifier.audit_.summary(top=0).split("\n")]


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
