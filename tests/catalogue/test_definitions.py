"""The definitions that are written into programs do what the libraries' own did."""

from __future__ import annotations

import ast
import importlib.util
import random
import subprocess
import textwrap
import warnings
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dnnfix.config import Settings
from dnnfix.detect.versioning.definitions import Definition, definitions
from dnnfix.detect.versioning.migration import migration
from dnnfix.pipeline.check import check_file
from dnnfix.records import Crash, RunOutcome, Trace
from dnnfix.source.program import Source
from dnnfix.subject import Subject

np = pytest.importorskip("numpy")


def defined(name: str) -> Any:
    """What a definition of the data file defines, by the last part of a qualified name."""
    definition = next(d for n, d in definitions().items() if n.endswith(f".{name}"))
    namespace: dict[str, Any] = {}
    exec("\n".join([*definition.imports, definition.code]), namespace)  # noqa: S102 - as the program would run it
    return namespace


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"input_shape": None}, (224, 224, 3)),
        ({"input_shape": None, "data_format": "channels_first"}, (3, 224, 224)),
        ({"input_shape": None, "require_flatten": False}, (None, None, 3)),
        ({"input_shape": (64, 64, 1)}, (64, 64, 1)),
        ({"input_shape": (3, 64, 96), "data_format": "channels_first"}, (3, 64, 96)),
        ({"input_shape": (None, None, 3), "include_top": False}, (None, None, 3)),
        ({"input_shape": (224, 224, 3), "weights": "imagenet"}, (224, 224, 3)),
    ],
)
def test_shape_of_an_image(given: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    settings = {"default_size": 224, "min_size": 48, "data_format": "channels_last", **given}
    assert defined("_obtain_input_shape")["_obtain_input_shape"](**settings) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"input_shape": (32, 32, 3)},
        {"input_shape": (64, 64)},
        {"input_shape": (None, None, 3)},
        {"input_shape": (64, 64, 3), "weights": "imagenet"},
    ],
)
def test_shape_of_an_image_that_does_not_fit(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Received"):
        defined("_obtain_input_shape")["_obtain_input_shape"](
            **{"default_size": 224, "min_size": 48, "data_format": "channels_last", **given}
        )


def test_prices_are_read_from_rows_of_two_lines() -> None:
    pytest.importorskip("sklearn")
    namespace = defined("load_boston")
    rows = np.arange(3 * 14).reshape(3, 14)
    lines = [part for row in rows for part in (row[:11], row[11:])]
    text = "\n".join([*["of the page"] * 22, *("  ".join(map(str, line)) for line in lines)])
    namespace["urlopen"] = lambda address: BytesIO(text.encode())
    boston = namespace["load_boston"]()
    assert (boston.data == rows[:, :13]).all() and (boston.target == rows[:, 13]).all()
    assert list(boston.feature_names[[0, 12]]) == ["CRIM", "LSTAT"]
    assert [part.shape for part in namespace["load_boston"](return_X_y=True)] == [(3, 13), (3,)]


def test_a_network_is_searched_and_scored_as_an_estimator() -> None:
    keras = pytest.importorskip("keras")
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler
    namespace = defined("KerasClassifier")
    trained: list[int] = []

    begins = {"on_train_begin": lambda self, logs=None: trained.append(self.params["epochs"])}
    counting = type("Counting", (keras.callbacks.Callback,), begins)()

    def build(units: int = 3, loss: str = "categorical_crossentropy", width: int = 3) -> Any:
        last = "sigmoid" if width == 1 and "binary" in loss else "softmax" if width > 1 else "linear"
        model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(width, activation=last)])
        model.compile(loss=loss, optimizer="adam", metrics=["accuracy"] if last != "linear" else [])
        return model

    x = np.random.RandomState(0).rand(30, 4)
    y = np.arange(30) % 3
    classifier = namespace["KerasClassifier"](build, epochs=2, verbose=0, callbacks=[counting])
    search = selection.GridSearchCV(classifier, {"units": [2, 4], "epochs": [1, 3]}, cv=2, refit=False).fit(x, y)
    assert sorted(trained) == [1] * 4 + [3] * 4 and 0 <= search.best_score_ <= 1
    classes = np.array(["a", "b", "c"])
    classifier.fit(x, classes[y])
    assert set(classifier.predict(x)) <= set(classes) and classifier.predict_proba(x).shape == (30, 3)
    folds = selection.KFold(3)
    assert selection.cross_val_score(classifier, x, np.eye(3)[y], cv=folds).shape == (3,)
    two = namespace["KerasClassifier"](build, width=1, loss="binary_crossentropy", verbose=0)
    two.fit(x, y > 0)
    assert two.predict(x).shape == (30, 1) and two.predict_proba(x).shape == (30, 2) and 0 <= two.score(x, y > 0) <= 1
    regressor = namespace["KerasRegressor"](build_fn=build, width=1, loss="mse", verbose=0)
    whole = pipeline.Pipeline([("scale", scaler()), ("regression", regressor)])
    scores = selection.cross_val_score(whole, x, x.sum(axis=1), cv=folds)
    assert (scores < 0).all()
    whole.fit(x, x.sum(axis=1))
    predicted = whole.predict(x)
    assert predicted.shape == (30,)
    assert whole.score(x, x.sum(axis=1)) == pytest.approx(-np.mean((predicted - x.sum(axis=1)) ** 2), rel=1e-4)


