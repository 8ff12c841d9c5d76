"""What programs load from the Hugging Face hub: models, tokenizers, data sets and metrics, made small."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.actions import hub
from dnnfix.reproduce.case import Case
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source

Run = Callable[..., Trace]

_STANDINS: dict[str, Any] = {
    name: importlib.import_module(f"dnnfix.reproduce.standins.{name}") for name in ("hub", "hub_sets", "metrics")
}
made_architecture = _STANDINS["hub"].made_architecture
made_hub_form = _STANDINS["hub_sets"]._made_hub_form
MadeMetric = _STANDINS["metrics"].MadeMetric


def computed(name: str, config: str | None = None, /, **given: object) -> object:
    """What a metric gives for predictions and references."""
    return MadeMetric(name, config).compute(**given)


def steps_of(text: str, *traces: Trace) -> list[EditStep]:
    source = Source.from_bytes(textwrap.dedent(text).encode(), "program.py")
    return [step for step in hub.steps(Case(source, traces, lambda name: True)) if isinstance(step, EditStep)]


def ran(run_in: Run, text: str, steps: int = 12) -> Trace:
    program = textwrap.dedent(text)
    return run_in(program, joined(steps_of(program)), steps)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("google-bert/bert-base-cased", "bert"),
        ("distilbert-base-uncased", "distilbert"),
        ("xlm-roberta-base", "xlm-roberta"),
        ("meta-llama/Llama-3.2-1B-Instruct", "llama"),
        ("Qwen/Qwen2.5-0.5B", "qwen2"),
        ("google/gemma-2-2b", "gemma2"),
        ("EleutherAI/pythia-70m", "gpt_neox"),
        ("openai/clip-vit-base-patch32", "clip"),
        ("facebook/detr-resnet-50", "detr"),
        ("google/pegasus-xsum", "pegasus"),
        ("google/flan-t5-small", "t5"),
        ("HuggingFaceH4/zephyr-7b-beta", "mistral"),
        ("me/distilled-thing", "bert"),
    ],
)
def test_the_architecture_is_the_one_that_a_name_tells(name: str, kind: str) -> None:
    assert made_architecture(name) == kind


def test_the_architecture_of_a_name_that_tells_nothing_is_that_of_the_class() -> None:
    assert made_architecture("me/model", ("ViTForImageClassification",)) == "vit"
    assert made_architecture("me/model", ("AutoTokenizer", "AutoModelForCausalLM")) == "gpt2"
    assert made_architecture("me/model", ("AutoModelForSeq2SeqLM",)) == "t5"


TOKENIZERS = """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    bert, gpt, llama, t5 = (AutoTokenizer.from_pretrained(name) for name in (
        "bert-base-uncased", "gpt2", "meta-llama/Llama-2-7b-hf", "t5-small"))
    print(len(bert), bert("the time").input_ids[0], bert.convert_ids_to_tokens([100, 102, 103]))
    print(len(gpt), gpt.eos_token_id, gpt.pad_token, gpt.decode(gpt("Some new words, 12 of them.").input_ids))
    print(len(llama), llama("the time").input_ids[0], llama.pad_token, llama.eos_token)
    print(len(t5), t5.convert_tokens_to_ids("<extra_id_0>"), t5("the time").input_ids[-1])
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model.resize_token_embeddings(len(gpt) + 1, mean_resizing=False)
    print(model.config.vocab_size, AutoConfig.from_pretrained("gpt2").n_positions)
    neox = AutoTokenizer.from_pretrained("EleutherAI/pythia-70m")
    opt = AutoTokenizer.from_pretrained("facebook/opt-125m")
    print(opt.pad_token, opt.pad_token_id, opt(["the time of all the words", "it"], padding=True).attention_mask[1][-1])
    print(len(neox) - 1 - max(neox.get_vocab().values()), AutoConfig.from_pretrained("t5-small").decoder_start_token_id)
