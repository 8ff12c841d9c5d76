"""A small training kit in the manner of Keras: a wrapper with fit, and a logger for its epochs."""
from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Logger:
    def __init__(self, verbose=False):
        self.logs = defaultdict(list)
        self.verbose = verbose

    def after_epoch(self, logs):
        for key, value in logs.items():
            self.logs[key].append(value)

        if self.verbose:
            if "val_loss" not in logs.keys():
                print("Epoch no. %d \t training loss = %f" % (logs["epoch"], logs["train_loss"]))
            else:
                print("Epoch no. %d \t training loss = %f \t validation loss = %f" %
                      (logs["epoch"], logs["train_loss"], logs["val_loss"]))

    def get_logs(self):
        return self.logs


class Model:
    def __init__(self, net, loss, optimizer):
        self.net, self.loss, self.optimizer = net, loss, optimizer

    def fit_epoch(self, loader):
        self.net.train()
        running = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            running += loss.item() * len(x)
        return running / len(loader.dataset)

    @torch.no_grad()
    def val_epoch(self, loader):
        self.net.eval()
        return sum(self.loss(self.net(x), y).item() * len(x) for x, y in loader) / len(loader.dataset)

    def fit_dataset(self, dataset, n_epochs, batch_size=32, val_dataset=None, verbose=False):
        logger = Logger(verbose=verbose)
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
        for epoch_idx in range(1, n_epochs + 1):
            train_loss = self.fit_epoch(loader)
            logger.after_epoch({"epoch": epoch_idx, "train_loss": train_loss})
            if val_dataset is not None:
                # the validation loss belongs to the same epoch and comes later
                val_loader = DataLoader(val_dataset, batch_size=batch_size)
                logger.after_epoch({"val_loss": self.val_epoch(val_loader)})
        return logger.get_logs()


def concrete_strength(count):
    """Compressive strength from cement, water, ash, sand and age."""
    mix = torch.rand(count, 5)
    cement, water, ash, sand, age = mix.T
    strength = 1.4 * cement - 1.1 * water + 0.4 * ash * cement + 0.5 * torch.log1p(3 * age) - 0.2 * sand
    return TensorDataset(mix, (strength + 0.03 * torch.randn(count)).unsqueeze(1))


if __name__ == "__main__":
    train_set, val_set = random_split(concrete_strength(400), [320, 80])
    net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
    model = Model(net, nn.MSELoss(), torch.optim.Adam(net.parameters(), lr=0.01))
    logs = model.fit_dataset(train_set, n_epochs=6, val_dataset=val_set, verbose=True)
    print("best validation loss %.4f" % min(logs["val_loss"]))
