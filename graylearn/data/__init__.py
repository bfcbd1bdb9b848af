"""Reading, mixing and serving data."""

from graylearn.data.contaminate import Contaminated, contaminate
from graylearn.data.samples import Samples, classes_from_json, classes_to_json, encode_labels
from graylearn.data.splits import (
    hold_out_classes,
    hold_out_smallest,
    keep_classes,
    split_sources,
    train_test_split,
)

__all__ = [
    "Contaminated",
    "Samples",
    "classes_from_json",
    "classes_to_json",
    "contaminate",
    "encode_labels",
    "hold_out_classes",
    "hold_out_smallest",
    "keep_classes",
    "split_sources",
    "train_test_split",
]
