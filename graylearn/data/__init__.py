"""Reading, encoding, mixing and serving data."""

from typing import TYPE_CHECKING

from graylearn.lazy import getter, keep_functions

if TYPE_CHECKING:
    from graylearn.data.batches.augment import Augment
    from graylearn.data.batches.base import ArrayBatches, Batch, BatchSource, Preparation
    from graylearn.data.batches.streams import LoaderBatches, StreamBatches
    from graylearn.data.contaminate import Contaminated, contaminate
    from graylearn.data.embeddings.embed import embed_images, embed_text
    from graylearn.data.encoding.encode import TableEncoder
    from graylearn.data.images.cache import CachedImages, cache_images
    from graylearn.data.read import read
    from graylearn.data.samples import Samples, classes_from_json, classes_to_json, encode_labels
    from graylearn.data.splits import (
        hold_out_classes,
        hold_out_smallest,
        keep_classes,
        split_sources,
        train_test_split,
    )

__all__ = [
    "ArrayBatches",
    "Augment",
    "Batch",
    "BatchSource",
    "CachedImages",
    "Contaminated",
    "LoaderBatches",
    "Preparation",
    "Samples",
    "StreamBatches",
    "TableEncoder",
    "cache_images",
    "classes_from_json",
    "classes_to_json",
    "contaminate",
    "embed_images",
    "embed_text",
    "encode_labels",
    "hold_out_classes",
    "hold_out_smallest",
    "keep_classes",
    "read",
    "split_sources",
    "train_test_split",
]

_NAMES = {
    "batches.augment": ("Augment",),
    "batches.base": ("ArrayBatches", "Batch", "BatchSource", "Preparation"),
    "batches.streams": ("LoaderBatches", "StreamBatches"),
    "contaminate": ("Contaminated", "contaminate"),
    "embeddings.embed": ("embed_images", "embed_text"),
    "encoding.encode": ("TableEncoder",),
    "images.cache": ("CachedImages", "cache_images"),
    "read": ("read",),
    "samples": ("Samples", "classes_from_json", "classes_to_json", "encode_labels"),
    "splits": ("hold_out_classes", "hold_out_smallest", "keep_classes", "split_sources", "train_test_split"),
}

if not TYPE_CHECKING:
    __getattr__ = getter(__name__, _NAMES)

keep_functions(__name__, "contaminate", "read")
