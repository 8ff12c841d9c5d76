"""Layers written as matrix products have no activation between them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    SetArgument,
    Subject,
    Wrap,
    progress_figures,
    words,
)


class MatrixProductsInARow(ReadTemplate):
    """A classifier that multiplies by its own weights has no activation between its hidden layers.

    `(x W1 + b1) W2 + b2` equals `x W + b`: the hidden layers only add weights, and the decision boundaries stay linear.
    Reported for classifiers where a product with a bias is used only by the next one. A function of the program that
    creates such a layer and has an optional parameter for the activation counts as a layer where none is passed.

    Products without a bias (embeddings, factorizations) are left alone, and so are programs that learn embeddings or
    use an activation anywhere.

    Fix safety: unsafe. The network can represent other functions than before; weights trained before do not fit.

    References: Goodfellow, Bengio, Courville, "Deep Learning", section 6.1 (why a non-linear function is needed).
    """

    code = "DNF330"
    name = "matrix-products-in-a-row"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    only_hinders = True
    message = "the output of {count} goes into the next matrix product without an activation"
    triggers = ("matmul", "mm", "xw_plus_b", "cross_entropy", "CrossEntropyLoss")

    declined = "an activation cannot be added after the hidden layers"

    def read(self, subject: Subject) -> Iterator[Fault]:
        if not any("entropy" in word.lower() for word in subject.source.words):
            return
        if _ACTIVATIONS & subject.source.words or any(_LINEAR.search(word) for word in subject.source.words):
            return
        activation, needed = _activation(subject)
        hidden = sorted(_hidden(subject), key=lambda layer: (layer.lineno, layer.col_offset))
        for argument, layers in {"": hidden, **_unset(subject)}.items():
            sites = [subject.source.site(layer) for layer in layers]
            edits = [
                SetArgument(site, argument, activation) if argument else Wrap(site, f"{activation}(", ")")
                for site in sites
            ]
            number = len(layers)
            words = {"count": "a hidden layer" if number == 1 else f"each of {number} hidden layers"}
            way = f"Put a {activation.rpartition('.')[2]} after each hidden layer", (*edits, *needed), 0.8
            if sites:
                yield Fault(sites[0], words, (way,), confidence=0.8)

    programs = """
=== example: a perceptron in a graph
import tensorflow.compat.v1 as tf

def perceptron(x):
-     hidden = tf.add(tf.matmul(x, w1), b1)
-     deeper = tf.add(tf.matmul(hidden, w2), b2)
+     hidden = tf.nn.relu(tf.add(tf.matmul(x, w1), b1))
+     deeper = tf.nn.relu(tf.add(tf.matmul(hidden, w2), b2))
    return tf.matmul(deeper, w3) + b3

logits = perceptron(x)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))

=== example: weights of torch
import torch
import torch.nn.functional as F

- h1 = x @ w1 + b1
- h2 = torch.mm(F.dropout(h1), w2) + b2
+ h1 = torch.relu(x @ w1 + b1)
+ h2 = torch.relu(torch.mm(F.dropout(h1), w2) + b2)
out = torch.matmul(h2, w3) + b3
loss = F.cross_entropy(out, y)

=== example: a function that creates layers is called without an activation
import tensorflow as tf

def add_layer(inputs, in_size, out_size, activation_function=None):
    weights = tf.Variable(tf.random.normal([in_size, out_size]))
    sums = tf.matmul(inputs, weights) + tf.Variable(tf.zeros([1, out_size]))
    if activation_function is None:
        return sums
    return activation_function(sums)

- l1 = add_layer(xs, 2, 10)
+ l1 = add_layer(xs, 2, 10, activation_function=tf.nn.relu)
logits = add_layer(l1, 10, 3)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=ys, logits=logits))

=== reject: activations between
import tensorflow as tf

hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
sums = tf.matmul(hidden, w2) + b2
deeper = tf.nn.sigmoid(sums)
logits = tf.matmul(deeper, w3) + b3
loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)

=== reject: an embedding, and one linear layer
import torch
import torch.nn.functional as F

embedded = onehot @ table
out = embedded @ w + b
loss = F.cross_entropy(out, y)

=== reject: vectors of words
import tensorflow as tf

w1 = tf.Variable(tf.random.normal([words, embedding_size]))
hidden = tf.add(tf.matmul(x, w1), b1)
scores = tf.add(tf.matmul(hidden, w2), b2)
loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=scores)

=== reject: sums that are used again
import torch
import torch.nn.functional as F

a = x @ w1 + b1
gate = torch.sigmoid(a)
out = a @ w2 + b2
loss = F.cross_entropy(out * gate, y)

=== reject: a layer without activation among others
import tensorflow as tf

hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
code = tf.matmul(hidden, w2) + b2
logits = tf.matmul(code, w3) + b3
loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)

=== reject: a function whose layers have their activation
import tensorflow as tf

def layer(inputs, size, act=None):
    sums = tf.matmul(inputs, weight(size)) + bias(size)
    return sums if act is None else act(sums)

