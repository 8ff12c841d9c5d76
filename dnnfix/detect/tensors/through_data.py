"""Where a text goes through `.data` of a tensor: to change its values, or to read them.

Much else has an attribute of that name: data sets, batches, requests, modules. So a tensor is known by what made it, else by
what is done with `.data`, else by its usual name.
"""

from __future__ import annotations

import ast
import re

from dnnfix.detect.graph import TENSOR_MAKERS
from dnnfix.detect.loops import structure
from dnnfix.detect.loops.training_loop import function_around
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, names_in

OF_TENSOR = re.compile(
    r"""(^|[._])(p|q|w|b|w\d|b\d|params?\d?|\w*_params?|parameters?|weights?\d?|\w*_weights?|weight_\w+|bias|bias_\w+|grads?|\w*_grad
    |loss(es)?|\w*_loss|loss_\w+|err|err[A-Z]\w*|\w*_err|outputs?|out|\w*_outputs?|output_\w+|logits|preds?|predictions?|\w*_preds?|pred_\w+|hidden|\w*_hidden
    |embeddings?|tensor|[xyzh]\d?|[hc]_?[nt0x]|means?|stds?|sigma|fakes?|fake_\w+|costs?|states|latents?|centers?|prototypes?|inputs?|targets?|labels?|images?|imgs?|mu|logvar|scores?|actions?|values?|state|adv_\w+|perturb\w*|var|log_probs?|probs?|noise|mask|features?|theta|eps|delta|adv|\w*_adv|adv_\w+|x_\w+)(\[[^\]]*\])*$""",
    re.VERBOSE,
)
"""Usual names of tensors."""
OF_OTHERS = re.compile(
    r"""(^|[._])(self|cls|\w*datasets?|\w*sets?\d?|\w*batch(es)?|samples?|\w*loader|mnist\w*|cifar\w*|svhn|iris|digits|housing|boston|\w*request|\w*response
    |resp|res|msg|\w*message|event|args|opt|opts|cfg|config|conf|options|settings|\w*packed\w*|pack|\w*sequence|\w*_seq|node|item|df|form|payload|context
    |images?_?folder|buffer|memory|replay\w*|utils|torchtext|torchvision|skimage|sklearn|mx|mesh|graph|obj|ctypes|fields?|corpus|row|entry|blob|storage
    |train|test|val|valid|bunch|raw|fetch\w*|info|header|file|f|fp|reader|wave|record|body|result_?set|trainer|plot|trace|fig|ax|line|marker)$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Usual names of what has an attribute `data` that is no view of a tensor."""
ONLY_TENSORS = words("""cpu cuda numpy clone item topk detach norm view unsqueeze expand expand_as new new_zeros new_ones type_as
    masked_fill index_select gather storage long double half nelement numel requires_grad masked_select scatter data_ptr
    element_size narrow repeat_interleave contiguous permute chunk eq gt lt ge le ne expm1 sigmoid softmax is_cuda device
    index_copy index_add addmm mm matmul bmm sub mul div add pow_ sign tanh relu""")
"""Attributes that tensors have, and arrays and data sets do not."""
GIVES_TENSOR = words("""view reshape squeeze unsqueeze transpose permute contiguous clone float double half cpu cuda expand gather index_select
    norm mean sum matmul mm bmm log_prob entropy sigmoid tanh softmax log_softmax clamp detach repeat masked_fill exp log""")
"""Methods whose result is a tensor in a text that speaks of torch."""
COPIES = words(
    "clone detach requires_grad_ unsqueeze contiguous masked_fill index_select log_prob sigmoid softmax log_softmax"
)
"""Those of them that nothing else has, so that what a name holds is a tensor if it was made by one."""
CONVERTS = words("half float double bfloat16 to cuda cpu type")
OF_ARRAY = re.compile(r"(^|[._])(to)?(coo|csr|csc|lil|dok|bsr)(_matrix|_array)?$|(^|[._])(masked_array|memmap)$")
"""Makers of matrices and arrays that keep their entries in `data`."""
OF_OTHER_GRADIENTS = words("tinygrad mytorch needle chainer dezero micrograd minitorch nanograd cupy jax mxnet")
"""Libraries of gradients, usually of one's own, whose tensors keep an array in `data`."""
RESHAPES = words("t_ transpose_ unsqueeze_ squeeze_ swapaxes_ swapdims_ resize_ resize_as_ set_ as_strided_")
"""Methods that change the shape, which `.data` does not pass on: a rule of their own reports them."""
PARAMETERS = words("torch.nn.Parameter torch.nn.parameter.Parameter")


@record
class ThroughData:
    """One `tensor.data`; `changes` says that the values of the tensor are changed by it, `initializes` that a function of `nn.init` does so."""

    node: ast.Attribute
    statement: ast.stmt
    changes: bool
    initializes: bool = False


@once
def uses(source: Source) -> tuple[ThroughData, ...]:
    """Each `.data` of a tensor in the text, in source order."""
    if "data" not in source.words or not ({"torch"} & source.frameworks or not source.frameworks):
        return ()
    if "torch" not in source.words and _has_other_tensors(source):
        return ()
    found = []
    for node in source.nodes(ast.Attribute):
        if node.attr != "data" or not _is_of_tensor(source, node):
            continue
        last = _outermost(source, node)
        if (isinstance(last, ast.Attribute) and last.attr in RESHAPES) or _is_converted(source.statement_of(node)):
            continue
        initializes = _is_initialized(source, node)
        found.append(
            ThroughData(node, source.statement_of(node), initializes or _is_changed(source, node), initializes)
        )
    return tuple(found)


@once
def _has_other_tensors(source: Source) -> bool:
    """Whether a text without a word of torch has gradients of its own, or those of another library: arrays, numbers and classes of them."""
    if not OF_OTHER_GRADIENTS.isdisjoint(source.words):
        return True
    if any(each.name in ("Tensor", "Value", "Variable", "Parameter") for each in source.nodes(ast.ClassDef)):
        return True
    statements: list[ast.Assign | ast.AugAssign] = [*source.nodes(ast.Assign), *source.nodes(ast.AugAssign)]
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        held = {each.attr for target in targets for each in ast.walk(target) if isinstance(each, ast.Attribute)}
        is_number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, (int, float))
        by_numpy = any((source.qualified(call.func) or "").startswith("numpy.") for call in _calls(node.value))
        if ("grad" in held and is_number) or (held & {"grad", "data"} and by_numpy):
            return True
    return False