def test_options_of_a_trainer() -> None:
    pytest.importorskip("pytorch_lightning")
    from argparse import ArgumentParser

    functions = defined("from_argparse_args")
    parser = ArgumentParser()
    parser.add_argument("--max_epochs", default=3, type=int)
    assert functions["add_argparse_args"](parent_parser=parser) is parser
    args = parser.parse_args(["--limit_train_batches", "0.5", "--gpus", "0", "--enable_progress_bar", "False"])
    trainer = functions["from_argparse_args"](args, logger=False)
    assert (trainer.max_epochs, trainer.limit_train_batches, trainer.progress_bar_callback) == (3, 0.5, None)
    assert type(trainer.accelerator).__name__ == "CPUAccelerator" and trainer.logger is None
    values = {
        "1": 1,
        "-1": -1,
        "0.5": 0.5,
        ".5": 0.5,
        "1e-3": 1e-3,
        "True": True,
        "None": None,
        "16-mixed": "16-mixed",
        "": "",
    }
    assert {text: functions["option_value"](text) for text in values} == values


# --- where they are proposed


def said(text: str) -> list[tuple[str, int, str]]:
    """What is outdated in a program: which name, in which line, and why there is no patch."""
    hits = migration(Subject(Source.from_bytes(textwrap.dedent(text).encode(), "program.py")))
    return [(hit.what.partition(" was ")[0], hit.site.line, hit.decline) for hit in hits]


@pytest.mark.parametrize("name", definitions())
def test_every_name_is_told_of_once(name: str) -> None:
    module, _, last = name.rpartition(".")
    package = name.partition(".")[0]
    if package == "pytorch_pretrained_bert":
        pytest.skip("the package lives on under another name, which is told of where a run missed it")
    if last in ("imread", "imresize"):
        pytest.skip("where another rule replaces all its uses, that one tells of it")
    module, last, used = (
        (*module.rsplit(".", 1), f"Trainer.{last}") if module.endswith(".Trainer") else (module, last, last)
    )
    assert said(f"import {package}\nfrom {module} import {last}\n\nprint({used}, {package})\n") == [
        (name, 4 if used != last else 2, "")
    ]


