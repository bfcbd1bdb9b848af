"""The loop over epochs and steps: the same for every network, every method and every source of batches."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graylearn.data.batches.base import BatchSource
from graylearn.errors import DivergedError
from graylearn.methods import Method
from graylearn.training import devices, seeding
from graylearn.training.checkpoint import Saved, check_identity, save_checkpoint
from graylearn.training.dispatch import Dispatch
from graylearn.training.history import History
from graylearn.training.mlp import AnyLearner
from graylearn.training.optimizers import Average, Best, Scheduler, ScheduleSettings, schedule_factor
from graylearn.training.progress import Meter, Reporter, Row, RunLog
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
        base_rate: float,
        weights: Tensor | None,
        ids: NDArray[Any] | None = None,
        callbacks: Sequence[Callback] = (),
        validate: Callable[[], dict[str, float]] | None = None,
        scheduler: Scheduler | None = None,
    ) -> None:
        self.models, self.learner, self.source, self.settings = models, learner, source, settings
        self.base_rate, self.weights = base_rate, weights
        self.callbacks, self.validate, self.scheduler = callbacks, validate, scheduler
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
        self.logs = [RunLog() for _ in models]
        self.reporter = Reporter(settings.log if self.writes else "none", settings.epochs, source.steps)
        average, patience = settings.average, settings.patience
        self.average = None if average is None else Average(learner.values(), average)
        self.best = None if patience is None else Best(models[0], patience)
        self.gathered, self.gathered_rows = 0, 0  # batches since the last step, and their samples per model
        self.device = source.targets.device
        self.meter = Meter(self.history, learner, weights)
        self.epoch, self.step = 0, 0
        self.rates: list[float] = []  # of each model, in the last step
        self.epoch_began = 0.0
        self.stop_asked = False
        self.interrupted = False
        self.random_state: dict[str, Any] | None = None
        self.seconds_before = 0.0  # of the epoch, before it was interrupted
        self.uniform: dict[tuple[int, int], Tensor] = {}

    # -- the way through ------------------------------------------------------------------------

    def run(self) -> None:
        """Train to the end."""
        stopped = False
        threads = devices.threads_for(self.learner.largest_layer, self.settings.batch_size, self.device)
        with _catch_interrupt(self), self.reporter, threads:
            while self.epoch < self.settings.epochs and not stopped:
                if not self._run_epoch():
                    self.interrupted = True
                    break
                stopped = self._finish_epoch()
        self.interrupted |= self.stop_asked  # also if Ctrl-C came too late to stop anything
        if self.average is not None:
            self.average.swap()
        self.learner.sync()
        if self.best is not None:
            self.best.restore()

    def _run_epoch(self) -> bool:
        """Train the rest of the epoch; False if the user interrupted it."""
        epoch, settings, source = self.epoch, self.settings, self.source
        learner, dispatch, meter = self.learner, self.dispatch, self.meter
        resumed = None
        if self.step == 0:
            self.history.start_epoch(epoch)
            dispatch.start_epoch(epoch)
            meter.start(epoch, 0)
        self._seed(epoch)
        if self.step > 0 and self.random_state is not None:
            state = self.random_state
            resumed = lambda: self._set_random(state)  # noqa: E731
            self.random_state = None
        learner.start_training()
        self.epoch_began = time.perf_counter()
        reported = self.epoch_began
        steps, per_step = source.steps, settings.schedule.per_step
        scales = dispatch.rate_scales(epoch)
        # if an epoch was stopped after its last step, its row still needs a rate: that of the last step
        self._set_rates(scales, epoch, min(self.step, steps - 1), steps)
        every, due = settings.checkpoint_steps, False
        for batch in source.epoch(epoch, self.step, resumed):
            if per_step:
                self._set_rates(scales, epoch, self.step, steps)
            if not len(batch.index):  # of a last batch too small for all processes
                losses = torch.zeros(0, device=self.device)
                dispatch.no_losses(batch, epoch, self._of_all)
                self._update(batch.index, losses)
                self.step += 1
                continue
            output = learner.forward(dispatch.blend(batch.inputs))
            losses = dispatch.losses(batch, output, epoch, self._of_all if self.group else None)
            stepped = self._update(batch.index, losses)
            self.step += 1
            if meter.add(batch, output, losses):
                self._flush()
            due |= every is not None and self.step % every == 0
            if self.stop_asked and stepped and self.group is None:  # several stop together, after the epoch
                return self.stop()
            if due and stepped and self.step < steps:
                self.save()
                due = False
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
        epoch, settings, group = self.epoch, self.settings, self.group
        if group is not None:
            self.history.gather(epoch, group.add_up)
            group.add_up(self.meter.sums)
        self.history.end_epoch(epoch)
        self.dispatch.end_epoch(epoch)
        if self.average is not None:
            self.average.swap()
        self.learner.sync()
        seconds = self.seconds_before + time.perf_counter() - self.epoch_began
        self.seconds_before = 0.0
        losses, accuracies = self.meter.read()
        validation = self.validate() if self.validate is not None else {}
        if group is not None and self.best is not None:
            validation = group.from_first(
                validation
            )  # batch norms differ between processes, and with them the scores
        for model, log in enumerate(self.logs):
            log.add(
                {
                    "epoch": epoch,
                    "loss": losses[model],
                    "accuracy": accuracies[model],
                    "learning_rate": self.rates[model],
                    "seconds": seconds,
                    "samples_per_second": self.history.num_samples / max(seconds, 1e-9),
                    **{f"validation_{name}": value for name, value in validation.items()},
                }
            )
        row = self.logs[0].rows[-1]
        self.reporter.step(epoch, (epoch + 1) * self.source.steps)
        self.reporter.row(row)
        stop = self.best is not None and self.best.look(epoch, validation)
        for callback in self.callbacks:
            stop = bool(callback(EpochEnd(epoch, row, self.models[0], self.history))) or stop
        if self.scheduler is not None and self.scheduler.every == "epoch":
            self.scheduler.step(validation.get("loss", losses[0]))
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
        self.epoch, self.step = epoch + 1, 0
        last = self.epoch == settings.epochs or stop
        if settings.checkpoint is not None and (last or self.epoch % settings.checkpoint_epochs == 0):
            self.save(stopped=stop)
        if self.stop_asked and not last:
            self.stop()
            stop = True
        return stop

    def stop(self) -> bool:
        """Stop because of an interrupt, with a checkpoint; returns False."""
        self.interrupted = True
        self._flush()
        if self.settings.checkpoint is not None:
            self.save()
            self.reporter.note(f"stopped; resume=True goes on from {self.settings.checkpoint}")
        return False

    # -- random numbers -------------------------------------------------------------------------

    def _seed(self, epoch: int) -> None:
        if self.learner.generator is not None:
            self.learner.generator.manual_seed(seeding.derive(self.settings.seed, "epoch", epoch, *self._who))
        seeding.seed_global(self.settings.seed, "epoch", epoch, *self._who)

    @property
    def _who(self) -> tuple[str | int, ...]:
        """Words for the stream of this process: each has its own random numbers."""
        return () if self.group is None or self.group.is_first else ("process", self.group.rank)

    def _random(self) -> dict[str, Any]:
        own = self.learner.generator
        return seeding.global_state(self.device) | ({} if own is None else {"own": own.get_state()})

    def _set_random(self, state: dict[str, Any]) -> None:
        if self.learner.generator is not None:
            self.learner.generator.set_state(state["own"])
        seeding.set_global_state(state, self.device)

    # -- pieces of a step -----------------------------------------------------------------------

    def _set_rates(self, scales: list[float], epoch: int, step: int, steps: int) -> None:
        if self.scheduler is not None:
            self.rates = [self.scheduler.scale(scales[0])]
            return
        schedule = self.settings.schedule
        assert isinstance(schedule, ScheduleSettings)
        factor = schedule_factor(schedule, epoch, step, steps, self.settings.epochs)
        self.rates = [self.base_rate * factor * scale for scale in scales]
        self.learner.set_learning_rates(self.rates)

    def _update(self, index: Tensor, losses: Tensor) -> bool:
        """Learn from a batch; False if the step waits for more batches.

        A run is saved and stopped only after a step, so that no checkpoint need hold half of one.
        """
        rows = len(index) if self.group is None else self.group.whole[self.step]
        self.gathered, self.gathered_rows = self.gathered + 1, self.gathered_rows + rows
        self.learner.gather(losses, self._weight_of(index, rows))
        if self.gathered < self.settings.accumulate:
            return False
        self._step_gathered()
        return True

    def _step_gathered(self) -> None:
        """One step down the mean over all samples of the batches gathered."""
        # of one batch alone the weights are a mean already, which spares a pass over all gradients
        self.learner.step(1.0 if self.settings.accumulate == 1 else self.learner.models / self.gathered_rows)
        self.gathered, self.gathered_rows = 0, 0
        if self.average is not None:
            self.average.update()
        if self.scheduler is not None and self.scheduler.every == "step":
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
            rate = max(self.rates)
            raise DivergedError(
                f"the loss turned NaN or infinite at step {self.meter.bad_step + 1} of {self.source.steps} in"
                f" epoch {self.epoch + 1}, at learning rate {rate:.3g}: try {rate / 10:.3g},"
                " look for NaN or huge values in the data; in half precision also try precision='fp32'"
            )
        losses, accuracies = self.meter.read()
        self.reporter.seen(losses[0], accuracies[0])

    # -- checkpoints ----------------------------------------------------------------------------

    def save(self, stopped: bool = False) -> None:
        """Write a checkpoint of the run as it stands; the first process does."""
        folder = self.settings.checkpoint
        if folder is None or not self.writes:
            return
        self._flush()
        state = {
            "identity": self.identity,
            "epoch": self.epoch,
            "step": self.step,
            "stopped": stopped,
            "random": self._random(),
            "log": self.logs[0].rows,
            "seconds": self.seconds_before + (time.perf_counter() - self.epoch_began if self.step else 0.0),
            **{name: part.state() for name, part in self._parts().items()},
        }
        save_checkpoint(folder, self.learner.weights(), state)

    def _parts(self) -> dict[str, Any]:
        """What has a state of its own in checkpoints, by name."""
        parts = {
            "optimizer": self.learner, "dispatch": self.dispatch, "history": self.history,
            "meter": self.meter, "average": self.average, "best": self.best, "schedule": self.scheduler,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part is not None}

    def _load_parts(self, state: dict[str, Any]) -> None:
        for name, part in self._parts().items():
            part.load_state(state[name])

    def resume(self, identity: dict[str, Any], saved: Saved | None) -> None:
        """Keep checkpoints of a run that `identity` decides, and go on from the one that is `saved`."""
        self.identity = identity
        if saved is not None:
            check_identity(saved[1]["identity"], identity, self.settings, self.dispatch.groups[0].method)
            self._load(*saved)
        self.logs[0].keep_in(self.settings.checkpoint if self.writes else None)

    def _load(self, weights: dict[str, Tensor], state: dict[str, Any]) -> None:
        self.logs[0].rows = state["log"]
        self.learner.load_weights(weights)
        self.epoch, self.step = int(state["epoch"]), int(state["step"])
        self.seconds_before = float(state["seconds"])
        self._load_parts(state)
        if state["stopped"]:
            self.reporter.note(f"the run ended by itself after epoch {self.epoch}, and does not go on")
            self.epoch, self.step = self.settings.epochs, 0
        if self.step > 0:
            # first what a method makes anew in each epoch, then its saved state
            self.dispatch.start_epoch(self.epoch)
            self.meter.start(self.epoch, self.step)
            self._load_parts(state)
            self.random_state = state["random"]


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
