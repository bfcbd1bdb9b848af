"""The audit on labels that people get wrong, against cleanlab, plain disagreement and a fixed margin.

    python -m benchmarks human_noise --data FOLDER --features FOLDER        # results/human_noise.jsonl
    python -m benchmarks human_noise --groups people clean --seeds 0        # a part of it
    python -m benchmarks human_noise --methods graylearn --jobs 11          # in several processes
    python -m benchmarks human_noise --summary                              # tables in Markdown

One JSON line a set and method; a run that was cut short goes on where it was. `--data` holds the tables and
cifar-10n/; `--features` holds cifar10-features.npz and tiny-features.npz (EfficientNet-Lite0, with the `rows`
of the training set they were made from), banking77-features.npz (MiniLM), and for raw pixels cifar10.npz and
tiny-imagenet.npz. The audit is called as a user calls it; cleanlab reads five-fold predictions of the same
network.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import roc_auc_score

from benchmarks import human_noise_clean as clean
from benchmarks import human_noise_sets as sets
from benchmarks import human_noise_tables as tables
from benchmarks import record
from benchmarks.human_noise_methods import METHODS, Found, Given
from graylearn.audit.kinds import MISLABELLED, OOD
from graylearn.errors import DataError

Task = tuple[str, str, str, int, Callable[[], sets.Case]]
"""Group, name, setting, seed and maker of a set."""
EXPERIMENT = "human-noise"


def tasks(groups: list[str], seeds: list[int], folders: sets.Folders) -> Iterator[Task]:
    """Every set of the groups."""
    if "given" in groups:
        for labels in ("worst", "aggregate"):
            for network in sets.NETWORKS:
                made = partial(sets.given_networks, labels, network, folders)
                yield "given", network, labels, 0, made
    if "histories" in groups:
        for labels in ("worst", "aggregate"):
            yield "histories", "resnet18", labels, 0, partial(sets.kept_history, labels, folders)
    for seed in seeds:
        if "people" in groups:
            for labels in sets.PEOPLE:
                yield "people", "cifar10", labels, seed, partial(sets.people, labels, seed, folders)
        for group, noises in (
            ("structured", ("pairs", "by-class", "by-feature", "by-instance")),
            ("uniform", ("uniform",)),
        ):
            if group in groups:
                for source in sets.ONE_TRUE_CLASS:
                    for noise in noises:
                        for rate in sets.RATES:
                            made = partial(sets.noisy, source, noise, rate, seed, folders)
                            yield group, source, f"{noise} {rate}", seed, made
        if "specific" in groups:
            for cell in sets.ONE_TRUE_CLASS:
                yield (
                    "specific",
                    cell,
                    "specific",
                    seed,
                    partial(sets.foreign, cell, "specific", seed, folders),
                )
            made = partial(sets.foreign_photos, "specific", seed, folders)
            yield "specific", "photos", "specific", seed, made
        if "few" in groups:
            for source in ("digits", "cifar10"):
                for classes in (2, 3):
                    for noise, rate in (
                        ("pairs", 0.1),
                        ("pairs", 0.3),
                        ("by-class", 0.15),
                        ("by-feature", 0.15),
                    ):
                        made = partial(sets.few_classes, source, classes, noise, rate, seed, folders)
                        yield "few", f"{source} {classes}", f"{noise} {rate}", seed, made
        if "foreign" in groups:
            for cell in sets.ONE_TRUE_CLASS:
                for setting in ("ood10", "ood20", "mix"):
                    made = partial(sets.foreign, cell, setting, seed, folders)
                    yield "foreign", cell, setting, seed, made
        if "mixed" in groups:
            for (source, noise), shares in sets.MIXED.items():
                for share, labels in itertools.product(shares, ("random", "specific")):
                    made = partial(sets.mixed, source, noise, share, labels, seed, folders)
                    yield "mixed", source, f"{noise} + {share} {labels}", seed, made
    for group, made_by in (
        ("clean", clean.clean_sets),
        ("kinds", clean.two_kinds),
        ("rare", clean.rare_sets),
    ):
        if group in groups:
            for half in clean.HALVES:
                for name, maker in made_by(folders, half):
                    yield group, name, half, 0, maker


GROUPS = (
    "given",
    "histories",
    "people",
    "structured",
    "few",
    "uniform",
    "specific",
    "foreign",
    "mixed",
    "clean",
    "kinds",
    "rare",
)


def judged(case: sets.Case, found: Found) -> dict[str, Any]:
    """All measures of one method on one set."""
    bad, foreign = case.bad, case.true_y < 0
    flagged = np.asarray(found["flagged"], dtype=bool)
    hit = int((flagged & bad).sum())
    row: dict[str, Any] = {"wrong": float(bad.mean()), "flagged": float(flagged.mean())}
    if bad.any():
        row |= {
            "auroc": float(roc_auc_score(bad, found["score"])),
            "precision": hit / max(int(flagged.sum()), 1),
            "recall": hit / int(bad.sum()),
            "f1": 2 * hit / max(int(flagged.sum() + bad.sum()), 1),
        }
    if "sure" in found:
        sure = np.asarray(found["sure"], dtype=bool)
        row["sure"] = float(sure.mean())
        if sure.any():
            row["sure_precision"] = float(bad[sure].mean())
    if "kind" in found:
        row |= {"estimated": found["estimated"], "by": found["by"]}
        if "interval" in found:
            row["interval"] = [round(float(end), 5) for end in found["interval"]]
        right = found["kind"] == np.where(foreign, OOD, MISLABELLED)
        for name, part in (("", bad), ("_wrong", bad & ~foreign), ("_foreign", foreign)):
            if (flagged & part).any():
                row[f"kind_right{name}"] = float(right[flagged & part].mean())
            if name and part.any():
                row[f"recall{name}"] = float(flagged[part].mean())
        named = flagged & bad & ~foreign
        if named.any():
            row["suggestion"] = float((found["suggested"] == case.true_y)[named].mean())
    return {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}


def measure(task: Task, methods: dict[str, str], keep: Path | None, deadline: float) -> list[dict[str, Any]]:
    """Rows of the methods, by what they are called there, on one set; a method that fails is left out."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    group, name, setting, seed, make = task
    if time.time() > deadline:
        return []
    try:
        given = Given(make(), keep and keep / f"{group} {name} {setting} {seed}")
    except (FileNotFoundError, KeyError, DataError) as error:  # files that are not there, or not whole
        print(f"left out: {name} ({error})", flush=True)
        return []
    case = given.case
    rows = []
    for method, called in methods.items():
        given.seconds, began = 0.0, time.perf_counter()
        try:
            found = METHODS[method](given)
        except Exception:  # a peer may fail on a set; the others' rows are kept
            print(f"failed: {name} {setting} {seed} {method}\n{traceback.format_exc()}", flush=True)
            continue
        columns = 0 if case.x is None else case.x.shape[1]
        rows.append(
            {
                "group": group, "name": name, "setting": setting, "seed": seed, "method": called,
                "K": case.num_classes, "N": len(case.y), "D": columns,
                "seconds": round(time.perf_counter() - began + given.seconds, 2), **judged(case, found),
            }
        )  # fmt: skip
    return rows


