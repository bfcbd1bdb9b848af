"""The paper's tables and figures, and two of our own, as lists of cells.

Parts that read Mini-ImageNet are declared as the paper has them. What was measured before its files were at
hand is declared once more as it was run, with Tiny-ImageNet in its place, without the classes that CIFAR-10
has too; 100 of its classes against the other 100 are a harder case of our own.
"""

from __future__ import annotations

from reproduction import paper
from reproduction.cells import RELEASED_METHODS
from reproduction.grids import CORE, Experiment, Grid, Labels, Schedule, Source

ALL_METHODS = (*paper.METHODS, "gl-label", "gl+refine", "oracle")
OTHER_METHODS = (
    "gl-label",
    "gl-relative",
    "gl-history",
    "mae",
    "bt",
    "sl",
    "nl",
    "spl",
    "lcvd",
    "srcc",
    "il",
)
"""The rest, quick ones first: a sweep that ends early lacks the least."""
LABELS: tuple[Labels, ...] = ("specific", "random")
ALPHAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
TEN_SEEDS = tuple(range(10))
FIVE_SEEDS = TEN_SEEDS[:5]
"""As many as the script beside the released code runs."""

CIFAR10 = Source("cifar10", "mini-imagenet/0")
SVHN = Source("svhn", "mini-imagenet/0")
CIFAR100 = Source("cifar100", "mini-imagenet")
"""As the paper has them: the first ten classes, in the order of their names, or all hundred."""
SVHN_ALPHA = 0.076
"""All 6,000 images of ten classes beside SVHN; the paper's .1 would take 8,140."""
LIKE_CIFAR10 = Source("cifar10", "tiny-imagenet")
LIKE_SVHN = Source("svhn", "tiny-imagenet")
MANY = Source("tiny-imagenet/100", "other-classes")
GROUP_0 = Source("cifar10", "tiny-imagenet/0")

_SHORT = Schedule("fast", 15, 512)
_LONG = Schedule("paper-warm", 60, 512)
_TWENTY = Schedule("paper-warm", 20, 512)
_MEASURED = tuple(net for net in paper.ARCHITECTURES if net != "squeezenet")
_FEW = 16_000
"""In-distribution samples of a short run."""
_TABLE_SOURCES = tuple(Source(name) for name in paper.TABLE2)

# what scikit-learn carries: digits, its last two classes OOD, as pictures; iris and wine as tables
_DIGITS = Source("digits/8", "other-classes")
_QUICK_STEPS = Schedule("paper", 2, 16)
_QUICK_TABLES = (Source("iris"), Source("wine"))


def _quick(methods: tuple[str, ...], **settings: object) -> Grid:
    """A small image grid; what is not given is as small as it goes."""
    chosen = {
        "sources": (_DIGITS,), "nets": ("small_cnn-8",), "schedules": (_QUICK_STEPS,), "train_size": 120,
        **settings,
    }  # fmt: skip
    return Grid("image", methods=methods, **chosen)  # type: ignore[arg-type]


TABLE1 = Experiment(
    name="table1",
    title="Images with OOD samples, ResNet18, alpha .1",
    grids=(
        Grid("image", (CIFAR10, CIFAR100), (*CORE, "gl-history"), seeds=(0, 1, 2), labels=LABELS),
        Grid("image", (SVHN,), CORE, seeds=(0, 1, 2), labels=LABELS, alphas=(SVHN_ALPHA,)),
        Grid("image", (CIFAR10, CIFAR100), OTHER_METHODS),
        Grid("image", (LIKE_CIFAR10, MANY), (*CORE, "gl-history"), seeds=(0, 1, 2), labels=LABELS),
        Grid("image", (LIKE_SVHN,), ("standard", "gl", "oracle"), labels=LABELS),
        Grid("image", (LIKE_CIFAR10, MANY), OTHER_METHODS),
    ),
    quick=(_quick(ALL_METHODS, labels=LABELS),),
)
TABLE2 = Experiment(
    name="table2",
    title="Eight tables whose smallest class is OOD, alpha .1, as the paper's text says",
    grids=(Grid("table", _TABLE_SOURCES, (*ALL_METHODS, "standard+nl", "majority"), seeds=TEN_SEEDS),),
    quick=(Grid("table", _QUICK_TABLES, (*ALL_METHODS, "standard+nl", "majority"), seeds=(0, 1)),),
)
ALPHA = Experiment(
    name="alpha",
    title="CIFAR-10 with a growing share of SVHN images",
    grids=(Grid("image", (Source("cifar10", "svhn"),), (*CORE, "gl-label"), labels=LABELS, alphas=ALPHAS),),
    quick=(_quick((*CORE, "gl-label"), alphas=(0.05, 0.2)),),
)
SOURCES = Experiment(
    name="sources",
    title="CIFAR-10 with ten sources of OOD samples",
    grids=(
        Grid(
            "image", tuple(Source("cifar10", f"mini-imagenet/{group}") for group in range(10)),
            ("standard", "gl", "oracle"), labels=LABELS,
        ),
        Grid(
            "image", tuple(Source("cifar10", f"tiny-imagenet/{group}") for group in range(10)),
            ("standard", "gl", "oracle"), labels=LABELS, schedules=(_TWENTY,),
        ),
    ),
    quick=(
        _quick(
            (*CORE, "gl-label"),
            sources=tuple(Source("digits/8", f"other-classes/{group}") for group in (0, 1)),
        ),
    ),
)  # fmt: skip
ARCHITECTURES = Experiment(
    name="architectures",
    title="Seven networks on CIFAR-10",
    grids=(
        Grid("image", (CIFAR10,), ("standard", "gl"), labels=LABELS, nets=paper.ARCHITECTURES),
        Grid("image", (GROUP_0,), ("standard", "gl"), labels=LABELS, nets=_MEASURED, schedules=(_TWENTY,)),
        Grid("image", (GROUP_0,), ("standard", "gl"), nets=("vgg19",)),
    ),
    quick=(_quick((*CORE, "gl-label"), nets=("small_cnn-8", "small_cnn-16"), train_size=96),),
)
REGIMES = Experiment(
    name="regimes",
    title="When OOD samples hurt at all: short and long schedules, few and many classes, near and far OOD "
    "samples, random and specific labels, alpha .2",
    grids=(
        Grid(
            "image",
            (
                Source("cifar10/8", "other-classes"), Source("cifar10/8", "svhn"), MANY,
                Source("tiny-imagenet/100", "svhn"),
            ),
            ("standard", "gl", "gl-relative", "oracle"), labels=LABELS, alphas=(0.2,),
            schedules=(_SHORT, _LONG), train_size=_FEW,
        ),
        Grid(
            "image", (Source("cifar10/8", "other-classes"), MANY), ("gl+refine",), labels=LABELS,
            alphas=(0.2,), schedules=(_LONG,), train_size=_FEW,
        ),
        Grid(
            "image", (MANY,), ("standard", "gl", "gl-relative", "oracle"), seeds=(0, 1, 2), alphas=(0.2,),
            schedules=(_LONG,),
        ),
    ),
    quick=(
        _quick(
            (*CORE, "gl-label", "gl-relative"), labels=LABELS, alphas=(0.2,),
            schedules=(Schedule("fast", 1, 64), _QUICK_STEPS),
        ),
    ),
)  # fmt: skip

