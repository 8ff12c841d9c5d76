"""What a program is called with where it compares its arguments with words: the word that leads to a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.records import EditStep
from dnnfix.reproduce.actions import hyperparameters
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

NETWORK = "import sys, argparse\nfrom keras.models import Sequential\nmodel = Sequential()\n"
DONE = "def train():\n    model.fit(x, y)\n\ndef generate():\n    model.predict(x)\n\n"


def called_with(text: str) -> tuple[str, ...]:
    source = Source.from_bytes((NETWORK + text).encode(), "program.py")
    found = hyperparameters.steps(Case(source, (), lambda name: True, Path("/nowhere")))
    steps = [step for step in found if isinstance(step, EditStep)]
    assert all(step.evidence for step in steps if step.scaffold.arguments)
    return joined(steps).arguments


PARSER = "parser = argparse.ArgumentParser()\n"

GIVEN = {
    "a word of a table of the program": (
        "KINDS = {'big': 1, 'small': 2}\n"
        + DONE
        + PARSER
        + "parser.add_argument('--kind', type=str)\nargs = parser.parse_args()\n"
        "assert args.kind in list(KINDS.keys()), 'a kind'\ntrain()\n",
        ("--kind", "big"),
    ),
    "a data set that a table of the program has": (
        "COLUMNS = {'of_nobody': ('a', 'b'), 'xsum': ('document', 'summary')}\n"
        + DONE
        + PARSER
        + "parser.add_argument('--dataset_name', required=True)\nargs = parser.parse_args()\n"
        "print(COLUMNS.get(args.dataset_name))\ntrain()\n",
        ("--dataset_name", "xsum"),
    ),
    "no ending of a name": (
        DONE + PARSER + "parser.add_argument('--model', required=True)\nargs = parser.parse_args()\n"
        "print('.ckpt' in args.model)\ntrain()\n",
        ("--model", "made/model"),
    ),
    "a mode of argparse without a default": (
        DONE + "def arguments():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--mode', type=str)\n"
        "    parser.add_argument('--batch_size', type=int, default=128)\n    return parser.parse_args()\n"
        "args = arguments()\nif args.mode == 'generate':\n    generate()\nelif args.mode == 'train':\n    train()\n",
        ("--mode", "train"),
    ),
    "a required mode": (
        DONE + PARSER + "parser.add_argument('-m', '--mode', required=True)\nargs = vars(parser.parse_args())\n"
        "if args['mode'] in ('test', 'generate'):\n    generate()\nelse:\n    train()\n",
        ("--mode", "train"),
    ),
    "a positional word that has other names": (
        DONE + PARSER + "parser.add_argument('phase')\nphase = parser.parse_args().phase\n"
        "if phase == 'sample':\n    generate()\nif phase == 'optimise':\n    train()\n",
        ("optimise",),
    ),
    "a mode whose default only evaluates": (
        DONE + PARSER + "parser.add_argument('--mode', default='test')\nmode = parser.parse_args().mode\n"
        "if mode == 'train':\n    train()\nelif mode == 'test':\n    generate()\n",
        ("--mode", "train"),
    ),
    "a word that the parser insists on": (
        DONE + PARSER + "parser.add_argument('--phase', default='')\nargs = parser.parse_args()\n"
        "if args.phase == 'learn':\n    train()\nelif args.phase == 'sample':\n    generate()\n"
        "else:\n    parser.error('no phase')\n",
        ("--phase", "learn"),
    ),
    "a switch of argparse": (
        DONE + PARSER + "parser.add_argument('--train', action='store_true')\nargs = parser.parse_args()\n"
        "if args.train:\n    train()\nelse:\n    generate()\n",
        ("--train",),
    ),
    "commands of argparse": (
        DONE + PARSER + "sub = parser.add_subparsers(dest='command')\none = sub.add_parser('sample')\n"
        "one.add_argument('weights')\ntwo = sub.add_parser('train')\ntwo.add_argument('--epochs', type=int, required=True)\n"
        "args = parser.parse_args()\nif args.command == 'train':\n    train()\nelse:\n    generate()\n",
        ("train", "--epochs", "2"),
    ),
    "a word that is looked for": (
        "if '--predict' in sys.argv:\n    model.predict(x)\nif '--train' in sys.argv:\n    model.fit(x, y)\n",
        ("--train",),
    ),
    "a word that is looked for behind the name": (DONE + "if 'learn' in sys.argv[1:]:\n    train()\n", ("learn",)),
    "a word by its place": (DONE + "if sys.argv[1] == 'g':\n    generate()\nelif sys.argv[1] == 't':\n    train()\n", ("t",)),
    "a word by its place and name": (
        DONE + "mode = sys.argv[1].lower()\nif mode != 'train':\n    generate()\nelse:\n    train()\n",
        ("train",),
    ),
    "a word that is asked for": (
        DONE + "if len(sys.argv) > 1 and sys.argv[1] == 'fit':\n    train()\nelse:\n    generate()\n",
        ("fit",),
    ),
    "a match": (
        DONE + "match sys.argv[1]:\n    case 'test':\n        generate()\n    case 'train':\n        train()\n",
        ("train",),
    ),
    "a flag of TensorFlow": (
        "import tensorflow as tf\n" + DONE + "flags = tf.app.flags\nFLAGS = flags.FLAGS\n"
        "flags.DEFINE_string('mode', None, 'what to do')\nflags.DEFINE_boolean('verbose', False, '')\n"
        "def main(_):\n    if FLAGS.mode == 'train':\n        train()\n    else:\n        generate()\ntf.app.run()\n",
        ("--mode=train",),
    ),
    "a switch of TensorFlow": (
        "import tensorflow as tf\n" + DONE + "tf.flags.DEFINE_bool('is_train', False, 'train or not')\n"
        "if tf.flags.FLAGS.is_train:\n    train()\nelse:\n    generate()\n",
        ("--is_train=True",),
    ),
    "a switch that a name waits for": (
        DONE + PARSER + "parser.add_argument('--train', action='store_true')\n"
        "parser.add_argument('--prune', action='store_true')\nargs = parser.parse_args()\n"
        "if args.train:\n    net = build()\nelif args.prune:\n    net = load('net')\nrefined(net)\ntrain()\n",
        ("--train",),
    ),
    "a word that a name waits for": (
        DONE + PARSER + "def other():\n    net = 0\nparser.add_argument('--net', default='')\n"
        "args = parser.parse_args()\nif args.net == 'small':\n    net = 1\nelif args.net == 'large':\n    net = 2\ntrain(net)\n",
        ("--net", "small"),
    ),
    "a word without which the program ends": (
        DONE + PARSER + "parser.add_argument('--data')\nargs = parser.parse_args()\n"
        "if args.data == 'mnist':\n    x = 1\nelse:\n    raise ValueError(args.data)\ntrain()\n",
        ("--data", "mnist"),
    ),
    "a number that is 0 or 1": (
        DONE + PARSER + "parser.add_argument('phase', type=int)\nphase = parser.parse_args().phase\n"
        "if phase == 0:\n    train()\nelif phase == 1:\n    generate()\n",
        ("0",),
    ),
    "functions as commands": ("import fire\n" + DONE + "fire.Fire()\n", ("train",)),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_the_word_that_leads_to_a_training_is_given(name: str) -> None:
    text, words = GIVEN[name]
    assert called_with(text) == words


NOT_GIVEN = {
    "a word is only logged where none is known": (
        "import logging\n" + DONE + PARSER + "parser.add_argument('--phase', default='')\nargs = parser.parse_args()\n"
        "if args.phase == 'learn':\n    rate = 1\nelif args.phase == 'sample':\n    rate = 2\n"
        "else:\n    logging.error('no phase')\ntrain()\n"
    ),
    "the program trains without it": DONE + "if '--quick' in sys.argv:\n    generate()\nelse:\n    train()\n",
    "it trains whatever it is given": "model.fit(x, y)\nif '--train-more' in sys.argv:\n    model.fit(x, y)\n",
    "the default trains": DONE + PARSER + "parser.add_argument('--mode', default='train')\n"
    "args = parser.parse_args()\nif args.mode == 'train':\n    train()\nelif args.mode == 'fit_all':\n    train()\n",
    "a switch that is about something else": DONE + PARSER + "parser.add_argument('--cuda', action='store_true')\n"
    "args = parser.parse_args()\nif args.cuda:\n    print('GPU')\ntrain()\n",
    "a switch that turns the training off": DONE + PARSER + "parser.add_argument('--no-train', action='store_true')\n"
    "args = parser.parse_args()\nif not args.no_train:\n    train()\n",
    "a name has a value before": DONE + PARSER + "parser.add_argument('--net', default='')\nargs = parser.parse_args()\n"
    "net = 0\nif args.net == 'small':\n    net = 1\ntrain(net)\n",
    "the default gives the name a value": DONE + PARSER + "parser.add_argument('--net', default='large')\n"
    "args = parser.parse_args()\nif args.net == 'small':\n    net = 1\nelif args.net == 'large':\n    net = 2\ntrain(net)\n",
    "an optional word that tests": DONE + "if len(sys.argv) > 1 and sys.argv[1] == 'test':\n    generate()\nelse:\n    train()\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_GIVEN)
def test_nothing_is_given_where(name: str) -> None:
    assert called_with(NOT_GIVEN[name]) == ()


def test_a_prompt_is_answered_with_what_leads_to_a_training() -> None:
    text = DONE + "todo = int(input('What? '))\nif todo == 1:\n    generate()\nelif todo == 2:\n    train()\n"
    source = Source.from_bytes((NETWORK + text).encode(), "program.py")
    found = hyperparameters.steps(Case(source, (), lambda name: True, Path("/nowhere")))
    assert [step.what for step in found if isinstance(step, EditStep)] == ["the prompt 'What?' is answered with '2'"]
