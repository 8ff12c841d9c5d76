"""Command lines that programs show in their text, or READMEs for them, and those that parsers make of classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.records import EditStep
from dnnfix.reproduce.arguments import command_line, parsed_classes, usage
from dnnfix.reproduce.case import Case
from dnnfix.source.program import Source

SHOWN = '''"""Fine-tunes a model.

Usage:

python examples/train.py \\
    --model_name gpt2 \\
    --lr 1e-3 --push_to_hub --deepspeed ds.json
"""
'''

CLASSES = """
from dataclasses import dataclass, field
from transformers import HfArgumentParser, TrainingArguments

@dataclass
class Data:
    rank: int = field(metadata={"help": "its rank"})
    task_name: str = field(default=None)
    dataset_name: str = field(default=None)
    train_file: str = field(default=None)
    words: int = 3

    def __post_init__(self):
        if self.task_name is not None:
            pass
        elif self.dataset_name is None and self.train_file is None:
            raise ValueError("name a task, a data set or a file")

parser = HfArgumentParser((Data, TrainingArguments))
data, training = parser.parse_args_into_dataclasses()
"""


def source(text: str, path: str = "train.py") -> Source:
    return Source.from_bytes(text.encode(), path)


def words(shown: usage.Shown) -> tuple[str, ...]:
    return tuple(word for option in shown.options for word in option)


def test_a_command_line_in_the_text_is_taken_without_what_no_run_can_have() -> None:
    shown = usage.shown(source(SHOWN))
    assert shown is not None
    assert (shown.line, words(shown)) == (5, ("--model_name", "gpt2", "--lr", "1e-3"))
    assert shown.gives("--lr=3") and not shown.gives("--push_to_hub")


@pytest.mark.parametrize(
    "text",
    [
        '"""Trains."""\n',
        "# python train.py --data path/to/data\n",
        "# python one.py --a 1\n# python two.py --a 1\n",
        "# python train.py --name 'without an end\n",
        "# python -c 'print(1)'\n",
    ],
)
def test_what_says_nothing_of_this_program_is_left_alone(text: str) -> None:
    assert usage.shown(source(text)) is None


def test_the_command_of_this_file_is_meant_of_several() -> None:
    shown = usage.shown(source("# python other.py --a 1\n#   torchrun --nproc 2 train.py --b 2\n"))
    assert shown is not None and words(shown) == ("--b", "2")


def test_fields_that_a_parser_has_to_be_given() -> None:
    found = source(CLASSES)
    assert [(one.name, one.kind) for one in parsed_classes.needed(found)] == [("rank", "int"), ("dataset_name", "str")]
    assert parsed_classes.trains_with(found) is not None
    assert not parsed_classes.classes(source("import argparse\nparser = argparse.ArgumentParser('a')\n"))


def test_paths_to_train_on_are_given_and_nothing_is_turned_on_for_some_models_alone() -> None:
    fields = "    train_data_file: str = None\n    eval_data_file: str = None\n    train_log: str = None\n    masked: bool = False\n"
    use = "def read(late=False):\n    path = data.eval_data_file if late else data.train_data_file\n    return Lines(file_path=path)\n"
    test = "if net.kind == 'bert' and not data.masked:\n    raise ValueError('mask')\nif data.train_log:\n    open(data.train_log)\n"
    found = source(CLASSES.replace("    words: int = 3\n", fields) + use + test)
    assert [one.name for one in parsed_classes.needed(found)] == ["rank", "dataset_name", "train_data_file"]
    insisted = source(
        CLASSES.replace("    words: int = 3\n", fields) + "if not data.masked:\n    raise ValueError('mask')\n"
    )
    assert [one.name for one in parsed_classes.needed(insisted)] == ["rank", "dataset_name", "masked"]


def test_fields_of_a_class_of_a_library_are_given_where_a_parser_has_one() -> None:
    read = "print(args.dataset_name)\n"
    parser = "from trl import ScriptArguments, SFTConfig, TrlParser\nparser = TrlParser((ScriptArguments, SFTConfig))\n"
    assert [one.name for one in parsed_classes.needed(source(parser + read))] == ["dataset_name"]
    assert not list(parsed_classes.needed(source("import argparse\nparser = argparse.ArgumentParser()\n" + read)))


def test_the_field_that_several_tests_ask_for_is_the_one_that_is_loaded_from_the_hub() -> None:
    fields = "    tokenizer_name: str = field(default=None)\n    model_name_or_path: str = field(default=None)\n"
    chain = "if data.tokenizer_name:\n    pass\nelif data.model_name_or_path:\n    pass\nelse:\n    raise ValueError('name one')\n"
    found = source(CLASSES.replace("    words: int = 3\n", fields) + chain)
    assert [one.name for one in parsed_classes.needed(found)] == ["rank", "dataset_name", "model_name_or_path"]


README = """# A classifier

