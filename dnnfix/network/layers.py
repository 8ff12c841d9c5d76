"""Facts about the layers of torch and Keras: which arguments state sizes, and which layers keep the shape.

Only what an argument states is kept here (`in_features`, `units`); how a layer changes the shape is never computed by
hand-written rules. Sources: reference pages of `torch.nn` 2.13 and `keras.layers` 3.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from dnnfix.records.record import record


@record
class LayerFacts:
    """The input and the output of one kind of layer.

    `takes` names the argument that states the size of the input's axis `takes_axis`; `gives` names the one that states
    the size of the output's axis `gives_axis`. Torch axes of images and sequences are counted from the end, because a
    batch axis may be left out. `ranks` are the input ranks that are accepted (batched ranks only for Keras), empty for
    any; `min_rank` is the least rank where any above it is fine. `kind` groups layers: `linear`, `convolution`,
    `pooling`, `normalization`, `recurrent`, `embedding`, `attention`, `dropout`, `shape`, `merge`, `padding`.
    """

    name: str
    kind: str
    takes: str | None = None
    takes_axis: int | None = None
    gives: str | None = None
    gives_axis: int | None = None
    ranks: tuple[int, ...] = ()
    min_rank: int = 1
    spatial: int = 0

    def accepts_rank(self, rank: int) -> bool:
        """Whether an input of that rank is accepted."""
        return rank in self.ranks if self.ranks else rank >= self.min_rank

    @property
    def batched_rank(self) -> int | None:
        """The rank of a batched input where there is only one such rank."""
        return max(self.ranks) if self.ranks else None


Table: TypeAlias = tuple[tuple[str, str, Mapping[str, Any]], ...]
"""Rows of names, the kind of these layers, and what else `LayerFacts` says of them."""

_LAST = {"takes_axis": -1, "gives_axis": -1}
"""Layers that work on the last axis, that of the features."""

_TORCH: Table = (
    ("Linear", "linear", {"takes": "in_features", "gives": "out_features", **_LAST}),
    ("LazyLinear", "linear", {"gives": "out_features", "gives_axis": -1}),
    ("Embedding", "embedding", {"gives": "embedding_dim", "gives_axis": -1, "min_rank": 0}),
    ("EmbeddingBag", "embedding", {"gives": "embedding_dim", "gives_axis": -1, "ranks": (1, 2)}),
    ("LayerNorm RMSNorm", "normalization", {"takes": "normalized_shape"}),
    ("GroupNorm", "normalization", {"takes": "num_channels", "takes_axis": 1, "min_rank": 2}),
    ("SyncBatchNorm", "normalization", {"takes": "num_features", "takes_axis": 1, "min_rank": 2}),
    ("MultiheadAttention", "attention", {"takes": "embed_dim", "gives": "embed_dim", "ranks": (2, 3), **_LAST}),
    (
        "TransformerEncoderLayer TransformerDecoderLayer Transformer",
        "attention",
        {"takes": "d_model", "gives": "d_model", "ranks": (2, 3), **_LAST},
    ),
    ("RNN LSTM GRU", "recurrent", {"takes": "input_size", "gives": "hidden_size", "ranks": (2, 3), **_LAST}),
    (
        "RNNCell LSTMCell GRUCell",
        "recurrent",
        {"takes": "input_size", "gives": "hidden_size", "ranks": (1, 2), **_LAST},
    ),
    ("Dropout AlphaDropout FeatureAlphaDropout", "dropout", {"min_rank": 0}),
    ("Flatten Unflatten PixelShuffle PixelUnshuffle Upsample Fold Unfold", "shape", {}),
)


def _torch_over(n: int) -> Table:
    """The layers of torch over `n` spatial axes, the channels before them; the batch may be left out."""
    channel = -1 - n
    image = {"ranks": (n + 1, n + 2), "spatial": n}
    batch = {"ranks": (2, 3) if n == 1 else (n + 2,), "spatial": n}
    takes, gives = {"takes": "in_channels", "takes_axis": channel}, {"gives": "out_channels", "gives_axis": channel}
    return (
        ("Conv{n}d ConvTranspose{n}d", "convolution", {**takes, **gives, **image}),
        ("LazyConv{n}d LazyConvTranspose{n}d", "convolution", {**gives, **image}),
        ("BatchNorm{n}d", "normalization", {"takes": "num_features", "takes_axis": 1, **batch}),
        ("LazyBatchNorm{n}d", "normalization", batch),
        ("InstanceNorm{n}d", "normalization", {"takes": "num_features", "takes_axis": channel, **image}),
        ("MaxPool{n}d AvgPool{n}d AdaptiveAvgPool{n}d AdaptiveMaxPool{n}d LPPool{n}d MaxUnpool{n}d", "pooling", image),
        ("ZeroPad{n}d ReflectionPad{n}d ReplicationPad{n}d CircularPad{n}d", "padding", image),
        ("Dropout{n}d", "dropout", image),
    )


_KERAS: Table = (
    ("Dense", "linear", {"gives": "units", "gives_axis": -1, "min_rank": 2}),
    ("EinsumDense", "linear", {"min_rank": 2}),
    ("Embedding", "embedding", {"gives": "output_dim", "gives_axis": -1}),
    ("MultiHeadAttention", "attention", {"min_rank": 3}),
    ("TimeDistributed", "shape", {"min_rank": 3}),
    ("Bidirectional", "recurrent", {"min_rank": 3}),
    ("LSTM GRU SimpleRNN", "recurrent", {"gives": "units", "gives_axis": -1, "ranks": (3,)}),
    (
        "BatchNormalization LayerNormalization GroupNormalization UnitNormalization",
        "normalization",
        {"min_rank": 2},
    ),
    ("Dropout GaussianDropout GaussianNoise AlphaDropout", "dropout", {}),
    ("Flatten Reshape Permute RepeatVector", "shape", {}),
    ("Add Subtract Multiply Average Maximum Minimum Concatenate Dot", "merge", {}),
)


def _keras_over(n: int) -> Table:
    """The layers of Keras over `n` spatial axes, the channels behind them."""
    image = {"ranks": (n + 2,), "spatial": n}
    filters = {"gives": "filters", "gives_axis": -1}
    return (
        ("Conv{n}D Convolution{n}D Conv{n}DTranspose SeparableConv{n}D", "convolution", {**filters, **image}),
        ("DepthwiseConv{n}D", "convolution", image),
        ("ConvLSTM{n}D", "recurrent", {**filters, "ranks": (n + 3,), "spatial": n}),
        ("MaxPooling{n}D MaxPool{n}D AveragePooling{n}D AvgPool{n}D", "pooling", image),
        ("GlobalMaxPooling{n}D GlobalMaxPool{n}D GlobalAveragePooling{n}D GlobalAvgPool{n}D", "pooling", image),
        ("UpSampling{n}D ZeroPadding{n}D Cropping{n}D", "padding", image),
        ("SpatialDropout{n}D", "dropout", image),
    )


def _facts() -> Iterator[LayerFacts]:
    for home, plain, over in (("torch.nn", _TORCH, _torch_over), ("keras.layers", _KERAS, _keras_over)):
        for names, kind, more in plain:
            yield from (LayerFacts(f"{home}.{name}", kind, **more) for name in names.split())
        for n in (1, 2, 3):
            for names, kind, more in over(n):
                yield from (LayerFacts(f"{home}.{name.format(n=n)}", kind, **more) for name in names.split())


LAYERS: dict[str, LayerFacts] = {facts.name: facts for facts in _facts()}
"""Every known layer by canonical name."""

_METHODS = (
    "view", "reshape", "flatten", "unflatten", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "permute", "transpose",
    "transpose_", "t", "contiguous", "swapaxes", "movedim", "expand", "expand_as", "view_as", "reshape_as", "repeat",
    "ravel", "T", "mT", "resize", "resize_",
)  # fmt: skip
_TOP = ("reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "t", "swapaxes", "movedim", "ravel")
_KERAS_SHAPES = ("Flatten", "Reshape", "Permute", "RepeatVector")

SHAPE_ONLY: frozenset[str] = frozenset(
    [f"torch.Tensor.{m}" for m in _METHODS]
    + [f"torch.{m}" for m in _TOP]
    + ["torch.nn.Flatten", "torch.nn.Unflatten"]
    + [f"keras.layers.{m}" for m in _KERAS_SHAPES]
    + [f"{m}.{f}" for m in ("keras.ops", "tensorflow") for f in ("reshape", "squeeze", "expand_dims", "transpose")]
)
"""Operations that move or repeat elements and keep every value."""

_SAME_VALUES = (
    "to", "cpu", "cuda", "float", "double", "type", "type_as", "clone", "detach", "data", "requires_grad_", "getitem",
    "numpy",
)  # fmt: skip

KEEPS_VALUES: frozenset[str] = SHAPE_ONLY | frozenset(
    [f"torch.Tensor.{m}" for m in _SAME_VALUES]
    + ["torch.clone", "torch.autograd.Variable", "torch.nn.Identity", "tensorflow.cast", "tensorflow.identity"]
)
"""Operations after which the values (or a selection of them) are still the ones that went in."""