def test_a_name_in_a_branch_or_by_another_path_counts() -> None:
    assert said("""
        import trl.trainer.utils as tools
        import transformers
        from transformers import Trainer, TextDataset
        if args.filter:
            logits = transformers.top_k_top_p_filtering(logits, top_k=3)
        collator = tools.DataCollatorForCompletionOnlyLM("Answer:", tokenizer=tokenizer)
        data = TextDataset(tokenizer, "a.txt", 128)
    """) == [
        ("transformers.TextDataset", 4, ""),
        ("transformers.top_k_top_p_filtering", 6, ""),
        ("trl.trainer.utils.DataCollatorForCompletionOnlyLM", 7, ""),
    ]


def test_a_folder_of_the_program_that_is_called_as_the_package_is() -> None:
    source = Source.from_bytes(
        b"import torch\nfrom trl import setup_chat_format\nsetup_chat_format(a, b)\n", "program.py"
    )
    own = Source.from_bytes(b"def setup_chat_format(a, b):\n    pass\n", "trl/__init__.py")
    assert len(migration(Subject(source))) == 1 and migration(Subject(source.along_with([own]))) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "from trl import DataCollatorForCompletionOnlyLM\nDataCollatorForCompletionOnlyLM('A:', padding_free=True)\n",
            "it uses padding_free, for which the definition has nothing",
        ),
        (
            "from huggingface_hub import Repository\nimport torch\nprint(Repository('out').is_repo_clean())\n",
            "it uses is_repo_clean, for which the definition has nothing",
        ),
        (
            "from huggingface_hub import Repository\nimport torch\nRepository('out', 'me/net', skip_lfs_files=True)\n",
            "it uses skip_lfs_files, for which the definition has nothing",
        ),
        (
            "from transformers.file_utils import cached_path\ncached_path(url, extract_compressed_file=True)\n",
            "it uses extract_compressed_file, for which the definition has nothing",
        ),
    ],
)
def test_what_the_definition_cannot_do_is_declined(text: str, why: str) -> None:
    assert [reason for _, _, reason in said(text)] == [why]


def test_the_token_alone_has_a_function_of_its_own() -> None:
    only = "import torch\nfrom huggingface_hub import HfFolder\ntoken = HfFolder.get_token()\n"
    report = check_file(only.encode(), "program.py", Settings())
    added = [line for line in report.patches[0].diff.splitlines() if line.startswith("+") and "+++" not in line]
    assert added == ["+import huggingface_hub", "+token = huggingface_hub.get_token()"]
    assert said(f"{only}HfFolder.save_token(token)\n") == [("huggingface_hub.HfFolder", 2, "")]


def test_the_optimizer_of_a_package_with_a_successor_is_defined_where_a_run_missed_the_package() -> None:
    text = "from pytorch_pretrained_bert.optimization import BertAdam, warmup_linear\nprint(BertAdam, warmup_linear(0.1))\n"
    missed = Crash("ModuleNotFoundError", "No module named 'pytorch_pretrained_bert'")
    source = Source.from_bytes(text.encode(), "program.py")
    (hit,) = migration(Subject(source, Trace(RunOutcome.CRASHED, crash=missed)))
    assert hit.what.startswith("pytorch_pretrained_bert.optimization.BertAdam was removed") and hit.edits
    assert migration(Subject(source)) == ()


# --- what the validators and the rule ask of the code


@pytest.mark.parametrize("definition", dict.fromkeys(definitions().values()), ids=lambda one: one.defines[0])
def test_the_code_has_nothing_that_a_patch_may_not_add(definition: Definition) -> None:
    unwanted = (ast.ExceptHandler, ast.Continue, ast.Break, ast.Global)
    assert not [node for node in ast.walk(ast.parse(definition.code)) if isinstance(node, unwanted)]
    assert all(definition.only([name]).code for name in definition.defines)


def test_a_part_of_a_definition_keeps_its_decorators() -> None:
    part = definitions()["transformers.InputFeatures"].only({"InputFeatures"})
    assert part.code.startswith("@dataclass\nclass InputFeatures")
    assert part.imports == ("import json", "from dataclasses import asdict, dataclass", "from typing import Any")


