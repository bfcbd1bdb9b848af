"""Ray: a classifier over batches, and parts of a large set on a cluster of which a machine dies."""

import os

import numpy as np
import pandas as pd
import pytest

import graylearn as gl
from graylearn.runs import RunProgress, RunSettings, run
from graylearn.runs.predict import Predictor


def test_a_classifier_answers_batches(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 60)
    frame = pd.DataFrame({"a": y + 0.1 * random.normal(size=60), "b": random.normal(size=60)})
    classifier = gl.GrayClassifier(epochs=2, audit=None, random_state=0, device="cpu").fit(frame, y)
    classifier.save(tmp_path / "model")
    batch = {"name": np.arange(60), "b": frame["b"].to_numpy(), "a": frame["a"].to_numpy()}
    said = Predictor(tmp_path / "model")(batch)
    assert list(said) == ["name", "b", "a", "class", "probability", "ood_score"]
    np.testing.assert_array_equal(said["class"], classifier.predict(frame))
    np.testing.assert_allclose(said["probability"], classifier.predict_proba(frame).max(axis=1))


@pytest.mark.skipif("GRAYLEARN_CLUSTER" not in os.environ, reason="a minute: make cluster")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(3000)
def test_a_cluster_of_which_a_machine_dies_audits_as_one_process_does(tmp_path):
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    random = np.random.default_rng(0)
    y = random.integers(0, 3, 1200)
    frame = pd.DataFrame(4 * np.eye(3, 5)[y] + random.normal(size=(1200, 5)), columns=list("abcde"))
    frame.assign(label=y).to_parquet(tmp_path / "rows.parquet")

    def audited(out, **engine):
        settings = RunSettings(
            data=str(tmp_path / "rows.parquet"),
            command="audit",
            part_size=200,
            epochs=2,
            device="cpu",
            **engine,
        )
        run(settings, tmp_path / out, progress=RunProgress(quiet=True))
        return pd.read_parquet(tmp_path / out / "audit.parquet")

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    other = cluster.add_node(num_cpus=1)
    killed = []

    class Killing(RunProgress):
        """Kills the second machine when the first part is done."""

        def working(self, title, total=None):
            shown = super().working(title, total)
            if title == "auditing parts":
                shown = _Calling(shown, lambda: killed or killed.append(cluster.remove_node(other)))
            return shown

    try:
        settings = RunSettings(
            data=str(tmp_path / "rows.parquet"), command="audit", part_size=200, epochs=2, device="cpu",
            engine="ray", address=cluster.address,
        )  # fmt: skip
        run(settings, tmp_path / "cluster", progress=Killing(quiet=True))
    finally:
        cluster.shutdown()
    assert killed
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "cluster" / "audit.parquet"), audited("here"))


class _Calling:
    """A context whose count calls a function too."""

    def __init__(self, context, function):
        self.context, self.function, self.calls = context, function, 0

    def __enter__(self):
        advance = self.context.__enter__()

        def both(count):
            advance(count)
            self.calls += 1
            if self.calls == 2:  # the first tells what an earlier run did
                self.function()

        return both

    def __exit__(self, *given):
        return self.context.__exit__(*given)
