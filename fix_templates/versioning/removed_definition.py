"""`load_boston`, `KerasClassifier`, `scipy.misc.imsave`: functions and classes removed without a successor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from dnnfix.api import (
    AddDefinition,
    AddImport,
    ApiChange,
    Edit,
    Hit,
    Replace,
    Subject,
    added,
    changed_imports,
    definition_uses,
    migration,
    once,
    pictures,
    uses_of,
)


class RemovedDefinition(ApiChange):
    """A function or class was removed from its library, and nothing there does the same.

    Its definition is written into the program: the reader of the Boston housing prices, from their original source;
    Keras's wrappers for scikit-learn, since those of Keras 3 and scikeras lose the epochs when copied, need one-hot
    targets, or score by R² instead of the loss; the private function that checks the input shape of image networks;
    SciPy's image functions, which converted any numbers to bytes; the check of a target in torch's own losses; the
    options of a trainer of Lightning for the command line, where the program has none that trainers lost since. Where
    the program already has that name, the definition gets another one.

    Of Hugging Face's libraries: the collator that leaves all but the answers out of the labels (without `padding_free`),
    the format of chats, texts in pieces of one length and the device map of trl; data sets of the text of a file or of
    its lines, the filter of logits by their likelihood, the examples, features and metrics of GLUE, and the files behind
    an address of transformers; the repository of huggingface_hub that was a clone of git, as far as it is cloned and
    pushed, and the folder of its token; the optimizer and the schedules of `pytorch_pretrained_bert`, where a run missed
    that package.

    Fix safety: safe for the check of a target and the device map; else unsafe: the code is another one, though it does
    the same, and the data set was removed for reasons.

    References: https://scikit-learn.org/1.1/modules/generated/sklearn.datasets.load_boston.html,
    https://github.com/keras-team/keras/releases/tag/v2.12.0, https://www.adriangb.com/scikeras/stable/migration.html,
    https://docs.scipy.org/doc/scipy/release/1.2.0-notes.html,
    https://huggingface.co/docs/huggingface_hub/concepts/git_vs_http.
    """

    code = "DNF571"
    name = "removed-definition"
    message = "{name} was removed: {what}"
    formerly = ("definition-taken-away", "DNF515", "removed-target-check")
    triggers = tuple(sorted({name.rpartition(".")[2] for name in definition_uses.definitions()}))

    def claims(self, subject: Subject) -> migration.Claims:
        source = subject.source
        found = [node for places in _places(subject).values() for node, _ in places]
        parts = [above for node in found if isinstance(above := source.parent(node), ast.Attribute)]
        return migration.Claims(sites=tuple(source.site(node) for node in (*found, *parts)))

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        for definition, found in _places(subject).items():
            decline = _reason(subject, definition, found)
            yield Hit(
                source.site(found[0][0]),
                self.message.format(name=found[0][1], what=definition.said),
                title=definition.title,
                edits=() if decline else tuple(_edits(subject, definition, found)),
                decline=decline,
                safe=definition.safe,
                deprecated=not definition.removed,
                removed=definition.removed,
                evidence={"old": found[0][1], "reference": definition.reference},
            )

    programs = f"""
=== example: a data set, by its name
import torch
import numpy
- from sklearn.datasets import load_boston, load_iris
+ from sklearn.datasets import load_iris
+ from urllib.request import urlopen
+ from sklearn.utils import Bunch
+
+
{added(definition_uses.definitions()["sklearn.datasets.load_boston"].code.replace("np.", "numpy."))}
+

x, y = load_boston(return_X_y=True)
print(torch.tensor(x).shape, numpy.mean(y), load_iris())

=== example: a network in a search of scikit-learn
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
- from keras.wrappers.scikit_learn import KerasClassifier
from sklearn.model_selection import cross_val_score
+ import inspect
+ from sklearn.base import BaseEstimator, ClassifierMixin
+
+
{added(definition_uses.definitions()["keras.wrappers.scikit_learn.KerasClassifier"].only(["KerasClassifier"]).code)}


def build():
    model = Sequential([Dense(3, activation="softmax")])
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    return model


- estimator = KerasClassifier(build_fn=build, nb_epoch=200, batch_size=5)
+ estimator = KerasClassifier(build_fn=build, epochs=200, batch_size=5)
print(cross_val_score(estimator, np.eye(9), np.arange(9)))