```bash
$ pip install -r requirements.txt
$ python other.py --lr 1
$ python tools/train.py cifar --arch small --epochs 300 --resume last.pth --config settings.json
```
"""

PARSER = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("dataset")
parser.add_argument("--arch", required=True)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--width", type=int, required=True, default=5)
parser.add_argument("--resume")
args = parser.parse_args()
"""


def test_a_readme_calls_the_program_where_its_own_text_does_not(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "README.md").write_text(README)
    program = Source.from_bytes(PARSER.encode(), "train.py")
    shown = usage.shown(program, tmp_path / "tools")
    assert shown is not None
    assert shown.where == "README.md, line 6"
    assert shown.options == (("cifar",), ("--arch", "small"), ("--epochs", "300"))
    assert usage.shown(Source.from_bytes(PARSER.encode(), "elsewhere.py"), tmp_path / "tools") is None


def test_numbers_of_a_readme_stand_back_behind_defaults(tmp_path: Path) -> None:
    (tmp_path / "README.rst").write_text("Run ::\n\n    python -m train cifar --arch=small --width 3 --epochs 300\n")
    case = Case(Source.from_bytes(PARSER.encode(), "train.py"), (), lambda name: True, folder=tmp_path)
    given = [step.scaffold.arguments for step in command_line.steps(case) if isinstance(step, EditStep)]
    assert given == [("cifar",), ("--arch=small",), ("--width", "3")]


def test_the_command_line_of_a_report_comes_first_with_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("    python train.py cifar --arch small --width 3\n")
    said = "I train it by\n\npython train.py mnist --arch tiny --width 7 --epochs 1 --resume you_file -h"
    program = Source.from_bytes(PARSER.encode(), "train.py")
    shown = usage.shown(program, tmp_path, said)
    assert shown is not None
    assert shown.where == "the report"
    assert shown.options == (("mnist",), ("--arch", "tiny"), ("--width", "7"), ("--epochs", "1"))
    assert usage.shown(program, tmp_path, "python other.py mnist") == usage.shown(program, tmp_path)


def test_a_shell_script_calls_the_program_where_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "small.sh").write_text(
        "name=small\npython -u train.py \\\n  cifar \\\n  --arch tiny \\\n  --resume $name\n"
    )
    shown = usage.shown(Source.from_bytes(PARSER.encode(), "train.py"), tmp_path)
    assert shown is not None
    assert (shown.where, shown.options) == ("small.sh, line 2", (("cifar",), ("--arch", "tiny")))


def test_a_number_that_is_asked_for_is_none_of_the_words_that_its_name_suggests(tmp_path: Path) -> None:
    program = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--is_training', type=int, required=True)\nparser.parse_args()\n"
    case = Case(Source.from_bytes(program.encode(), "train.py"), (), lambda name: True, folder=tmp_path)
    given = [step.scaffold.arguments for step in command_line.steps(case) if isinstance(step, EditStep)]
    assert given == [("--is_training", "1")]
