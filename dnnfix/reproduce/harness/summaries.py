"""Rebuilds a network from its printed form in a report: `print(model)` of a `Sequential` of PyTorch.

Only what such a text states in full is rebuilt. A class's own `forward` is not printed, and the summary of a Keras
model lacks its activations, so neither is.
"""

from __future__ import annotations

import ast
import re

from dnnfix.source.public_names import words

_TORCH_ROOT = re.compile(r"^\W*Sequential\(\s*$")
_TORCH_LAYER = re.compile(r"^\W*\((?P<name>\w+)\):\s*(?P<kind>[A-Z]\w*)\((?P<args>.*)\)\s*$")
_OF_ONE_OUTPUT = words(
    """Linear Conv1d Conv2d Conv3d ConvTranspose2d BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm Dropout Dropout2d ReLU
    LeakyReLU ELU SELU GELU Sigmoid Tanh Softmax LogSoftmax Flatten MaxPool1d MaxPool2d AvgPool2d AdaptiveAvgPool2d Embedding
    Identity Softplus PReLU ReLU6 SiLU Hardtanh Upsample"""
)


def rebuilt(text: str) -> tuple[str, str] | None:
    """Code that builds the printed network, and the evidence for it; `None` where a text has none in full."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not _TORCH_ROOT.match(line):
            continue
        layers: list[str] = []
        for other in lines[number + 1 :]:
            if re.match(r"^\W*\)\s*$", other):
                break
            match = _TORCH_LAYER.match(other)
            if match is None or match["kind"] not in _OF_ONE_OUTPUT or not _is_call(match["args"]):
                return None
            layers.append(f"torch.nn.{match['kind']}({match['args']})")
        if layers:
            return f"torch.nn.Sequential({', '.join(layers)})", "the text prints the network, layer by layer"
    return None


def _is_call(arguments: str) -> bool:
    """Whether arguments as they are printed are those of a call: plain values only."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
    except SyntaxError:
        return False
    allowed = (ast.Call, ast.Name, ast.Constant, ast.Tuple, ast.keyword, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(node, allowed) for node in ast.walk(call))