"""


def test_tokenizers_have_the_special_tokens_and_the_size_that_they_have(run_in: Run) -> None:
    trace = ran(run_in, TOKENIZERS)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    # The bars of what is written to the made hub are printed as well, unless an earlier run turned them off.
    assert [line for line in trace.printed.splitlines() if line and "it/s]" not in line] == [
        "30522 101 ['[UNK]', '[SEP]', '[MASK]']",
        "50257 50256 None Some new words, 12 of them.",
        "32000 1 None </s>",
        "32100 32099 1",
        "50258 1024",
        "<pad> 1 0",
        "0 0",
    ]


TRAINER = """
    from datasets import load_dataset
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
    data = load_dataset("nyu-mll/glue", "mrpc")
    tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
    model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
    def tokenize(rows):
        return tokenizer(rows["sentence1"], rows["sentence2"], truncation=True)
    train = data["train"].map(tokenize, batched=True)
    arguments = TrainingArguments("out", fp16=True, optim="paged_adamw_8bit", push_to_hub=True, report_to="none")
    Trainer(model=model, args=arguments, train_dataset=train, processing_class=tokenizer).train()
"""


@pytest.mark.slow
def test_a_trainer_trains_within_a_run(run_in: Run) -> None:
    trace = ran(run_in, TRAINER)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert len(trace.steps) >= 12


@pytest.mark.parametrize("library", ["transformers", "trl", "sentence_transformers", "accelerate", "lightning"])
def test_a_library_that_brings_torch_along_counts_as_torch(library: str) -> None:
    from dnnfix.run.probe.program import frameworks

    assert frameworks.named_in(f"from {library} import Trainer\n") == ["torch"]
    assert "torch" in Source.from_bytes(f"import {library}\n".encode(), "a.py").frameworks


def test_a_width_that_the_program_states_is_kept(run_in: Run) -> None:
    program = """
        import torch
        from transformers import AutoModel
        body = AutoModel.from_pretrained("bert-base-uncased")
        head = torch.nn.Linear({width}, 2)
        print(body.config.hidden_size, body.config.num_hidden_layers)
    """
    assert ran(run_in, program.format(width=768)).printed.endswith("768 2\n")
    assert ran(run_in, program.format(width="body.config.hidden_size")).printed.endswith("64 2\n")


def test_a_vocabulary_that_was_too_much_for_a_run_is_smaller_in_the_next(run_in: Run) -> None:
    program = """
        from transformers import AutoModelForCausalLM, AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        print(len(tokenizer), model.config.vocab_size, tokenizer.eos_token_id == model.config.eos_token_id)
    """
    steps = steps_of(program, Trace(RunOutcome.OUT_OF_MEMORY))
    assert run_in(textwrap.dedent(program), joined(steps)).printed.endswith("2000 2000 True\n")
    assert ran(run_in, program).printed.endswith("50257 50257 True\n")


def test_what_the_hub_does_not_have_needs_the_network(run_in: Run) -> None:
    program = """
        from huggingface_hub import hf_hub_download
        hf_hub_download("someone/something", "weights.pt")
    """
    assert ran(run_in, program).outcome is RunOutcome.NEEDS_NETWORK


def test_a_file_that_a_repository_lacks_is_told_as_the_hub_does(run_in: Run) -> None:
    program = """
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

        for kind in (EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError):
            try:
                hf_hub_download("gpt2", "adapter_config.json")
            except kind as error:
                print(error, error.response)
    """
    trace = ran(run_in, program)
    told = "adapter_config.json is not there: the hub cannot be asked for gpt2 None\n"
    assert trace.outcome is RunOutcome.FINISHED and trace.printed.endswith(told * 3), trace.detail


def test_adapters_are_made_where_peft_asks_for_them(run_in: Run) -> None:
    pytest.importorskip("peft")
    program = """
        import torch
        from peft import PeftConfig, PeftModel
        from transformers import AutoModelForCausalLM

        settings = PeftConfig.from_pretrained("me/llama-lora")
        model = AutoModelForCausalLM.from_pretrained(settings.base_model_name_or_path)
        adapted = PeftModel.from_pretrained(model, "me/llama-lora")
        print(settings.task_type, model.config.model_type, any(one.requires_grad for one in adapted.parameters()))
        print(type(AutoModelForCausalLM.from_pretrained("gpt2")).__name__)
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert [line for line in trace.printed.splitlines() if line.endswith(("False", "Model"))] == [
        "CAUSAL_LM llama False",
        "GPT2LMHeadModel",
    ]


