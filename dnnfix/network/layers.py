"""What the layers of torch and Keras say about shapes in their own arguments, and which operations leave values alone.

Only what an argument states is kept here (`in_features`, `units`); how a shape changes on its way through a layer is
never computed by hand-written rules. Sources: reference pages of `torch.nn` 2.13 and `keras.layers` 3.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What one kind of layer takes and gives.

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


def _torch() -> Iterator[LayerFacts]:
    def layer(name: str, kind: str, **more: object) -> LayerFacts:
        return LayerFacts(f"torch.nn.{name}", kind, **more)  # type: ignore[arg-type]

    yield layer("Linear", "linear", takes="in_features", takes_axis=-1, gives="out_features", gives_axis=-1)
    yield layer("LazyLinear", "linear", gives="out_features", gives_axis=-1)
    yield layer("Embedding", "embedding", gives="embedding_dim", gives_axis=-1, min_rank=0)
    yield layer("EmbeddingBag", "embedding", gives="embedding_dim", gives_axis=-1, ranks=(1, 2))
    yield layer("LayerNorm", "normalization", takes="normalized_shape")
    yield layer("RMSNorm", "normalization", takes="normalized_shape")
    yield layer("GroupNorm", "normalization", takes="num_channels", takes_axis=1, min_rank=2)
    yield layer(
        "MultiheadAttention",
        "attention",
        takes="embed_dim",
        takes_axis=-1,
        gives="embed_dim",
        gives_axis=-1,
        ranks=(2, 3),
    )
    for name in ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"):
        yield layer(name, "attention", takes="d_model", takes_axis=-1, gives="d_model", gives_axis=-1, ranks=(2, 3))
    for name in ("RNN", "LSTM", "GRU"):
        yield layer(
            name, "recurrent", takes="input_size", takes_axis=-1, gives="hidden_size", gives_axis=-1, ranks=(2, 3)
        )
        yield layer(
            f"{name}Cell",
            "recurrent",
            takes="input_size",
            takes_axis=-1,
            gives="hidden_size",
            gives_axis=-1,
            ranks=(1, 2),
        )
    for n in (1, 2, 3):
        channel = -1 - n
        ranks = (n + 1, n + 2)
        for name in ("Conv", "ConvTranspose"):
            yield layer(
                f"{name}{n}d",
                "convolution",
                takes="in_channels",
                takes_axis=channel,
                gives="out_channels",
                gives_axis=channel,
                ranks=ranks,
                spatial=n,
            )
            yield layer(
                f"Lazy{name}{n}d", "convolution", gives="out_channels", gives_axis=channel, ranks=ranks, spatial=n
            )
        batch_ranks = (2, 3) if n == 1 else (n + 2,)
        yield layer(f"BatchNorm{n}d", "normalization", takes="num_features", takes_axis=1, ranks=batch_ranks, spatial=n)
        yield layer(f"LazyBatchNorm{n}d", "normalization", ranks=batch_ranks, spatial=n)
        yield layer(
            f"InstanceNorm{n}d", "normalization", takes="num_features", takes_axis=channel, ranks=ranks, spatial=n
        )
        for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "LPPool", "MaxUnpool"):
            yield layer(f"{name}{n}d", "pooling", ranks=ranks, spatial=n)
        for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
            yield layer(f"{name}{n}d", "padding", ranks=ranks, spatial=n)
        yield layer(f"Dropout{n}d", "dropout", ranks=ranks, spatial=n)
    yield layer("SyncBatchNorm", "normalization", takes="num_features", takes_axis=1, min_rank=2)
    for name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
        yield layer(name, "dropout", min_rank=0)
    for name in ("Flatten", "Unflatten", "PixelShuffle", "PixelUnshuffle", "Upsample", "Fold", "Unfold"):
        yield layer(name, "shape")


def _keras() -> Iterator[LayerFacts]:
    def layer(name: str, kind: str, **more: object) -> LayerFacts:
        return LayerFacts(f"keras.layers.{name}", kind, **more)  # type: ignore[arg-type]

    yield layer("Dense", "linear", gives="units", gives_axis=-1, min_rank=2)
    yield layer("EinsumDense", "linear", min_rank=2)
    yield layer("Embedding", "embedding", gives="output_dim", gives_axis=-1)
    yield layer("MultiHeadAttention", "attention", min_rank=3)
    yield layer("TimeDistributed", "shape", min_rank=3)
    yield layer("Bidirectional", "recurrent", min_rank=3)
    for name in ("LSTM", "GRU", "SimpleRNN"):
        yield layer(name, "recurrent", gives="units", gives_axis=-1, ranks=(3,))
    for n in (1, 2, 3):
        one = (n + 2,)
        for name in (f"Conv{n}D", f"Convolution{n}D", f"Conv{n}DTranspose", f"SeparableConv{n}D", f"DepthwiseConv{n}D"):
            gives = None if name.startswith("Depthwise") else "filters"
            yield layer(name, "convolution", gives=gives, gives_axis=-1 if gives else None, ranks=one, spatial=n)
        yield layer(f"ConvLSTM{n}D", "recurrent", gives="filters", gives_axis=-1, ranks=(n + 3,), spatial=n)
        pools = (
            "MaxPooling",
            "MaxPool",
            "AveragePooling",
            "AvgPool",
            "GlobalMaxPooling",
            "GlobalMaxPool",
            "GlobalAveragePooling",
            "GlobalAvgPool",
        )
        for name in pools:
            yield layer(f"{name}{n}D", "pooling", ranks=one, spatial=n)
        for name in ("UpSampling", "ZeroPadding", "Cropping"):
            yield layer(f"{name}{n}D", "padding", ranks=one, spatial=n)
        yield layer(f"SpatialDropout{n}D", "dropout", ranks=one, spatial=n)
    for name in ("BatchNormalization", "LayerNormalization", "GroupNormalization", "UnitNormalization"):
        yield layer(name, "normalization", min_rank=2)
    for name in ("Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout"):
        yield layer(name, "dropout")
    for name in ("Flatten", "Reshape", "Permute", "RepeatVector"):
        yield layer(name, "shape")
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"):
        yield layer(name, "merge")


LAYERS: dict[str, LayerFacts] = {f.name: f for make in (_torch, _keras) for f in make()}
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
