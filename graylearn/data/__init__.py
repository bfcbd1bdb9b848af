"""Reading, encoding, mixing and serving data."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter, keep_functions

if TYPE_CHECKING:
    from graylearn.data.contaminate import Contaminated, contaminate
    from graylearn.data.embed import embed_images, embed_text
    from graylearn.data.encode import TableEncoder
    from graylearn.data.read import read
    from graylearn.data.samples import Samples, encode_labels
    from graylearn.data.splits import train_test_split

__all__ = [
    "Contaminated",
    "Samples",
    "TableEncoder",
    "contaminate",
    "embed_images",
    "embed_text",
    "encode_labels",
    "read",
    "train_test_split",
]

_NAMES = {
    "contaminate": ("Contaminated", "contaminate"),
    "embed": ("embed_images", "embed_text"),
    "encode": ("TableEncoder",),
    "read": ("read",),
    "samples": ("Samples", "encode_labels"),
    "splits": ("train_test_split",),
}

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, _NAMES)

keep_functions(__name__, "contaminate", "read")