=== example: a private function of the ready-made networks
from keras import backend as K
- from keras.applications.imagenet_utils import _obtain_input_shape
from keras.layers import Input
+
+
{added(definition_uses.definitions()["keras.applications.imagenet_utils._obtain_input_shape"].code)}
+

shape = _obtain_input_shape(None, default_size=224, min_size=48, data_format=K.image_data_format(), include_top=True)
image = Input(shape=shape)

=== example: pictures, in a program that has a function of the same name
import numpy as np
- import scipy.misc
+ import PIL.Image
from keras.layers import Dense


{added(definition_uses.definitions()["scipy.misc.imsave"].only({"bytescale", "toimage", "imsave"}).code.replace("imsave", "scipy_imsave"))}
+
+
def imsave(images, path):
-     return scipy.misc.imsave(path, np.squeeze(images[0]))
+     return scipy_imsave(path, np.squeeze(images[0]))


imsave(np.zeros((1, 8, 8, 1)), "a.png")
- print(scipy.misc.bytescale(np.ones((2, 2))), Dense(1))
+ print(bytescale(np.ones((2, 2))), Dense(1))

=== example: pictures that are resized by a share of their size
import numpy as np
import torch
from PIL import Image
- from scipy import misc
+
+
{added(definition_uses.definitions()["scipy.misc.imresize"].only({"imresize"}).code.replace("PIL.Image.", "Image."))}
+

image = np.asarray(Image.new("RGB", (8, 6)))
- print(torch.from_numpy(misc.imresize(image, 0.5)).shape)
+ print(torch.from_numpy(imresize(image, 0.5)).shape)

=== example: labels of the answers only
from transformers import AutoTokenizer
- from trl.trainer.utils import DataCollatorForCompletionOnlyLM
+ import warnings
+ from transformers import DataCollatorForLanguageModeling
+
+
{added(definition_uses.definitions()["trl.DataCollatorForCompletionOnlyLM"].code)}
+

tokenizer = AutoTokenizer.from_pretrained("gpt2")
collator = DataCollatorForCompletionOnlyLM("### Answer:", tokenizer=tokenizer)

=== example: a repository of the hub that only some runs write to
import os
import torch
- from huggingface_hub import Repository, create_repo
+ from huggingface_hub import create_repo
+ import subprocess
+ from huggingface_hub import HfApi
+
+
{added(definition_uses.definitions()["huggingface_hub.Repository"].code)}
+

if "HUB" in os.environ:
    create_repo("me/net", exist_ok=True)
    repo = Repository("out", clone_from="me/net")
net = torch.nn.Linear(2, 2)
os.makedirs("out", exist_ok=True)
torch.save(net.state_dict(), "out/net.pt")
if "HUB" in os.environ:
    repo.push_to_hub(commit_message="trained", blocking=False, auto_lfs_prune=True)

=== example: examples of a data set, by a nested module
- from transformers.data.processors.utils import DataProcessor, InputExample
+ import csv
+ import json
+ from dataclasses import asdict, dataclass
+ from typing import Any
+
+
{added(definition_uses.definitions()["transformers.InputExample"].only({"InputExample", "DataProcessor"}).code)}


class Reviews(DataProcessor):
    def get_train_examples(self, data_dir):
        return [InputExample(guid=i, text_a=a) for i, a in enumerate(self._read_tsv(data_dir + "/train.tsv"))]

=== reject: other names of the module that had the check
from torch.nn.modules.loss import MSELoss, _Loss


class Own(_Loss):
    pass

=== reject: a function of the program's own
import keras


def load_boston():
    return keras.datasets.boston_housing.load_data()


print(load_boston())

=== reject: the wrappers of scikeras
import keras
from scikeras.wrappers import KerasClassifier

estimator = KerasClassifier(model=keras.Sequential, epochs=3)

=== reject: the program knows both versions
import keras

try:
    from keras.wrappers.scikit_learn import KerasClassifier
except ImportError:
    from scikeras.wrappers import KerasClassifier

