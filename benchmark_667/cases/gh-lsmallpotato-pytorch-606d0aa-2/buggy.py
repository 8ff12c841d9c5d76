import torch
import torch.nn as nn

# Device configuration
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

# Hyper-parameters
num_epochs = 3
batch_size = 40
learning_rate = 0.003
num_classes = 3


# Pictures of one shape each on a noisy ground: a bar that lies, a bar that stands, a square
def make_pictures(n, size=16):
    images = 0.3 * torch.randn(n, 3, size, size)
    labels = torch.randint(0, num_classes, (n,))
    for image, label in zip(images, labels.tolist()):
        height, width = [(3, 9), (9, 3), (5, 5)][label]
        top = torch.randint(0, size - height, (1,)).item()
        left = torch.randint(0, size - width, (1,)).item()
        image[:, top:top + height, left:left + width] += 0.5 + torch.rand(3, 1, 1)
    return images, labels


def conv3x3(in_channels, out_channels, stride=1):
    return nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride=1, downsample=None):
        super(ResidualBlock, self).__init__()
        self.conv1 = conv3x3(in_channels, out_channels, stride)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(out_channels, out_channels)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = downsample

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + residual)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=num_classes):
        super(ResNet, self).__init__()
        # two convolutions a block, the first convolution and the last linear layer
        self.depth = 2 * sum(layers) + 2
        self.in_channels = 8
        self.conv = conv3x3(3, 8)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self.make_layer(block, 8, layers[0])
        self.layer2 = self.make_layer(block, 16, layers[1], 2)
        self.layer3 = self.make_layer(block, 32, layers[2], 2)
        self.avg_pool = nn.AvgPool2d(4)
        self.fc = nn.Linear(32, num_classes)

    def make_layer(self, block, out_channels, blocks, stride=1):
        downsample = None
        if stride != 1 or self.in_channels != out_channels:
            downsample = nn.Sequential(conv3x3(self.in_channels, out_channels, stride), nn.BatchNorm2d(out_channels))
        stages = [block(self.in_channels, out_channels, stride, downsample)]
        self.in_channels = out_channels
        stages += [block(out_channels, out_channels) for _ in range(1, blocks)]
        return nn.Sequential(*stages)

    def forward(self, x):
        out = self.relu(self.bn(self.conv(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        return self.fc(self.avg_pool(out).flatten(1))


images, labels = make_pictures(480)
test_images, test_labels = make_pictures(120)

model = ResNet(ResidualBlock, [2, 2, 2, 2]).to(device)

# Loss and optimizer
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

for epoch in range(num_epochs):
    for rows in torch.randperm(len(images)).split(batch_size):
        loss = criterion(model(images[rows].to(device)), labels[rows].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('Epoch [{}/{}] Loss: {:.4f}'.format(epoch + 1, num_epochs, loss.item()))

model.eval()
with torch.no_grad():
    predicted = model(test_images.to(device)).argmax(dim=1).cpu()
accuracy = 100 * (predicted == test_labels).float().mean().item()
parameters = sum(p.numel() for p in model.parameters())
print('ResNet-{} with {} parameters: {:.1f} % on the test images'.format(model.depth, parameters, accuracy))
