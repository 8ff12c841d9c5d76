"""A network of Lightning with the hooks and settings of its releases before 2."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, inputs):
        return self.layers(inputs)

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self(inputs), labels)
        self.log("loss", loss)
        return {"loss": loss}

    def training_epoch_end(self, outputs):
        self.log("mean_loss", torch.stack([output["loss"] for output in outputs]).mean())

    def validation_step(self, batch, batch_idx):
        inputs, labels = batch
        return nn.functional.cross_entropy(self(inputs), labels)

    def validation_epoch_end(self, outputs):
        self.log("val_loss", torch.stack(outputs).mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


generator = torch.Generator().manual_seed(0)
inputs = torch.randn(48, 8, generator=generator)
data = TensorDataset(inputs, (inputs.sum(dim=1) > 0).long())
trainer = pl.Trainer(
    gpus=0, max_epochs=3, checkpoint_callback=False, logger=False, progress_bar_refresh_rate=0, weights_summary=None
)
trainer.fit(Network(), DataLoader(data, batch_size=8), DataLoader(data, batch_size=16))