# --- the libraries of Hugging Face: the numbers are those of trl 0.19, transformers 4.38 and pytorch_pretrained_bert 0.6.2


def tokenizer(*frame: str) -> Any:
    """A tokenizer of a few words, which puts a text between special tokens."""
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "[EOS]", "Q", ":", "A", "a", "b", "c", "d"]
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if frame:
        special = [(word, words.index(word)) for word in frame]
        single = f"{frame[0]} $A {frame[1]}"
        plain.post_processor = tokenizers.processors.TemplateProcessing(single=single, special_tokens=special)
    special_tokens = {"pad_token": "[PAD]", "eos_token": "[EOS]", "unk_token": "[UNK]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=plain, **special_tokens)


@pytest.mark.parametrize(
    ("text", "instruction", "expected"),
    [
        ("Q : a A : b c", None, [-100] * 5 + [7, 8]),
        ("Q : a A : b A : c", None, [-100] * 8 + [8]),
        ("Q : a b", None, [-100] * 4),
        ("Q : a A : b Q : c A : d d", "Q :", [-100] * 5 + [7] + [-100] * 5 + [9, 9]),
        ("a A : b Q : c A : d", "Q :", [-100] * 3 + [7] + [-100] * 5 + [9]),
        ("Q : a A : b Q : c", "Q :", [-100] * 5 + [7] + [-100] * 3),
        ("a A : b", "Q :", [-100] * 4),
    ],
)
@pytest.mark.parametrize("ids", [False, True])
def test_labels_of_the_answers_only(text: str, instruction: str | None, expected: list[int], ids: bool) -> None:
    known, defines = tokenizer(), defined("DataCollatorForCompletionOnlyLM")
    templates = ["A :", instruction]
    if ids:
        templates = [one and known.encode(one) for one in templates]
    collator = defines["DataCollatorForCompletionOnlyLM"](*templates, tokenizer=known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batch = collator([dict(known(text)), dict(known("A : a"))])
    width = batch["labels"].shape[1]
    assert batch["labels"][0].tolist() == expected + [-100] * (width - len(expected))
    told = any("no answer" in str(one.message) for one in caught)
    assert told == (set(expected) == {-100} or instruction is not None)
    assert set(batch) == {"input_ids", "attention_mask", "labels"}


def test_the_format_of_chats() -> None:
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    size = {"vocab_size": 10, "n_embd": 8, "n_layer": 1, "n_head": 1, "bos_token_id": 2, "eos_token_id": 2}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size))
    model, known = defined("setup_chat_format")["setup_chat_format"](model, tokenizer(), resize_to_multiple_of=8)
    turns = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]
    text = "<|im_start|>user\na b<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n"
    assert known.apply_chat_template(turns, tokenize=False) == text
    asked = known.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert asked == f"{text}<|im_start|>assistant\n"
    assert known("<|im_start|> a <|im_end|>")["input_ids"] == [10, 6, 11]
    assert model.get_input_embeddings().weight.shape == torch.Size([16, 8])
    for settings in (known, model.config, model.generation_config):
        assert (settings.bos_token_id, settings.eos_token_id, settings.pad_token_id) == (10, 11, 11)
    with pytest.raises(ValueError, match="Received: format='other'"):
        defined("setup_chat_format")["setup_chat_format"](model, known, format="other")


def test_texts_as_blocks_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b c d\n\n  \nc d a b a\nb c")
    defines = defined("TextDataset")
    plain = defines["TextDataset"](tokenizer(), path, 4)
    assert [plain[i].tolist() for i in range(len(plain))] == [[6, 7, 8, 9], [8, 9, 6, 7]]
    framed = defines["TextDataset"](tokenizer("[EOS]", "[PAD]"), file_path=str(path), block_size=5)
    assert [one.tolist() for one in framed] == [[2, 6, 7, 8, 0], [2, 9, 8, 9, 0], [2, 6, 7, 6, 0]]
    lines = defines["LineByLineTextDataset"](tokenizer("[EOS]", "[PAD]"), path, block_size=5)
    assert [one["input_ids"].tolist() for one in lines] == [[2, 6, 7, 8, 0], [2, 8, 9, 6, 0], [2, 7, 8, 0]]


