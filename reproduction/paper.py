"""The paper's numbers and claims as data: what our measurements are set beside.

Everything is from Zhao, Cao and Wang, "Gray Learning from Non-IID Data with Out-of-distribution Samples".
Accuracies and calibration errors are in percent, as printed. The claims are in our own words; each names the
place in the paper where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

METHODS: tuple[str, ...] = ("standard", "mae", "bt", "spl", "il", "sl", "nl", "srcc", "lcvd", "gl")
"""The columns of the paper's two tables, in their order, by our names."""

Labels = Literal["specific", "random"]


def _line(*values: float) -> dict[str, float]:
    return dict(zip(METHODS, values, strict=True))


TABLE1: dict[tuple[str, Labels], dict[str, float]] = {
    ("cifar10", "specific"): _line(93.8, 94.1, 95.1, 89.9, 94.8, 94.7, 94.8, 94.7, 94.2, 95.2),
    ("cifar10", "random"): _line(93.7, 94.3, 95.1, 90.9, 95.1, 94.9, 94.5, 94.7, 94.4, 95.3),
    ("svhn", "specific"): _line(95.0, 96.3, 96.0, 92.0, 96.1, 96.4, 96.1, 96.4, 95.2, 96.7),
    ("svhn", "random"): _line(95.2, 96.7, 96.4, 93.5, 96.5, 96.6, 96.4, 96.2, 95.3, 96.9),
    ("cifar100", "specific"): _line(66.3, 69.9, 67.6, 69.2, 66.8, 70.8, 70.3, 70.3, 71.1, 77.6),
    ("cifar100", "random"): _line(67.1, 69.3, 67.5, 69.2, 67.1, 70.7, 70.5, 71.2, 72.8, 77.2),
}
"""Its first table: images, ResNet18, alpha .1, by in-distribution set and labels of the OOD samples."""

TABLE2: dict[str, dict[str, float]] = {
    "abalone": _line(79.1, 81.6, 80.8, 49.4, 80.3, 80.9, 79.6, 80.2, 80.6, 82.1),
    "arrhythmia": _line(77.9, 78.5, 78.3, 81.0, 78.6, 79.8, 79.2, 81.5, 81.2, 83.4),
    "gene": _line(39.2, 38.1, 38.8, 38.3, 37.9, 35.7, 40.6, 41.2, 42.3, 44.8),
    "iris": _line(59.0, 60.0, 64.0, 50.0, 66.0, 64.0, 60.0, 75.9, 77.2, 95.0),
    "skyserver": _line(68.6, 68.4, 68.8, 68.7, 68.7, 68.6, 68.8, 72.1, 74.1, 78.9),
    "speech": _line(53.0, 52.8, 53.8, 44.6, 53.8, 52.3, 53.8, 53.2, 52.3, 56.0),
    "stellar": _line(56.8, 56.8, 56.6, 56.8, 56.7, 56.9, 56.5, 66.3, 65.4, 76.1),
    "wineqt": _line(59.0, 57.0, 56.0, 48.0, 56.1, 55.8, 55.5, 60.2, 60.7, 62.5),
}
"""Its second table: the eight tabular sets."""

TABLE2_AVERAGE: dict[str, float] = _line(61.6, 61.7, 62.1, 54.6, 62.3, 61.8, 61.8, 64.2, 66.3, 72.4)
"""The averages printed under the second table; two of them are not the averages of its lines (see errata)."""

CLASSES_LEFT: dict[str, int] = {
    "abalone": 2,
    "arrhythmia": 4,
    "gene": 4,
    "iris": 2,
    "skyserver": 2,
    "speech": 5,
    "stellar": 2,
    "wineqt": 5,
}
"""Classes of each tabular set once the smallest one is taken out as OOD."""

ECE: dict[tuple[str, Labels], float] = {
    ("standard", "specific"): 2.99,
    ("standard", "random"): 3.07,
    ("gl", "specific"): 1.88,
    ("gl", "random"): 1.93,
}
"""Expected calibration error on CIFAR-10, 20 bins."""

ARCHITECTURES: tuple[str, ...] = (
    "resnet18",
    "vgg19",
    "shufflenetv2",
    "mobilenetv2",
    "senet18",
    "squeezenet",
    "densenet121",
)
"""The networks of its figure on architectures and SqueezeNet, which its settings name in place of SENet18."""


@dataclass(frozen=True)
class Claim:
    """One thing the paper says, in our words."""

    name: str
    """Short name; the rule that judges it goes by the same."""
    text: str
    """What it says."""
    printed: str = ""
    """The number the paper gives for it, if it gives one."""


CLAIMS: tuple[Claim, ...] = (
    Claim("ood-hurts", "OOD samples lower test accuracy"),
    Claim("images-standard", "GL beats standard training on every image set", "+1.4 to +11.3"),
    Claim("images-best", "GL beats nine other methods on every image set", "+0.1 to +6.5 on the next"),
    Claim("spl-worst", "SPL is the least accurate on images", "1.7 to 3.9 below the next"),
    Claim("bt-il", "BT and IL are well above SPL on CIFAR-10 and SVHN", "+4.41 %"),
    Claim("nl-mae", "NL alone is only a little better than MAE on images", "+0.46 %"),
    Claim("tables-standard", "GL beats standard training on every table", "+3.0 to +36.0"),
    Claim("tables-best", "GL beats nine other methods on every table", "+0.5 to +17.8 on the next"),
    Claim("alpha-standard", "Standard training falls as alpha grows from .05 to .5", "figure"),
    Claim("alpha-gl", "GL does not fall as alpha grows", "figure"),
    Claim("sources-matter", "The source of OOD samples changes the accuracy noticeably", "figure"),
    Claim("sources-gl", "GL beats standard training for each of ten sources", "figure"),
    Claim("architectures-gl", "GL beats standard training with each of six networks", "+0.55, +0.64 %"),
    Claim("architectures-residual", "ResNet18 and DenseNet121 are the most accurate", "figure"),
    Claim("calibration-gl", "GL's calibration error is lower, near perfect", "2.99 to 1.88, 3.07 to 1.93"),
    Claim("calibration-overconfident", "Standard training is over-confident, GL less so", "figure"),
    Claim("ablation-tables", "On tables GL beats its parts: CE, NL, their mean", "+17.5, +17.1, +10.7 %"),
    Claim("ablation-images", "On images GL beats its parts: CE, NL, their mean", "+5.52, +4.54, +2.28 %"),
    Claim("separation", "GL separates samples that belong from OOD samples better"),
    Claim("formula", "C = Q(y given x), as the text has it, gives these gains"),
)
"""Every claim of the paper that an experiment can judge."""