estimator = KerasClassifier(build_fn=keras.Sequential)
"""


@once
def _places(subject: Subject) -> dict[definition_uses.Definition, list[tuple[ast.expr | ast.alias, str]]]:
    """By definition, where its names are imported and used, with their full names.

    Imports that nothing uses, or only for a part that has a name of its own today, are another rule's.
    """
    words = frozenset(RemovedDefinition.triggers)
    if subject.source.words.isdisjoint(words):
        return {}
    places: dict[definition_uses.Definition, list[tuple[ast.expr | ast.alias, str]]] = {}
    for node, name in _named(subject, words):
        own = subject.source.module_named(
            name.partition(".")[0]
        )  # a folder of the program's that is called as a package is
        if own is None and name in definition_uses.definitions() and not _plain(subject, name):
            places.setdefault(definition_uses.definitions()[name], []).append((node, name))
    return {
        each: found
        for each, found in places.items()
        if not all(isinstance(node, ast.alias) or uses_of(subject.source).part_lives_on(node) for node, _ in found)
    }


def _named(subject: Subject, words: frozenset[str]) -> Iterator[tuple[ast.expr | ast.alias, str]]:
    """The imports and uses of names that end in one of the words, with their full names."""
    source = subject.source
    uses = uses_of(source)
    for statement in uses.imports():
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if alias.name in words:
                    yield alias, _public(f"{statement.module}.{alias.name}")
    local = {name for name, full in uses.imported.items() if full.rpartition(".")[2] in words}
    for name in uses.names(*(local | words)):
        if isinstance(name.ctx, ast.Load) and (full := source.written(name)):
            yield name, _public(full)
    for attribute in uses.all_attributes():
        if attribute.attr in words and isinstance(attribute.ctx, ast.Load) and (full := source.written(attribute)):
            yield attribute, _public(full)


def _public(name: str) -> str:
    return name.removeprefix("tensorflow.").removeprefix("python.")


def _plain(subject: Subject, name: str) -> bool:
    """Whether another rule replaces all uses by an expression."""
    return name.endswith(("imread", "imresize")) and pictures.pictures_are_plain(subject.source, name)


def _own(subject: Subject, definition: definition_uses.Definition, defined: Iterable[str]) -> set[str]:
    """The names that the program uses for something else."""
    uses = uses_of(subject.source)
    other = {name for name in defined if name in uses.bound}
    return other | {n for n in defined if n in uses.imported and _public(uses.imported[n]) not in definition.names}


def _reason(
    subject: Subject, definition: definition_uses.Definition, found: list[tuple[ast.expr | ast.alias, str]]
) -> str:
    """Why the definition cannot be written into the program."""
    other = _own(subject, definition, definition.defines)
    again = _own(subject, definition, {_apart(definition, name) for name in other})
    if again:
        return f"the program has a {min(other)} of its own"
    asked = {node.value for node in subject.source.nodes(ast.Constant) if isinstance(node.value, str)}
    asked |= {f"--{node.attr}" for node in subject.source.nodes(ast.Attribute)}
    lost = [option for option in definition.options if f"--{option}" in asked]
    for node, name in found:
        call = subject.source.parent(node)
        keywords = call.keywords if isinstance(call, ast.Call) and call.func is node else []
        lost += [word for each in keywords if (word := each.arg) and not definition.takes(name, word)]
    return f"it uses {lost[0]}, for which the definition has nothing" if lost else ""


def _apart(definition: definition_uses.Definition, name: str) -> str:
    """The other name of a definition whose name is taken."""
    return f"{definition.package}_{name.lstrip('_')}"


def _edits(
    subject: Subject, definition: definition_uses.Definition, found: list[tuple[ast.expr | ast.alias, str]]
) -> Iterator[Edit]:
    source = subject.source
    uses = uses_of(source)
    definition = definition.only({definition.name_for(name) for _, name in found})
    other = _own(subject, definition, definition.defines)
    for node, name in found:
        new = definition.name_for(name)
        new = _apart(definition, new) if new in other else new
        if isinstance(node, ast.alias):
            edit = changed_imports.replaced_import(uses, node.asname or node.name)
            if edit is not None:
                yield edit
        elif source.segment(source.site(node)) != new:
            yield Replace(source.site(node), new)
    code = definition.code
    for name in other:
        code = re.sub(rf"\b{name}\b", _apart(definition, name), code)
    for statement in definition.imports:
        package, _, usual = statement.removeprefix("import ").partition(" as ")
        known = next((local for local, imported in uses.imported.items() if imported == package), None)
        if statement.startswith("import ") and known is not None:
            code = re.sub(rf"\b{usual or package}\.", f"{known}.", code)
        elif not _has(uses.imported, statement):
            yield AddImport(statement)
    yield AddDefinition(code)


def _has(imported: Mapping[str, str], statement: str) -> bool:
    """Whether the program has what a from-import brings, from a module below the one that shows it."""
    package, _, name = statement.removeprefix("from ").partition(" import ")
    return imported.get(name, "").startswith(f"{package}.") and imported[name].endswith(f".{name}")
