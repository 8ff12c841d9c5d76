"""A loop trains a network, evaluates it in evaluation mode, and trains on in that mode."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Nature,
    ReadTemplate,
    Subject,
    evaluations,
)


class TrainingLeftInEvaluationMode(ReadTemplate):
    """After an evaluation the training goes on in evaluation mode: dropout drops nothing, and batch normalization keeps its statistics.

    DNF705 tells it where the layers of the network are seen. This rule is for texts that do not show them, in which a loop trains, puts a
    network in evaluation mode, also by a function that it calls, and puts none back.

    Fix safety: unsafe. The network is trained in training mode from then on, which is the point.

    References: torch.nn.Module.train.
    """

    code = "DNF749"
    name = "training-left-in-evaluation-mode"
    message = (
        "`{network}` stays in evaluation mode once this was reached: the loop that trains it calls train() nowhere"
    )
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 2
    default = False
    triggers = ("eval",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for left in evaluations.left_in_evaluation(source):
            if left.cares is False or (left.cares and not source.beside):
                continue  # the latter is DNF705's
            edit = InsertBefore(source.site(left.loop.body[0]), f"{left.network}.train()")
            said = {"network": left.network}
            yield Fault.with_repair(
                source.site(left.put.at), said, "Put it in training mode in each turn", edit, prior=0.8
            )

    programs = """
=== example: by a function
def test():
    model.eval()
    with torch.no_grad():
        return criterion(model(x_val), y_val).item()

for step in range(1000):
+     model.train()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(test())

=== example: within an epoch, which trains on
for epoch in range(20):
    tagger.train()
    for step, (words, tags) in enumerate(train_loader):
+         tagger.train()
        optimizer.zero_grad()
        loss_fn(tagger(words), tags).backward()
        optimizer.step()
        if step % 200 == 0:
            tagger.eval()
            print(score(tagger, dev_loader))

=== example: by two functions that name it otherwise
def fit_one(net, batches):
    for x, y in batches:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

def check(network, batches):
    network.eval()
    with torch.no_grad():
        return [network(x) for x, _ in batches]

def main(ranker):
    for epoch in range(5):
+         ranker.train()
        fit_one(ranker, train_batches)
        print(check(ranker, dev_batches))

=== example: before the batches
for epoch in range(30):
+     vocoder.train()
    vocoder.eval()
    plot_sample(vocoder, fixed_mel)
    for mel, wave in loader:
        optimizer.zero_grad()
        criterion(vocoder(mel), wave).backward()
        optimizer.step()

=== reject: the loop ends with it, or the network is made anew
for epoch in range(20):
    tagger.train()
    for step, (words, tags) in enumerate(train_loader):
        optimizer.zero_grad()
        loss_fn(tagger(words), tags).backward()
        optimizer.step()
        if step > 200:
            tagger.eval()
            print(score(tagger, dev_loader))
            break

for epoch in range(epochs):
    for words, tags in train_loader:
        loss_fn(tagger(words), tags).backward()
        optimizer.step()
    if epoch == epochs - 1:
        tagger.eval()

for fold in folds:
    tagger = Tagger()
    for words, tags in fold:
        loss_fn(tagger(words), tags).backward()
        optimizer.step()
    tagger.eval()

=== reject: statistics are kept on purpose
for epoch in range(30):
    vocoder.eval()
    for mel, wave in loader:
        optimizer.zero_grad()
        criterion(vocoder(mel), wave).backward()
        optimizer.step()

=== reject: put back as it was
def score(net, batches):
    before = net.training
    net.eval()
    with torch.no_grad():
        outputs = [net(x) for x, _ in batches]
    net.train(before)
    return outputs

for epoch in range(10):
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    score(net, val_loader)

=== reject: put back in each epoch
for epoch in range(10):
    model.train()
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    print(measure(model))

=== reject: another network is evaluated
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    teacher.eval()
    print(teacher(x))
"""
