"""Reading, mixing and serving data."""

from graylearn.data.samples import Samples, classes_from_json, classes_to_json, encode_labels

__all__ = ["Samples", "classes_from_json", "classes_to_json", "encode_labels"]