hidden = layer(x, 10, act=tf.nn.relu)
logits = layer(hidden, 3)
loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
"""


_PRODUCTS = words("matmul mm")
_SUMS = words("add bias_add")
_PASSING = words("dropout Dropout")
_ACTIVATIONS = words("relu tanh sigmoid elu leaky_relu selu gelu softplus relu6 swish silu")
_LINEAR = re.compile("embed|word2?vec|skip_?gram|cbow|autoencod|factori[sz]", re.IGNORECASE)
"""Names of networks whose hidden layer is linear on purpose: its weights are what is learned."""
_ARGUMENTS = words("activation_function activation act act_fn activation_fn nonlinearity")


def _product(expr: ast.expr) -> ast.expr | None:
    """The input of a matrix product; `None` where the expression is not one."""
    match expr:
        case ast.BinOp(left=left, op=ast.MatMult()):
            return left
        case ast.Call(args=[first, _, *_]) if progress_figures.name_of(expr.func) in _PRODUCTS:
            return first
    return None


def _layer(expr: ast.expr) -> ast.expr | None:
    """The input of a product with a bias; `None` where the expression is not such a layer."""
    match expr:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            entering = [inside for inside in (_product(left), _product(right)) if inside is not None]
            return entering[0] if len(entering) == 1 else None
        case ast.Call(args=[left, right]) if progress_figures.name_of(expr.func) in _SUMS:
            entering = [inside for inside in (_product(left), _product(right)) if inside is not None]
            return entering[0] if len(entering) == 1 else None
        case ast.Call(args=[left, _, _]) if progress_figures.name_of(expr.func) == "xw_plus_b":
            return left
    return None


def _layers(subject: Subject) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The layers of the program and the input of each."""
    source = subject.source
    for node in (*source.nodes(ast.BinOp), *source.all_calls):
        entering = _layer(node)
        if entering is not None:
            yield node, entering


def _value(subject: Subject, name: ast.expr) -> ast.expr | None:
    """The only value of a name that is read only once."""
    source = subject.source
    if not isinstance(name, ast.Name):
        return None
    scope = source.enclosing(name, ast.FunctionDef)
    reads = [
        node
        for node in source.nodes(ast.Name)
        if node.id == name.id and isinstance(node.ctx, ast.Load) and source.enclosing(node, ast.FunctionDef) is scope
    ]
    values = source.bindings(name)
    return values[0] if len(values) == 1 and len(reads) == 1 else None


def _kept(expr: ast.expr) -> ast.expr:
    """The input of a dropout; any other expression itself."""
    dropped = isinstance(expr, ast.Call) and progress_figures.name_of(expr.func) in _PASSING and expr.args
    return expr.args[0] if dropped and isinstance(expr, ast.Call) else expr


def _hidden(subject: Subject) -> Iterator[ast.expr]:
    """Layers whose outputs are used only by the next layer."""
    for _, entering in _layers(subject):
        value = _value(subject, _kept(entering))
        if value is not None and _kept(value) is not value:
            value = _value(subject, _kept(value))
        if value is not None and _layer(value) is not None:
            yield value


def _unset(subject: Subject) -> dict[str, list[ast.expr]]:
    """By activation parameter, consecutive calls of a function that creates a layer, where no activation is passed."""
    source = subject.source
    found: dict[str, list[ast.expr]] = {}
    for call in source.all_calls:
        argument = _taken(subject, call)
        if argument is None:
            continue
        for given in call.args:
            value = _value(subject, given)
            if not isinstance(value, ast.Call) or _taken(subject, value) != argument:
                continue
            same = source.definition(value.func) is source.definition(call.func)
            if same and not _is_set(subject, value, argument):
                found.setdefault(argument, []).append(value)
    return found


def _taken(subject: Subject, call: ast.Call) -> str | None:
    """The optional parameter for the activation of the layer that the called function creates."""
    function = subject.source.definition(call.func)
    if not isinstance(function, ast.FunctionDef) or not function.args.defaults:
        return None
    optional = function.args.args[-len(function.args.defaults) :]
    defaults = dict(zip([one.arg for one in optional], function.args.defaults, strict=True))
    names = [n for n, d in defaults.items() if n in _ARGUMENTS and isinstance(d, ast.Constant) and d.value is None]
    makes = any(isinstance(node, ast.expr) and _layer(node) is not None for node in ast.walk(function))
    return names[0] if len(names) == 1 and makes else None


def _is_set(subject: Subject, call: ast.Call, argument: str) -> bool:
    function = subject.source.definition(call.func)
    place = [one.arg for one in function.args.args].index(argument) if isinstance(function, ast.FunctionDef) else 0
    unknown = any(isinstance(one, ast.Starred) for one in call.args)
    return unknown or len(call.args) > place or any(keyword.arg in (argument, None) for keyword in call.keywords)


def _activation(subject: Subject) -> tuple[str, tuple[AddImport, ...]]:
    """The usual activation, with the program's framework's name for it and the imports it needs."""
    source = subject.source
    if "torch" in source.frameworks:
        return "torch.relu", (AddImport("import torch"),)
    bound = any(name == "tf" for name, _ in source.imported_names)
    return "tf.nn.relu", () if bound else (AddImport("import tensorflow as tf"),)
