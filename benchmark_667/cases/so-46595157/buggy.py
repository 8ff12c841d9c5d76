"""Few-shot regression: a shared feature network with a ridge regression head solved for every task of the batch."""
import math

import torch
from torch import nn

TASKS, SHOTS, QUERIES = 16, 10, 10


def sample_tasks():
    """Sine waves with their own amplitude and phase."""
    amplitude = 0.5 + 2 * torch.rand(TASKS, 1, 1)
    phase = math.pi * torch.rand(TASKS, 1, 1)
    x = 10 * torch.rand(TASKS, SHOTS + QUERIES, 1) - 5
    y = amplitude * torch.sin(x + phase)
    return x[:, :SHOTS], y[:, :SHOTS], x[:, SHOTS:], y[:, SHOTS:]


def batch_inverse(matrices):
    """The inverse of each matrix of a batch, samples x n x n."""
    eye = matrices.new_ones(matrices.size(-1)).diag().expand_as(matrices)
    inverse, _ = torch.gesv(eye, matrices)
    return inverse


class RidgeLearner(nn.Module):
    def __init__(self, hidden=40, features=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, features),
        )
        self.log_lambda = nn.Parameter(torch.tensor(0.0))

    def forward(self, x_support, y_support, x_query):
        phi = self.body(x_support)
        ridge = self.log_lambda.exp() * torch.eye(phi.size(-1))
        gram = torch.bmm(phi.transpose(1, 2), phi) + ridge
        weights = torch.bmm(batch_inverse(gram), torch.bmm(phi.transpose(1, 2), y_support))
        return torch.bmm(self.body(x_query), weights)


learner = RidgeLearner()
optimizer = torch.optim.Adam(learner.parameters(), lr=3e-3)
criterion = nn.MSELoss()

running = None
for step in range(1, 401):
    x_support, y_support, x_query, y_query = sample_tasks()
    loss = criterion(learner(x_support, y_support, x_query), y_query)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
    if step % 100 == 0:
        print("step {:4d}  query mse {:.3f}  lambda {:.3f}".format(step, running, learner.log_lambda.exp().item()))
