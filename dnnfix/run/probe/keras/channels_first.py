"""Lets Keras compute `channels_first` convolutions eagerly on a CPU, which TensorFlow only does when compiled.

The probe has functions run eagerly, so that it sees what happens in them. The operations are therefore computed with
the channels last, and the axes are transposed before and after.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

from ..guard import Patches

_FUNCTIONS = ("conv", "conv_transpose", "depthwise_conv", "separable_conv", "max_pool", "average_pool")


def compute_channels_first(patches: Patches) -> None:
    """Patch the functions of Keras' backend that have a `data_format` to accept both formats, where there is no GPU."""
    import tensorflow

    if tensorflow.config.list_physical_devices("GPU"):
        return
    try:
        functions = importlib.import_module("keras.src.backend.tensorflow.nn")
    except ImportError:
        return
    for name in _FUNCTIONS:
        patches.put(functions, name, _with_channels_last)


def _with_channels_last(original: Any) -> Any:
    signature = inspect.signature(original)

    def compute(*args: Any, **kwargs: Any) -> Any:
        import keras

        given = signature.bind(*args, **kwargs)
        order = given.arguments.get("data_format") or keras.config.image_data_format()
        if order != "channels_first":
            return original(*args, **kwargs)
        import tensorflow

        given.arguments["data_format"] = "channels_last"
        inputs = tensorflow.convert_to_tensor(given.arguments["inputs"])
        rank = len(inputs.shape)
        last = [0, *range(2, rank), 1]
        given.arguments["inputs"] = tensorflow.transpose(inputs, last)
        result = original(*given.args, **given.kwargs)
        return tensorflow.transpose(result, [0, rank - 1, *range(1, rank - 1)])

    return functools.update_wrapper(compute, original)
