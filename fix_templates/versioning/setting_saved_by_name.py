"""`"init": self.init.__name__`: a custom layer saves its initializer by name, or a regularizer's bare configuration."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, Source, Subject, uses_of

GETTERS = {
    "keras.initializers.get": "initializers",
    "keras.initializations.get": "initializers",
    "keras.regularizers.get": "regularizers",
    "keras.constraints.get": "constraints",
}


MODULES = frozenset({"initializers", "initializations", "regularizers", "constraints"})


class SettingSavedByName(ApiChange):
    """A custom layer saves an initializer, regularizer or constraint in a form that Keras 3 cannot restore.

    Initializers were functions in Keras 1; since Keras 2 they are objects, whose `__name__` raises when the model is
    saved. The bare `get_config()` of a regularizer or constraint no longer says which class it is of. `serialize`
    returns what `get` restores, and `None` for `None`.

    Fix safety: unsafe: the saved configuration has another form, which later versions of Keras read.

    References: https://keras.io/api/layers/initializers/, https://keras.io/guides/serialization_and_saving/.
    """

    code = "DNF564"
    name = "setting-saved-by-name"
    message = "Keras 3 cannot restore {setting} from {expression}"
    triggers = ("__name__", "get_config")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or source.words.isdisjoint(MODULES):
            return
        for attribute in source.nodes(ast.Attribute):
            node: ast.expr = attribute
            if attribute.attr == "get_config":
                call = source.parent(attribute)
                method = source.enclosing(attribute, ast.FunctionDef)
                if not isinstance(call, ast.Call) or method is None or method.name != "get_config":
                    continue
                node = call
            elif attribute.attr != "__name__":
                continue
            module = _made_by(source, attribute.value)
            initializer = module is not None and module.endswith(("initializers", "initializations"))
            if module is None or attribute.attr == "__name__" and not initializer:
                continue
            above = source.parent(node)
            if isinstance(above, ast.IfExp) and above.body is node and _is_none(above.orelse):
                node = above  # `x.get_config() if x else None`
            setting = source.segment(source.site(attribute.value))
            yield Hit(
                source.site(node),
                self.message.format(expression=source.segment(source.site(node)), setting=setting),
                title=f"save {setting} with serialize",
                edits=(Replace(source.site(node), f"{_today(subject, module)}.serialize({setting})"),),
                removed={"keras": "2.0"},
            )

    programs = """
=== example: a layer of Keras 1
from keras import initializers, regularizers
from keras.layers import Layer


class Scaled(Layer):
    def __init__(self, init="uniform", W_regularizer=None, **kwargs):
        self.init = initializers.get(init)
        self.W_regularizer = regularizers.get(W_regularizer)
        super().__init__(**kwargs)

    def get_config(self):
-         config = {"init": self.init.__name__,
-                   "W_regularizer": self.W_regularizer.get_config() if self.W_regularizer else None}
+         config = {"init": initializers.serialize(self.init),
+                   "W_regularizer": regularizers.serialize(self.W_regularizer)}
        return dict(list(super().get_config().items()) + list(config.items()))

=== example: through the former name of the module
- from keras import initializations
+ from keras import initializers
from keras.layers import Layer


class Shift(Layer):
    def __init__(self, init, **kwargs):
-         self.init = initializations.get(init)
+         self.init = initializers.get(init)
        super(Shift, self).__init__(**kwargs)

    def get_config(self):
        config = super(Shift, self).get_config()
-         config["init"] = self.init.__name__
+         config["init"] = initializers.serialize(self.init)
        return config

=== example: a constraint, with the library as a whole
import keras


class Bounded(keras.layers.Layer):
    def __init__(self, bound="non_neg", **kwargs):
        super().__init__(**kwargs)
        self.bound = keras.constraints.get(bound)

    def get_config(self):
-         return {**super().get_config(), "bound": self.bound.get_config()}
+         return {**super().get_config(), "bound": keras.constraints.serialize(self.bound)}

=== reject: activations are functions still
from keras import activations, initializers
from keras.layers import Layer


class Gate(Layer):
    def __init__(self, activation="tanh", **kwargs):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)
        self.init = initializers.get("zeros")

    def get_config(self):
        return {"activation": self.activation.__name__, "init": initializers.serialize(self.init)}

=== reject: names of classes and functions
from keras import initializers


def describe(loss):
    print(loss.__name__, initializers.get("zeros").__class__.__name__)
"""


def _made_by(source: Source, setting: ast.expr) -> str | None:
    """The module whose `get` returned a setting, as the program writes it; `None` for anything else."""
    made = source.constructor(setting)
    if made is None or not isinstance(made.func, ast.Attribute) or source.qualified(made.func) not in GETTERS:
        return None
    return source.segment(source.site(made.func.value))


def _today(subject: Subject, module: str) -> str:
    """How the module is written once the program is migrated."""
    owner, dot, last = module.rpartition(".")
    return f"{owner}{dot}{GETTERS.get(f'keras.{last}.get', last)}" if not _renamed(subject, module) else module


def _renamed(subject: Subject, module: str) -> bool:
    """Whether the program imports the module under another name, which stays."""
    meant = uses_of(subject.source).imported.get(module)
    return meant is not None and meant.rpartition(".")[2] != module


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
