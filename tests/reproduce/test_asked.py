"""What a program is called with that goes on without an argument, as if it had been given: a path, or what it insists on."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.records import EditStep
from dnnfix.reproduce.actions import hyperparameters
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.data.followed import flow_of
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

FLAGS = "import os\nimport numpy as np\nimport tensorflow as tf\nflags = tf.app.flags\nFLAGS = flags.FLAGS\n"
PARSER = "import argparse, os\nimport numpy as np\nimport tensorflow as tf\nparser = argparse.ArgumentParser()\n"


def called_with(text: str) -> tuple[str, ...]:
    source = Source.from_bytes(text.encode(), "program.py")
    found = hyperparameters.steps(Case(source, (), lambda name: True, Path("/nowhere")))
    return joined([step for step in found if isinstance(step, EditStep)]).arguments


GIVEN = {
    "a flag without a default that a function reads": (
        FLAGS + "flags.DEFINE_string('train', None, '')\ndef rows(path):\n    return [line for line in open(path)]\n"
        "def main(argv=None):\n    data = rows(FLAGS.train)\ntf.app.run()\n",
        ("--train=made/train",),
    ),
    "a flag that the program insists on": (
        FLAGS + "flags.DEFINE_string('data_path', None, '')\ndef main(_):\n    if not FLAGS.data_path:\n"
        "        raise ValueError('Must set --data_path')\n    words = open(os.path.join(FLAGS.data_path, 'train.txt'))\ntf.app.run()\n",
        ("--data_path=made/data_path",),
    ),
    "a number that it insists on": (
        FLAGS
        + "flags.DEFINE_integer('num_copies', None, '')\nassert FLAGS.num_copies is not None\nprint(FLAGS.num_copies)\n",
        ("--num_copies=1",),
    ),
    "an argument of argparse, kept on the object": (
        PARSER
        + "parser.add_argument('--images')\nargs = parser.parse_args()\nclass Reader:\n    def __init__(self, folder):\n"
        "        self.folder = folder\n    def names(self):\n        return os.listdir(self.folder)\nReader(args.images).names()\n",
        ("--images", "made/images"),
    ),
    "a table": (
        PARSER
        + "import pandas as pd\nparser.add_argument('-i', '--input', type=str)\nargs = vars(parser.parse_args())\n"
        "frame = pd.read_csv(args['input'])\n",
        ("--input", "made/input.csv"),
    ),
    "a test that asserts that it is not so": (
        PARSER + "parser.add_argument('--corpus')\nargs = parser.parse_args()\nif not args.corpus:\n"
        "    assert False, 'no corpus'\nprint(open(args.corpus).read())\n",
        ("--corpus", "made/corpus"),
    ),
    "a test that ends the program": (
        PARSER
        + "import sys\nparser.add_argument('--corpus', default='')\nargs = parser.parse_args()\nif args.corpus == '':\n"
        "    parser.print_help()\n    sys.exit()\nprint(open(args.corpus).read())\n",
        ("--corpus", "made/corpus"),
    ),
    "one of two, the one that is loaded from the hub": (
        PARSER
        + "parser.add_argument('--train_dir')\nparser.add_argument('--dataset_name')\nargs = parser.parse_args()\n"
        "if args.train_dir is None and args.dataset_name is None:\n    raise ValueError('name one')\n"
        "if args.train_dir is not None and args.dataset_name is not None:\n    raise ValueError('name only one')\n"
        "names = os.listdir(args.train_dir or args.dataset_name)\nprint(os.listdir(args.train_dir))\n",
        ("--dataset_name", "made/dataset_name"),
    ),
    "one of two that are asserted": (
        PARSER + "parser.add_argument('--resume')\nparser.add_argument('--corpus')\nargs = parser.parse_args()\n"
        "assert args.resume or args.corpus, 'name one'\n",
        ("--corpus", "made/corpus"),
    ),
    "just one of two": (
        PARSER + "parser.add_argument('--corpus')\nparser.add_argument('--words')\nargs = parser.parse_args()\n"
        "if (args.corpus is None) == (args.words is None):\n    parser.error('name one')\n",
        ("--corpus", "made/corpus"),
    ),
    "each of two": (
        PARSER + "parser.add_argument('--corpus')\nparser.add_argument('--words')\nargs = parser.parse_args()\n"
        "if args.corpus is None or args.words is None:\n    parser.error('name both')\n",
        ("--corpus", "made/corpus", "--words", "made"),
    ),
    "one of two that exclude each other": (
        PARSER
        + "parser.add_argument('--small', action='store_true')\nparser.add_argument('--large', action='store_true')\n"
        "args = parser.parse_args()\nif args.small and args.large:\n    raise ValueError('only one')\n"
        "if args.small:\n    size = 1\nif args.large:\n    most = 2\nprint(size, most)\n",
        ("--small",),
    ),
    "a value whose option is spoken of": (
        PARSER
        + "parser.add_argument('--corpus', required=True, help='--corpus is needed; --corpus with --words, --corpus instead.')\n"
        "args = parser.parse_args()\n",
        ("--corpus", "made/corpus"),
    ),
    "what another one asks for that has a value": (
        PARSER
        + "parser.add_argument('--prompt', default='a')\nparser.add_argument('--picture')\nargs = parser.parse_args()\n"
        "if args.prompt and not args.picture:\n    raise ValueError('a picture')\n",
        ("--picture", "made"),
    ),
    "the last of a chain": (
        PARSER + "parser.add_argument('--corpus')\nparser.add_argument('--model_name')\nargs = parser.parse_args()\n"
        "if args.corpus:\n    print(1)\nelif args.model_name:\n    print(2)\nelse:\n    raise SystemExit('name one')\n",
        ("--model_name", "made/model_name"),
    ),
    "one that the program has, of a name that it does not know": (
        PARSER + "parser.add_argument('--corpus')\nargs = parser.parse_args()\nwords = None\n"
        "if words is None and args.corpus is None:\n    raise ValueError('name one')\n",
        ("--corpus", "made/corpus"),
    ),
    "a switch of several": (
        PARSER
        + "parser.add_argument('--do_predict', action='store_true')\nparser.add_argument('--do_count', action='store_true')\n"
        "args = parser.parse_args()\nif not (args.do_predict or args.do_count):\n    raise ValueError('do something')\n",
        ("--do_count",),
    ),
    "a text that is taken apart": (
        PARSER + "parser.add_argument('--folder')\nargs = parser.parse_args()\nprint(args.folder.split('/')[-1])\n",
        ("--folder", "made/folder"),
    ),
    "what keeps a program from taking a text apart": (
        PARSER + "parser.add_argument('--words')\nparser.add_argument('--dataset_name')\nargs = parser.parse_args()\n"
        "if args.dataset_name is not None:\n    print(1)\nelse:\n    print(args.words.split('.')[-1])\n",
        ("--dataset_name", "made/dataset_name"),
    ),
    "one of a group": (
        PARSER + "group = parser.add_mutually_exclusive_group(required=True)\ngroup.add_argument('--checkpoint')\n"
        "group.add_argument('--corpus')\nargs = parser.parse_args()\n",
        ("--corpus", "made/corpus"),
    ),
}

LEFT = {
    "asked for before it is read": FLAGS
    + "flags.DEFINE_string('data', None, '')\nif FLAGS.data:\n    print(open(FLAGS.data).read())\n",
    "another value in its place": FLAGS
    + "flags.DEFINE_string('data', None, '')\npath = FLAGS.data or 'x.txt'\nprint(open(path).read())\n",
    "an empty part of a path": FLAGS
    + "flags.DEFINE_string('base', '', '')\nprint(open(os.path.join(FLAGS.base, 'x.txt')).read())\n",
    "no path": PARSER
    + "parser.add_argument('--seed', type=int)\nargs = parser.parse_args()\nnp.random.seed(args.seed)\n",
    "one of two, of which the other has a default": PARSER
    + "parser.add_argument('--corpus')\nparser.add_argument('--words', default='a b')\nargs = parser.parse_args()\n"
    "if args.corpus is None and args.words is None:\n    raise ValueError('name one')\n",
    "one of a group that may be left out": PARSER
    + "group = parser.add_mutually_exclusive_group()\ngroup.add_argument('--corpus')\nargs = parser.parse_args()\n",
    "what only another one asks for": PARSER
    + "parser.add_argument('--prompt')\nparser.add_argument('--picture')\nparser.add_argument('--push', action='store_true')\n"
    "args = parser.parse_args()\nif args.prompt is not None and args.picture is None:\n    raise ValueError('a picture')\n"
    "if args.push and not args.prompt:\n    raise ValueError('a prompt')\n",
    "a switch for what is read under the same switch": PARSER
    + "parser.add_argument('--prior', action='store_true')\nargs = parser.parse_args()\n"
    "if args.prior:\n    classes = 2\nfor row in range(3):\n    if row and args.prior:\n        print(classes)\n",
    "what is asked for under a switch that is off": PARSER
    + "parser.add_argument('--prior', action='store_true')\nparser.add_argument('--folder')\nargs = parser.parse_args()\n"
    "if args.prior:\n    if args.folder is None:\n        raise ValueError('a folder')\n",
    "a service that no run has": PARSER
    + "parser.add_argument('--push_to_hub', action='store_true')\nparser.add_argument('--report_to', default='disk')\n"
    "args = parser.parse_args()\nif args.push_to_hub:\n    name = 'a'\nif args.report_to == 'wandb':\n    np.evaluate()\n"
    "if args.push_to_hub:\n    print(name)\n",
    "a text that is taken apart where it is there": PARSER
    + "parser.add_argument('--words')\nparser.add_argument('--more')\nargs = parser.parse_args()\nif args.words is not None:\n"
    "    print(args.words.split())\nprint(args.more and args.more.lower())\n",
    "a text that a function takes apart, which is called where it is there": PARSER
    + "parser.add_argument('--resume')\nargs = parser.parse_args()\ndef load(path):\n    print(path.split('/'))\n"
    "if args.resume:\n    load(args.resume)\n",
    "a file that one of two names": PARSER
    + "parser.add_argument('--train')\nparser.add_argument('--more')\nargs = parser.parse_args()\n"
    "def read(path, text=False):\n    if path:\n        print(open(path if text else path).read())\n"
    "read(args.train)\n",
    "a default": PARSER
    + "parser.add_argument('--data', default='x.txt')\nargs = parser.parse_args()\nopen(args.data)\n",
}


@pytest.mark.parametrize("name", GIVEN)
def test_an_argument_that_is_needed_is_given(name: str) -> None:
    text, arguments = GIVEN[name]
    assert called_with(text) == arguments


@pytest.mark.parametrize("name", LEFT)
def test_an_argument_that_may_be_left_out_is_left_out(name: str) -> None:
    assert called_with(LEFT[name]) == ()


def test_a_path_that_a_module_beside_has_is_followed_though_it_does_more() -> None:
    beside = b"import transformers\nROWS = '/root/rows.csv'\nTOOL = transformers.BertTokenizer.from_pretrained('a')\n"
    text = b"import config\nimport pandas as pd\nprint(pd.read_csv(config.ROWS).review)\n"
    source = Source.from_bytes(text, "program.py").along_with([Source.from_bytes(beside, "config.py")])
    assert [(datum.kind, datum.path) for datum in flow_of(source, (), ()).data] == [("table", "/root/rows.csv")]


def test_data_is_followed_into_the_main_function_with_what_the_program_is_called_with() -> None:
    text = (
        FLAGS
        + "flags.DEFINE_string('train', None, '')\ndef main(_):\n    for line in file(FLAGS.train):\n        print(line)\ntf.app.run()\n"
    )
    flow = flow_of(Source.from_bytes(text.encode(), "program.py"), (), ("--train=made/train",))
    assert [(datum.kind, datum.path, datum.reached) for datum in flow.data] == [("handle", "made/train", True)]