def hub(calls: list[tuple[str, Any]], there: bool) -> type:
    """A hub that notes what it is asked for."""

    class Hub:
        def __init__(self, token: Any) -> None:
            calls.append(("token", token))

        def repo_exists(self, name: str, repo_type: Any) -> bool:
            return there

        def snapshot_download(self, name: str, repo_type: Any, local_dir: str) -> None:
            calls.append(("fetched", (name, repo_type, Path(local_dir).name)))

        def create_repo(self, name: str, repo_type: Any, exist_ok: bool) -> Any:
            calls.append(("created", (name, repo_type)))
            return SimpleNamespace(repo_id=f"me/{name}")

        def upload_folder(self, **given: Any) -> str:
            calls.append(("uploaded", (given["repo_id"], given["commit_message"], given["run_as_future"])))
            return "address"

    return Hub


@pytest.mark.parametrize(
    ("address", "repo_type", "there", "asked"),
    [
        ("me/net", None, True, ("fetched", ("me/net", None, "out"))),
        ("https://huggingface.co/datasets/me/texts.git", None, True, ("fetched", ("me/texts", "dataset", "out"))),
        ("https://me:key@huggingface.co/me/net/", None, True, ("fetched", ("me/net", None, "out"))),
        ("spaces/me/shown", None, True, ("fetched", ("me/shown", "space", "out"))),
        ("net", "model", False, ("created", ("net", "model"))),
    ],
)
def test_a_repository_is_fetched_or_created(
    tmp_path: Path, address: str, repo_type: str | None, there: bool, asked: tuple[str, Any]
) -> None:
    pytest.importorskip("huggingface_hub")
    calls: list[tuple[str, Any]] = []
    namespace = defined("Repository")
    namespace["HfApi"] = hub(calls, there)
    repository = namespace["Repository"](tmp_path / "out", clone_from=address, repo_type=repo_type, use_auth_token="t")
    assert calls == [("token", "t"), asked] and (tmp_path / "out").is_dir()
    assert repository.push_to_hub(commit_message="one", auto_lfs_prune=True) == "address"
    assert repository.push_to_hub(blocking=False) == (repository.repo_id, "address")
    repository.git_add()
    repository.git_commit("two")
    repository.git_push()
    name = "me/net" if not there else asked[1][0]
    assert [given for call, given in calls if call == "uploaded"] == [
        (name, "one", False),
        (name, "commit files to HF hub", True),
        (name, "two", False),
    ]


