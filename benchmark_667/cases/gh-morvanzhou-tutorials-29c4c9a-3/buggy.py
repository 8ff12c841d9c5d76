"""
Actor-critic with continuous actions for sixteen electric motors that are to keep their speed.
A state is (target rpm, actual rpm, load); the action is a correction of the current.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

N_MOTORS = 16
MAX_GLOBAL_EP = 12
EP_UPDATES = 8
UPDATE_ITER = 5
GAMMA = 0.9
ENTROPY_BETA = 0.01
LR = 4e-4
A_BOUND = 2.0


class Motors:
    def reset(self):
        self.target = 800.0 + 1200.0 * torch.rand(N_MOTORS)
        self.rpm = self.target + 200.0 * torch.randn(N_MOTORS)
        self.load = torch.rand(N_MOTORS)
        return self.state()

    def state(self):
        return torch.stack([self.target, self.rpm, self.load], dim=1)

    def step(self, current):
        self.rpm = 0.98 * self.rpm + 60.0 * current - 20.0 * self.load + 5.0 * torch.randn(N_MOTORS)
        reward = -((self.rpm - self.target) / 400.0).abs()
        return self.state(), reward


class ACNet(nn.Module):
    """One body for the actor's and the critic's heads."""

    def __init__(self, n_s, n_a, hidden=100):
        super().__init__()
        self.la = nn.Linear(n_s, hidden)
        self.mu = nn.Linear(hidden, n_a)
        self.sigma = nn.Linear(hidden, n_a)
        self.v = nn.Linear(hidden, 1)
        for layer in (self.la, self.mu, self.sigma, self.v):
            nn.init.normal_(layer.weight, 0.0, 0.1)
            nn.init.zeros_(layer.bias)

    def forward(self, s):
        l_a = F.relu(self.la(s))
        mu = A_BOUND * torch.tanh(self.mu(l_a)).squeeze(-1)
        sigma = F.softplus(self.sigma(l_a)).squeeze(-1) + 1e-2
        return mu, sigma, self.v(l_a).squeeze(-1)

    @torch.no_grad()
    def choose_action(self, s):
        mu, sigma, _ = self(s)
        noise = torch.randn(N_MOTORS)
        return (mu + sigma * noise).clamp(-A_BOUND, A_BOUND)

    def losses(self, s, a_his, v_target):
        mu, sigma, v = self(s)
        td = v_target - v
        dist = Normal(mu, sigma, validate_args=False)
        exp_v = dist.log_prob(a_his) * td.detach() + ENTROPY_BETA * dist.entropy()
        return -exp_v.mean(), td.square().mean()


env = Motors()
net = ACNet(n_s=3, n_a=1)
optimizer = torch.optim.SGD(net.parameters(), lr=LR)

for ep in range(MAX_GLOBAL_EP):
    s = env.reset()
    ep_r = 0.0
    for update in range(EP_UPDATES):
        buffer_s, buffer_a, buffer_r = [], [], []
        for _ in range(UPDATE_ITER):
            a = net.choose_action(s)
            s_, r = env.step(a)
            buffer_s.append(s)
            buffer_a.append(a)
            buffer_r.append(r)
            ep_r += r.mean().item()
            s = s_

        with torch.no_grad():
            v_s_ = net(s_)[2]
        buffer_v_target = []
        for r in reversed(buffer_r):
            v_s_ = r + GAMMA * v_s_
            buffer_v_target.insert(0, v_s_)

        a_loss, c_loss = net.losses(torch.cat(buffer_s), torch.cat(buffer_a), torch.cat(buffer_v_target))
        optimizer.zero_grad()
        (a_loss + c_loss).backward()
        optimizer.step()
    if ep % 3 == 2:
        print("Ep: %d | Ep_r: %.2f | critic loss %.3f" % (ep + 1, ep_r, c_loss.item()))
