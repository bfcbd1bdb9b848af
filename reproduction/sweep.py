"""A sweep: run the cells of an experiment that have no result yet.

Units of work run one after another in this process, or several at once through joblib; each takes one thread
of the CPU, so that the numbers do not depend on how many run beside it. The store is written by the sweep
alone, as results come in: whatever ends it, the next one goes on from there.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from graylearn.paths import default_cache_folder
from graylearn.training.devices import choose
from reproduction.cells import Cell
from reproduction.checkpoints import Checkpoints
from reproduction.experiments import EXPERIMENTS
from reproduction.grids import Experiment
from reproduction.mps import shared_gpu
from reproduction.options import Options
from reproduction.sets import files_needed, sets_of
from reproduction.store import Row, Store
from reproduction.units import Failure, Unit, make_units, run_unit


@dataclass
class Outcome:
    """What became of the cells of a sweep."""

    cells: list[Cell]
    """All that were asked for."""
    store: Store
    """Where the results are."""
    experiment: str
    """Under which name they are there."""
    ran: int = 0
    """Cells that were run now."""
    waiting: dict[str, str] = field(default_factory=dict)
    """By the key of a cell whose data is not at hand, the files it needs."""
    failed: list[Failure] = field(default_factory=list)
    """Cells that could not be trained, and why."""
    left: int = 0
    """Cells that the time limit left for another sweep."""

    def rows(self) -> list[Row]:
        """The results of the cells there are, in their order."""
        found = {row["key"]: row for row in self.store.rows(self.experiment)}
        return [found[cell.key] for cell in self.cells if cell.key in found]


Report = Callable[[Row | Failure, int, int], None]
"""Called with each result as it comes in, which one it is, and of how many."""


def default_store(experiment: Experiment, options: Options) -> Path:
    """The file of an experiment's results."""
    if options.store is not None:
        return options.store
    return Path("results") / f"{experiment.name}{'-quick' if options.quick else ''}.jsonl"


def sweep(
    experiment: Experiment,
    options: Options | None = None,
    report: Report | None = None,
    begin: Callable[[Outcome, int], None] | None = None,
) -> Outcome:
    """Run what an experiment has not run yet; `begin` is told how many cells that are before the first."""
    options = options or Options()
    began = time.time()
    store = Store(default_store(experiment, options))
    cells = experiment.cells(options)
    outcome = Outcome(cells, store, experiment.name)
    _borrow(experiment, store, cells)
    folder = _folder(options)
    outcome.waiting = _waiting(cells, folder)
    # those without a result whose data is at hand
    pending = [cell for cell in store.pending(cells, experiment.name) if cell.key not in outcome.waiting]
    if pending:
        store.check_writable()
    if begin is not None:
        begin(outcome, len(pending))
    deadline = None if options.time_limit is None else began + options.time_limit
    checkpoints = Checkpoints(store.path.resolve().with_suffix(".checkpoints"))
    for row in _run(make_units(pending), experiment.name, folder, options, deadline, checkpoints):
        if isinstance(row, Failure):
            outcome.failed.append(row)
        else:
            store.append(row)
            outcome.ran += 1
        _clear(checkpoints, row, pending)
        if report is not None:
            report(row, outcome.ran + len(outcome.failed), len(pending))
    outcome.left = len(pending) - outcome.ran - len(outcome.failed)
    return outcome


def _clear(checkpoints: Checkpoints, done: Row | Failure, pending: Sequence[Cell]) -> None:
    """Remove the checkpoints of a cell that is done; a gl fit that gl+refine goes on from stays for that."""
    cell = done.cell if isinstance(done, Failure) else Cell.from_dict(done["cell"])
    if not any(other.method == "gl+refine" and other.but(method="gl") == cell for other in pending):
        checkpoints.clear(cell)
    if cell.method == "gl+refine":
        checkpoints.clear(cell.but(method="gl"))


def _waiting(cells: list[Cell], folder: str | None) -> dict[str, str]:
    """By the key of a cell whose data is not at hand, the files it needs."""
    needed = cache(lambda names: files_needed(names, folder))
    return {cell.key: needs for cell in cells if (needs := needed(sets_of(cell))) is not None}


def _folder(options: Options) -> str | None:
    """The data folder, told to every worker, whose environment may be another."""
    if options.data is not None:
        return os.fspath(options.data.expanduser())
    return os.environ.get("GRAYLEARN_DATA") or None


def _borrow(experiment: Experiment, store: Store, cells: list[Cell]) -> None:
    """Take over what another experiment measured of the same cells, in this store or in one beside it."""
    missing = store.pending(cells, experiment.name)
    beside = [store.path.with_name(f"{name}.jsonl") for name in EXPERIMENTS]
    for path in dict.fromkeys([store.path, *beside]):
        if not missing or not path.exists():
            continue
        known = {row["key"]: row for row in Store(path).rows()}
        for cell in missing:
            if cell.key in known:
                store.append({**known[cell.key], "experiment": experiment.name})
        missing = [cell for cell in missing if cell.key not in known]


def _run(
    units: Iterable[Unit],
    experiment: str,
    folder: str | None,
    options: Options,
    deadline: float | None,
    checkpoints: Checkpoints,
) -> Iterator[Row | Failure]:
    """Results as they come in; of the units no more are taken than are about to start."""
    if options.workers == 1:
        for unit in units:
            yield from _rows(unit, experiment, folder, options.device, deadline, checkpoints)
        return
    import joblib  # late: what is run in one process does without

    with ExitStack() as stack:
        stack.enter_context(_processes(options))
        # joblib takes the data that a worker keeps for a leak, and starts another: nothing is lost by that
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        parallel = joblib.Parallel(
            n_jobs=options.workers, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )
        work = joblib.delayed(_all_rows)
        for rows in parallel(
            work(unit, experiment, folder, options.device, deadline, checkpoints) for unit in units
        ):
            yield from rows


def _all_rows(*arguments: Any) -> list[Row | Failure]:
    """What a worker hands back."""
    return list(_rows(*arguments))


def _rows(
    unit: Unit,
    experiment: str,
    folder: str | None,
    device: str | None,
    deadline: float | None,
    checkpoints: Checkpoints,
) -> Iterator[Row | Failure]:
    """The results of a unit; past the deadline nothing more of it is trained."""
    with _one_thread(unit, device):
        pieces = run_unit(unit, experiment, folder, device, checkpoints)
        while deadline is None or time.time() < deadline:
            piece = next(pieces, None)
            if piece is None:
                return
            yield from piece


@contextmanager
def _one_thread(unit: Unit, device: str | None) -> Iterator[None]:
    """Work on the CPU takes one thread: the last digits of a sum depend on how many share it."""
    if unit[0].kind == "image" and choose(device).type != "cpu":
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _processes(options: Options) -> Iterator[None]:
    """joblib's workers, one thread of the CPU each; those that share a GPU share it by MPS."""
    import joblib

    on_gpu = torch.cuda.is_available() and torch.device(options.device or "cuda").type == "cuda"
    with ExitStack() as stack:
        if on_gpu:
            stack.enter_context(_on_one_gpu(options.workers))
        stack.enter_context(
            joblib.parallel_config(backend="loky", n_jobs=options.workers, inner_max_num_threads=1)
        )
        yield


@contextmanager
def _on_one_gpu(workers: int) -> Iterator[None]:
    """Workers that share the GPU, the cores for compiling, and what one of them has compiled."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)  # workers of before do not know of MPS
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(default_cache_folder() / "inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    with shared_gpu():
        try:
            yield
        finally:
            get_reusable_executor().shutdown(wait=True)  # the daemon waits for its clients
