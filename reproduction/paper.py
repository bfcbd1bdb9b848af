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

INSTANCES: dict[str, int] = {
    "abalone": 4177,
    "arrhythmia": 87553,
    "gene": 801,
    "iris": 150,
    "skyserver": 100_000,
    "speech": 3960,
    "stellar": 100_000,
    "wineqt": 1143,
}
"""Rows of each tabular set as its table of datasets has them."""

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
    "densenet121",
)
"""The networks of its figure on architectures."""

STAND_INS: dict[str, str] = {
    "cifar100": "tiny-imagenet",
    "mini-imagenet": "tiny-imagenet",
}
"""Sets of the paper that are not at hand, and the one measured in their place."""


@dataclass(frozen=True)
class Claim:
    """One thing the paper says, in our words."""

    name: str
    """Short name; the rule that judges it goes by the same."""
    place: str
    """Where the paper says it."""
    text: str
    """What it says."""
    printed: str = ""
    """The number the paper gives for it, if it gives one."""


CLAIMS: tuple[Claim, ...] = (
    Claim("ood-hurts", "Introduction; Theorem 1", "OOD samples in the training set lower test accuracy."),
    Claim(
        "images-best",
        "Table 1; Comparison Results",
        "GL is more accurate than each of nine other methods on every image set, with both kinds of labels.",
        "3.3 % above the next best, 7.2 % above the worst",
    ),
    Claim(
        "images-standard",
        "Table 1",
        "GL is more accurate than standard training on every image set, with both kinds of labels.",
        "+1.4 to +11.3 points",
    ),
    Claim(
        "spl-worst",
        "Comparison Results",
        "Self-paced learning is the least accurate method on every image set.",
        "89.9 to 93.5 % (CIFAR-10, SVHN)",
    ),
    Claim(
        "bt-il",
        "Comparison Results",
        "Methods that keep from fitting all labels (BT, IL) are well above self-paced learning on CIFAR-10 "
        "and SVHN.",
        "+4.41 %",
    ),
    Claim(
        "nl-mae",
        "Comparison Results",
        "Complementary labels alone (NL) are only a little better than MAE on images.",
        "+0.46 %",
    ),
    Claim(
        "tables-best",
        "Table 2; Comparison Results",
        "GL is more accurate than each of nine other methods on every tabular set.",
        "+16.7 % in the mean",
    ),
    Claim(
        "tables-standard",
        "Table 2",
        "GL is more accurate than standard training on every tabular set.",
        "+3.0 to +36.0 points",
    ),
    Claim(
        "alpha-standard",
        "Effect of the proportion",
        "Standard training loses accuracy as the share of OOD samples grows from .05 to .5.",
        "a figure without numbers",
    ),
    Claim(
        "alpha-gl",
        "Effect of the proportion",
        "GL's accuracy does not fall as the share of OOD samples grows.",
        "a figure without numbers",
    ),
    Claim(
        "sources-matter",
        "Effect of sources",
        "Which source the OOD samples come from changes the accuracy noticeably.",
        "a figure without numbers",
    ),
    Claim(
        "sources-gl",
        "Effect of sources",
        "GL is more accurate than standard training for each of ten sources of OOD samples.",
        "a figure without numbers",
    ),
    Claim(
        "architectures-residual",
        "Effect of Network Architectures",
        "The networks with shortcuts named in the text, ResNet18 and DenseNet121, are the most accurate.",
        "a figure without numbers",
    ),
    Claim(
        "architectures-gl",
        "Effect of Network Architectures",
        "GL is more accurate than standard training with each of six networks.",
        "+0.55 % specific, +0.64 % random",
    ),
    Claim(
        "calibration-gl",
        "Calibration",
        "GL has a lower calibration error than standard training.",
        "2.99 -> 1.88 % specific, 3.07 -> 1.93 % random",
    ),
    Claim(
        "calibration-perfect",
        "Calibration",
        "GL's calibration is close to perfect.",
        "1.88 and 1.93 %",
    ),
    Claim(
        "calibration-overconfident",
        "Calibration",
        "Standard training on a set with OOD samples is over-confident, and GL less so.",
        "a figure without numbers",
    ),
    Claim(
        "ablation-tables",
        "Ablation Study",
        "On tables GL beats each of its parts: cross entropy, NL, and their even mixture.",
        "+17.5, +17.1, +10.7 %",
    ),
    Claim(
        "ablation-images",
        "Ablation Study",
        "On images GL beats each of its parts: cross entropy, NL, and their even mixture.",
        "+5.52, +4.54, +2.28 %",
    ),
    Claim(
        "separation",
        "Adaptively Weighting Loss; Ablation Study",
        "GL widens the gap in confidence between samples that belong and OOD samples.",
    ),
    Claim(
        "formula",
        "Eq. for C(x, y); Algorithm 1",
        "The confidence C = Q(y | x), the probability of the given label, gives the reported accuracy.",
    ),
)
"""Every claim of the paper that an experiment can judge."""

THEORY_CLAIMS: tuple[tuple[str, str, str, str], ...] = (
    (
        "Introduction",
        "Rejecting the complementary labels is less risky than fitting the label.",
        "holds",
        "L_C <= L_G for every prediction and every label; exact, and tested.",
    ),
    (
        "Theorem 1",
        "A bound on the excess risk of standard training grows with alpha and with the discrepancy.",
        "holds",
        "A standard argument, for networks without biases, batch norm or shortcuts; far too large to be a "
        "number (see the example on the theory page).",
    ),
    (
        "Theorem 2",
        "GL's risk is that of cross entropy under a constraint r <= lambda, lambda > 0.",
        "does not hold",
        "The identity is L_M = L_G + r with r = (1 - C)(L_C - L_G). r <= 0 always, so a positive lambda "
        "constrains nothing.",
    ),
    (
        "Theorem 3",
        "GL's bound is tighter than that of standard training when lambda is small.",
        "does not hold",
        "Not proved: one step drops a log, another runs against Jensen's inequality, and statement, proof "
        "and condition name different constants.",
    ),
)
"""(place, claim, verdict, why) of what mathematics alone decides; each is worked out on the theory page."""
