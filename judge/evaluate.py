"""What a judge is worth: every case of judge/cases.py judged and measured, beside rules and peers.

    python -m judge evaluate --cache FOLDER --weights FOLDER                          # results/judge.jsonl
    python -m judge evaluate --cache FOLDER --method peers --out results/judge_peers.jsonl
    python -m judge evaluate --cache FOLDER --method product --out FILE          # the calls of the library

`--cache` is of judge/cases.py, `--weights` a judge or what `python -m judge train` wrote. One JSON line per
case and method, called by the method's name unless told; a run that was cut short goes on where it was.
results/judge_rules.jsonl is what `--method product` said at the last commit that judged by rules.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.human_noise_sets import Arrays

Found = dict[str, Any]
"""What is said of a case, by name; `product` has them all."""

LEFT_OUT = {"signal": "sensor", "speech": "audio"}
"""What a family is called among those that judges are trained without."""
STABLE = ("stars-clean-0", "stars-planted-0", "beans-next10-0", "tickets-both-0", "pendigits-specific20-0")
RULES, PEERS, JUDGE = (Path("results") / f"judge{name}.jsonl" for name in ("_rules", "_peers", ""))


def product(case: Arrays, overlap: str) -> Found:
    """What the library's own calls say of a case."""
    import graylearn as gl

    names = (
        tuple(case["classes"].tolist()) if "classes" in case else tuple(range(int(case["label"].max()) + 1))
    )
    if "probabilities" in case:
        columns = tuple(range(case["probabilities"].shape[1]))
        found = gl.Audit.from_predictions(
            case["probabilities"], case["label"], classes=columns, overlap=overlap  # type: ignore[arg-type]
        )  # fmt: skip
    else:
        label = np.array(names)[case["label"]]
        found = gl.audit(case["features"], label, classes=names, overlap=overlap, log="none")  # type: ignore[arg-type]
    share = found.contamination
    return {
        "posterior": found.posterior, "score": found.score, "suspected": found.suspected, "kind": found.kind,
        "suggested": found.suggested, "sure": found.level == 2, "confidence": found.confidence,
        "shares": {kind: (share[kind], found.ranges.get(kind)) for kind in share},
    }  # fmt: skip


def judged(case: Arrays, weights: Path, overlap: str) -> Found:
    """The same, by a judge with these weights in place of the one that comes with the library."""
    asking = import_module("graylearn.audit.verdict")
    theirs, read = asking.shipped, import_module("graylearn.audit.judge").read_judge(weights)
    asking.shipped = lambda: read
    try:
        return product(case, overlap)
    finally:
        asking.shipped = theirs


def weights_for(family: str, weights: Path) -> Path:
    """The judge that never saw the family, if a folder of judges has one; else the judge of all."""
    if weights.is_file():
        return weights
    left_out = weights / f"without-{LEFT_OUT.get(family, family)}.npz"
    return left_out if left_out.exists() else weights / "judge.npz"


def reliability(posterior: np.ndarray, bad: np.ndarray, bins: int = 15) -> list[list[float]]:
    """Of bins of equal width: the share of the samples, and sums of posteriors and of what is so, over N."""
    place = np.minimum((posterior * bins).astype(int), bins - 1)
    sums = [np.bincount(place, weight, minlength=bins) for weight in (np.ones(len(bad)), posterior, bad)]
    return (np.stack(sums, axis=1) / len(bad)).tolist()  # type: ignore[no-any-return]


def calibration_error(tables: list[list[list[float]]]) -> float:
    """Mean gap between what is said and what is so, over bins of all sets; each set counts alike."""
    both = np.mean(np.array(tables), axis=0)
    return float(np.abs(both[:, 1] - both[:, 2]).sum())


