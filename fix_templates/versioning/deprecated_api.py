"""What still works but is on its way out."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Example,
    Hit,
    Reject,
    Subject,
    changed_arguments,
    changed_methods,
    renamed_names,
    uses_of,
)


class DeprecatedApi(ApiChange):
    """Names, keywords and methods that the libraries have deprecated and still have: `F.upsample`, `xavier_uniform`.

    Off by default: the program runs. Where a run shows the library's own warning on the line, the templates for removed
    names and keywords speak of it without being asked, unless it is a keyword that is merely passed over.

    Fix safety: safe where the data file says that the new name means the same; otherwise unsafe.

    References: `fix_templates/data/*.toml` give one for each name.
    """

    code = "DNF550"
    name = "deprecated-api"
    default = False
    speaks_of_deprecated = True

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """What the tables call deprecated."""
        uses = uses_of(subject.source)
        for hit in (*renamed_names(uses), *changed_arguments(uses), *changed_methods(uses)):
            if hit.deprecated:
                yield hit

    examples = (
        Example(
            "initializers without the underscore",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

layer = nn.Linear(2, 2)
nn.init.xavier_uniform(layer.weight)
y = F.sigmoid(layer(torch.ones(1, 2)))
""",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

layer = nn.Linear(2, 2)
nn.init.xavier_uniform_(layer.weight)
y = torch.sigmoid(layer(torch.ones(1, 2)))
""",
        ),
        Example(
            "clipping, imported by name",
            """\
from torch.nn.utils import clip_grad_norm

clip_grad_norm(model.parameters(), 1.0)
""",
            """\
from torch.nn.utils import clip_grad_norm_

clip_grad_norm_(model.parameters(), 1.0)
""",
        ),
        Example(
            "the slope of a leaky rectifier",
            """\
from keras.layers import LeakyReLU

layer = LeakyReLU(alpha=0.1)
""",
            """\
from keras.layers import LeakyReLU

layer = LeakyReLU(negative_slope=0.1)
""",
        ),
        Example(
            "the length that an embedding does not need to be told",
            """\
from tensorflow.keras.layers import Embedding, LSTM
from tensorflow.keras.models import Sequential

model = Sequential()
model.add(Embedding(1000, 16, input_length=20))
model.add(LSTM(8, implementation=2))
""",
            """\
from tensorflow.keras.layers import Embedding, LSTM
from tensorflow.keras.models import Sequential

model = Sequential()
model.add(Embedding(1000, 16))
model.add(LSTM(8))
""",
        ),
    )
    rejects = (
        Reject(
            "a function of the same name that is the program's own",
            """\
import torch


def xavier_uniform(weight):
    return torch.nn.init.xavier_uniform_(weight)


xavier_uniform(torch.nn.Linear(2, 2).weight)
""",
        ),
        Reject(
            "names of today",
            """\
import torch

layer = torch.nn.Linear(2, 2)
torch.nn.init.xavier_uniform_(layer.weight)
y = torch.sigmoid(layer(torch.ones(1, 2)))
""",
        ),
    )