def test_who_is_logged_in_needs_the_network(run_in: Run) -> None:
    program = "from huggingface_hub import HfApi\nHfApi().create_repo('a', token=True)\n"
    assert run_in(program, joined([]), 12).outcome is RunOutcome.NEEDS_NETWORK


def test_adapters_and_pipelines_and_uploads(run_in: Run) -> None:
    program = """
        from huggingface_hub import HfApi, login, whoami
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig, pipeline
        login()
        how = BitsAndBytesConfig(load_in_8bit=True)
        model = AutoModelForCausalLM.from_pretrained("facebook/opt-350m", device_map="auto", quantization_config=how)
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
        print(any("lora" in name for name, one in model.named_parameters() if one.requires_grad))
        print(sorted(pipeline("sentiment-analysis")("good")[0]))
        model.push_to_hub("me/adapter", token=True)
        print(whoami()["name"], HfApi().whoami()["name"])
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert {"True", "['label', 'score']", "made made"} <= {*trace.printed.splitlines()}


def test_a_program_that_only_writes_to_the_hub(run_in: Run) -> None:
    program = """
        import os
        import torch
        from huggingface_hub import HfApi, create_repo
        api = HfApi(token="hf_x")
        name = f'{api.whoami()["name"]}/net'
        os.makedirs("out", exist_ok=True)
        torch.save(torch.nn.Linear(2, 2).state_dict(), "out/net.pt")
        print(api.repo_exists(name), create_repo(name, exist_ok=True).repo_id)
        api.upload_folder(repo_id=name, folder_path="out")
    """
    trace = ran(run_in, program)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert "True made/net" in trace.printed.splitlines()


# --- data sets


def test_columns_of_a_data_set_are_those_that_the_program_uses() -> None:
    (step,) = steps_of("""
        from datasets import load_dataset
        data = load_dataset("someone/something", split="train[:10%]")
        text_column = "Tweet text"
        def prompt(row):
            return row["question"] + row["context"]
        def encode(row):
            row["labels"] = 1
            return {"input_ids": prompt(row), "more": row[text_column], "length": len(row["labels"])}
        data = data.map(encode).remove_columns(["id"]).rename_column("target", "labels")
        print(data["validation"]["x"])
    """)
    assert "('Tweet text', 'question', 'context', 'id', 'target'), ('train', 'validation')" in step.scaffold.start


def test_columns_that_a_function_adds_or_a_trainer_wants() -> None:
    (step,) = steps_of("""
        from datasets import load_dataset
        data = load_dataset("someone/something")
        data = data.map(lambda row: {"text_label": str(row["label"])}).map(lambda row: {"x": row["text_label"] + row["text"]})
    """)
    assert "made_hub_dataset(('label', 'text')," in step.scaffold.start
    steps = steps_of("""
        from datasets import load_dataset
        from trl import DPOTrainer
        DPOTrainer("gpt2", train_dataset=load_dataset("someone/something", split="train"))
    """)
    assert any("('prompt', 'chosen', 'rejected')" in step.scaffold.start for step in steps)


def test_columns_that_are_asked_of_a_set_itself_though_a_function_gives_them_again() -> None:
    (step,) = steps_of("""
        from datasets import load_dataset
        def encode(row):
            new = {"label": row["label"], "input_ids": [1]}
            return new
        data = load_dataset("someone/something", split="train")
        names = data.features["label"].names
        print(data["title"], data[0]["author"])
        mapped = data.map(encode)
        print(mapped["input_ids"])
    """)
    assert "made_hub_dataset(('label', 'title', 'author')," in step.scaffold.start


def test_columns_that_loops_go_through_or_read() -> None:
    (step,) = steps_of("""
        from datasets import load_dataset
        data = load_dataset("someone/something", split="train")
        if 9 < len(data):
            data = data.shuffle(seed=1).select(range(9))
        for number, row in enumerate(data):
            print(number, row["chosen"])
        print([one["rejected"] for one in data])
    """)
    assert "made_hub_dataset(('chosen', 'rejected')," in step.scaffold.start
    (step,) = steps_of("""
        from datasets import load_dataset
        names = [f"ending{i}" for i in range(3)]
        def encode(rows):
            for other in ["sent1", "sent2"]:
                print(rows[other])
            return {"input_ids": [[rows[end][i] for end in names] for i in range(2)]}
        data = load_dataset("someone/something").map(encode, batched=True)
        name = "label" if "label" in data["train"][0] else "labels"
    """)
    assert "('label', 'sent1', 'sent2', 'ending0', 'ending1', 'ending2')" in step.scaffold.start


def test_columns_that_an_option_or_a_field_names_by_default() -> None:
    steps = steps_of("""
        import argparse
        from dataclasses import dataclass, field
        from datasets import load_dataset
        from transformers import HfArgumentParser

        @dataclass
        class Data:
            text_column_name: str = field(default="body")
            words: str = "words"

        parser = argparse.ArgumentParser()
        parser.add_argument("--image_column", default="photo")
        parser.add_argument("--caption_column", default=None)
        parser.add_argument("--name", default="name")
        (data,) = HfArgumentParser(Data).parse_args_into_dataclasses()
        rows = load_dataset(parser.parse_args().name)["train"]
    """)
    assert any("made_hub_dataset(('photo', 'body')," in step.scaffold.start for step in steps)


@pytest.mark.parametrize(
    "text",
    [
        "rows = load_dataset('a/b')['train'].train_test_split(test_size=2000)\n",
        "SIZE = 2000\nrows = load_dataset('a/b')['train'].train_test_split(test_size=SIZE, shuffle=True)\n",
        "def train(size: int = 2000):\n    return load_dataset('a/b')['train'].train_test_split(test_size=size)\ntrain()\n",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--n', type=int, default=2000)\nn = load_dataset('a/b')['train'].train_test_split(test_size=parser.parse_args().n)\n",
    ],
)
def test_as_many_rows_as_are_put_apart_and_more(text: str) -> None:
    steps = steps_of("import transformers\nfrom datasets import load_dataset\n" + text)
    assert any("2, 4000)" in step.scaffold.start for step in steps)


MISSING = """
    from datasets import load_dataset

    def lengths(rows):
        for row in rows:
            yield len(row[COLUMN])

    COLUMN = "content"
    print(next(lengths(load_dataset("someone/something", split="train"))) > 0)
