"""Building blocks in the manner of a small layer zoo, and a discriminator made of them."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def parse_tuple(value, length=2):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * length


def lrelu(x, a=0.2):
    return torch.maximum(x, a * x)


class WeightNormLayer(nn.Module):
    """Scales and shifts feature maps so that they start out standardised."""

    def __init__(self, num_features):
        super().__init__()
        self.g = nn.Parameter(torch.ones(num_features))
        self.b = nn.Parameter(torch.zeros(num_features))

    @torch.no_grad()
    def initialise(self, x):
        self.g.copy_(1.0 / (x.std(dim=(0, 2, 3)) + 1e-6))
        self.b.copy_(-x.mean(dim=(0, 2, 3)) * self.g)

    def forward(self, x):
        return x * self.g.view(1, -1, 1, 1) + self.b.view(1, -1, 1, 1)


class GaussianNoiseLayer(nn.Module):
    def __init__(self, sigma=0.1):
        super().__init__()
        self.sigma = sigma

    def forward(self, x):
        return x + self.sigma * torch.randn_like(x) if self.training else x


def conv_layer(num_inputs, filter_size, num_filters, stride, pad, std=0.02, **kwargs):
    layer = F.Conv2d(num_inputs, num_filters,
                     kernel_size=parse_tuple(filter_size),
                     stride=parse_tuple(stride),
                     padding=pad, **kwargs)
    nn.init.normal_(layer.weight, std=std)
    return layer


class Discriminator(nn.Module):
    def __init__(self, maps=(12, 24)):
        super().__init__()
        self.noise = GaussianNoiseLayer()
        channels = 1
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for num_filters in maps:
            self.convs.append(conv_layer(channels, 3, num_filters, stride=2, pad=1, bias=False))
            self.norms.append(WeightNormLayer(num_filters))
            channels = num_filters
        self.out = nn.Linear(channels, 1)

    def forward(self, x, first=False):
        h = self.noise(x)
        for conv, norm in zip(self.convs, self.norms):
            h = conv(h)
            if first:
                norm.initialise(h)
            h = lrelu(norm(h))
        return self.out(F.adaptive_avg_pool2d(h, 1).flatten(1)).squeeze(1)


def real_images(n):
    ramp = torch.linspace(-1, 1, 12)
    slope = torch.rand(n, 1, 1, 1) * 2 - 1
    return (slope * ramp.view(1, 1, 1, 12) + (1 - slope.abs()) * ramp.view(1, 1, 12, 1)).contiguous()


def fake_images(n):
    return real_images(n)[..., torch.randperm(12)] + 0.05 * torch.randn(n, 1, 12, 12)


disc = Discriminator()
disc(torch.cat([real_images(32), fake_images(32)]), first=True)
optimizer = torch.optim.Adam(disc.parameters(), lr=0.005, betas=(0.5, 0.999))
for update in range(1, 81):
    scores = disc(torch.cat([real_images(24), fake_images(24)]))
    truth = torch.cat([torch.ones(24), torch.zeros(24)])
    loss = F.binary_cross_entropy_with_logits(scores, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 20 == 0:
        print("update", update, "loss %.3f" % loss.item())