HUMAN = Experiment(
    name="human",
    title="CIFAR-10 with the labels that people gave its images (CIFAR-10N), no OOD samples: the vote of "
    "three (aggregate) and the worst of three",
    grids=(
        Grid(
            "image", (Source("cifar10", "none"),), (*CORE, "gl-label", "choose"),
            labels=("aggregate", "worst"), alphas=(0.0,),
        ),
    ),
    quick=(
        _quick(
            (*CORE, "gl-label"), sources=(Source("digits/8", "none"),), labels=("aggregate", "worst"),
            alphas=(0.0,),
        ),
    ),
)  # fmt: skip

_NO_DECAY = (("weight_decay", 0.0),)
_PLAIN_SGD = (("momentum", 0.0), ("weight_decay", 0.0))
_EPS = ("eps", 1e-5)


def _read_as(methods: tuple[str, ...], **changes: object) -> Grid:
    return Grid("image", (CIFAR100,), methods, **changes)  # type: ignore[arg-type]


READINGS = Experiment(
    name="readings",
    title="CIFAR-100 with Mini-ImageNet under readings of what the paper does not say",
    grids=(
        _read_as(("standard", "gl", "oracle")),
        _read_as(("standard", "gl"), labels=("specific",)),
        _read_as(("gl",), options=(_EPS, ("w", 0.5))),
        _read_as(("standard", "gl", "nl", "oracle"), recipe=_NO_DECAY),
        _read_as(("standard", "gl", "oracle"), recipe=_PLAIN_SGD),
        _read_as(("standard", "gl"), alphas=(0.55,)),
        _read_as(("standard", "gl"), alphas=(0.55,), recipe=_NO_DECAY),
        _read_as(("gl",), options=(_EPS, ("w", 0.1))),
        _read_as(("gl",), options=(_EPS, ("w", 0.9))),
        _read_as(("gl",), options=(("mean", True),)),
        _read_as(("gl",), options=(("detach", False),)),
        _read_as(("standard", "gl"), recipe=(("double_softmax", True),)),
        _read_as(("standard", "gl"), recipe=(("padding", "zero"), ("zipped", True))),
    ),
    quick=(
        _quick(("standard", "gl", "oracle")),
        _quick(("gl",), options=(_EPS, ("w", 0.5))),
        _quick(("standard", "gl"), recipe=_PLAIN_SGD),
    ),
)


def _released(
    methods: tuple[str, ...] = RELEASED_METHODS,
    sources: tuple[Source, ...] = _TABLE_SOURCES,
    seeds: tuple[int, ...] = FIVE_SEEDS,
    **changes: object,
) -> Grid:
    """Tables by the released loop."""
    return Grid("table", sources, methods, seeds, protocol="released", **changes)  # type: ignore[arg-type]


_NORMALISED = (("normalised", True),)
_CORE_RELEASED = ("standard", "gl", "oracle")


def _weights(**changes: object) -> tuple[Grid, ...]:
    """Gray Learning with the two other weights w of its parts."""
    return tuple(_released(("gl",), options=(("w", w),), **changes) for w in (0.1, 0.9))  # type: ignore[arg-type]


RELEASED = Experiment(
    name="released",
    title="Eight tables by the loop that the authors released: as it is, with normalised features, with "
    "other weights w and for 100 epochs",
    grids=(
        _released(),
        *(
            grid
            for changes in (
                {}, {"recipe": _NORMALISED}, {"epochs": 100}, {"epochs": 100, "recipe": _NORMALISED}
            )
            for grid in (_released(_CORE_RELEASED, **changes), *_weights(**changes))
        ),
    ),
    quick=(
        _released(sources=_QUICK_TABLES, seeds=(0, 1)),
        _released(_CORE_RELEASED, _QUICK_TABLES, seeds=(0,), epochs=20, recipe=_NORMALISED),
    ),
)  # fmt: skip

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE1, TABLE2, ALPHA, SOURCES, ARCHITECTURES, READINGS, RELEASED, REGIMES, HUMAN,
    )
}  # fmt: skip
"""Every experiment by name."""