def run(args: argparse.Namespace, folders: sets.Folders) -> None:
    """Measure what is left, and append each row once its set is done."""
    known = {tuple(row[key] for key in tables.KEY) for row in tables.read(args.out)}
    deadline = time.time() + args.time_limit
    left = []
    for task in tasks(args.groups, args.seeds, folders):
        called = {m: m.replace("graylearn", args.audit_name) for m in args.methods}
        methods = {m: name for m, name in called.items() if (*task[:4], name) not in known}
        if methods:
            left.append((task, methods))
    with parallel_config("loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=args.jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs")(
            delayed(measure)(task, methods, args.keep, deadline) for task, methods in left
        )
    for count, rows in enumerate(results, 1):
        for row in rows:
            record.append(record.record(EXPERIMENT, **row), args.out)
        name = " ".join(str(rows[0][key]) for key in tables.KEY[:4]) if rows else "nothing"
        print(f"{count}/{len(left)} {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(os.environ.get("GRAYLEARN_DATA", "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the tables and of cifar-10n")
    parser.add_argument("--features", type=Path, default=default / "features", help="folder of the features")
    parser.add_argument("--histories", type=Path, default=default / "histories", help="cifar10n-*-gl.npz")
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--audit-name", default="graylearn", help="what the audit's rows are called")
    parser.add_argument(
        "--keep", type=Path, help="folder that keeps what networks say, to measure detectors anew"
    )
    parser.add_argument("--out", type=Path, default=Path("results/human_noise.jsonl"))
    parser.add_argument("--jobs", type=int, default=1, help="processes, each of one thread")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds after which to stop")
    parser.add_argument("--summary", action="store_true", help="print the tables of --out and stop")
    args = parser.parse_args()
    if not args.summary:
        run(args, sets.Folders(args.data, args.features, args.histories))
    print(tables.summary(args.out))
