"""Several processes train one network: as one process with larger batches, and on from a checkpoint."""

import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest
from torch.distributed import TCPStore
from warm import Process

import graylearn as gl

ROWS, CLASSES = 49, 3  # batches of 2 x 8, and a last one of 1, none of it for the second process

SETS = """
import sys
import numpy as np
import torch
from torch import nn

def data():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 49)
    return (3 * np.eye(3, 4)[y] + random.normal(size=(49, 4))).astype(np.float32), y

def network(kind):
    torch.manual_seed(1)
    last = nn.Linear(16, 3)
    if kind == "mlp":
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), last)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), last)

def options(method):
    return {"clip_norm": 0.5, "accumulate": 2, "average": 0.9} if method == "standard" else {}
"""

WORKER = (
    SETS
    + """
import os
import torch.distributed as dist
import graylearn as gl

out, checkpoint, dying = sys.argv[1:4]
dist.init_process_group("gloo")
rank = dist.get_rank()
for kind in ("mlp", "module"):
    for method in ("gl", "standard", "gl-relative"):
        def die(end):
            if rank == 1 and end.epoch == 1 and kind == dying:
                os._exit(9)
        net = network(kind)
        if rank:
            nn.init.zeros_(net[0].weight)  # the first one's weights count
        result = gl.train(
            net, data(), method=method, epochs=3, batch_size=8, seed=4, callbacks=die, device="cpu",
            sample_weight=np.linspace(0.5, 1.5, 49),
            checkpoint=f"{checkpoint}/{kind}-{method}", resume=True, log="none",
            **options(method),
        )
        if rank == 0:
            np.savez(
                f"{out}/{kind}-{method}.npz", *[value.numpy() for value in net.state_dict().values()],
                label=result.history.label_confidence, predicted=result.history.predicted,
                loss=result.log[-1]["loss"], accuracy=result.log[-1]["accuracy"],
            )
dist.destroy_process_group()
"""
)


@contextmanager
def started(code, *words, size=2):
    """Processes of one group as torchrun starts them: they meet at a store of ours, whose port is taken."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(size)}
    common |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    yield [
        Process(
            code, *words, environment={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        )
        for rank in range(size)
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What two processes made, one of which died in the first training of each kind."""
    folder = tmp_path_factory.mktemp("group")
    for dying, made in (("mlp", 0), ("module", 3)):
        with started(WORKER, folder, folder, dying) as (first, second):
            assert second.communicate()[2] == 9
            first.send_signal(signal.SIGKILL)  # as torchrun ends those that are left
            first.communicate()
        assert len(list(folder.glob("*.npz"))) == made
    with started(WORKER, folder, folder, "none") as processes:
        for process in processes:
            _, said, code = process.communicate()
            assert code == 0, said
    return folder


@pytest.mark.parametrize("kind", ["mlp", "module"])
@pytest.mark.parametrize("method", ["gl", "standard", "gl-relative"])
def test_two_processes_give_what_one_gives_with_batches_twice_as_large(trained, kind, method):
    names = {}
    exec(SETS, names)
    net = names["network"](kind)
    alone = gl.train(
        net, names["data"](), method=method, epochs=3, batch_size=16, seed=4, device="cpu", log="none",
        sample_weight=np.linspace(0.5, 1.5, ROWS), **names["options"](method),
    )  # fmt: skip
    found = np.load(trained / f"{kind}-{method}.npz")
    for number, value in enumerate(net.state_dict().values()):
        np.testing.assert_allclose(found[f"arr_{number}"], value.numpy(), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(found["label"], alone.history.label_confidence, atol=2e-3)
    assert not np.isnan(found["label"]).any()  # every sample once in each epoch
    assert (found["predicted"] == alone.history.predicted).mean() > 0.98
    assert float(found["loss"]) == pytest.approx(alone.log[-1]["loss"], rel=1e-3)
    assert float(found["accuracy"]) == pytest.approx(alone.log[-1]["accuracy"], abs=0.02)


def test_the_command_line_is_led_by_the_first_process(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 120)
    rows = [
        f"{a:.3f},{b:.3f},{'abc'[k]}"
        for (a, b), k in zip(3 * np.eye(3, 2)[y] + random.normal(size=(120, 2)), y, strict=True)
    ]
    (tmp_path / "few.csv").write_text("x,z,label\n" + "\n".join(rows) + "\n")
    words = [
        "fit",
        tmp_path / "few.csv",
        "--out",
        tmp_path / "run",
        "--epochs",
        "2",
        "--device",
        "cpu",
        "--quiet",
    ]
    with started("from graylearn.cli import main; main()", *words) as processes:
        said = ["".join(process.communicate()[:2]) for process in processes]
    assert "few.csv: 120 samples" in said[0]
    assert said[1].strip() == ""
    assert (tmp_path / "run" / "report.html").exists()
