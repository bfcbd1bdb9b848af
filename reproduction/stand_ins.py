"""Sources of OOD samples: which of their classes CIFAR-10 has too, and their ten groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graylearn.data import Contaminated, Samples
from graylearn.errors import DataError
from reproduction.cells import Cell
from reproduction.splits import keep_classes

SHARED_WITH_CIFAR10 = {
    "n01641577": "bullfrog", "n01644900": "tailed frog",  # frog
    "n01855672": "goose", "n02002724": "black stork", "n02056570": "king penguin",
    "n02058221": "albatross",  # bird
    "n02085620": "Chihuahua", "n02094433": "Yorkshire terrier", "n02099601": "golden retriever",
    "n02099712": "Labrador retriever", "n02106662": "German shepherd", "n02113799": "standard poodle",  # dog
    "n02123045": "tabby", "n02123394": "Persian cat", "n02124075": "Egyptian cat",  # cat
    "n02125311": "cougar", "n02129165": "lion",  # cats of another size
    "n02423022": "gazelle",  # looks like a deer
    "n02814533": "beach wagon", "n03100240": "convertible", "n03670208": "limousine",
    "n04285008": "sports car", "n03444034": "go-kart",  # automobile
    "n03796401": "moving van", "n03977966": "police van", "n04146614": "school bus",
    "n04487081": "trolleybus", "n04465501": "tractor",  # truck, or between truck and automobile
    "n03447447": "gondola", "n03662601": "lifeboat",  # ship
}  # fmt: skip
"""The 30 classes of Tiny-ImageNet that are classes of CIFAR-10, or close to one, by WordNet id with the first
of their names. The other 170 make ten groups of 17."""

BIRDS = (0, 1, 5, 6)
"""Of Mini-ImageNet's first ten classes in the order of their names: house finch, robin, toucan and goose. The
paper has them among its OOD samples; CIFAR-10 has a class of birds."""
PER_CLASS = 600
"""Images of each class of Mini-ImageNet, which lie one class after another."""

GROUPS = 10
"""Into how many sources the classes of an OOD set are cut."""


def ood_classes(dataset: str, samples: Samples) -> Samples:
    """The samples of a dataset that may serve as OOD samples for any other."""
    if dataset != "tiny-imagenet":
        return samples
    left = [label for label in samples.classes if not _is_shared(str(label))]
    if len(left) != samples.num_classes - len(SHARED_WITH_CIFAR10):
        raise DataError(
            f"tiny-imagenet has {samples.num_classes - len(left)} of the {len(SHARED_WITH_CIFAR10)} classes "
            "it shares with CIFAR-10 by name; expected all, so the file names its classes in another way"
        )
    return keep_classes(samples, left)


def group_of(samples: Samples, group: int) -> Samples:
    """The `group`-th of ten parts of the classes, in class order; of fewer than ten, one class a part."""
    count = min(GROUPS, samples.num_classes)
    if not 0 <= group < count:
        raise DataError(f"there is no group {group} of classes; there are 0..{count - 1}")
    labels = samples.classes
    start, stop = (len(labels) * place // count for place in (group, group + 1))
    return keep_classes(samples, labels[start:stop])


def shared_with_cifar10(cell: Cell, train: Contaminated) -> NDArray[np.bool_] | None:
    """(N,) bool: the OOD samples whose class CIFAR-10 has; None where the paper's source is not beside it."""
    if (cell.dataset, cell.ood) != ("cifar10", "mini-imagenet/0"):
        return None
    return train.is_ood & np.isin(train.source // PER_CLASS, BIRDS)


def _is_shared(label: str) -> bool:
    """Whether a class is one of those above, named by its words, by its WordNet id, or by both."""
    first = label.split(",")[0].strip()
    return (
        first in SHARED_WITH_CIFAR10
        or first in SHARED_WITH_CIFAR10.values()
        or any(f"({wnid})" in label for wnid in SHARED_WITH_CIFAR10)
    )