def average_precision(score: np.ndarray, bad: np.ndarray) -> float:
    """Area under precision over recall; samples of equal score count as one step."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(bad, score))


def f1(flagged: np.ndarray, bad: np.ndarray) -> float:
    """2 * hits / (flagged + bad)."""
    return 2.0 * float((flagged & bad).sum()) / max(int(flagged.sum() + bad.sum()), 1)


def part(which: np.ndarray, of: np.ndarray) -> float | None:
    """Share of the samples `of` that are `which`; None of none."""
    return float(which[of].mean()) if of.any() else None


def measured(case: Arrays, found: Found) -> dict[str, Any]:
    """Every measure of one answer to one case; what the answer or the case has none of is left out."""
    truth, bad = case["truth"], case["truth"] > 0
    row: dict[str, Any] = {"bad": float(bad.mean()), "seconds": round(float(found["seconds"]), 2)}
    if bad.any():
        row["ap"] = average_precision(found["score"], bad)
        if "confidence" in found:
            row["ap_confidence"] = average_precision(1.0 - found["confidence"], bad)
    if "suspected" in found:
        flagged = np.asarray(found["suspected"], dtype=bool)
        row["flagged"] = float(flagged.mean())
        if bad.any():
            row |= {"f1": f1(flagged, bad), "precision": part(bad, flagged), "recall": part(flagged, bad)}
    if "posterior" in found:
        row["reliability"] = reliability(np.asarray(found["posterior"]), bad)
    if "kind" in found:
        kind = np.asarray(found["kind"])
        for name, place in (("mislabelled", 1), ("foreign", 2)):
            if (truth == place).any():
                row[f"f1_{name}"] = f1(flagged & (kind == place), truth == place)
                row[f"kind_right_{name}"] = part(kind == place, flagged & (truth == place))
        row["kind_right"] = part(kind == truth, flagged & bad)
        row["suggestion"] = part(found["suggested"] == case["true_label"], flagged & (truth == 1))
    if "sure" in found:
        sure = np.asarray(found["sure"], dtype=bool)
        row |= {"sure": float(sure.mean()), "sure_right": part(bad, sure)}
    for kind, (estimate, ends) in found.get("shares", {}).items():
        there = {"total": bad, "ood": truth == 2, "mislabelled": truth == 1}[kind].mean()
        row[f"share_{kind}"] = [estimate, *(ends or (None, None)), float(there)]
        if ends is not None:
            row[f"covers_{kind}"] = bool(ends[0] - 1e-9 <= there <= ends[1] + 1e-9)
    return {key: _rounded(value) for key, value in row.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 5) if isinstance(value, float) else value


def answers(method: str, weights: Path | None, made: Arrays) -> Iterator[tuple[str, str, Found]]:
    """Method, overlap as given, and answer; given probabilities are judged with and without the word."""
    if method == "peers":
        from judge import peers

        for name, found in peers.peers(made):
            yield name, "", found
        return
    asked = "probabilities" in made and made["overlap"] == "none"
    for overlap in ("auto", "none") if asked else ("auto",):
        began = time.process_time()
        if method == "product":
            found = product(made, overlap)
        else:
            assert weights is not None
            found = judged(made, weights_for(str(made["family"]), weights), overlap)
        yield method, overlap, {"seconds": time.process_time() - began, **found}


def main(
    cache: Path, method: Literal["judge", "product", "peers"] = "judge", weights: Path | None = None,
    out: Path = JUDGE, called: str | None = None, only: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Judge what is left, and append each row; only: parts of names, all of which a case has."""
    import torch

    from benchmarks.record import append, record, rows

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    called = called or method
    known = {row["name"] for row in rows(out) if row["called"] == called}
    for path in sorted(cache.glob("*.npz")):
        name = path.stem
        if name in known or not all(word in name for word in only):
            continue
        with np.load(path) as file:
            made = dict(file)
        try:
            found = [
                {"method": by, "overlap": overlap, **measured(made, said)}
                for by, overlap, said in answers(method, weights, made)
            ]
        except Exception:  # a set that one cannot judge is told of; the others are kept
            print(f"failed: {name}\n{traceback.format_exc()}", flush=True)
            continue
        about = {
            "called": called, "name": name, **{key: str(made[key]) for key in ("group", "family", "setting")},
            "N": len(made["label"]), "D": made["features"].shape[1], "K": int(made["label"].max()) + 1,
        }  # fmt: skip
        for row in found:
            append(record("judge", **about, **row), out)
        print(name, {key: found[0].get(key) for key in ("f1", "ap", "flagged", "seconds")}, flush=True)
    if method != "peers" and not only and not any(name.endswith(" order") for name in known):
        for row in stability(method, weights, cache):
            append(record("judge", called=called, **row), out)


def stability(method: str, weights: Path | None, cache: Path) -> Iterator[dict[str, Any]]:
    """What changes by five rows of a misspelt class, in another order, and with the set twice.

    changed: share of the verdicts; moved: the largest difference of a posterior.
    """
    for name in STABLE:
        with np.load(cache / f"{name}.npz") as file:
            made = dict(file)
        n = len(made["label"])
        order = np.random.default_rng(0).permutation(n)
        others = {
            kind: (made | {key: made[key][rows] for key in ("features", "label")}, rows)
            for kind, rows in (("order", order), ("twice", np.tile(np.arange(n), 2)))
        }
        misspelt = cache / f"{name.rpartition('-')[0]}-QS0.npz"
        if misspelt.exists():
            with np.load(misspelt) as file:
                others["misspelt"] = dict(file), np.arange(n)
        (_, _, first), *_ = answers(method, weights, made)
        for kind, (other, rows) in others.items():
            (_, _, found), *_ = answers(method, weights, other)
            changed = np.mean(found["kind"][: len(rows)] != first["kind"][rows])
            moved = np.abs(found["posterior"][: len(rows)] - first["posterior"][rows]).max()
            about = {"name": f"{name} {kind}", "group": "stable", "setting": kind}
            yield about | {"changed": float(changed), "moved": float(moved)}
