"""Predicting the next reading of a machine's four sensors with an LSTM."""
import torch
import torch.nn as nn
import torch.nn.functional as F

num_layers = 2
num_sensors = 4
hidden_size = 20
seq_len = 30
batch = 16


class Affine(nn.Module):
    """A layer that maps the LSTM's units back to the sensors; starts small."""

    def __init__(self, n_in, n_out, scale=0.05):
        super().__init__()
        self.weight = nn.Parameter(scale * torch.randn(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class SensorModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(input_size=num_sensors, hidden_size=hidden_size, num_layers=num_layers)
        self.affine1 = Affine(hidden_size, num_sensors)

    def forward(self, inputs):
        h0 = torch.zeros(num_layers, inputs.size(1), hidden_size)
        c0 = torch.zeros(num_layers, inputs.size(1), hidden_size)
        output, hn = self.rnn(inputs, (h0, c0))
        return self.affine1(output)


def readings():
    """(seq_len, batch, sensors): coupled oscillations with random phases."""
    time = torch.arange(seq_len + 1.0).view(-1, 1, 1)
    phase = 6.28 * torch.rand(1, batch, 1)
    speed = torch.tensor([0.3, 0.3, 0.6, 0.15])
    lag = torch.tensor([0.0, 1.0, 2.0, 3.0])
    signal = torch.sin(speed * time + phase + lag)
    return signal + 0.02 * torch.randn_like(signal)


model = SensorModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(1, 121):
    signal = readings()
    inputs, targets = signal[:-1], signal[1:]
    prediction = model(inputs)
    loss = F.mse_loss(prediction, targets.reshape(prediction.shape))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 40 == 0:
        print("step %d: mse %.4f" % (step, loss.item()))
