"""What the catalog knows of each dataset: who made it, its files, size, licence and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from graylearn.errors import DataError


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded from its publisher."""

    url: str
    """Where the publisher serves it."""
    size: int
    """Bytes."""
    sha256: str
    """Checksum of the whole file."""
    unpacks_to: str | None = None
    """The folder a tar archive holds; None for a file that is used as it is."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog."""

    name: str
    """What `load` calls it."""
    title: str
    """What people call it."""
    kind: Literal["image", "table"]
    """Pictures, or rows of a table."""
    files: tuple[str, ...]
    """The files or folders its publisher ships, as they must lie in the data folder."""
    n: int
    """Samples in the published files, train and test together."""
    classes: int
    """Classes in the published files."""
    shape: tuple[int, ...]
    """Of one sample: pixels and channels as `load` gives them, or the number of published features."""
    size: int | None
    """Bytes of the published files, about; None where copies differ."""
    licence: str
    """On what terms it may be used."""
    source: str
    """Where it comes from."""
    downloads: tuple[RemoteFile, ...] = ()
    """What `download` fetches; empty where the publisher asks for a login or a form."""

    @property
    def downloadable(self) -> bool:
        """Whether `download` can fetch it."""
        return bool(self.downloads)


_IMAGENET_TERMS = "ImageNet terms of access: non-commercial research and education"
_SDSS_TERMS = "public domain; SDSS asks to be credited"

_ENTRIES = (
    Entry(
        name="cifar10",
        title="CIFAR-10",
        kind="image",
        files=("cifar-10-batches-py/",),
        n=60_000,
        classes=10,
        shape=(32, 32, 3),
        size=170_498_071,
        licence="none stated by its authors, who ask to be cited",
        source="https://www.cs.toronto.edu/~kriz/cifar.html",
        downloads=(
            RemoteFile(
                "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                170_498_071,
                "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                unpacks_to="cifar-10-batches-py",
            ),
        ),
    ),
    Entry(
        name="cifar100",
        title="CIFAR-100",
        kind="image",
        files=("cifar-100-python/",),
        n=60_000,
        classes=100,
        shape=(32, 32, 3),
        size=169_001_437,
        licence="none stated by its authors, who ask to be cited",
        source="https://www.cs.toronto.edu/~kriz/cifar.html",
        downloads=(
            RemoteFile(
                "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
                169_001_437,
                "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
                unpacks_to="cifar-100-python",
            ),
        ),
    ),
    Entry(
        name="svhn",
        title="SVHN",
        kind="image",
        files=("train_32x32.mat", "test_32x32.mat"),
        n=99_289,
        classes=10,
        shape=(32, 32, 3),
        size=246_316_178,
        licence="non-commercial use only",
        source="http://ufldl.stanford.edu/housenumbers/",
        downloads=(
            RemoteFile(
                "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
                182_040_794,
                "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
            RemoteFile(
                "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
                64_275_384,
                "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
            ),
        ),
    ),
    Entry(
        name="mini-imagenet",
        title="Mini-ImageNet",
        kind="image",
        files=("mini-imagenet/ with class folders, or images/ and train.csv, val.csv, test.csv",),
        n=60_000,
        classes=100,
        shape=(32, 32, 3),
        size=None,
        licence=_IMAGENET_TERMS,
        source="https://image-net.org; lists at https://github.com/twitter-research/meta-learning-lstm",
    ),
    Entry(
        name="tiny-imagenet",
        title="Tiny-ImageNet",
        kind="image",
        files=("tiny-imagenet-200/",),
        n=110_000,
        classes=200,
        shape=(32, 32, 3),
        size=248_100_043,
        licence=_IMAGENET_TERMS,
        source="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    ),
    Entry(
        name="fashion-mnist",
        title="Fashion-MNIST",
        kind="image",
        files=tuple(
            f"fashion-mnist/{part}-ubyte.gz"
            for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
        ),
        n=70_000,
        classes=10,
        shape=(28, 28),
        size=30_878_645,
        licence="MIT",
        source="https://github.com/zalandoresearch/fashion-mnist, Debian package dataset-fashion-mnist",
    ),
    Entry(
        name="abalone",
        title="Abalone",
        kind="table",
        files=("abalone.data",),
        n=4177,
        classes=3,
        shape=(8,),
        size=191_873,
        licence="CC BY 4.0",
        source="https://archive.ics.uci.edu/dataset/1/abalone",
    ),
    Entry(
        name="arrhythmia",
        title="Arrhythmia",
        kind="table",
        files=("mitbih_train.csv",),
        n=87_554,
        classes=5,
        shape=(187,),
        size=392_000_000,
        licence="ODC-By 1.0 for the MIT-BIH recordings it is made from",
        source="https://www.kaggle.com/datasets/shayanfazeli/heartbeat",
    ),
    Entry(
        name="gene",
        title="Gene",
        kind="table",
        files=("data.csv", "labels.csv"),
        n=801,
        classes=5,
        shape=(20_531,),
        size=206_000_000,
        licence="CC BY 4.0",
        source="https://archive.ics.uci.edu/dataset/401/gene+expression+cancer+rna+seq",
    ),
    Entry(
        name="iris",
        title="Iris",
        kind="table",
        files=("iris.data",),
        n=150,
        classes=3,
        shape=(4,),
        size=4551,
        licence="CC BY 4.0",
        source="https://archive.ics.uci.edu/dataset/53/iris; scikit-learn carries it",
    ),
    Entry(
        name="skyserver",
        title="Skyserver",
        kind="table",
        files=("Skyserver_SQL2_27_2018 6_51_39 PM.csv",),
        n=10_000,
        classes=3,
        shape=(17,),
        size=1_390_000,
        licence=_SDSS_TERMS,
        source="https://www.kaggle.com/datasets/lucidlenn/sloan-digital-sky-survey",
    ),
    Entry(
        name="speech",
        title="Speech",
        kind="table",
        files=("accent-mfcc-data-1.csv",),
        n=329,
        classes=6,
        shape=(12,),
        size=71_076,
        licence="CC BY 4.0",
        source="https://archive.ics.uci.edu/dataset/518/speaker+accent+recognition",
    ),
    Entry(
        name="stellar",
        title="Stellar",
        kind="table",
        files=("star_classification.csv",),
        n=100_000,
        classes=3,
        shape=(17,),
        size=16_900_000,
        licence=_SDSS_TERMS,
        source="https://www.kaggle.com/datasets/fedesoriano/stellar-classification-dataset-sdss17",
    ),
    Entry(
        name="wineqt",
        title="WineQT",
        kind="table",
        files=("WineQT.csv",),
        n=1143,
        classes=6,
        shape=(11,),
        size=78_000,
        licence="CC BY 4.0 for the UCI Wine Quality data it is made from",
        source="https://www.kaggle.com/datasets/yasserh/wine-quality-dataset",
    ),
)

CATALOG: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""Every dataset of the paper, and two more image sets, by name."""


def find_entry(name: str) -> Entry:
    """The entry of a dataset; "CIFAR-10", "cifar_10" and "cifar10" are one name."""

    def plain(text: str) -> str:
        return "".join(letter for letter in text.lower() if letter.isalnum())

    for entry in _ENTRIES:
        if plain(name) == plain(entry.name):
            return entry
    raise DataError(f"there is no dataset {name!r} in the catalog; it has {', '.join(CATALOG)}")
