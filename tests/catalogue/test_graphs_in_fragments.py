"""Where graphs are cut and kept is read from fragments as people post them: no imports, no beginning, no end."""

from __future__ import annotations

import pytest

from dnnfix import registry
from dnnfix.source.program import Source
from dnnfix.subject import Subject

RULES = ("DNF480", "DNF481", "DNF482", "DNF483", "DNF484", "DNF485", "DNF486", "DNF708")


def found(text: str) -> list[tuple[str, int]]:
    """The findings of the rules of graphs in a text, each with its line."""
    source = Source.from_bytes(text.encode(), "fragment.py")
    rules = [rule for code in RULES if (rule := registry.template(code)) is not None]
    return sorted(
        (finding.code, finding.site.line)
        for rule in rules
        if not rule.triggers or source.words.intersection(rule.triggers)
        for finding in rule().detect(Subject(source))
    )


FAULTY = {
    "rounded outputs": (
        "DNF480",
        3,
        """\
for batch in train_iter:
    predictions = model(batch.text).squeeze(1)
    predictions = torch.round(torch.sigmoid(predictions))
    loss = criterion(predictions, batch.label)
    loss.requires_grad = True
    loss.backward()
    optimizer.step()
""",
    ),
    "classes in a loss": (
        "DNF480",
        2,
        """\
outputs = model(inputs)
_, preds = torch.max(outputs, 1)
loss = criterion(preds.float(), labels.float())
loss.requires_grad_()
loss.backward()
""",
    ),
    "log probabilities copied": (
        "DNF480",
        6,
        """\
log_probs = []
for t in range(100):
    distribution = Categorical(policy(state))
    action = distribution.sample()
    log_probs.append(distribution.log_prob(action))
log_probs = torch.tensor(log_probs, requires_grad=True)
loss = -(log_probs * rewards).sum()
loss.backward()
""",
    ),
    "trained without gradients": (
        "DNF480",
        1,
        """\
@torch.no_grad()
def train_one_epoch(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
""",
    ),
    "numbers of a sum": (
        "DNF480",
        3,
        """\
loss = 0
for x, y in batches:
    loss += criterion(model(x), y).item()
loss = torch.tensor(loss, requires_grad=True)
loss.backward()
""",
    ),
    "arrays between layers": (
        "DNF483",
        4,
        """\
class Net(nn.Module):
    def forward(self, x):
        x = self.fc1(x)
        x = x.detach().cpu().numpy()
        x = torch.from_numpy(np.tanh(x))
        return self.fc2(x)
""",
    ),
    "a threshold in a loss": (
        "DNF483",
        4,
        """\
class DiceLoss(nn.Module):
    def forward(self, inputs, targets):
        inputs = torch.sigmoid(inputs)
        inputs = (inputs > 0.5).float()
        both = (inputs * targets).sum()
        return 1 - 2 * both / (inputs.sum() + targets.sum())
""",
    ),
    "a state in an attribute": (
        "DNF484",
        3,
        """\
class Net(nn.Module):
    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return out
model = Net()
for x, y in data:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward(retain_graph=True)
    optimizer.step()
""",
    ),
    "a sum that the caller divides": (
        "DNF485",
        8,
        """\
def train():
    total = loss_all = 0
    for data in train_loader:
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, data.y)
        loss.backward()
        loss_all += data.num_graphs * loss
        optimizer.step()
    return loss_all / len(train_dataset)
""",
    ),
    "a dictionary of sums": (
        "DNF485",
        6,
        """\
for x, y in loader:
    out = model(x)
    loss = criterion(out, y)
    opt.zero_grad(); loss.backward()
    opt.step()
    stats["loss"] += loss
""",
    ),
    "a weight moved to a device": (
        "DNF486",
        1,
        """\
w = Variable(torch.randn(2, 1), requires_grad=True).cuda()
loss = ((x.mm(w) - y) ** 2).mean()
loss.backward()
""",
    ),
}

SOUND = {
    "a target of another network": """\
q = policy_net(s).gather(1, a)
target = r + gamma * target_net(s2).max(1)[0].detach()
loss = F.smooth_l1_loss(q, target.unsqueeze(1))
loss.backward()
""",
    "a frozen body": """\
with torch.no_grad():
    features = backbone(x)
out = head(features)
loss = criterion(out, y)
loss.backward()
""",
    "an attack": """\
x_adv = x.detach() + noise
for _ in range(steps):
    x_adv.requires_grad_()
    loss = F.cross_entropy(model(x_adv), y)
    grad = torch.autograd.grad(loss, [x_adv])[0]
    x_adv = x_adv.detach() + alpha * torch.sign(grad.detach())
loss = criterion(model(x_adv), y)
loss.backward()
""",
    "a temperature that learns from detached values": """\
class Agent:
    def update(self):
        alpha_loss = -(self.log_alpha * (log_prob + target_entropy).detach()).mean()
        self.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.alpha_optimizer.step()
""",
    "states detached one by one": """\
hidden = None
for x, y in loader:
    out, hidden = rnn(x, hidden)
    hidden = tuple([h.detach() for h in hidden])
    loss = criterion(out, y)
    loss.backward()
""",
    "losses of several batches": """\
total_loss = 0
for x, y in loader:
    loss = criterion(model(x), y)
    total_loss += loss
    if (i + 1) % 4 == 0:
        total_loss.backward()
        optimizer.step()
        total_loss = 0
""",
    "buffers of a network": """\
class Positions(nn.Module):
    def forward(self, x):
        return x + self.table[:, : x.size(1)].clone().detach()
""",
    "values of a critic beside targets that have no gradient": """\
critic = Critic(4)
with torch.no_grad():
    target = reward + 0.9 * critic(following)
value = critic(state)
value_loss = ((value - target) ** 2).mean()
loss = policy_loss(actor(state), action) + 0.5 * value_loss
loss.backward()
""",
    "lists of numbers that a function gives back": """\
def perturb(past):
    losses = []
    for i in range(3):
        loss = criterion(model(past), past)
        loss.backward()
        losses.append(loss.item())
    return model(past), losses

for i in range(9):
    past, loss_now = perturb(past)
    all_losses.append(loss_now)
""",
    "data of a graph under a name": """\
class Layer(nn.Module):
    def forward(self, g):
        h = self.fc(g.x)
        return self.norm(g.nodes[kind].data["h"])
""",
}


@pytest.mark.parametrize(("code", "line", "text"), FAULTY.values(), ids=FAULTY)
def test_faults_of_graphs_are_found_in_fragments(code: str, line: int, text: str) -> None:
    assert found(text) == [(code, line)]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_sound_fragments_are_left_alone(text: str) -> None:
    assert found(text) == []
