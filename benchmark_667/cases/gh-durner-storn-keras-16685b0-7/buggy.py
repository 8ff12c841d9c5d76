"""Stochastic recurrent network for the joint angles of a robot arm, with a trending prior."""
import math

import torch
from torch import nn

JOINTS = 7
LATENT = 5
STEPS = 20


def arm_trajectories(count):
    """Smooth movements of all joints: two slow waves that the joints share in different amounts."""
    t = torch.linspace(0, 2 * math.pi, STEPS)
    phase = torch.rand(count, 1, 2) * 2 * math.pi
    waves = torch.sin(t[None, :, None] * torch.tensor([1.0, 2.0]) + phase)
    mixing = torch.randn(2, JOINTS)
    return waves @ mixing + 0.05 * torch.randn(count, STEPS, JOINTS)


def gauss(x, mu, sigma):
    return (torch.log(sigma) + 0.5 * ((x - mu) / sigma) ** 2).sum(dim=-1)


def divergence(mu_q, sigma_q, mu_p, sigma_p):
    ratio = (sigma_q / sigma_p) ** 2
    return 0.5 * (ratio + ((mu_q - mu_p) / sigma_p) ** 2 - 1 - torch.log(ratio)).sum(dim=-1)


def variational_loss(x, statistics):
    """`x` is as wide as `statistics` and padded with zeros: mu and sigma of x|z, of z|x and of the prior."""
    dim = x.shape[-1] // 6
    x = x[:, :, :dim]
    expect_term = gauss(x, statistics[:, :, :dim], statistics[:, :, dim:2 * dim])
    kl_term = divergence(statistics[:, :, 2 * dim:3 * dim],
                         statistics[:, :, 3 * dim:4 * dim],
                         statistics[:, :, 4 * dim:5 * dim],
                         statistics[:, :, 5 * dim:])
    return (kl_term + expect_term).mean()


class Gaussian(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Linear(n_in, n_out)
        self.raw = nn.Linear(n_in, n_out)

    def forward(self, h):
        return self.mu(h), nn.functional.softplus(self.raw(h)) + 0.05


class STORN(nn.Module):
    def __init__(self, units=24):
        super().__init__()
        self.recognition = nn.GRU(JOINTS, units, batch_first=True)
        self.posterior = Gaussian(units, LATENT)
        self.trend = nn.GRU(JOINTS, units, batch_first=True)
        self.prior = Gaussian(units, LATENT)
        self.generator = nn.GRU(JOINTS + LATENT, units, batch_first=True)
        self.emission = Gaussian(units, JOINTS)

    def forward(self, x):
        past = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)
        mu_z, sigma_z = self.posterior(self.recognition(x)[0])
        mu_p, sigma_p = self.prior(self.trend(past)[0])
        z = mu_z + sigma_z * torch.randn_like(sigma_z)
        mu_x, sigma_x = self.emission(self.generator(torch.cat([past, z], dim=-1))[0])
        return torch.cat([mu_x, sigma_x, mu_z, sigma_z, mu_p, sigma_p], dim=-1)


def main():
    data = arm_trajectories(128)
    model = STORN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(20):
        total = 0.0
        for batch in data.split(32):
            statistics = model(batch)
            target = nn.functional.pad(batch, (0, statistics.shape[-1] - JOINTS))
            loss = variational_loss(target, statistics)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {total / len(data):.3f}")


if __name__ == "__main__":
    main()
