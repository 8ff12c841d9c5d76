"""What tables by hand know of transformers, accelerate, Lightning and pandas: arguments, forms and blocks, as one patch."""

from __future__ import annotations

import pytest

from dnnfix.config import Settings
from dnnfix.emit.hunks import apply, replacements
from dnnfix.pipeline.check import check_file
from dnnfix.records import FileReport


def checked(text: str) -> FileReport:
    return check_file(text.encode(), "program.py", Settings())


def patched(text: str) -> str:
    """The program with the first patch of the check, which repairs what is outdated together."""
    return apply(text.encode(), replacements(checked(text).patches[0].diff)).decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("overwrite_output_dir=True", ""),
        ("logging_dir='logs'", ""),
        ("per_gpu_train_batch_size=8", "per_device_train_batch_size=8"),
        ("adafactor=True", 'optim="adafactor"'),
        ("group_by_length=True", 'train_sampling_strategy="group_by_length"'),
        ("include_inputs_for_metrics=True", 'include_for_metrics=["inputs"]'),
        ("split_batches=flag", 'accelerator_config={"split_batches": flag}'),
    ],
)
def test_arguments_of_the_trainer_of_transformers(old: str, new: str) -> None:
    program = "from transformers import TrainingArguments\nargs = TrainingArguments('out', {})\n"
    assert patched(program.format(old)) == program.format(new).replace(", )", ")")


def test_a_value_that_cannot_be_read_is_not_renamed() -> None:
    report = checked("from transformers import TrainingArguments\nargs = TrainingArguments('out', adafactor=flag)\n")
    assert not report.patches and report.findings[0].finding.code == "DNF501"


@pytest.mark.parametrize("module", ["file_utils", "utils", "utils.hub"])
def test_the_whole_name_of_a_repository_is_asked_of_the_hub(module: str) -> None:
    program = "from {} import get_full_repo_name\nimport torch\n\nname = get_full_repo_name('net', token=token)\n"
    assert patched(program.format(f"transformers.{module}")) == program.format("huggingface_hub")


ACCELERATE = "from accelerate import Accelerator\naccelerator = Accelerator({})\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fp16=True", 'mixed_precision="fp16"'),
        ("cpu=True, fp16=False", "cpu=True"),
        ("fp16=args.fp16", 'mixed_precision="fp16" if args.fp16 else "no"'),
        ("fp16=a if b else c", 'mixed_precision="fp16" if (a if b else c) else "no"'),
    ],
)
def test_half_precision_of_accelerate(old: str, new: str) -> None:
    assert patched(ACCELERATE.format(old)) == ACCELERATE.format(new)


def test_a_tokenizer_is_called() -> None:
    program = """\
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2", use_auth_token=True)
one = tokenizer.encode_plus("a", max_length=8, pad_to_max_length=True)
two = tokenizer.batch_encode_plus(["a"], pad_to_max_length=False)
"""
    assert (
        patched(program)
        == """\
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2", token=True)
one = tokenizer("a", max_length=8, padding="max_length")
two = tokenizer(["a"], padding=False)
"""
    )


@pytest.mark.parametrize(
    "text",
    [
        "from transformers import BitsAndBytesConfig\nc = BitsAndBytesConfig(load_in_4bit=True)\n",
        "import transformers\nfrom pyannote.audio import Pipeline\np = Pipeline.from_pretrained('x', use_auth_token=True)\n",
        "import transformers\ndef load(use_auth_token): ...\nload(use_auth_token=True)\n",
        "import pandas as pd\nframe = pd.DataFrame()\nframe.fillna(0)\n",
        "import lightning\nt = lightning.Trainer(devices=2, accelerator='gpu')\n",
    ],
)
def test_what_only_looks_so_is_left_alone(text: str) -> None:
    assert not checked(text).findings


def test_settings_that_a_call_is_not_given_are_made_for_the_one_keyword_that_moves_there() -> None:
    program = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('gpt2', load_in_8bit=True)\n"
    assert patched(program) == (
        "from transformers import AutoModel\nfrom transformers import BitsAndBytesConfig\n"
        "model = AutoModel.from_pretrained('gpt2', quantization_config=BitsAndBytesConfig(load_in_8bit=True))\n"
    )


def test_adam_keeps_the_weight_decay_that_it_had() -> None:
    program = "from transformers import AdamW\noptimizer = AdamW(parameters, lr=1e-4, correct_bias=False)\n"
    new = "from torch.optim import AdamW\noptimizer = AdamW(parameters, lr=1e-4, weight_decay=0.0)\n"
    assert patched(program) == new
    given = "from transformers import AdamW\noptimizer = AdamW(parameters, weight_decay=0.1)\n"
    assert patched(given) == given.replace("transformers", "torch.optim")


BLOCK = """\
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("t5-small")
def encode(rows):
    with tokenizer.as_target_tokenizer():
        labels = tokenizer(
            rows["fr"], truncation=True
        )
        {more}
    return labels
"""


def test_the_block_of_a_target_goes() -> None:
    assert (
        patched(BLOCK.replace("        {more}\n", ""))
        == """\
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("t5-small")
def encode(rows):
    labels = tokenizer(
        text_target=rows["fr"], truncation=True
    )
    return labels
"""
    )


def test_a_block_that_does_more_is_told() -> None:
    (result,) = checked(BLOCK.format(more="print(labels)")).findings
    assert "as_target_tokenizer was removed" in result.finding.message and not result.patches


def test_the_trainer_of_lightning_1() -> None:
    program = (
        "import pytorch_lightning as pl\nt = pl.Trainer(gpus=n, progress_bar_refresh_rate=20, weights_summary=None)\n"
    )
    assert patched(program) == (
        "import pytorch_lightning as pl\n"
        't = pl.Trainer(devices=n or 1, enable_model_summary=False, accelerator="auto" if n else "cpu")\n'
    )
    asked = "import pytorch_lightning as pl\nt = pl.Trainer(gpus=count(8))\n"
    assert not checked(asked).patches


@pytest.mark.parametrize(("old", "new"), [("ffill", "ffill"), ("backfill", "bfill")])
def test_filling_of_pandas(old: str, new: str) -> None:
    program = "import pandas as pd\nframe = pd.read_csv('a.csv')\nframe = frame{}\n"
    call = f".fillna(method='{old}', limit=2)"
    assert patched(program.format(call)) == program.format(f".{new}(limit=2)")


def test_a_method_that_changed_a_data_set_gives_a_new_one() -> None:
    program = (
        "from datasets import load_dataset\ndata = load_dataset('imdb')\n{}data.rename_column{}('label', 'labels')\n"
    )
    assert patched(program.format("", "_")) == program.format("data = ", "")