"""


def test_a_column_that_the_last_run_missed_is_made(run_in: Run) -> None:
    missed = ran(run_in, MISSING)
    assert missed.crash is not None and missed.crash.kind == "KeyError"
    trace = run_in(textwrap.dedent(MISSING), joined(steps_of(MISSING, missed)))
    assert trace.printed == "True\n", trace.detail


def test_a_set_of_which_nothing_is_known_has_more_rows_than_are_put_apart(run_in: Run) -> None:
    trace = ran(
        run_in,
        """
        import transformers
        from datasets import load_dataset
        parts = load_dataset("json", data_files="data/nowhere.json")["train"].train_test_split(test_size=2100)
        print(parts["train"].num_rows, parts["test"].num_rows)
        """,
    )
    assert trace.printed == "2100 2100\n", trace.detail


def test_a_set_of_which_nothing_is_known_has_the_part_that_is_asked_for(run_in: Run) -> None:
    trace = ran(
        run_in,
        """
        from datasets import load_dataset
        part = "eval"
        print(load_dataset("someone/something", split=part + "[:20]").num_rows)
        load_dataset("imdb", split=part)
        """,
    )
    assert trace.printed == "20\n"
    assert trace.crash is not None and trace.crash.message.startswith("Unknown split 'eval'")


@pytest.mark.slow
def test_a_pipeline_is_of_the_kind_that_its_class_says(run_in: Run) -> None:
    pytest.importorskip("diffusers")
    trace = ran(
        run_in,
        """
        from diffusers import StableDiffusionXLPipeline
        pipeline = StableDiffusionXLPipeline.from_pretrained("someone/drawing")
        print(pipeline.tokenizer_2 is not None, pipeline.text_encoder_2 is not None)
        """,
    )
    assert trace.printed == "True True\n", trace.detail


def test_a_model_that_rewards_has_one_score(run_in: Run) -> None:
    trace = ran(
        run_in,
        """
        from transformers import AutoModelForSequenceClassification
        model = AutoModelForSequenceClassification.from_pretrained("someone/reward-model", num_labels=1)
        print(model.config.num_labels)
        """,
    )
    assert trace.printed.endswith("1\n"), trace.detail


def test_a_set_that_was_saved_before_is_made_of_tokens(run_in: Run) -> None:
    trace = ran(
        run_in,
        """
        import os
        from datasets import load_from_disk
        os.makedirs("made/channel", exist_ok=True)
        data = load_from_disk("made/channel")
        print(data.features["label"].names, len(data[0]["input_ids"]) == len(data[0]["attention_mask"]) == 12)
        """,
    )
    assert trace.printed == "['0', '1'] True\n", trace.detail


def test_known_data_sets_have_their_own_columns_and_parts() -> None:
    sizes, kinds = made_hub_form("nyu-mll/glue", "mnli", ("other",), ("train",), 2)
    assert list(sizes) == ["train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched"]
    assert list(kinds) == ["premise", "hypothesis", "label", "idx"]
    assert list(made_hub_form("yahma/alpaca-cleaned", "", (), (), 2)[1]) == ["instruction", "input", "output", "text"]
    assert list(made_hub_form("me/more-gsm8k", "", ("answer",), (), 2)[1]) == ["question", "answer"]
    assert list(made_hub_form("me/more-gsm8k", "", ("answer", "chosen"), (), 2)[1]) == ["answer", "chosen"]
    assert made_hub_form("a/b", "", ("body", "stars_label"), ("train", "dev"), 5) == (
        {"train": 2000, "dev": 500},
        {"body": "text", "stars_label": 5},
    )


DATA = """
    import datasets
    from datasets import load_dataset
    print([load_dataset("glue", "mnli", split=part)[0]["label"] < 0 for part in ("validation_mismatched", "test_matched")])
    few = load_dataset("imdb", split="train[:1%]+test[:10]")
    print(few.num_rows, few.column_names, few.features["label"].names)
    print(load_dataset("cifar10")["train"][0]["img"].size)
    moods = load_dataset("sem_eval_2018_task_1", "subtask5.english")["train"]
    print(moods.features["joy"].dtype, len({(row["joy"], row["fear"]) for row in moods.select(range(9))}) > 1)
    words = load_dataset("conll2003", split="validation")[0]
    print(len(words["tokens"]) == len(words["ner_tags"]))
    answers = load_dataset("squad", split="validation")[0]
    start = answers["answers"]["answer_start"][0]
    print(answers["context"][start:].startswith(answers["answers"]["text"][0]))
    print(next(iter(load_dataset("wikitext", "wikitext-2-raw-v1", split="test", streaming=True))).keys())
    try:
        load_dataset("imdb", split="validation")
    except ValueError as error:
        print(error)
