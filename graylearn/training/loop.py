"""The loop over epochs and steps: the same for every network, every method and every source of batches."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from graylearn.data.batches import BatchSource, Preparation
from graylearn.errors import DivergedError
from graylearn.methods import Method
from graylearn.training import devices, seeding
from graylearn.training.checkpoint import Saved, check_identity, has_checkpoint, save_checkpoint
from graylearn.training.dispatch import Dispatch
from graylearn.training.history import History
from graylearn.training.learner import ModuleLearner
from graylearn.training.mlp import AnyLearner
from graylearn.training.optimizers import (
    Average,
    Best,
    ScheduleSettings,
    TorchSchedule,
    schedule_factor,
)
from graylearn.training.progress import Meter, Reporter, Row
from graylearn.training.result import Result
from graylearn.training.settings import Settings


@dataclass(frozen=True)
class EpochEnd:
    """What a callback is given after each epoch."""

    epoch: int
    """Counted from 0."""
    row: Row
    """The row of the log."""
    model: nn.Module
    """The user's module; training continues from the weights that a callback leaves in it. With `average` it
    holds the mean of the weights, and training continues from its own."""
    history: History
    """All epochs so far."""


Callback = Callable[[EpochEnd], bool | None]
"""Called after each epoch; returning True ends the training there."""


class Loop:
    """One run and its state: of a network, or of several side by side, each with its method and seed."""

    def __init__(
        self,
        models: Sequence[nn.Module],
        learner: AnyLearner,
        source: BatchSource,
        methods: Sequence[Method],
        seeds: Sequence[int],
        settings: Settings,
        *,
        num_classes: int,
        weights: Tensor | None,
        ids: NDArray[Any] | None = None,
        callbacks: Sequence[Callback] = (),
        validate: Callable[[], dict[str, float]] | None = None,
    ) -> None:
        self.models, self.learner, self.source, self.settings = models, learner, source, settings
        self.seeds, self.weights, self.callbacks, self.validate = seeds, weights, callbacks, validate
        self.scheduler: LRScheduler | None = None
        if isinstance(settings.schedule, TorchSchedule):
            assert isinstance(learner, ModuleLearner)
            self.scheduler = settings.schedule.scheduler(learner.optimizer)
        self.group = learner.group
        self.writes = self.group is None or self.group.is_first
        """Whether this process reports progress and writes checkpoints."""
        self.history = History(
            source.targets, num_classes, settings.epochs, ids=ids, budget=settings.history_bytes
        )
        self.dispatch = Dispatch(
            methods, learner, self.history, epochs=settings.epochs, num_classes=num_classes, seeds=seeds
        )
        self.identity: dict[str, Any] = {}
        self.logs: list[list[Row]] = [[] for _ in models]
        self.reporter = Reporter(settings.log if self.writes else "none", settings.epochs, source.steps)
        average, patience = methods[0].average or settings.average, settings.patience
        self.average = None if average is None else Average(learner.values(), average, learner.mean)
        self.best = None if patience is None else Best(models[0], patience)
        self.gathered, self.gathered_rows = 0, 0  # batches since the last step, and their samples per model
        self.device = source.targets.device
        self.meter = Meter(self.history, learner, weights)
        self.epoch, self.step = 0, 0
        self.rate = learner.base_rate  # of the last step
        self.epoch_began = 0.0
        self.stop_asked = False
        self.interrupted = False
        self.uniform: dict[tuple[int, int], Tensor] = {}

    # -- the way through ------------------------------------------------------------------------

    def run(self) -> None:
        """Train to the end."""
        stopped = False
        threads = devices.threads_for(self.learner.largest_layer, self.settings.batch_size, self.device)
        with _catch_interrupt(self), self.reporter, threads:
            while self.epoch < self.settings.epochs and not stopped:
                if not self._run_epoch():
                    self.stop()
                    break
                stopped = self._finish_epoch()
        self.interrupted |= self.stop_asked  # also if Ctrl-C came too late to stop anything
        if self.average is not None:
            self.average.swap()
        self.learner.sync()
        if self.best is not None:
            self.best.restore()

    def _run_epoch(self) -> bool:
        """Train an epoch; False if the user interrupted it."""
        epoch, source, self.step = self.epoch, self.source, 0
        learner, dispatch, meter = self.learner, self.dispatch, self.meter
        self.history.start_epoch(epoch)
        meter.start(epoch)
        self._seed(epoch)
        learner.start_training()
        self.epoch_began = time.perf_counter()
        reported = self.epoch_began
        steps, per_step = source.steps, self.settings.schedule.per_step
        self._set_rate()
        for batch in source.epoch(epoch):
            if per_step:
                self._set_rate()
            if not len(batch.index):  # of a last batch too small for all processes
                dispatch.no_losses(batch, epoch, self._of_all)
                self._update(batch.index, torch.zeros(0, device=self.device))
                self.step += 1
                continue
            output = learner.forward(batch.inputs)
            losses = dispatch.losses(batch, output, epoch, self._of_all if self.group else None)
            self._update(batch.index, losses)
            self.step += 1
            if meter.add(batch, output, losses):
                self._flush()
            if self.stop_asked and self.group is None:  # several stop together, after the epoch
                return False
            now = time.perf_counter()
            if now - reported > 0.2:
                reported = now
                self.reporter.step(epoch, epoch * steps + self.step)
        if self.gathered:
            self._step_gathered()
        self._flush()
        return True

    def _finish_epoch(self) -> bool:
        """Close the epoch: history, method, log, callbacks, checkpoint; True if the run ends here."""
        epoch, settings, group, scheduler = self.epoch, self.settings, self.group, self.scheduler
        if group is not None:
            self.history.gather(epoch, group.add_up)
            group.add_up(self.meter.sums)
        self.history.end_epoch(epoch)
        self.dispatch.end_epoch(epoch)
        if self.average is not None:
            self.average.swap()
        self.learner.sync()
        seconds = time.perf_counter() - self.epoch_began
        losses, accuracies = self.meter.read()
        validation = self.validate() if self.validate is not None else {}
        if group is not None and self.best is not None:
            # batch norms differ between processes, and with them the scores
            validation = group.from_first(validation)
        shared = {
            "learning_rate": self.rate,
            "seconds": seconds,
            "samples_per_second": self.history.num_samples / max(seconds, 1e-9),
            **{f"validation_{name}": value for name, value in validation.items()},
        }
        for log, loss, accuracy in zip(self.logs, losses, accuracies, strict=True):
            log.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, **shared})
        row = self.logs[0][-1]
        self.reporter.step(epoch, (epoch + 1) * self.source.steps)
        self.reporter.row(row)
        stop = self.best is not None and self.best.look(epoch, validation)
        for callback in self.callbacks:
            stop = bool(callback(EpochEnd(epoch, row, self.models[0], self.history))) or stop
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(validation.get("loss", losses[0]))
        elif scheduler is not None and not settings.schedule.per_step:
            scheduler.step()
        if self.average is not None:
            self.average.swap()
            self.learner.sync()
        elif self.callbacks:
            self.learner.read()  # they may have changed the weights
        if group is not None:
            stop = group.any(stop, self.device)
            self.stop_asked = group.any(self.stop_asked, self.device)
            if group.any(bool(self.callbacks), self.device):
                group.level(self.models[0])
                self.learner.read()
        self.epoch = epoch + 1
        last = self.epoch == settings.epochs or stop
        if settings.checkpoint is not None and (last or self.epoch % settings.checkpoint_epochs == 0):
            self.save(stopped=stop)
        if self.stop_asked and not last:
            self.stop()
            stop = True
        return stop

    def results(self, preparation: Preparation, seconds: float) -> list[Result]:
        """What came out of it, one per model."""
        count, samples = len(self.models), self.history.num_samples // len(self.models)
        return [
            Result(
                model.eval(),
                self.logs[at],
                self.history if count == 1 else self.history.part(at * samples, (at + 1) * samples),
                replace(self.settings, seed=self.seeds[at]),
                preparation,
                self.interrupted,
                seconds,
                None if self.best is None else self.best.epoch,
            )
            for at, model in enumerate(self.models)
        ]

    def stop(self) -> None:
        """Stop because of an interrupt."""
        self.interrupted = True
        if self.settings.checkpoint is not None and has_checkpoint(self.settings.checkpoint):
            self.reporter.note(f"stopped; resume=True goes on from {self.settings.checkpoint}")

    def _seed(self, epoch: int) -> None:
        """Each process has random numbers of its own."""
        who = () if self.group is None or self.group.is_first else ("process", self.group.rank)
        if self.learner.generator is not None:
            self.learner.generator.manual_seed(seeding.derive(self.settings.seed, "epoch", epoch, *who))
        seeding.seed_global(self.settings.seed, "epoch", epoch, *who)

    # -- pieces of a step -----------------------------------------------------------------------

    def _set_rate(self) -> None:
        if self.scheduler is not None:
            self.rate = float(self.scheduler.optimizer.param_groups[0]["lr"])  # of the first parameters
            return
        schedule = self.settings.schedule
        assert isinstance(schedule, ScheduleSettings)
        factor = schedule_factor(schedule, self.epoch, self.step, self.source.steps, self.settings.epochs)
        self.rate = self.learner.base_rate * factor
        self.learner.set_learning_rate(self.rate)

    def _update(self, index: Tensor, losses: Tensor) -> None:
        """Learn from a batch, unless the step waits for more batches."""
        rows = len(index) if self.group is None else self.group.whole[self.step]
        self.gathered, self.gathered_rows = self.gathered + 1, self.gathered_rows + rows
        self.learner.gather(losses, self._weight_of(index, rows))
        if self.gathered == self.settings.accumulate:
            self._step_gathered()

    def _step_gathered(self) -> None:
        """One step down the mean over all samples of the batches gathered."""
        # of one batch alone the weights are a mean already, which spares a pass over all gradients
        self.learner.step(1.0 if self.settings.accumulate == 1 else self.learner.models / self.gathered_rows)
        self.gathered, self.gathered_rows = 0, 0
        if self.average is not None:
            self.average.update()
        if self.scheduler is not None and self.settings.schedule.per_step:
            self.scheduler.step()

    def _of_all(self, values: Tensor) -> Tensor:
        """Values of this process's samples -> those of the whole batch."""
        assert self.group is not None
        return self.group.of_all(values, self.step)

    def _weight_of(self, index: Tensor, rows: int) -> Tensor:
        """The weight of each loss in the gradient; rows: of the batch in all processes."""
        size = index.shape[0]
        uniform = self.uniform.get((size, rows))
        if uniform is None:
            share = self.learner.models / rows if self.settings.accumulate == 1 else 1.0
            uniform = self.uniform[size, rows] = torch.full((size,), share, device=self.device)
        return uniform if self.weights is None else uniform * self.weights.index_select(0, index)

    def _flush(self) -> None:
        self.meter.flush()
        if self.meter.bad_step is not None:
            raise DivergedError(
                f"the loss turned NaN or infinite at step {self.meter.bad_step + 1} of {self.source.steps} in"
                f" epoch {self.epoch + 1}, at learning rate {self.rate:.3g}: try {self.rate / 10:.3g},"
                " look for NaN or huge values in the data; in half precision also try precision='fp32'"
            )
        losses, accuracies = self.meter.read()
        self.reporter.seen(losses[0], accuracies[0])

    def describe_schedule(self) -> dict[str, Any]:
        """What decides the rates of a scheduler of torch, but for functions, which cannot be compared."""
        if self.scheduler is None:
            return {}
        plain = (bool, int, float, str, list, tuple, dict)
        state = self.scheduler.state_dict().items()
        kept = {name: repr(value) for name, value in state if isinstance(value, plain)}
        return {"schedule": [type(self.scheduler).__name__, self.settings.schedule.per_step, kept]}

    # -- checkpoints ----------------------------------------------------------------------------

    def save(self, stopped: bool = False) -> None:
        """Write a checkpoint of the run after an epoch; the first process does."""
        folder = self.settings.checkpoint
        if folder is None or not self.writes:
            return
        state = {
            "identity": self.identity,
            "epoch": self.epoch,
            "stopped": stopped,
            "log": self.logs[0],
            "history": self.history.state(),
            **{name: part.state_dict() for name, part in self._parts().items()},
        }
        save_checkpoint(folder, self.learner.weights(), state)

    def _parts(self) -> dict[str, Any]:
        """What has a state of its own in checkpoints, by name."""
        parts = {
            "optimizer": self.learner, "dispatch": self.dispatch,
            "average": self.average, "best": self.best, "schedule": self.scheduler,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part is not None}

    def resume(self, identity: dict[str, Any], saved: Saved | None) -> None:
        """Keep checkpoints of a run that `identity` decides, and go on from the one that is `saved`."""
        self.identity = identity
        if saved is not None:
            weights, state = saved
            check_identity(state["identity"], identity, self.settings, self.dispatch.groups[0].method)
            self.logs[0], self.epoch = state["log"], int(state["epoch"])
            self.learner.load_weights(weights)
            self.history.load_state(state["history"])
            for name, part in self._parts().items():
                part.load_state_dict(state[name])
            if state["stopped"]:
                self.reporter.note(f"the run ended by itself after epoch {self.epoch}, and does not go on")
                self.epoch = self.settings.epochs


@contextmanager
def _catch_interrupt(loop: Loop) -> Iterator[None]:
    """The first Ctrl-C stops the loop after its step, the second at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if loop.stop_asked:
            raise KeyboardInterrupt
        loop.stop_asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
