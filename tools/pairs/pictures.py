"""Pictures by a ResNet of torchvision, as it was written before its release 0.17."""

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import functional_tensor


class Pictures(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(0)
        self.pictures = torch.rand(count, 3, 64, 64, generator=generator)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture = functional_tensor.rgb_to_grayscale(self.pictures[index], num_output_channels=3)
        return picture, index % 2


model = torchvision.models.resnet18(pretrained=False)
model.fc = nn.Linear(512, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
model.train()
for epoch in range(3):
    for pictures, labels in DataLoader(Pictures(32), batch_size=8):
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