"""


def test_data_sets_of_the_hub(run_in: Run) -> None:
    trace = ran(run_in, DATA)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert trace.printed.splitlines() == [
        "[False, True]",
        "260 ['text', 'label'] ['neg', 'pos']",
        "(32, 32)",
        "bool True",
        "True",
        "True",
        "dict_keys(['text'])",
        "Unknown split 'validation'. Should be one of ['train', 'test', 'unsupervised'].",
    ]


def test_files_are_read_as_they_are(run_in: Run) -> None:
    program = """
        from datasets import load_dataset
        open("a.csv", "w").write("x,y\\n1,2\\n")
        print(load_dataset("csv", data_files="a.csv")["train"].column_names)
    """
    assert ran(run_in, program).printed.splitlines()[-1] == "['x', 'y']"


def test_files_that_are_not_there_are_made(run_in: Run) -> None:
    program = """
        from datasets import load_dataset
        data = load_dataset("json", data_files={"train": "data/train.json", "eval": "data/eval.json"})
        data = data.map(lambda row: {"n": len(row["tokens"])}).remove_columns(["tags"])
        print(sorted(data), data["train"].column_names)
    """
    assert ran(run_in, program).printed.splitlines()[-1] == "['eval', 'train'] ['tokens', 'n']"


# --- metrics


def test_metrics_are_counted() -> None:
    accuracy = MadeMetric("accuracy")
    accuracy.add_batch(predictions=[0, 1], references=[0, 0])
    accuracy.add(prediction=1, reference=1)
    assert accuracy.compute() == {"accuracy": pytest.approx(2 / 3)}
    glue = computed("glue", "mrpc", predictions=[1, 1, 0, 0], references=[1, 0, 1, 0])
    assert glue == {"accuracy": 0.5, "f1": 0.5}
    macro = computed("f1", predictions=[0, 1, 2], references=[0, 1, 1], average="macro")
    assert macro == {"f1": pytest.approx((1 + 2 / 3 + 0) / 3)}
    assert computed("wer", predictions=["a b"], references=["a c"]) == 0.5
    assert computed("roc_auc", prediction_scores=[0.1, 0.9], references=[0, 1]) == {"roc_auc": 1.0}
    assert computed("matthews_correlation", predictions=[0, 1], references=[1, 0]) == {"matthews_correlation": -1.0}


def test_metrics_refuse_what_the_packages_own_refuse() -> None:
    with pytest.raises(ValueError, match="expected format"):
        computed("accuracy", predictions=[[0.1, 0.9]], references=[1])
    with pytest.raises(ValueError, match="multiclass"):
        computed("f1", predictions=[0, 1, 2], references=[0, 1, 2])
    with pytest.raises(ValueError, match="Mismatch"):
        computed("accuracy", predictions=[0, 1], references=[1])


def test_metrics_of_a_program(run_in: Run) -> None:
    program = """
        import evaluate
        both = evaluate.combine(["accuracy", "f1"])
        print(both.compute(predictions=[0, 1], references=[0, 1]), evaluate.load("accuracy").compute(predictions=[1], references=[0]))
    """
    assert ran(run_in, program).printed == "{'accuracy': 1.0, 'f1': 1.0} {'accuracy': 0.0}\n"


# --- what only a GPU can do


def test_trainers_that_want_a_gpu_train_on_the_cpu(run_in: Run) -> None:
    program = """
        import torch
        from lightning.pytorch import Trainer
        from accelerate import Accelerator
        from transformers import TrainingArguments
        device = TrainingArguments("out", bf16=True, tf32=True).device
        precision = Accelerator(mixed_precision="fp16").mixed_precision
        trainer = Trainer(accelerator="gpu", devices=4, strategy="ddp", precision="16-mixed", logger=False)
        print(device, precision, trainer.num_devices, trainer.precision)
    """
    trace = ran(run_in, program)
    assert trace.printed.endswith("cpu no 1 32-true\n"), trace.detail


def test_nothing_is_changed_where_nothing_wants_a_gpu() -> None:
    assert steps_of("from transformers import Trainer\nimport torch.optim\nTrainer(torch.optim.SGD)") == []


def test_a_repository_that_cannot_be_made_needs_the_network(run_in: Run) -> None:
    program = """
        from transformers import AutoModel, AutoConfig
        AutoConfig.for_model = None
        AutoModel.from_pretrained("bert-base-uncased")
    """
    assert ran(run_in, program).outcome is RunOutcome.NEEDS_NETWORK
