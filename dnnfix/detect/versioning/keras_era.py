"""Which Keras a program was written for: standalone Keras before 2.4, or Keras 2 kept as `tf_keras`.

Keras up to 2.3 accepted the calls of Keras 1: it read positional sizes as Keras 1 did, and took the order of an
image's axes from `~/.keras/keras.json`. Version 2.4 became the Keras of TensorFlow 2 and no longer does.
"""

from __future__ import annotations

import ast
import re

from dnnfix.detect.versioning.calls import changed_arguments, changed_methods
from dnnfix.detect.versioning.imports import renamed_names
from dnnfix.detect.versioning.migration import Hit, version_number
from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.program import Source, once

LAST = (2, 4)
"""The first version of the package that was TensorFlow's: it read nothing of Keras 1 any more."""


_ASKED_FOR = re.compile(r"TF_USE_LEGACY_KERAS\W+(?:1|[Tt]rue)\b")
"""Where a program, or a command of a notebook, asks TensorFlow for Keras 2."""


@once
def keeps_to_keras_2(source: Source) -> bool:
    """Whether a program asks for Keras 2, which lives on as `tf_keras` and has what Keras 3 removed."""
    modules = [alias.name for node in source.nodes(ast.Import) for alias in node.names]
    modules += [node.module or "" for node in source.nodes(ast.ImportFrom) if not node.level]
    if any(module.partition(".")[0] == "tf_keras" for module in modules) or _ASKED_FOR.search(source.text):
        return True
    return any(constant.value == "TF_USE_LEGACY_KERAS" for constant in source.nodes(ast.Constant))


@once
def is_multi_backend(source: Source) -> bool:
    """Whether something in a program of standalone Keras shows that it was written for a version before 2.4."""
    if "keras" not in source.frameworks:
        return False
    if any("Python 2" in note for note in source.recoveries):
        return True
    uses = uses_of(source)
    return any(_is_before(hit) for read in (changed_arguments, renamed_names, changed_methods) for hit in read(uses))


def _is_before(hit: Hit) -> bool:
    version = hit.removed.get("keras")
    return version is not None and version_number(version) <= LAST
