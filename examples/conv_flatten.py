"""A small image classifier that crashes where the convolutions meet the linear layers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, kernel_size=3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.head = nn.Linear(16 * 7 * 7, classes)

    def forward(self, image):
        return self.head(self.features(image))


torch.manual_seed(0)
images = torch.randn(256, 1, 28, 28)
classes = (images.mean(dim=(1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, classes), batch_size=32, shuffle=True)

model = Classifier(2)
objective = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = objective(model(batch), target)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
