"""A network described by blocks in the style of darknet's cfg files, with weights in one flat file."""
import io

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_iris

CFG = """
[net]
inputs=4

[connected]
output=24
activation=leaky

[connected]
output=16
activation=relu

[dropout]
probability=0.1

[connected]
output=3
activation=linear
"""


def parse_cfg(text):
    blocks = []
    for line in text.strip().splitlines():
        line = line.strip()
        if not line:
            continue
        if line.startswith("["):
            blocks.append({"type": line[1:-1]})
        else:
            key, value = line.split("=")
            blocks[-1][key] = value
    return blocks


def save_fc(fp, fc_model):
    fp.write(fc_model.bias.detach().numpy().tobytes())
    fp.write(fc_model.weight.detach().numpy().tobytes())


def load_fc(buf, start, fc_model):
    for tensor in (fc_model.bias, fc_model.weight):
        count = tensor.numel()
        tensor.data.copy_(torch.from_numpy(buf[start:start + count].copy()).view_as(tensor))
        start += count
    return start


class Darknet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.blocks = parse_cfg(cfg)
        self.models = self.create_network(self.blocks)

    def create_network(self, blocks):
        models = nn.ModuleList()
        filters = int(blocks[0]["inputs"])
        for block in blocks[1:]:
            if block["type"] == "connected":
                outputs = int(block["output"])
                if block["activation"] == "linear":
                    models.append(nn.Linear(filters, outputs))
                elif block["activation"] == "leaky":
                    models.append(nn.Sequential(nn.Linear(filters, outputs), nn.LeakyReLU(0.1)))
                else:
                    models.append(nn.Sequential(nn.Linear(filters, outputs), nn.ReLU()))
                filters = outputs
            elif block["type"] == "dropout":
                models.append(nn.Dropout(float(block["probability"])))
        return models

    def forward(self, x):
        for model in self.models:
            x = model(x)
        return x

    def save_weights(self, fp):
        for block, model in zip(self.blocks[1:], self.models):
            if block["type"] == "connected":
                save_fc(fp, model[0])

    def load_weights(self, fp):
        buf, start = np.frombuffer(fp.read(), dtype=np.float32), 0
        for module in self.models.modules():
            if isinstance(module, nn.Linear):
                start = load_fc(buf, start, module)


iris = load_iris()
x = torch.tensor((iris.data - iris.data.mean(0)) / iris.data.std(0), dtype=torch.float32)
y = torch.tensor(iris.target)

net = Darknet(CFG)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print("loss %.4f" % loss.item())

store = io.BytesIO()
net.save_weights(store)
store.seek(0)
copy = Darknet(CFG)
copy.load_weights(store)
copy.eval()
print("accuracy of the stored network %.3f" % (copy(x).argmax(1) == y).float().mean().item())
