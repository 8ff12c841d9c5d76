"""Which library versions a program was written for, by removed names that it uses and by versions that it states.

Only proof counts: a name, an argument or a method that is gone since a version, Python 2, or a version that the program
pins or says it was tested with. A program that knows of several versions (`except ImportError`, `hasattr`) gives none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dnnfix.detect.versioning.migration import migration, next_version, version_number
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.subject import Subject

NAMES = {
    "keras": "Keras",
    "numpy": "NumPy",
    "pandas": "pandas",
    "scipy": "SciPy",
    "sklearn": "scikit-learn",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "torchvision": "torchvision",
}
"""The packages of which versions are told, by the name that people read."""

_IMPLIED: Mapping[tuple[str, str], Mapping[str, str]] = {
    # the last releases for Python 2 (2019 and January 2020)
    ("python", "3"): {
        "keras": "2.4", "numpy": "1.17", "pandas": "0.25", "sklearn": "0.21", "tensorflow": "2.2", "torch": "1.5",
    },
    # the last releases for Python 3.5 and 3.6, which a notebook was saved with
    ("python", "3.6"): {
        "keras": "2.5", "numpy": "1.19", "pandas": "1.0", "sklearn": "0.24", "tensorflow": "2.4", "torch": "1.6",
    },
    ("python", "3.7"): {
        "keras": "2.7", "numpy": "1.20", "pandas": "1.2", "sklearn": "1.0", "tensorflow": "2.7", "torch": "1.11",
    },
    # Keras 2.4 needs TensorFlow 2.2, and TensorFlow 1 needs Python 3.7, on which later ones do not run
    ("tensorflow", "2.0"): {"keras": "2.4", "numpy": "1.22", "pandas": "1.4", "sklearn": "1.1", "torch": "2.0"},
    # scikit-learn 0.20 is of September 2018; Keras 2.4 and TensorFlow 2.2 came out almost two years later
    ("sklearn", "0.20"): {"keras": "2.4", "tensorflow": "2.2"},
    # tf.keras is Keras 3 since TensorFlow 2.16
    ("keras", "3.0"): {"tensorflow": "2.16"},
}  # fmt: skip
"""By package and the version that a program is older than, the versions of others that it is then older than too."""

_KERAS_1_TAKEN_UNTIL = "2.4"
"""The first Keras 2 without the names of Keras 1."""

_KERAS_2 = words(
    "bias_initializer data_format epochs filters kernel_initializer kernel_regularizer kernel_size "
    "recurrent_activation steps_per_epoch units use_bias"
)
"""Keywords that came with Keras 2."""

ALIASES = {
    "pytorch": "torch", "scikit-learn": "sklearn", "scikit_learn": "sklearn", "tensorflow-gpu": "tensorflow",
    "tensorflow_gpu": "tensorflow", "tensorflow-cpu": "tensorflow", "tf": "tensorflow",
}  # fmt: skip
PACKAGE = (
    r"(?P<package>keras|numpy|pandas|pytorch|scikit[-_]learn|sklearn|tensorflow(?:[-_][cg]pu)?|tf|torch|torchvision)"
)
_NUMBER = r"v?(?P<version>\d+\.(?:\d+|[xX*])(?:\.\d+)?)"
_PINNED = re.compile(rf"(?<![\w.-]){PACKAGE}\s*(?:==|~=|<=)\s*{_NUMBER}", re.IGNORECASE)
_TOLD = re.compile(
    rf"\b(?:tested|written|developed|trained|run|runs|works)\b[^.\n]{{0,30}}?(?<![\w.-]){PACKAGE}"
    rf"(?:\s+version)?\s*:?\s*{_NUMBER}(?!\s*(?:\+|or|and)\b)(?!\+)",
    re.IGNORECASE,
)
_MAGIC = re.compile(rf"%(?P<package>tensorflow)_version\s+{_NUMBER}")

_LONG = 2_000
"""Characters of a line above which nobody wrote it."""
_KERNEL = re.compile(r'"language_info"[^[]{0,600}?"version":\s*"(\d+\.\d+)\.')


@dataclass(frozen=True, slots=True)
class Proof:
    """A program is from before `version` of a package; `reason` says why, `line` where (0 if it has no line)."""

    package: str
    version: str
    reason: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" if self.line else self.reason


@once
def proofs(subject: Subject) -> tuple[Proof, ...]:
    """All that shows from before which versions a program is, the earliest of each package first."""
    found = [*_used(subject), *_stated(subject)]
    for proof in tuple(found):
        for (package, version), others in _IMPLIED.items():
            if proof.package == package and version_number(proof.version) <= version_number(version):
                found += [Proof(other, least, proof.reason, proof.line) for other, least in others.items()]
    return tuple(sorted(found, key=lambda proof: (proof.package, version_number(proof.version), proof.line)))


def older(subject: Subject, package: str, version: str) -> Proof | None:
    """The proof that a program was written for a version of a package before this one; `None` if there is none."""
    bounds = (proof for proof in proofs(subject) if proof.package == package)
    return next((p for p in bounds if version_number(p.version) <= version_number(version)), None)


def _used(subject: Subject) -> Iterator[Proof]:
    if any("Python 2" in note for note in subject.source.recoveries):
        yield Proof("python", "3", "it is written in Python 2", 1)
    both = _speaks_keras_2(subject.source)
    for hit in migration(subject):
        for package, version in hit.removed.items():
            # Keras 2 still took what it had renamed, and its programs have both
            least = _KERAS_1_TAKEN_UNTIL if both and (package, version) == ("keras", "2.0") else version
            yield Proof(package, least, hit.what, hit.site.line)


def _speaks_keras_2(source: Source) -> bool:
    """Whether a program uses what Keras 1 did not have."""
    return any(
        any(keyword.arg in _KERAS_2 for keyword in call.keywords)
        or (source.qualified(call.func) or "").startswith("keras.layers.Conv")
        and (
            any(k.arg == "padding" for k in call.keywords) or len(call.args) > 1 and isinstance(call.args[1], ast.Tuple)
        )
        for call in source.all_calls
    )


def _stated(subject: Subject) -> Iterator[Proof]:
    """Versions that the text pins or names: in comments, docstrings, and lines for the shell, which the tree lacks."""
    source = subject.source
    text = source.raw.decode("utf-8", "replace")
    is_notebook = source.path.endswith(".ipynb")
    if is_notebook and (kernel := _KERNEL.search(text)) is not None:
        yield Proof("python", next_version(kernel[1]), f"the notebook was saved with Python {kernel[1]}", 0)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONG or "." not in line:  # a picture in a notebook is one line
            continue
        for match in (_PINNED.search(line), _TOLD.search(line), _MAGIC.search(line)):
            if match is None:
                continue
            package = match["package"].lower()
            yield Proof(
                ALIASES.get(package, package), next_version(match["version"]), f"it says {match[0].strip()!r}", number
            )
