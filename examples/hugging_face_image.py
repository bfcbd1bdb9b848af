"""Hugging Face Trainer, an image classifier that trains by its own loss, and an audit of the images."""

import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from transformers import ResNetConfig, ResNetForImageClassification, Trainer, TrainingArguments

from graylearn.integrations.hugging_face import AuditCallback


def main():
    images, truth = load_digits(return_X_y=True)
    images, truth = images[:400].reshape(-1, 1, 8, 8).astype(np.float32) / 16, truth[:400]
    random = np.random.default_rng(0)
    wrong = random.random(len(truth)) < 0.2
    given = np.where(wrong, (truth + random.integers(1, 10, len(truth))) % 10, truth)
    rows = [
        {"pixel_values": torch.from_numpy(image), "labels": int(label), "id": index}
        for index, (image, label) in enumerate(zip(images, given, strict=True))
    ]
    torch.manual_seed(0)
    config = ResNetConfig(
        num_channels=1,
        embedding_size=16,
        hidden_sizes=[16, 32],
        depths=[1, 1],
        layer_type="basic",
        downsample_in_first_stage=False,
        num_labels=10,
    )
    gray = AuditCallback(id="id", features=images.reshape(len(images), -1))  # ours
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=5,
            per_device_train_batch_size=25,
            learning_rate=1e-2,
            remove_unused_columns=False,  # ours
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        model = ResNetForImageClassification(config)
        Trainer(model, arguments, train_dataset=rows, callbacks=[gray]).train()  # ours
    return gray.audit, wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
