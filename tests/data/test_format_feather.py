"""The example of Feather files."""

import pandas as pd


def example(folder):
    path = folder / "pets.feather"
    pd.DataFrame({"size": [1.5, 2.5, 3, 4, 5, 6], "label": ["cat", "dog"] * 3}).to_feather(path)
    return path
