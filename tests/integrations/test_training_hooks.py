"""Hugging Face, Lightning, skorch and Accelerate, each with the version that is installed."""

import importlib
import json
import os
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn
from torch.distributed import TCPStore
from warm import Process

import graylearn as gl

# what the frameworks say to one another in their own code
pytestmark = pytest.mark.filterwarnings("ignore")


class Net(nn.Module):
    """A model as Trainer wants one: a dict of logits, and its own loss where it is given labels."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.head = nn.Linear(3, 4)

    def forward(self, x, labels=None):
        logits = self.head(x)
        loss = {} if labels is None else {"loss": nn.functional.cross_entropy(logits, labels)}
        return {**loss, "logits": logits}


def trainer_for(folder, callback, rows, **options):
    import transformers

    arguments = {"optim": "sgd", "learning_rate": 0.1, "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    arguments |= {"save_strategy": "no", "report_to": "none", "use_cpu": True, "disable_tqdm": True}
    arguments |= {"remove_unused_columns": False, **options.pop("arguments", {})}
    settings = transformers.TrainingArguments(str(folder), **arguments)
    callbacks = [] if callback is None else [callback]
    return transformers.Trainer(Net(), settings, train_dataset=rows, callbacks=callbacks, **options)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(12, 3)).astype(np.float32), random.integers(0, 4, 12)
    y[[1, 5, 6]] = -100  # so that the parts of an accumulated batch have unequal numbers of labels
    return [
        {"x": torch.from_numpy(each), "labels": int(label), "id": index}
        for index, (each, label) in enumerate(zip(x, y, strict=True))
    ]


def test_accumulated_gradients_are_those_of_one_large_batch(rows, tmp_path):
    """One step of SGD over three parts is one step down the mean loss of all labels."""
    hugging_face = importlib.import_module("graylearn.integrations.hugging_face")
    gray = hugging_face.AuditCallback()
    parts = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "max_steps": 1}
    trainer = trainer_for(tmp_path, gray, rows, compute_loss_func=gray.loss, arguments=parts)
    trainer.train()
    expected = Net()
    x, y = torch.stack([row["x"] for row in rows]), torch.tensor([row["labels"] for row in rows])
    gl.gray_loss(expected.head(x), y, impl="reference").backward()
    stepped = expected.head.weight - 0.1 * expected.head.weight.grad
    torch.testing.assert_close(trainer.model.head.weight, stepped.detach())
    assert gray.recorder.history.ids.tolist() == [0, 2, 3, 4, 7, 8, 9, 10, 11]


def test_only_training_is_recorded_also_with_the_loss_of_the_model(rows, tmp_path):
    hugging_face = importlib.import_module("graylearn.integrations.hugging_face")
    gray = hugging_face.AuditCallback()
    labelled = [row for row in rows if row["labels"] >= 0]
    other = [{**row, "id": 100 + row["id"]} for row in labelled]
    arguments = {"num_train_epochs": 2, "eval_strategy": "epoch", "per_device_train_batch_size": 9}
    trainer = trainer_for(tmp_path, gray, labelled, eval_dataset=other, arguments=arguments)
    trainer.train()
    history = gray.recorder.history
    assert history.ids.tolist() == [row["id"] for row in labelled]
    assert (history.count == 2).all()
    # the first epoch is one batch, asked before its step
    first = softmax(Net().head(torch.stack([row["x"] for row in labelled])).detach().numpy(), axis=1)
    label = [row["labels"] for row in labelled]
    np.testing.assert_allclose(
        np.sort(history.label_confidence[0]), np.sort(first[range(9), label]), atol=1e-3
    )
    assert len(gray.audit) == 9
    assert not trainer.model._forward_hooks


def test_a_run_that_goes_on_is_told_what_is_not_recorded(rows, tmp_path):
    hugging_face = importlib.import_module("graylearn.integrations.hugging_face")
    labelled = [row for row in rows if row["labels"] >= 0]
    arguments = {"num_train_epochs": 1, "per_device_train_batch_size": 3, "save_strategy": "epoch"}
    trainer_for(tmp_path, hugging_face.AuditCallback(), labelled, arguments=arguments).train()
    (tmp_path / "checkpoint-3" / "graylearn_record.pt").unlink()  # as of a run without the callback
    late = hugging_face.AuditCallback()
    with pytest.warns(UserWarning, match="goes on after step 3"):
        trainer_for(tmp_path, late, labelled, arguments=arguments).train(resume_from_checkpoint=True)
    assert late.audit is None
    lightning = importlib.import_module("graylearn.integrations.lightning").AuditCallback()
    run = SimpleNamespace(global_step=7, is_global_zero=True)
    with pytest.warns(UserWarning, match="goes on after step 7"):
        lightning.on_train_start(run, None)
    lightning.on_train_end(run, None)
    assert lightning.audit is None


SAVES = {"epoch": (1, 6), "last step of an epoch": (3, 6), "within an epoch": (4, 4)}


@pytest.mark.parametrize(("steps", "resumed"), SAVES.values(), ids=SAVES)
def test_trainer_goes_on_with_the_record_of_its_checkpoint(steps, resumed, rows, tmp_path):
    hugging_face = importlib.import_module("graylearn.integrations.hugging_face")
    labelled = [row for row in rows if row["labels"] >= 0]
    saved = {"save_strategy": "epoch"} if steps == 1 else {"save_strategy": "steps", "save_steps": steps}

    def train(folder, epochs, checkpoint=None):
        gray = hugging_face.AuditCallback()
        arguments = {"num_train_epochs": epochs, "per_device_train_batch_size": 3, **saved}
        trainer = trainer_for(folder, gray, labelled, compute_loss_func=gray.loss, arguments=arguments)
        trainer.train(resume_from_checkpoint=checkpoint)
        return gray

    expected = train(tmp_path / "unbroken", 4).recorder.history
    train(tmp_path / "broken", 2)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "training goes on after step")
        gray = train(tmp_path / "broken", 4, str(tmp_path / "broken" / f"checkpoint-{resumed}"))
    np.testing.assert_array_equal(gray.recorder.history.label_confidence, expected.label_confidence)
    np.testing.assert_array_equal(gray.recorder.history.count, expected.count)
    assert len(gray.audit) == 9


SAVED = {"after each epoch": {}, "after a validation": {"save_on_train_epoch_end": False}}
SAVED["after the last batch of an epoch"] = {"every_n_train_steps": 3}


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_lightning_goes_on_with_the_record_of_its_checkpoint(saved, tmp_path):
    import lightning

    example = importlib.import_module("lightning_module")
    x, y, _ = importlib.import_module("clouds").clouds(60)
    data = torch.utils.data.TensorDataset(torch.arange(60), torch.from_numpy(x), torch.from_numpy(y))
    loader = torch.utils.data.DataLoader(data, batch_size=20)

    class Classifier(example.Classifier):
        def validation_step(self, batch, batch_idx):
            pass

    def fit(epochs, checkpoint=None):
        torch.manual_seed(0)
        gray = importlib.import_module("graylearn.integrations.lightning").AuditCallback()
        keeper = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, **saved)
        quiet = dict.fromkeys(("logger", "enable_progress_bar", "enable_model_summary"), False)
        trainer = lightning.Trainer(max_epochs=epochs, accelerator="cpu", callbacks=[gray, keeper], **quiet)
        trainer.fit(Classifier(), loader, loader, ckpt_path=checkpoint)
        return gray, keeper.best_model_path, trainer

    unbroken, *_ = fit(4)
    _, checkpoint, _ = fit(2)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "training goes on after step")
        resumed, _, trainer = fit(4, checkpoint)
    trainer.validate(Classifier(), loader, ckpt_path=checkpoint, verbose=False)  # it is no training
    expected, history = unbroken.recorder.history, resumed.recorder.history
    np.testing.assert_array_equal(history.label_confidence, expected.label_confidence)
    np.testing.assert_array_equal(history.count, expected.count)
    assert len(resumed.audit) == 60


def test_skorch_makes_probabilities_of_logits_once():
    import skorch

    x, y, _ = importlib.import_module("clouds").clouds(60)
    net = skorch.NeuralNetClassifier(
        nn.Linear, module__in_features=8, module__out_features=5, criterion=gl.GrayLoss, max_epochs=2,
        train_split=None, verbose=0, batch_size=60, lr=0.0,
    ).fit(x, y)  # fmt: skip
    logits = net.module_(torch.from_numpy(x)).detach()
    np.testing.assert_allclose(net.predict_proba(x), softmax(logits.numpy(), axis=1), rtol=1e-5)
    loss = gl.gray_loss(logits, torch.from_numpy(y), impl="reference")
    np.testing.assert_allclose(net.history[:, "train_loss"], float(loss), rtol=1e-5)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory, examples):
    """What each of two processes says of the same runs."""
    folder = tmp_path_factory.mktemp("two")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # as torchrun holds one
    common = {"MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    common |= {"TORCHELASTIC_RESTART_COUNT": "0"}
    code = "import sys, warnings; sys.path.insert(0, sys.argv[2]); warnings.simplefilter('ignore')\n"
    code += Path(__file__).with_name("two_processes.py").read_text(encoding="utf-8")
    _, said, ended = Process(code, folder, examples, environment={**os.environ, **common}).communicate()
    assert ended == 0, said
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")
def test_two_processes_record_one_history(two_processes):
    first, second = two_processes
    assert first["plain"]
    assert second["plain"]
    assert first["accelerate"] == second["accelerate"]  # both have all of it
    for name in ("accelerate", "lightning"):
        samples, recall, precision = first[name]
        assert samples == 400
        assert recall > 0.8
        assert precision > 0.8
    assert first["hugging_face"][0] == 320
    assert second["hugging_face"] is second["lightning"] is None  # the main process audits