def test_a_repository_that_git_cloned_is_pushed_where_it_came_from(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    calls: list[tuple[str, Any]] = []
    namespace = defined("Repository")
    namespace["HfApi"] = hub(calls, there=True)
    for command in (["init", "-q"], ["remote", "add", "origin", "https://huggingface.co/me/net"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert namespace["Repository"](tmp_path).repo_id == "me/net"
    assert calls == [("token", None)]


def test_the_token_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_library = pytest.importorskip("huggingface_hub")
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hub_library.constants, "HF_TOKEN_PATH", str(tmp_path / "home" / "token"))
    folder = defined("HfFolder")["HfFolder"]
    folder.save_token("hf_1")
    assert folder.get_token() == "hf_1"
    folder.delete_token()
    folder.delete_token()
    assert folder.get_token() is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0.1, 0.1, 0.1]),
        ({"warmup": 0.5, "t_total": 4}, [0.0, 0.05, 0.1]),
        ({"warmup": -1, "t_total": 4}, [0.1, 0.075, 0.05]),
        ({"t_total": 2, "schedule": "warmup_cosine"}, [0.1, 0.05, 0.0]),
        ({"warmup": 0.5, "t_total": 2, "schedule": "warmup_constant"}, [0.0, 0.1, 0.1]),
        ({"t_total": 2, "schedule": "none"}, [0.1, 0.1, 0.1]),
    ],
)
def test_rates_of_the_first_optimizer_of_bert(given: dict[str, Any], expected: list[float]) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(1))
    settings = {"lr": 0.1, "weight_decay": 0.0, "max_grad_norm": -1, **given}
    optimizer = defined("BertAdam")["BertAdam"]([weight], **settings)
    assert optimizer.get_lr() == [0]
    rates = []
    for step in range(3):
        before = weight.item()
        weight.grad = torch.full((1,), 2.0)
        optimizer.step()
        first, second = 2 * (1 - 0.9 ** (step + 1)), 4 * (1 - 0.999 ** (step + 1))
        rates.append((before - weight.item()) / (first / second**0.5))
    assert rates == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_steps_of_the_first_optimizer_of_bert() -> None:
    torch = pytest.importorskip("torch")
    weights = [torch.nn.Parameter(torch.tensor([1.0, -2.0])), torch.nn.Parameter(torch.tensor([3.0]))]
    groups = [{"params": weights[:1], "weight_decay": 0.0}, {"params": weights[1:]}]
    optimizer = defined("BertAdam")["BertAdam"](groups, lr=0.1, warmup=0.1, t_total=20)
    for scale in (1.0, 2.0, 5.0):
        optimizer.zero_grad()
        (scale * (weights[0] ** 2).sum() + (weights[1] - 1).pow(2).sum() / 9).backward()
        optimizer.step()
    found = [*weights[0].tolist(), *weights[1].tolist()]
    assert found == pytest.approx([0.29487684, -1.29213965, 2.29085660], rel=1e-6)


def test_logits_of_the_likeliest_tokens() -> None:
    torch = pytest.importorskip("torch")
    filtered = defined("top_k_top_p_filtering")["top_k_top_p_filtering"]
    logits, none = torch.tensor([[3.0, 1.0, 2.0, 0.0, -1.0]]), -float("inf")
    assert filtered(logits).tolist() == logits.tolist()
    assert filtered(logits, top_p=0.8).tolist() == [[3.0, none, 2.0, none, none]]
    assert filtered(logits, top_k=4, top_p=0.95, filter_value=-9.0).tolist() == [[3.0, 1.0, 2.0, -9.0, -9.0]]
    assert filtered(logits, top_k=1, min_tokens_to_keep=2).tolist() == [[3.0, none, 2.0, none, none]]
    assert logits[0, 4] == -1.0


