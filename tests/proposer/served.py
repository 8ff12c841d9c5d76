"""A real server of the chat-completions protocol, `transformers serve` on loopback, and tiny models for it that are made here and now.

    write_noise(folder / "noise")
    with Served(folder) as server:
        settings = {"endpoint": server.endpoint, "model": "noise"}

The server loads a model by its folder's name when it is asked for one. Nothing is downloaded, and neither torch nor transformers is
imported here: a model is a configuration, a tokenizer, and weights that numpy draws.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

PATIENCE = 180.0
"""Seconds after which a busy machine is no excuse."""

NEVER = -1e4
"""The logit of a token that cannot follow."""

STARTS = 16
"""Tokens that an answer may begin behind; which one it is depends on the length of what was asked."""

UNKNOWN, END = "<unknown>", "<end>"

NEEDED = ("transformers", "torch", "accelerate", "fastapi", "uvicorn", "openai", "tokenizers", "safetensors")

MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
"""What the server needs and is not installed."""

REASON = f"not installed: {', '.join(MISSING)} (pip install 'dnnfix[model,test]')"


class Served:
    """A server of the models in a folder, in a process of its own. To be used by `with`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Where it looks for models by their names."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """The address for `[tool.dnnfix.model]`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def said(self) -> str:
        """The end of what the server wrote."""
        return (self.folder / "server.log").read_text(errors="replace")[-3000:]

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "transformers.cli.transformers", "serve", "--device", "cpu"]
        command += ["--host", "127.0.0.1", "--port", str(self._port)]
        alone = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "hub"), "OMP_NUM_THREADS": "1"}
        with open(self.folder / "server.log", "wb") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env={**os.environ, **alone}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            self._wait(self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        patient = time.monotonic() + PATIENCE
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while time.monotonic() < patient:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}: {self.said}")
            try:
                with direct.open(f"http://127.0.0.1:{self._port}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the server does not answer after {PATIENCE:g} seconds: {self.said}")


@dataclass(frozen=True, slots=True)
class Bigrams:
    """What a model says: pieces of text, and for each how likely others come next. An answer begins behind the piece 0."""

    pieces: Sequence[str]
    next: Mapping[int, Mapping[int | None, float]]
    """The weights of the pieces that may follow, by number; `None` ends the answer, as does a piece that nothing follows."""


def write_bigrams(folder: Path, said: Bigrams, seed: int = 0) -> None:
    """Write a model that says by construction what the bigrams allow, with the chances that they give.

    A Llama whose attention and feed-forward weights are zero, so that a token's own embedding, of which there is one for each, goes through to
    an output layer of its own: the logits of what follows. Where an answer begins, chances differ for each of the tokens
    that it may begin behind: the same seed answers two questions differently.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    starts = [f"<start {number}>" for number in range(STARTS)]
    vocabulary = {text: number for number, text in enumerate([UNKNOWN, END, *starts, *said.pieces[1:]])}
    if len(vocabulary) != 2 + len(starts) + len(said.pieces) - 1:
        raise ValueError("two pieces are the same text")
    tokenizer = Tokenizer(models.WordLevel(vocabulary, UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in (UNKNOWN, END, *starts)])

    size = len(vocabulary)
    end, first = vocabulary[END], len(starts) + 1  # a piece's token is its number and `first`
    logits: np.ndarray[Any, Any] = np.full((size, size), NEVER, np.float32)
    drawn = np.random.default_rng(seed)
    for piece, following in said.next.items():
        for here in range(2, 2 + len(starts)) if piece == 0 else [piece + first]:
            for there, weight in following.items():
                other = drawn.exponential() if piece == 0 else 1.0
                logits[end if there is None else there + first, here] = np.log(weight * other)
    logits[end, (logits == NEVER).all(axis=0)] = 0.0
    _write(folder, tokenizer, size, np.eye(size, dtype=np.float32), logits, np.full(size, size**-0.5, np.float32))


def write_noise(folder: Path, seed: int = 0, ends: bool = True) -> None:
    """Write a model whose weights are all random, with a tokenizer of characters. Where it does not end, it is cut by `max_tokens`."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    starts = [f"<start {number}>" for number in range(STARTS)]
    characters = [chr(code) for code in range(32, 127)] + ["\n"]
    vocabulary = {text: number for number, text in enumerate([UNKNOWN, END, *starts, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in (UNKNOWN, END, *starts)])
    drawn = np.random.default_rng(seed)
    width = 32
    inward, outward = (drawn.standard_normal((len(vocabulary), width)).astype(np.float32) for _ in range(2))
    even: np.ndarray[Any, Any] = np.full(
        width, 0.3, np.float32
    )  # the chances are near each other, so that the end is not far
    _write(folder, tokenizer, width, inward, outward, even, drawn, ends)


def _write(
    folder: Path,
    tokenizer: Any,
    width: int,
    inward: np.ndarray[Any, Any],
    outward: np.ndarray[Any, Any],
    norm: np.ndarray[Any, Any],
    drawn: np.random.Generator | None = None,
    ends: bool = True,
) -> None:
    """Write a Llama of one layer; its attention and feed-forward weights are drawn, or else zero."""
    from safetensors.numpy import save_file

    heads, inner = 2, 4

    def weights(*shape: int) -> np.ndarray[Any, Any]:
        return np.zeros(shape, np.float32) if drawn is None else drawn.standard_normal(shape).astype(np.float32)

    layer = "model.layers.0"
    folder.mkdir(parents=True)
    save_file(
        {
            "model.embed_tokens.weight": inward,
            "lm_head.weight": outward,
            "model.norm.weight": norm,
            f"{layer}.input_layernorm.weight": np.ones(width, np.float32),
            f"{layer}.post_attention_layernorm.weight": np.ones(width, np.float32),
            **{f"{layer}.self_attn.{name}_proj.weight": weights(heads, width) for name in "qkv"},
            f"{layer}.self_attn.o_proj.weight": weights(width, heads),
            **{f"{layer}.mlp.{name}_proj.weight": weights(inner, width) for name in ("gate", "up")},
            f"{layer}.mlp.down_proj.weight": weights(width, inner),
        },
        folder / "model.safetensors",
        {"format": "pt"},
    )
    end = tokenizer.token_to_id(END)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(inward),
        "hidden_size": width,
        "head_dim": heads,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "num_hidden_layers": 1,
        "intermediate_size": inner,
        "max_position_embeddings": 32_768,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "eos_token_id": end,
        "bos_token_id": None,
    }
    sampling = {"do_sample": True, "top_k": 0, "eos_token_id": end if ends else None, "pad_token_id": end}
    begun = "<start {{ messages | map(attribute='content') | join | length % " + str(STARTS) + " }}>"
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
        "eos_token": END,
        "chat_template": "{% for message in messages %}{{ message['content'] + '\n' }}{% endfor %}" + begun,
    }
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, document in (
        ("config", config),
        ("generation_config", sampling),
        ("tokenizer_config", settings),
    ):
        (folder / f"{name}.json").write_text(json.dumps(document))
