"""Whether a higher or a lower value of a metric is better, by the metric's name.

Names are the only evidence, and a good one: nobody calls an accuracy `loss`. A name that holds words of both kinds
(`acc_loss`), or one that reverses it (`neg_acc`), is left undecided.
"""

from __future__ import annotations

import ast

from dnnfix.source.public_names import words
from dnnfix.source.spelling import words_of

GREATER = words(
    "acc accs accuracy accuracies accu precision recall f1 auc auroc map iou miou dice psnr ssim bleu rouge r2 top1 top5"
)
"""Words of figures that are better the greater they are."""
SMALLER = words("loss losses err error errors mse rmse mae mape perplexity ppl wer cer fid nll bce crossentropy")
"""Words of figures that are better the smaller they are."""
_TURNED = words("neg negative minus inverse inverted inv worst rate time count not")


def better(name: str) -> str:
    """`greater` or `smaller`, whichever is better for a metric of this name; empty where the name does not say."""
    said = frozenset(words_of(name))
    great, small = bool(said & GREATER), bool(said & SMALLER)
    if great == small or said & _TURNED:
        return ""
    return "greater" if great else "smaller"


def name_of(expr: ast.expr) -> str:
    """The name of the value that an expression reads: its last name, or its key in a dictionary; else empty."""
    match expr:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str(name)):
            return name
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            return key if isinstance(key, str) else name_of(value)
        case ast.Subscript(value=value, slice=ast.UnaryOp()):
            return name_of(value)
        case ast.Call(func=ast.Attribute(value=value, attr="item" | "mean" | "cpu" | "numpy" | "detach"), args=[]):
            return name_of(value)
    return ""
