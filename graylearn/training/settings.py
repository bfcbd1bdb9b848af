"""All settings of a run, and the presets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from graylearn.data.batches import Augment, PixelScale
from graylearn.errors import SettingsError, nearest
from graylearn.options import Log, Precision, check
from graylearn.training.history import DEFAULT_BUDGET
from graylearn.training.networks import Which
from graylearn.training.optimizers import OptimizerLike, OptimizerSettings, ScheduleSettings, TorchSchedule

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass(frozen=True)
class Settings:
    """How to train. The defaults are the paper's for tables: Adam, 10 epochs, batches of 16.

    What `graylearn.options.Learning` declares means the same here. The last batch of an epoch
    holds what is left; for networks with batch norm the last two batches share it evenly. A DataLoader brings
    its own batches.
    """

    epochs: int = 10
    batch_size: int = 16
    optimizer: OptimizerLike = field(default_factory=OptimizerSettings)
    """Settings, a function from parameters to a torch optimizer, or one that is ready."""
    schedule: ScheduleSettings | TorchSchedule = field(default_factory=ScheduleSettings)
    """How the learning rate changes; `train` also accepts a name, or a function from an optimizer to a
    scheduler of torch, which steps after each epoch."""
    clip_norm: float | None = None
    accumulate: int = 1
    average: float | None = None
    patience: int | None = None
    """With a validation set: end after this many epochs without a better one there, and keep the weights of
    the best. None: the last epoch's."""
    label_smoothing: float = 0.0
    """How much of each label is spread over all classes, such as 0.1."""
    logits: Which = None
    """Where the logits are in the output of the model: a key, an index or a function. None: the output itself
    if it is a tensor, else what is called logits."""
    device: str | torch.device | None = None
    precision: Precision = "auto"
    seed: int = 0
    compile: bool | str | None = None
    """torch.compile: a mode, True for the one that suits, False for none; None compiles on CUDA where the
    run is long enough to win back the minute that compiling takes."""
    augment: Augment | None = None
    scale: PixelScale | None = None
    """Of uint8 images, such as `result.preparation.scale` of a run that is gone on with on other images; None
    measures theirs."""
    checkpoint: Path | None = None
    """Folder for checkpoints; None keeps none."""
    checkpoint_epochs: int = 1
    """Epochs from one checkpoint to the next."""
    resume: bool = False
    """Go on from the checkpoint in the folder, if one is there."""
    stream: bool | None = None
    """Read arrays from the host batch by batch, not keep them on the device; None = where they do not fit."""
    workers: int = 0
    """DataLoader processes that read streamed data."""
    history_bytes: int = DEFAULT_BUDGET
    """Memory for the history; beyond it the oldest epochs are kept as running means only."""
    log: Log = "auto"
    """Progress bar, one plain line per epoch, or nothing; `auto` = a bar on a terminal, lines elsewhere."""

    def __post_init__(self) -> None:
        needed = (
            "epochs", "batch_size", "accumulate", "checkpoint_epochs", "seed", "workers", "history_bytes",
        )  # fmt: skip
        check(vars(self), needed)
        ready = isinstance(self.optimizer, OptimizerSettings | torch.optim.Optimizer)
        if not ready and not callable(self.optimizer):
            raise SettingsError(
                f"optimizer is {_shown(self.optimizer)}, expected OptimizerSettings, a torch optimizer or a"
                " function of the parameters that makes one (`train` also takes a name)"
            )
        if not isinstance(self.schedule, ScheduleSettings | TorchSchedule):
            raise SettingsError(
                f"schedule is {_shown(self.schedule)}, expected ScheduleSettings or TorchSchedule"
                " (`train` also takes a name, or a function of the optimizer that makes a scheduler of torch)"
            )
        for name, kind in (("augment", Augment), ("scale", PixelScale)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise SettingsError(f"{name} is {_shown(value)}, expected gl.training.{kind.__name__}")
        if isinstance(self.compile, str) and self.compile not in COMPILE_MODES:
            raise SettingsError.wrong("compile", self.compile, f"one of {', '.join(COMPILE_MODES)}")
        if self.resume and self.checkpoint is None:
            raise SettingsError("resume needs checkpoint: name the folder to go on from")
        if self.checkpoint is not None and self.checkpoint.is_file():
            raise SettingsError(f"checkpoint is {str(self.checkpoint)!r}, a file; name a folder")

    def describe(self) -> dict[str, Any]:
        """What decides the result of a run, as JSON can hold it: two runs with equal settings are one run."""
        described: dict[str, Any] = {}
        for name in ("epochs", "batch_size", "optimizer", "schedule", "precision", "seed", "augment"):
            described[name] = _described(getattr(self, name))
        for name in ("clip_norm", "accumulate", "average", "patience", "label_smoothing", "logits", "scale"):
            value = getattr(self, name)
            if value != getattr(type(self), name):
                described[name] = _described(value)
        return described


def _described(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _described(part) for name, part in dataclasses.asdict(value).items()}
    if callable(value) or isinstance(value, torch.optim.Optimizer):
        return getattr(value, "__qualname__", type(value).__name__)
    return value


def _shown(value: object) -> str:
    """A name as it was given, of anything else the kind."""
    return repr(value) if isinstance(value, str) else f"of type {type(value).__name__}"


_STEPS = ScheduleSettings("step", milestones=(0.5, 0.75), gamma=0.1)
_PAPER = Settings(
    epochs=200,
    batch_size=128,
    optimizer=OptimizerSettings("sgd", 0.1, weight_decay=5e-4, momentum=0.9),
    schedule=_STEPS,
    augment=Augment(),
)

PRESETS: dict[str, Settings] = {
    "table": Settings(),
    "paper": _PAPER,
    # at the full rate the first steps of a deep network blow up the weights under its batch norms; a run
    # of few epochs never makes that good, and how far they blow up is a matter of luck
    "paper-warm": replace(_PAPER, schedule=replace(_STEPS, warmup=0.05, initial=0.01)),
    "fast": Settings(
        epochs=25,
        batch_size=512,
        optimizer=OptimizerSettings("sgd", 0.4, weight_decay=5e-4, momentum=0.9, nesterov=True),
        schedule=ScheduleSettings("one-cycle", warmup=0.2, initial=0.1, final=0.0),
        augment=Augment(),
    ),
}
"""Settings by name; with other `epochs`, milestones and cycles scale along. `table` and `paper` are the
paper's for tables and images, `paper-warm` the latter with a rate that rises over the first 5 % of the
run, and `fast` a short run of large batches."""


def resolve(preset: str | None, settings: Settings | None, **changes: Any) -> Settings:
    """The preset or the settings, with every change that is not None; TypeError for an unknown one.

    `optimizer` and `schedule` may also be names: of another kind than there was, at its defaults; of the same
    kind, as it was. `learning_rate` changes the optimizer's.
    """
    options = [*(field.name for field in dataclasses.fields(Settings)), "learning_rate"]
    for name in changes:
        if name not in options:
            hint = nearest(name, options, "options are")
            for option, kind in (("optimizer", OptimizerSettings), ("schedule", ScheduleSettings)):
                if name in kind.__dataclass_fields__ and name != "name":
                    hint = f"give it as {option}=gl.training.{kind.__name__}({name}=...)"
            raise TypeError(f"there is no option {name!r}; {hint}")
    if preset is not None and settings is not None:
        raise SettingsError("give preset or settings, not both")
    if preset is not None and preset not in PRESETS:
        raise SettingsError(f"there is no preset {preset!r}: use one of {', '.join(PRESETS)}")
    base = settings if settings is not None else PRESETS[preset or "table"]
    changed = {name: value for name, value in changes.items() if value is not None}
    rate = changed.pop("learning_rate", None)
    optimizer = changed.get("optimizer", base.optimizer)
    if isinstance(base.optimizer, OptimizerSettings) and optimizer == base.optimizer.name:
        optimizer = base.optimizer
    elif isinstance(optimizer, str):
        optimizer = OptimizerSettings(optimizer)  # type: ignore[arg-type]  # checked there
        if rate is None and optimizer.name == "sgd":
            raise SettingsError("sgd has no learning rate that suits all: give learning_rate")
    if rate is not None:
        if not isinstance(optimizer, OptimizerSettings):
            raise SettingsError("learning_rate cannot reach into an optimizer of your own: set it there")
        optimizer = replace(optimizer, learning_rate=rate)
    changed["optimizer"] = optimizer
    schedule = changed.get("schedule", base.schedule)
    if isinstance(base.schedule, ScheduleSettings) and schedule == base.schedule.name:
        changed["schedule"] = base.schedule
    elif isinstance(schedule, str):
        changed["schedule"] = ScheduleSettings(schedule)  # type: ignore[arg-type]  # checked there
    elif callable(schedule):
        changed["schedule"] = TorchSchedule(schedule)
    if isinstance(changed.get("augment"), bool):
        changed["augment"] = Augment() if changed["augment"] else None
    if "checkpoint" in changed:
        changed["checkpoint"] = Path(changed["checkpoint"])
    return replace(base, **changed)
