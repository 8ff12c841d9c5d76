"""Calls of PyTorch that have to be given something else today."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Subject, changed_forms, uses_of


class OutdatedCall(ApiChange):
    """A call whose arguments changed along with its name or its defaults: `torch.load`, `torch.cuda.amp.autocast`.

    Since PyTorch 2.6 `torch.load` reads weights only. A file that holds a whole network is refused unless the call says
    `weights_only=False`; that a network is in the file is told by what the program does with it. `torch.stft` of a real
    signal gave pairs of reals and has to be asked for complex numbers since 2.0. The others still work and are spoken
    of where the run warned, or where `DNF550` is asked for: `torch.cuda.amp.autocast()` is `torch.amp.autocast("cuda")`,
    `chain_matmul(a, b)` is `linalg.multi_dot([a, b])`, `v2.ToTensor()` is `ToImage` and `ToDtype`, and `checkpoint` is to
    be told `use_reentrant`.

    Fix safety: unsafe for `torch.load`, as such a file can run any code when it is read, for `torch.stft`, which gave
    complex numbers for a complex signal, and for `v2.ToTensor`; the other forms do the same as the old ones.

    References: https://docs.pytorch.org/docs/stable/generated/torch.load.html,
    https://docs.pytorch.org/docs/stable/amp.html, https://docs.pytorch.org/docs/stable/checkpoint.html.
    """

    code = "DNF530"
    name = "outdated-call"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls whose form changed."""
        yield from changed_forms(uses_of(subject.source))

    examples = (
        Example(
            "a whole network in a file",
            """\
import torch

model = torch.load("model.pth", map_location="cpu")
model.eval()
""",
            """\
import torch

model = torch.load("model.pth", map_location="cpu", weights_only=False)
model.eval()
""",
        ),
        Example(
            "a network that is used at once",
            """\
import torch as th

names = [name for name, _ in th.load("model.pt").named_parameters()]
""",
            """\
import torch as th

names = [name for name, _ in th.load("model.pt", weights_only=False).named_parameters()]
""",
        ),
        Example(
            "the spectrum of a real signal",
            """\
import torch

signal = torch.sin(torch.arange(64.0))
spectrum = torch.stft(signal, 16, hop_length=8, window=torch.ones(16))
print(spectrum[..., 0].shape)
""",
            """\
import torch

signal = torch.sin(torch.arange(64.0))
spectrum = torch.view_as_real(torch.stft(signal, 16, hop_length=8, window=torch.ones(16), return_complex=True))
print(spectrum[..., 0].shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a spectrum that is asked for as it is given today",
            """\
import torch

spectrum = torch.stft(torch.ones(64), 16, window=torch.ones(16), return_complex=True)
""",
            runs=True,
        ),
        Reject(
            "a dictionary of weights",
            """\
import torch

model = torch.nn.Linear(2, 1)
state = torch.load("weights.pth", map_location="cpu")
model.load_state_dict(state)
model.eval()
""",
        ),
        Reject(
            "the call says it already",
            """\
import torch

model = torch.load("model.pth", weights_only=False)
model.eval()
""",
        ),
        Reject(
            "another library's load",
            """\
import joblib
import torch

model = joblib.load("model.pkl")
model.eval()
""",
        ),
    )
