import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits


class Generator(nn.Module):
    def __init__(self, latent, width=32):
        super().__init__()
        self.width = width
        self.project = nn.Linear(latent, width * 4)
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.to_gray = nn.Conv2d(width, 1, 1)

    def forward(self, z, resol):
        h = F.leaky_relu(self.project(z), 0.2).view(-1, self.width, 2, 2)
        while h.size(-1) < resol:
            h = F.interpolate(h, scale_factor=2, mode='nearest')
            h = F.leaky_relu(self.conv(h), 0.2)
        return torch.tanh(self.to_gray(h))


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.from_gray = nn.Conv2d(1, width, 1)
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.score = nn.Linear(width * 4, 1)

    def forward(self, x):
        h = F.leaky_relu(self.from_gray(x), 0.2)
        while h.size(-1) > 2:
            h = F.avg_pool2d(F.leaky_relu(self.conv(h), 0.2), 2)
        return torch.sigmoid(self.score(h.flatten(1)))


class GrowingGAN:
    def __init__(self, data, opts):
        self.data = data
        self.opts = opts
        self.G = Generator(opts.latent)
        self.D = Discriminator()
        self.optim_G = optim.Adam(self.G.parameters(), lr=opts.lr, betas=(opts.beta1, opts.beta2))
        self.optim_D = optim.Adam(self.D.parameters(), lr=opts.lr, betas=(opts.beta1, opts.beta2))

    def adversarial_loss(self, score, real):
        """How far the scores are from what they should be for real (1) or made (0) images."""
        kind = self.opts.gan
        if kind == 'lsgan':
            return torch.mean((score - real) ** 2)
        if kind == 'wgan':
            return score.mean() * (-1 if real else 1)
        # if kind == 'gan':
        #     return F.binary_cross_entropy(score, torch.full_like(score, real))
        raise ValueError('Unsupported GAN: %s' % kind)

    def real_batch(self, resol):
        picked = np.random.randint(0, len(self.data), self.opts.batch_size)
        images = torch.from_numpy(self.data[picked])
        return F.avg_pool2d(images, 8 // resol) if resol < 8 else images

    def train_phase(self, resol):
        for it in range(self.opts.iters):
            real = self.real_batch(resol)
            z = torch.randn(self.opts.batch_size, self.opts.latent)
            fake = self.G(z, resol)

            self.optim_D.zero_grad()
            d_loss = (self.adversarial_loss(self.D(real), 1) + self.adversarial_loss(self.D(fake.detach()), 0)) / 2
            d_loss.backward()
            self.optim_D.step()

            self.optim_G.zero_grad()
            g_loss = self.adversarial_loss(self.D(fake), 1)
            g_loss.backward()
            self.optim_G.step()
        print('%dx%d  D %.3f  G %.3f' % (resol, resol, d_loss.item(), g_loss.item()))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--gan', default='gan', help='lsgan, wgan or gan')
    parser.add_argument('--latent', default=24, type=int)
    parser.add_argument('--batch_size', default=32, type=int)
    parser.add_argument('--iters', default=60, type=int, help='iterations for each resolution')
    parser.add_argument('--lr', default=1e-3, type=float)
    parser.add_argument('--beta1', default=0.0, type=float, help='beta1 for adam')
    parser.add_argument('--beta2', default=0.99, type=float, help='beta2 for adam')
    opts = parser.parse_args([])

    images = load_digits().images.astype('float32')[:, None] / 8.0 - 1.0
    model = GrowingGAN(images, opts)
    for resol in (4, 8):
        model.train_phase(resol)
    with torch.no_grad():
        samples = model.G(torch.randn(64, opts.latent), 8)
    print('mean of samples %.3f, mean of data %.3f' % (samples.mean().item(), images.mean()))
