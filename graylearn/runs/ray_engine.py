"""Ray: parts of a large set audited on a cluster, and a fitted run as a callable for `map_batches`.

The run folder must lie where every machine of the cluster sees it. What a worker finished is on disk: a
worker that dies is tried again, and a driver that was killed goes on with the parts that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from graylearn.estimator import GrayClassifier
from graylearn.extras import require


def on_ray(address: str | None, folders: list[Path], work: Callable[[Path], None]) -> Iterator[Path]:
    """Carry out a function on the folders of parts, each a task of one core; gives each when it is done."""
    ray = require("ray", "ray")
    ours = not ray.is_initialized()
    if ours and folders:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        task = ray.remote(max_retries=3)(work)
        waiting = {task.remote(folder.absolute()): folder for folder in folders}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            ray.get(done)  # raises what the task raised
            yield waiting.pop(done)
    finally:
        if ours and folders:
            ray.shutdown()


class Predictor:
    """What a saved classifier says of the batches of a Ray dataset.

    `dataset.map_batches(Predictor, fn_constructor_args=("run/model",), concurrency=4)` adds the columns
    `class`, `probability` and `ood_score`; each worker loads the classifier once.
    """

    def __init__(self, model: str | Path) -> None:
        self.classifier = GrayClassifier.load(model)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, Any]:
        """The batch with answers."""
        names = getattr(self.classifier, "feature_names_in_", None)
        if names is not None:
            rows: Any = pd.DataFrame({name: batch[name] for name in names})
        else:
            rows = next(iter(batch.values())) if len(batch) == 1 else np.column_stack(list(batch.values()))
        said = self.classifier.predict_proba(rows)
        return {
            **batch,
            "class": self.classifier.classes_[said.argmax(axis=1)],
            "probability": said.max(axis=1),
            "ood_score": self.classifier.ood_score(rows),
        }