def _is_converted(statement: ast.stmt) -> bool:
    """Whether a statement moves or casts a tensor in its place, as `nn.Module` does: its values stay, and nothing else can do that."""
    if not isinstance(statement, ast.Assign) or not isinstance(call := statement.value, ast.Call):
        return False
    of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in CONVERTS else None
    return of is not None and ast.unparse(of) in [ast.unparse(target) for target in statement.targets]


def _is_of_tensor(source: Source, node: ast.Attribute) -> bool:
    """Whether what has this attribute is a tensor."""
    of, above = node.value, source.parent(node)
    if isinstance(of, (ast.Constant, ast.Dict, ast.List)) or source.qualified(node) is not None:
        return False
    if isinstance(above, ast.Attribute) and above.attr[:1].isupper():
        return False  # `utils.data.DataLoader`
    if isinstance(of, (ast.Name, ast.Attribute)) and source.qualified(of) is not None:
        return False
    chosen = of.value if isinstance(of, ast.Subscript) else None
    is_maximum = isinstance(chosen, ast.Call) and last_name(chosen.func) in ("max", "min", "topk", "sort")
    if is_maximum or isinstance(of, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    given = above.value if isinstance(above, ast.Assign) and node in above.targets else None
    if isinstance(given, ast.Call) and (source.qualified(given.func) or "").startswith("numpy."):
        return False  # a tensor takes no array
    text = ast.unparse(of)
    if re.search(r"\.(grad|weight|bias)$", text) or _is_parameter(source, of):
        return True
    if OF_OTHERS.search(text) and not isinstance(of, ast.Call):
        return False
    made = source.constructor(of) if isinstance(of, (ast.Name, ast.Attribute)) else of
    if isinstance(made, ast.Call):
        if OF_ARRAY.search(ast.unparse(made.func)):
            return False
        known = GIVES_TENSOR if made is of else COPIES
        if isinstance(made.func, ast.Attribute) and made.func.attr in known:
            return True
        name = source.qualified(made.func) or ""
        if name in TENSOR_MAKERS | PARAMETERS or name.startswith(("torch.nn.functional.", "torch.autograd.")):
            return True
        if structure.is_network(source, made.func) or _is_loss(source, made.func):
            return True
        if made is not of and name and not name.startswith("torch."):
            return False
    if isinstance(of, ast.Name) and _is_computed(source, of):
        return True
    return _is_used_as_tensor(source, node) or bool(OF_TENSOR.search(text) and _is_bare(source, node))


def _is_computed(source: Source, name: ast.Name) -> bool:
    """Whether a name holds what was computed with tensors, where its own `.data` takes its place (`a = a.data`)."""
    here = source.statement_of(name)
    if not isinstance(here, ast.Assign) or ast.unparse(here.targets[0]) != name.id or "torch" not in source.frameworks:
        return False
    around = function_around(source, name)
    before = [
        each.value
        for each in source.nodes(ast.Assign)
        if each.lineno < here.lineno
        and name.id in [ast.unparse(target) for target in each.targets]
        and function_around(source, each) is around
    ]
    last = before[-1] if before else None
    by_torch = isinstance(last, ast.Call) and (source.qualified(last.func) or "").startswith("torch.")
    return by_torch or isinstance(last, ast.BinOp)


def _is_loss(source: Source, called: ast.expr) -> bool:
    """Whether what is called computes a loss."""
    made = source.constructor(called) if isinstance(called, (ast.Name, ast.Attribute)) else None
    name = source.qualified(made.func) or "" if made is not None else ast.unparse(called)
    return bool(re.search(r"Loss$|criterion|loss_f", name))


def _is_parameter(source: Source, of: ast.expr) -> bool:
    """Whether a name stands for each parameter of a network in turn."""
    if not isinstance(of, ast.Name):
        return False
    above: ast.AST | None = source.parent(of)
    while above is not None:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(above, (ast.For, ast.AsyncFor)):
            pairs = [(above.target, above.iter)]
        elif isinstance(above, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            pairs = [(each.target, each.iter) for each in above.generators]
        for target, over in pairs:
            if of.id in names_in(target):
                text = ast.unparse(over)
                return bool(re.search(r"param|\bweights\b|state_dict\(\)", text) or OF_TENSOR.search(text))
        above = source.parent(above)
    return False


def _is_used_as_tensor(source: Source, node: ast.Attribute) -> bool:
    """Whether something is done with `.data` that is done with tensors alone."""
    above = source.parent(node)
    if isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.Tuple):
        return True
    if isinstance(above, ast.AugAssign) and above.target is node:
        return not isinstance(above.op, ast.Add) or isinstance(above.value, ast.Constant)
    if isinstance(above, ast.Attribute):
        if above.attr == "size":
            return source.is_called(above)
        in_place = above.attr.endswith("_") and not above.attr.startswith("_")
        return (in_place or above.attr in ONLY_TENSORS) and (source.is_called(above) or above.attr == "is_cuda")
    if isinstance(above, ast.Call) and node in above.args:
        name = source.qualified(above.func) or ""
        return name.startswith("torch.") and not name.startswith(
            ("torch.utils.", "torch.autograd.", "torch.save", "torch.tensor", "torch.from_numpy", "torch.as_tensor")
        )
    if isinstance(above, ast.Assign) and node in above.targets:
        return any(
            (source.qualified(call.func) or "").startswith("torch.") for call in _calls(above.value)
        ) or ".data" in ast.unparse(above.value)
    return False


def _calls(expr: ast.expr) -> list[ast.Call]:
    return [node for node in ast.walk(expr) if isinstance(node, ast.Call)]


def _is_bare(source: Source, node: ast.Attribute) -> bool:
    """Whether `.data` is used as it is, indexed or computed with: by no attribute that says what it is."""
    above = source.parent(node)
    return not isinstance(above, ast.Attribute) or source.is_called(above)


def _outermost(source: Source, node: ast.expr) -> ast.expr:
    """The last attribute, index or call of the chain that starts with a node, without a call that ends it."""
    last = node
    while True:
        above = source.parent(last)
        called = isinstance(above, ast.Call) and above.func is last and isinstance(source.parent(above), ast.Attribute)
        chained = isinstance(above, (ast.Attribute, ast.Subscript)) and above.value is last
        if not isinstance(above, ast.expr) or not (called or chained):
            return last
        last = above


def _is_changed(source: Source, node: ast.Attribute) -> bool:
    """Whether the tensor's values are changed: by an assignment, or by a method with an underscore."""
    last: ast.expr = node
    while True:
        above = source.parent(last)
        if isinstance(above, ast.Subscript) and above.value is last:
            last = above
        elif (
            isinstance(above, ast.Attribute)
            and isinstance(call := source.parent(above), ast.Call)
            and call.func is above
        ):
            if above.attr.endswith("_") and not above.attr.startswith("_"):
                return True
            if above.attr not in ("view", "narrow", "select", "t", "squeeze", "unsqueeze"):
                return False
            last = call
        else:
            break
    if isinstance(above, ast.Assign):
        return any(last is each for target in above.targets for each in (target, *getattr(target, "elts", ())))
    return isinstance(above, ast.AugAssign) and above.target is last


def _is_initialized(source: Source, node: ast.Attribute) -> bool:
    """Whether a function of `torch.nn.init` is given `.data`."""
    above = source.parent(node)
    if not isinstance(above, ast.Call) or node not in above.args:
        return False
    name = source.qualified(above.func) or ast.unparse(above.func)
    return bool(re.search(r"(^|\.)init\.\w+$|^(xavier|kaiming|orthogonal)\w*$", name))
