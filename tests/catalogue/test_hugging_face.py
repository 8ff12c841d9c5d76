"""What tables by hand know of transformers, accelerate, Lightning and pandas: arguments, forms and blocks, as one patch."""

from __future__ import annotations

import pytest

from dnnfix.config import Settings
from dnnfix.detect.versioning.migration import migration
from dnnfix.emit.hunks import apply, replacements
from dnnfix.fix_templates.versioning.outdated_call import OutdatedCall
from dnnfix.pipeline.check import check_file
from dnnfix.records import Crash, FileReport, Frame, Replace, RunOutcome, Site, Trace
from dnnfix.source.program import Source
from dnnfix.subject import Subject


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


READ = """import os
from transformers import HfArgumentParser, TrainingArguments


class Mine(TrainingArguments):
    pass


def main():
    model, training = HfArgumentParser((Model, {})).parse_args_into_dataclasses()
    {}
    return model.evaluation_strategy
"""


@pytest.mark.parametrize("kind", ["TrainingArguments", "Mine"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print(training.evaluation_strategy)", "print(training.eval_strategy)"),
        ("training.evaluation_strategy = 'no'", "training.eval_strategy = 'no'"),
        ("print(os.path and not training.overwrite_output_dir)", "print(os.path)"),
        ("print(not training.overwrite_output_dir and os.path and 1)", "print(os.path and 1)"),
        ("print(1 and not training.overwrite_output_dir and 2)", "print(1 and 2)"),
        ("print(training.overwrite_output_dir or 1)", "print(1)"),
        ("print(1 and (not training.overwrite_output_dir))", "print(1 and (True))"),
        ("print(not training.overwrite_output_dir and (1))", "print(True and (1))"),
        ("print(training.overwrite_output_dir and 1)", "print(False and 1)"),
        ("print(not training.overwrite_output_dir)", "print(True)"),
    ],
)
def test_settings_that_a_parser_gave_are_read_as_they_are_called_today(kind: str, old: str, new: str) -> None:
    assert patched(READ.format(kind, old)) == READ.format(kind, new)


def test_a_setting_with_values_of_its_own_is_not_read_otherwise() -> None:
    assert not checked(READ.format("TrainingArguments", "print(training.adafactor)")).patches


def test_an_argument_is_set_among_settings_that_a_parser_gave() -> None:
    start = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    start += "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    old = "trainer = Trainer(model=model, args=args, prediction_loss_only=True)\n"
    new = "args.prediction_loss_only = True\ntrainer = Trainer(model=model, args=args)\n"
    assert patched(start + old) == start + new


@pytest.mark.parametrize(
    ("old", "kind", "new"),
    [
        ("tool.max_len", "GPT2Tokenizer", "tool.model_max_length"),
        ("tool.max_len", "BertTokenizerFast", "tool.model_max_length"),
        ("tool.max_len", "Ruler", ""),
        ("tool.post_process(out, sizes)", "DetrImageProcessor", "tool.post_process_object_detection"),
    ],
)
def test_an_attribute_that_is_gone_is_known_by_the_crash_at_it(old: str, kind: str, new: str) -> None:
    program = f"from transformers import AutoModel\n\ndef run(tool, out, sizes):\n    return {old}\n"
    source = Source.from_bytes(program.encode(), "program.py")
    asked = old.partition(".")[2].partition("(")[0]
    frame = Frame(Site(4, 1, 4, len(program.splitlines()[3]) + 1), "run")
    crash = Crash("AttributeError", f"'{kind}' object has no attribute '{asked}'", (frame,))
    found = list(OutdatedCall().hits(Subject(source, Trace(RunOutcome.CRASHED, crash=crash))))
    codes = [edit.code for hit in found for edit in hit.edits if isinstance(edit, Replace)]
    assert codes == ([new] if new else []) and all(hit.exact for hit in found)
    assert not list(OutdatedCall().hits(Subject(source)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max_length=9, pad_to_max_length=True", 'max_length=9, padding="max_length", truncation=True'),
        ("max_length=9, pad_to_max_length=False", "max_length=9, padding=False"),
        ("pad_to_max_length=True", 'padding="max_length"'),
        (
            "max_length=9, pad_to_max_length=True, truncation=False",
            'max_length=9, padding="max_length", truncation=False',
        ),
    ],
)
def test_texts_that_were_filled_up_to_a_length_were_cut_to_it_as_well(old: str, new: str) -> None:
    program = "from transformers import AutoTokenizer\ntool = AutoTokenizer.from_pretrained('a')\ntool('b', {})\n"
    assert patched(program.format(old)) == program.format(new)


