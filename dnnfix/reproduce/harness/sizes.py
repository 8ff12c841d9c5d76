"""Values for hyperparameters and constructor arguments, by their names.

What the program or the report states for a name comes first: `hidden_size = 64` in a comment, a default or a keyword of
the same name elsewhere. Other names get a conventional value, and the evidence says that it is a guess.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.reproduce.case import Case
from dnnfix.reproduce.syntax import assigned, comments, shortened
from dnnfix.source.program import Source, once

GUESS = "a guess: nothing tells it, and the value is a usual one"


@dataclass(frozen=True, slots=True)
class Known:
    """A value as Python code, and its evidence."""

    code: str
    evidence: str


_NUMBER = r"-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?"
_VALUE = rf"{_NUMBER}|\.\d+(?:[eE][+-]?\d+)?|True|False|None|\([\d\s,.]+\)|\[[\d\s,.]+\]"

_USUAL: tuple[tuple[str, str], ...] = (
    # training
    (r"(?:mini_?)?batch_?(?:size|sz|len)|bs|bsz|(?:train|test|val|eval)_?batch(?:_?size)?", "32"),
    (r"(?:n|nb|num|max|total|number_of)?_?(?:train(?:ing)?_)?epochs?(?:_num)?|n_?iter(?:ation)?s?|num_iter(?:ation)?s?", "2"),
    (r"(?:n|nb|num)_steps|max_steps|iterations|training_(?:iters|steps)", "40"),
    (r"steps_per_epoch|validation_steps", "4"),
    (r"(?:init(?:ial)?_)?(?:lr|learning_?rate|learn_rate|step_?size_lr)(?:_?[dg])?|base_lr|eta", "0.001"),
    (r"momentum|beta_?1|b1", "0.9"),
    (r"beta_?2|b2", "0.999"),
    (r"weight_?decay|wd|l2(?:_reg\w*)?|reg(?:ularization)?(?:_lambda)?|decay|l2_lambda", "0.0001"),
    (r"(?:random_?)?seed|random_state|manual_seed", "0"),
    (r"(?:\w+_)?(?:dropout|drop_?prob|drop_?rate|droprate|dropout_(?:rate|prob|p)|p_drop\w*)", "0.5"),
    (r"(?:dropout_)?keep_prob(?:ability)?", "0.5"),
    (r"eps|epsilon", "1e-08"),
    (r"(?:lr_?)?gamma|lr_decay(?:_rate)?|decay_rate", "0.9"),
    (r"clip(?:_norm|_value)?|max_(?:grad_)?norm|grad_clip", "1.0"),
    (r"temperature|temp|tau|margin|alpha|scale|lambd\w*|lamb|lam", "1.0"),
    (r"patience|step_size", "5"),
    (r"(?:log|print|save|eval|display|test|val(?:id(?:ation)?)?|report|plot|sample|summary|show|disp|dev)_?(?:interval|every|steps?|freq(?:uency)?|iters?)", "10"),
    (r"early_?stop(?:ping)?(?:_(?:patience|rounds?|steps?))?", "1000"),
    (r"verbose", "0"),
    (r"test_(?:size|split|ratio)|val(?:idation)?_(?:size|split|ratio)", "0.2"),
    (r"num_workers|n_workers|workers", "0"),
    (r"num_gpus?|n_gpus?|ngpu", "0"),
    # shapes
    (r"(?:n|nb|num|number_of|no_of)?_?(?:output_)?(?:class(?:es)?|labels|categories|targets?|tags)|tagset_size|class_num|label_size|nclass(?:es)?|num_cls", "10"),
    (r"n_?outputs?|out(?:put)?_?(?:dim|size|features|units|shape|nodes)|num_outputs?|target_size", "10"),
    (r"(?:in|input|img|image|num|n|nb)?_?(?:channels?|chans)(?:_in)?|in_ch|n_colors|nc|inp_ch|colors", "3"),
    (r"in_planes|inplanes|in_filters|in_maps", "16"),
    (r"out_?(?:channels?|ch|chans)|(?:out_?)?planes|outplanes|(?:n|nb|num)_?(?:filters?|maps|kernels|fmaps|features_out)|filters?|ngf|ndf|base_channels|growth_rate|width_mult", "16"),
    (r"(?:\w+_)?hid(?:den)?_?(?:\w+_)?(?:size|dims?|units?|nodes|layer_size|features|channels|d)?(?:_?\d)?|n_?hid(?:den)?|h_dim|rnn_size|lstm_(?:size|units)|units|num_units|n_units|cell_size|dim_feedforward|d_ff|d_inner|ff_dim|mlp_dim|d_hid|num_hiddens?|hiddens?", "32"),
    (r"(?:vocab(?:ulary)?|voc|dict|dictionary|word|token|src_vocab|trg_vocab|tgt_vocab|input_vocab|output_vocab)_?(?:sz|size|len|length|num)|(?:n|num)_?(?:words|tokens?|embeddings|vocab|users|items|movies|chars)|n_?tokens?|ntok(?:en)?|max_(?:features|words|num_words)|vocab|user_num|item_num", "100"),
    (r"(?:\w+_)?emb(?:ed(?:ding)?)?s?_?(?:sz|size|dims?|dimension|len|length|features)?|emb_?dim|n_?emb(?:d|ed)?\d?|n_?inp|ninp|d_?model|model_?dim|hidden_emb|word_vec_size|d_word_vec|dim|dims", "32"),
    (r"(?:max_?)?(?:seq(?:uence)?|sent(?:ence)?|text|doc(?:ument)?|input_seq|src|trg|tgt)?_?(?:len(?:gth)?)(?:_?max)?|maxlen|max_?len(?:gth)?|seq_?size|time_?steps?|n_steps|lookback|look_back|window(?:_size)?|bptt|num_steps|past_history|block_size|max_position\w*", "20"),
    (r"(?:latent|noise|z|code|bottleneck|encoding|nz)_?(?:dims?|size|features|d)?|nz|n_z", "16"),
    (r"(?:n|nb|num|number_of)_?(?:\w+_)?(?:layers?|blocks?|stacks?)|n_?layers|layers|depth|layer_dim|layer_num", "2"),
    (r"(?:n|nb|num)_?heads?|n_?heads?|heads|h|attention_heads", "4"),
    (r"kernel_?(?:size|sz)?|filter_?(?:size|length)|ksize|k|conv_size", "3"),
    (r"stride|strides|dilation|dilation_rate|groups|expansion|multiplier", "1"),
    (r"padding|pad|pad_?idx|padding_?idx|pad_token|pad_index|start_letter|output_padding", "0"),
    (r"pool_?size|pooling", "2"),
    (r"(?:img|image|input|im|crop|patch|frame)?_?(?:rows|cols|columns|height|width|hw|h|w)|(?:img|image|im|crop|input_image)_?(?:size|dim|shape|sz|res)|resolution", "32"),
    (r"patch_size", "4"),
    (r"(?:n|num|nb|number_of|num_input|input)?_?(?:in(?:put)?|features?|feats?|feat|inputs|attributes|vars|variables|in_feat\w*)_?(?:dims?|size|features|len|length|num|units|nodes|feats?|count)?|x_dim|obs_dim|state_(?:dim|size)|nfeat|n_?in|n_?features|n_?inputs|data_dim|inp(?:ut)?|in_size|num_inputs|in_feats|(?:feature_?)?vec(?:tor)?_?(?:size|dims?|len|length)", "16"),
    (r"action_(?:dim|size|space)|n_actions|num_actions", "4"),
    (r"(?:n|nb|num|number_of)_?(?:samples|examples|data|train|images|sequences|points|train_samples)|sample_size|data_size|n_?data", "200"),
    # switches
    (r"(?:save|keep)_?(?:best|only|all|model)(?:_only)?", "False"),
    (r"(?:use_?|is_?|with_?|no_?)?(?:cuda|gpu|bidirectional|bidirection|debug|pretrained|is_?training|training|train|test|resume|verbose|transpose|causal)", "False"),
    (r"batch_first|(?:use_?|with_?)?bias|shuffle|affine", "True"),
)  # fmt: skip
"""Names and what such a thing is mostly set to: small sizes, so that a network is built and trained in a moment."""

_PATTERNS = tuple((re.compile(rf"(?:{pattern})\Z", re.IGNORECASE), value) for pattern, value in _USUAL)

_DEVICE = re.compile(r"(?:use_?)?(?:cuda|gpu)\Z", re.IGNORECASE)

_OF_NO_SIZE = re.compile(
    r"(?:data|x|y|train|test|input|inputs|targets?|labels?|output|h|w|k|tags|vocab)\Z", re.IGNORECASE
)
"""Names that mean the data itself where they stand alone."""


def value_of(case: Case, name: str, data: bool = False) -> Known | None:
    """The value for a name; `None` where the name has no known meaning.

    `data` tells that a name such as `labels` may as well be an array: then it has no value here.
    """
    bare = name.strip("_")
    if _DEVICE.match(bare):
        return Known(str(case.gpu), "whether there is a GPU")
    if data and _OF_NO_SIZE.match(bare):
        return None
    return stated(case, bare) or usual(bare)


def usual(name: str) -> Known | None:
    """The conventional value of a hyperparameter."""
    for pattern, value in _PATTERNS:
        if pattern.match(name):
            return Known(value, GUESS)
    return None


def stated(case: Case, name: str) -> Known | None:
    """The value that the report, a comment, a docstring or another part of the program states for a name."""
    pattern = re.compile(
        rf"(?<![\w.]){re.escape(name)}\s*(?:=|:|\bis\b|\bof\b)\s*(?P<value>{_VALUE})(?!\w|\.\d)", re.IGNORECASE
    )
    for line, text, _alone in comments(case.source):
        match = pattern.search(text)
        if match:
            return Known(match["value"], f"line {line}: {shortened(text, 80)}")
    match = pattern.search(case.said)
    if match:
        return Known(match["value"], f"the report says `{shortened(match.group(), 80)}`")
    for other, (line, code) in _set_elsewhere(case.source).items():
        if other == name.lower():
            return Known(code, f"line {line}: the program sets {name} to {code} there")
    return None


@once
def _set_elsewhere(source: Source) -> dict[str, tuple[int, str]]:
    """Names in lower case that the program gives one plain value, as a default, a keyword or a constant."""
    values: dict[str, dict[str, int]] = {}
    for name, node in _settings(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            values.setdefault(name.lower(), {}).setdefault(ast.unparse(node), node.lineno)
    return {name: (line, code) for name, given in values.items() if len(given) == 1 for code, line in given.items()}


def _settings(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            pairs = zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True)
            yield from ((argument.arg, default) for argument, default in pairs)
            yield from ((a.arg, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d is not None)
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg, node.value
        elif isinstance(node, ast.Assign) and (name := assigned(node)):
            yield name, node.value
