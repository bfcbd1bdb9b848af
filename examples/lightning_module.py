"""Lightning: the Gray loss in a LightningModule, and a callback that audits the training set."""

import lightning
import torch
from clouds import clouds
from torch.utils.data import DataLoader, TensorDataset

import graylearn as gl
from graylearn.integrations.lightning import AuditCallback


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
        self.criterion = gl.GrayLoss()  # ours

    def training_step(self, batch, batch_idx):
        ids, x, labels = batch
        logits = self.network(x)
        loss = self.criterion(logits, labels)
        return {"loss": loss, "ids": ids, "logits": logits, "labels": labels}  # ours

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-2)


def main(**trainer_options):
    x, given, wrong = clouds()
    data = TensorDataset(torch.arange(len(x)), torch.from_numpy(x), torch.from_numpy(given))
    torch.manual_seed(0)
    gray = AuditCallback(features=x)  # ours
    trainer = lightning.Trainer(
        max_epochs=6,
        accelerator="cpu",
        callbacks=[gray],  # ours
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **trainer_options,
    )
    trainer.fit(Classifier(), DataLoader(data, batch_size=20, shuffle=True))
    return gray.audit, wrong  # ours


if __name__ == "__main__":
    print(main()[0].summary())
