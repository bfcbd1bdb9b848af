"""Training: the loop, schedules, history and checkpoints."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter, keep_functions

if TYPE_CHECKING:
    from graylearn.data.batches.augment import Augment, PixelScale
    from graylearn.training.history import History
    from graylearn.training.loop import Callback, EpochEnd
    from graylearn.training.optimizers import OptimizerSettings, ScheduleSettings, TorchSchedule
    from graylearn.training.recorder import Recorder
    from graylearn.training.result import Result, evaluate, predict_logits
    from graylearn.training.settings import PRESETS, Settings
    from graylearn.training.stack import train_stack
    from graylearn.training.train import train

__all__ = [
    "PRESETS",
    "Augment",
    "Callback",
    "EpochEnd",
    "History",
    "OptimizerSettings",
    "PixelScale",
    "Recorder",
    "Result",
    "ScheduleSettings",
    "Settings",
    "TorchSchedule",
    "evaluate",
    "predict_logits",
    "train",
    "train_stack",
]

_NAMES = {
    "history": ("History",),
    "loop": ("Callback", "EpochEnd"),
    "optimizers": ("OptimizerSettings", "ScheduleSettings", "TorchSchedule"),
    "recorder": ("Recorder",),
    "result": ("Result", "evaluate", "predict_logits"),
    "settings": ("PRESETS", "Augment", "PixelScale", "Settings"),
    "stack": ("train_stack",),
    "train": ("train",),
}

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, _NAMES)

keep_functions(__name__, "train")