def test_the_files_behind_addresses(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    namespace = defined("cached_path")
    fetched: list[str] = []

    def fetch(address: str, path: str) -> None:
        fetched.append(address)
        Path(path).write_text("content")

    namespace["torch"] = SimpleNamespace(hub=SimpleNamespace(get_dir=torch.hub.get_dir, download_url_to_file=fetch))
    path = namespace["cached_path"]("https://a.b/c", cache_dir=tmp_path)
    assert Path(path).read_text() == "content" and namespace["cached_path"]("https://a.b/c", tmp_path) == path
    assert fetched == ["https://a.b/c"] and namespace["cached_path"](Path(path)) == path
    with pytest.raises(OSError, match="not found"):
        namespace["cached_path"](str(tmp_path / "nothing"))


def test_examples_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\t0\ntwo\t1\n")
    namespace = defined("InputExample")
    rows = namespace["DataProcessor"]._read_tsv(tmp_path / "a.tsv")
    assert rows == [["one", "0"], ["two", "1"]]
    example = namespace["InputExample"](guid="1", text_a=rows[0][0], label="0")
    assert example == namespace["InputExample"]("1", "one", None, "0") and '"text_b": null' in example.to_json_string()
    named = type("Named", (namespace["DataProcessor"],), {"get_labels": lambda self: ["no", "yes"]})()
    assert named.tfds_map(example).label == "no"
    features = namespace["InputFeatures"]([1, 2], label=1)
    assert (
        features.to_json_string()
        == '{"input_ids": [1, 2], "attention_mask": null, "token_type_ids": null, "label": 1}\n'
    )
    with pytest.raises(NotImplementedError):
        named.get_train_examples("a")


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_where_a_quantized_model_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    device_map = defined("get_kbit_device_map")["get_kbit_device_map"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_map() is None


def test_features_of_examples() -> None:
    namespace = defined("glue_convert_examples_to_features")
    example, features = namespace["InputExample"], namespace["glue_convert_examples_to_features"]
    pair = [example("1", "a b", "c", "yes"), example("2", "d", "a", None)]
    first, second = features(pair, tokenizer(), max_length=5, label_list=["no", "yes"], output_mode="classification")
    assert first == namespace["InputFeatures"]([6, 7, 8, 0, 0], [1, 1, 1, 0, 0], label=1)
    assert (second.input_ids, second.label) == ([9, 6, 0, 0, 0], None)
    alone = {"sts-b": ("2.5", 2.5), "mnli": ("neutral", 2), "rte": ("not_entailment", 1), "sst-2": ("1", 1)}
    for task, (label, expected) in alone.items():
        assert [one.label for one in features([example("1", "a", None, label)], tokenizer(), 3, task)] == [expected]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("cola", {"mcc": 0.57735}),
        ("mrpc", {"acc": 0.75, "f1": 0.66667, "acc_and_f1": 0.70833}),
        ("mnli-mm", {"mnli-mm/acc": 0.75}),
        ("rte", {"acc": 0.75}),
        ("sts-b", {"pearson": 0.57735, "spearmanr": 0.57735, "corr": 0.57735}),
    ],
)
def test_metrics_of_glue(task: str, expected: dict[str, float]) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("sklearn")
    measured = defined("glue_compute_metrics")["glue_compute_metrics"](
        task, np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    )
    assert measured == pytest.approx(expected, abs=1e-5)


def test_texts_in_pieces_of_one_length() -> None:

    pieces = defined("ConstantLengthDataset")["ConstantLengthDataset"]
    rows = [{"text": "a b c"}, {"text": "d"}, {"text": "a d"}]
    given = {"tokenizer": tokenizer(), "dataset_text_field": "text", "seq_length": 3}
    found = pieces(dataset=rows, shuffle=False, **given)
    assert [one["input_ids"].tolist() for one in found] == [[6, 7, 8], [2, 9, 2], [6, 9, 2]] and len(found) == 3
    small = {**given, "shuffle": False, "append_concat_token": False, "num_of_sequences": 1, "chars_per_token": 2}
    several = iter(pieces(dataset=rows, infinite=True, **small))
    assert [next(several)["labels"].tolist() for _ in range(4)] == [[6, 7, 8], [6, 9, 6], [9, 6, 9], [6, 7, 8]]
    ready = type("Rows", (list,), {"column_names": ["input_ids"]})([{"input_ids": [1, 2]}, {"input_ids": [3, 4]}])
    chosen = pieces(tokenizer(), ready, formatting_func=lambda row: row["input_ids"], seq_length=3, shuffle=False)
    assert [one["input_ids"].tolist() for one in chosen] == [[1, 2, 2], [3, 4, 2]]
    random.seed(3)  # mixed as trl 0.19 mixed them
    assert [one["input_ids"].tolist() for one in pieces(dataset=rows, **given)] == [[9, 2, 6], [7, 8, 2], [9, 2, 6]]
    with pytest.raises(ValueError, match="Received: neither"):
        pieces(tokenizer(), rows)
