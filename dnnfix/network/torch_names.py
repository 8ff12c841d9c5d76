"""Interpreter: tables of torch functions and methods, grouped by their effect, such as returning the module."""

from __future__ import annotations

WRAPPERS = frozenset(
    [
        "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel",
        "torch.compile", "torch.jit.script", "torch.jit.trace", "torch.nn.utils.weight_norm",
        "torch.nn.utils.spectral_norm", "torch.nn.utils.parametrizations.spectral_norm",
        "torch.nn.utils.parametrizations.weight_norm",
    ]
)  # fmt: skip
"""Functions that give the module that they are given."""

MODULE_KEEPS = frozenset(
    ["to", "cuda", "cpu", "train", "eval", "float", "double", "half", "bfloat16", "apply", "requires_grad_", "type",
     "share_memory", "to_empty", "xpu", "compile"]
)  # fmt: skip
"""Module methods that give the module itself."""

TENSOR_METHODS_ONLY = frozenset(
    ["softmax", "log_softmax", "sigmoid", "sigmoid_", "unsqueeze", "unsqueeze_", "permute", "contiguous", "detach",
     "backward", "bmm", "masked_fill", "masked_fill_", "index_select", "expand", "expand_as", "view_as", "logsumexp"]
)  # fmt: skip
"""Methods that say of an unknown value that it is a torch tensor."""

TENSOR_FUNCTIONS = frozenset(
    ["cat", "stack", "concat", "flatten", "softmax", "log_softmax", "sigmoid", "tanh", "relu", "matmul", "bmm", "mm",
     "add", "mul", "sub", "div", "squeeze", "unsqueeze", "transpose", "permute", "reshape", "argmax", "argmin", "max",
     "min", "sum", "mean", "exp", "log", "sqrt", "pow", "abs", "clamp", "einsum", "chunk", "split", "topk", "where",
     "norm", "dropout", "selu", "celu", "prelu", "logsumexp", "cumsum", "gather", "masked_select", "round", "sign",
     "relu_", "sigmoid_", "tanh_", "var", "std", "prod", "sort", "nonzero", "one_hot", "bincount", "index_select"]
)  # fmt: skip
"""Functions `torch.X` that are recorded whatever is known of their arguments."""

NOT_TENSORS = frozenset(
    ["device", "save", "load", "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "manual_seed", "seed",
     "compile", "is_tensor", "is_grad_enabled", "set_default_dtype", "set_default_device", "set_num_threads", "typename",
     "numel", "equal", "allclose", "dtype", "use_deterministic_algorithms", "initial_seed", "get_rng_state", "autocast",
     "is_floating_point", "set_printoptions", "set_default_tensor_type", "get_num_threads", "set_float32_matmul_precision"]
)  # fmt: skip
"""Functions `torch.x` that give no tensor."""

MULTIPLE = frozenset(
    ["chunk", "split", "unbind", "topk", "sort", "kthvalue", "svd", "qr", "eig", "eigh", "lu", "slogdet", "meshgrid",
     "var_mean", "std_mean", "cummax", "cummin", "broadcast_tensors", "aminmax", "tensor_split", "symeig",
     "max_pool2d_with_indices", "max_pool1d_with_indices", "multi_head_attention_forward", "split_with_sizes"]
)  # fmt: skip
"""Functions and methods that give several tensors."""

SEVERAL_TENSORS = frozenset(
    ["cat", "stack", "concat", "concatenate", "add", "sub", "mul", "div", "matmul", "mm", "bmm", "dot", "einsum",
     "where", "gather", "masked_fill", "masked_fill_", "cosine_similarity", "pairwise_distance", "cdist", "baddbmm",
     "linear", "conv1d", "conv2d", "conv3d", "embedding", "bilinear", "scaled_dot_product_attention", "lerp", "hstack",
     "vstack", "eq", "expand_as", "view_as", "add_", "sub_", "mul_", "div_", "outer", "mv", "maximum", "minimum",
     "grid_sample", "index_select", "addmm", "fmod", "true_divide"]
)  # fmt: skip
"""Functions and methods whose unknown later arguments are tensors as well."""

FREE_ARGUMENTS = {
    "view": "shape", "reshape": "shape", "permute": "dims", "expand": "sizes", "repeat": "sizes", "view_as": "other",
}  # fmt: skip
"""Methods that take any number of sizes, and the name under which they are kept as one list."""

CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "bool": "bool",
    "short": "int16", "bfloat16": "bfloat16", "byte": "uint8",
}  # fmt: skip
"""Tensor methods that change the dtype, and the dtype that they give."""

SAME_SHAPE = frozenset(
    [f"torch.Tensor.{m}" for m in (*CASTS, "to", "cuda", "cpu", "detach", "clone", "contiguous", "requires_grad_",
                                   "type", "data", "exp", "log", "sqrt", "abs", "clamp", "neg", "pow")]
    + [f"torch.{m}" for m in ("exp", "log", "sqrt", "abs", "clamp", "clone", "round", "sign", "pow")]
    + [f"torch.nn.functional.{m}" for m in ("dropout", "dropout2d", "dropout3d", "batch_norm", "layer_norm")]
    + ["torch.autograd.Variable", "torch.dropout"]
)  # fmt: skip
"""Calls whose result has the shape of their first input."""
