"""Training: the loop, schedules, history and checkpoints."""

from graylearn.data.batches import Augment, PixelScale
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
