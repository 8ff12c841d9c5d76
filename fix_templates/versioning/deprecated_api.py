"""Names, keywords and methods that still work and are deprecated."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject, changed_calls, changed_forms, changed_imports, uses_of


class DeprecatedApi(ApiChange):
    """A name, keyword or method is deprecated and still works, such as `F.upsample` or `xavier_uniform`.

    Reported by `check` only, as the program runs. Where a run shows the library's own warning on the line, the rules for removed
    names and keywords report it anyway, unless the keyword is merely ignored.

    Fix safety: safe where the data file says that the new name means the same; otherwise unsafe.

    References: `fix_templates/data/*.toml` have one for each name.
    """

    code = "DNF550"
    name = "deprecated-api"
    message = "{name} is deprecated since {package} {version}; use {new}"
    default = False
    default_in_check = True
    speaks_of_deprecated = True

    def hits(self, subject: Subject) -> Iterator[Hit]:
        uses = uses_of(subject.source)
        for hit in (
            *changed_imports.renamed_names(uses),
            *changed_calls.changed_arguments(uses),
            *changed_calls.changed_methods(uses),
            *changed_forms.changed_forms(subject),
        ):
            if hit.deprecated:
                yield hit

    programs = """
=== example: initializers without the underscore
import torch
import torch.nn as nn
- import torch.nn.functional as F

layer = nn.Linear(2, 2)
- nn.init.xavier_uniform(layer.weight)
- y = F.sigmoid(layer(torch.ones(1, 2)))
+ nn.init.xavier_uniform_(layer.weight)
+ y = torch.sigmoid(layer(torch.ones(1, 2)))

=== example: clipping, imported by name
- from torch.nn.utils import clip_grad_norm
+ from torch.nn.utils import clip_grad_norm_

- clip_grad_norm(model.parameters(), 1.0)
+ clip_grad_norm_(model.parameters(), 1.0)

=== example: the length that an embedding does not need
from tensorflow.keras.layers import Embedding, LSTM
from tensorflow.keras.models import Sequential

model = Sequential()
- model.add(Embedding(1000, 16, input_length=20))
- model.add(LSTM(8, implementation=2))
+ model.add(Embedding(1000, 16))
+ model.add(LSTM(8))

=== example: weights of a pretrained network, and how a loss is reduced
import torch
from torchvision import models

- net = models.resnet18(pretrained=True)
- other = models.vgg16(pretrained=False)
- criterion = torch.nn.MSELoss(size_average=False)
+ net = models.resnet18(weights="IMAGENET1K_V1")
+ other = models.vgg16(weights=None)
+ criterion = torch.nn.MSELoss(reduction="sum")

=== example: automatic mixed precision, imported by name
import torch
- from torch.cuda.amp import GradScaler, autocast
+ from torch.amp import GradScaler, autocast

- scaler = GradScaler(enabled=True)
- with autocast():
+ scaler = GradScaler("cuda", enabled=True)
+ with autocast("cuda"):
    y = torch.ones(2) * 2

=== example: automatic mixed precision, a product of matrices and a checkpoint
import torch
from torch.utils.checkpoint import checkpoint

- with torch.cuda.amp.autocast(enabled=False):
-     y = torch.chain_matmul(torch.eye(2), torch.eye(2), torch.eye(2))
- z = checkpoint(torch.sin, y)
+ with torch.amp.autocast("cuda", enabled=False):
+     y = torch.linalg.multi_dot([torch.eye(2), torch.eye(2), torch.eye(2)])
+ z = checkpoint(torch.sin, y, use_reentrant=True)

=== example: the step that torchvision split into two
import torch
from torchvision.transforms import v2

- to_tensor = v2.Compose([v2.Resize(8), v2.ToTensor()])
+ to_tensor = v2.Compose([v2.Resize(8), v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])])

=== example: an optimizer by hand, a grid, and a scheduler with an explicit step
import torch
from torchvision import models

- net = models.resnet18(True)
+ net = models.resnet18(weights="IMAGENET1K_V1")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
- rows, columns = torch.meshgrid(torch.arange(2), torch.arange(3))
+ rows, columns = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
mean = torch.zeros(2)
for epoch in range(3):
-     mean.mul_(0.9).add_(0.1, torch.ones(2))
-     step = torch.addcdiv(mean, -0.1, mean, torch.ones(2))
-     schedule.step(epoch + 1)
+     mean.mul_(0.9).add_(torch.ones(2), alpha=0.1)
+     step = torch.addcdiv(mean, mean, torch.ones(2), value=-0.1)
+     schedule.step()

=== reject: the reduction in one word
import torch

criterion = torch.nn.MSELoss(reduction="mean")
values = torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), reduction="none")

=== reject: a function of the same name that is the program's own
import torch


def xavier_uniform(weight):
    return torch.nn.init.xavier_uniform_(weight)


xavier_uniform(torch.nn.Linear(2, 2).weight)

=== reject: names of today
import torch

layer = torch.nn.Linear(2, 2)
torch.nn.init.xavier_uniform_(layer.weight)
y = torch.sigmoid(layer(torch.ones(1, 2)))
"""
