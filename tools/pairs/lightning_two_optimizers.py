"""Two networks against each other in one module of Lightning, by `optimizer_idx`, as before Lightning 2."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Adversaries(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, noise):
        return self.generator(noise)

    def training_step(self, batch, batch_idx, optimizer_idx):
        (real,) = batch
        noise = torch.randn(real.size(0), 4)
        if optimizer_idx == 0:
            answer = self.discriminator(self(noise))
            return nn.functional.binary_cross_entropy_with_logits(answer, torch.ones_like(answer))
        if optimizer_idx == 1:
            answer = self.discriminator(real)
            loss = nn.functional.binary_cross_entropy_with_logits(answer, torch.ones_like(answer))
            answer = self.discriminator(self(noise).detach())
            return loss + nn.functional.binary_cross_entropy_with_logits(answer, torch.zeros_like(answer))

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.generator.parameters(), lr=1e-3),
            torch.optim.Adam(self.discriminator.parameters(), lr=1e-3),
        ], []


data = TensorDataset(torch.randn(48, 6, generator=torch.Generator().manual_seed(0)))
trainer = pl.Trainer(max_epochs=3, logger=False, enable_progress_bar=False)
trainer.fit(Adversaries(), DataLoader(data, batch_size=8))