def test_what_another_module_of_the_program_has_is_an_object_of_the_library_that_it_imports() -> None:
    texts = {
        "main.py": "import config\nimport rows\n",
        "config.py": "from transformers import AutoTokenizer\nTOOL = AutoTokenizer.from_pretrained('a')\n",
        "rows.py": "import config\n\nids = config.TOOL.encode_plus('b', max_length=9, pad_to_max_length=True)\n",
    }
    program, *beside = (Source.from_bytes(text.encode(), path) for path, text in texts.items())
    subject = Subject(program.along_with(beside)).files["rows.py"]
    said = [hit.what.partition(" was")[0] for hit in migration(subject)]
    assert said == ["encode_plus", "the argument pad_to_max_length"]
    assert not migration(Subject(Source.from_bytes(texts["rows.py"].encode(), "rows.py")))


@pytest.mark.parametrize("old", ["lm_labels", "masked_lm_labels"])
def test_labels_have_one_name(old: str) -> None:
    program = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('a')\nmodel(ids, {}=ids)\n"
    assert patched(program.format(old)) == program.format("labels")


def test_names_of_a_package_that_follows_another_are_those_of_today_where_its_modules_are_gone() -> None:
    program = "import {0}\n\nconfig = {0}.{1}GPT2Config.from_json_file('a.json')\n"
    report = check_file(
        program.format("pytorch_transformers", "modeling_gpt2.").encode(),
        "program.py",
        Settings(select=("DNF501", "DNF550")),
    )
    said = [result.finding.message for result in report.findings]
    assert any("use transformers.GPT2Config" in each for each in said), said


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
one = tokenizer("a", max_length=8, padding="max_length", truncation=True)
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lr=1e-4, correct_bias=False", "lr=1e-4, eps=1e-06, weight_decay=0.0"),
        ("lr=1e-4", "lr=1e-4, eps=1e-06, weight_decay=0.0"),
        ("eps=1e-8", "eps=1e-8, weight_decay=0.0"),
        ("weight_decay=0.1, correct_bias=False", "weight_decay=0.1, eps=1e-06"),
        ("1e-4, (0.9, 0.99), 1e-8", "1e-4, (0.9, 0.99), 1e-8, weight_decay=0.0"),
        ("1e-4, (0.9, 0.99), 1e-8, 0.1", "1e-4, (0.9, 0.99), 1e-8, 0.1"),
    ],
)
@pytest.mark.parametrize("package", ["transformers", "pytorch_transformers"])
def test_adam_keeps_the_weight_decay_and_the_eps_that_it_had(package: str, old: str, new: str) -> None:
    program = f"from {package} import AdamW\noptimizer = AdamW(parameters, {old})\n"
    assert patched(program) == f"from torch.optim import AdamW\noptimizer = AdamW(parameters, {new})\n"


def test_a_schedule_of_pytorch_transformers_is_called_as_that_of_today() -> None:
    program = "from pytorch_transformers import WarmupLinearSchedule\n{}(optimizer, warmup_steps=2, t_total=20)\n"
    name = "get_linear_schedule_with_warmup"
    assert patched(patched(program.format("WarmupLinearSchedule"))) == (
        f"from transformers import {name}\n{name}(optimizer, num_warmup_steps=2, num_training_steps=20)\n"
    )


@pytest.mark.parametrize(
    ("old", "new"), [("squared=False", "root_{name}(y, p)"), ("squared=True", "{name}(y, p)"), ("squared=flag", "")]
)
@pytest.mark.parametrize("name", ["mean_squared_error", "mean_squared_log_error"])
def test_the_root_of_a_mean_square_stays_a_root(name: str, old: str, new: str) -> None:
    program = f"import sklearn.metrics\nprint(sklearn.metrics.{name}(y, p, {old}))\n"
    if new:
        assert new.format(name=name) in patched(program)
    else:
        assert not checked(program).patches and checked(program).findings


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
