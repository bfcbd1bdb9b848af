"""Hugging Face Trainer, a text classifier: the Gray loss, gradients accumulated, and an audit."""

import tempfile

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from graylearn.integrations.hugging_face import AuditCallback


def texts(n=320, classes=4, words=40, length=12, seed=0):
    """Token numbers of texts that mostly use the words of their topic; a fifth of the labels are wrong."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    own = truth[:, None] * (words // classes) + random.integers(0, words // classes, (n, length))
    tokens = np.where(random.random((n, length)) < 0.5, own, random.integers(0, words, (n, length)))
    wrong = random.random(n) < 0.2
    given = np.where(wrong, (truth + random.integers(1, classes, n)) % classes, truth)
    return tokens, given, wrong


def main(epochs=8):
    tokens, given, wrong = texts()
    rows = [
        {"input_ids": torch.tensor(text), "labels": int(label), "id": index}
        for index, (text, label) in enumerate(zip(tokens, given, strict=True))
    ]
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        num_labels=4,
    )
    gray = AuditCallback(id="id", overlap="none")  # ours
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            learning_rate=5e-3,
            remove_unused_columns=False,  # ours
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = Trainer(
            BertForSequenceClassification(config),
            arguments,
            train_dataset=rows,
            compute_loss_func=gray.loss,  # ours
            callbacks=[gray],  # ours
        )
        trainer.train()
    return gray.audit, wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
