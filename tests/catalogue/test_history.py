"""Tables of what packages lost over their releases: how they are read, whom they concern, and keywords that moved into settings."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import textwrap
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from dnnfix.config import Settings
from dnnfix.detect.versioning import names, tables
from dnnfix.detect.versioning.calls import changed_arguments
from dnnfix.detect.versioning.history import document
from dnnfix.detect.versioning.names import uses_of
from dnnfix.detect.versioning.tables import table
from dnnfix.errors import CatalogueError
from dnnfix.libraries import SUCCESSORS
from dnnfix.pipeline import suggest_file
from dnnfix.pipeline.check import check_file
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.source.program import Source

HISTORIES = sorted((names.DATA / "history").glob("*.json"))

GADGETS = {
    "package": "gadgets",
    "first": "1.0",
    "last": "2.0",
    "day": "2026-01-02",
    "shown": ["Config", "Trainer", "old", "turn"],
    "module": {"2.0": {"gadgets.old": ""}},
    "name": {"2.0": {"gadgets.turn": "gadgets.rotate"}},
    "argument": {
        "1.1": {
            "packing": {"args=gadgets.Config(packing)": ["gadgets.Trainer"]},
            "length": {"args=gadgets.Config(most)": ["gadgets.Trainer"]},
        },
        "1.2": {"tokenizer": {"processor": ["gadgets.Trainer"]}},
    },
    "method": {},
}


@pytest.fixture
def gadgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history of a package made up for the purpose, as if it were one of ours."""
    path = tmp_path / "gadgets.json"
    path.write_text(json.dumps(GADGETS))
    monkeypatch.setattr(names, "_histories", lambda: {"gadgets": path})


def checked(text: str) -> FileReport:
    return check_file(text.encode(), "program.py", Settings())


def patched(text: str) -> str:
    """The program with the first patch of the check, which repairs what is outdated together."""
    from dnnfix.emit.hunks import apply, replacements

    return apply(text.encode(), replacements(checked(text).patches[0].diff)).decode()


IMPORTED = {"scikit-learn": "sklearn", "opencv-python": "cv2"}
"""By the name on the index, the one under which programs import a package."""


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_nothing_is_told_twice(path: Path) -> None:
    """What a table by hand knows is in no history: a program would have two findings of one fault."""
    by_hand = [table(one) for one in sorted(names.DATA.glob("*.toml"))]
    for change in table(path).changes():
        if change.kind in ("module", "name"):
            assert not [one for one in by_hand if one.name(change.old) or one.module(change.old)], change
        elif change.kind == "argument":
            assert not [one for one in by_hand for of in change.of if one.argument(of, change.old)], change


REASONS = Path(__file__).resolve().parents[2] / "tools" / "unknown_removals.toml"


@pytest.mark.parametrize("listed", tomllib.loads(REASONS.read_text("utf-8"))["reason"], ids=lambda one: one["names"][0])
def test_what_no_table_has_to_know_is_in_none(listed: dict[str, Any]) -> None:
    assert listed["reason"].endswith(".") and listed["names"]
    package = listed["package"]
    known = table(names.DATA / "history" / f"{IMPORTED.get(package, package.replace('-', '_'))}.json")
    for change in known.changes():
        for name in [f"{of}.{change.old}" for of in change.of] or [change.old]:
            assert not [pattern for pattern in listed["names"] if fnmatchcase(name, pattern)], change


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_every_history_is_sound(path: Path) -> None:
    data = json.loads(path.read_bytes())
    assert IMPORTED.get(data["package"], data["package"].replace("-", "_")) == path.stem
    assert data["shown"] == sorted(data["shown"])
    known = table(path)
    assert set(known.shown) == set(data["shown"])
    changes = list(known.changes())
    assert changes
    for change in changes:
        roots = {name.partition(".")[0] for name in change.of or (change.old,)}
        assert change.removed and change.old != change.new or change.into, change
        assert all(root.isidentifier() for root in roots), change


def test_an_entry_has_what_the_tables_by_hand_have() -> None:
    found = document(GADGETS)
    assert found["module"][0]["note"] and found["name"][0]["new"] == "gadgets.rotate"
    assert found["argument"][1] == {
        "of": ["gadgets.Trainer"], "old": "length", "removed": "1.1", "by": "args", "into": "gadgets.Config", "new": "most", "exact": True,
    }  # fmt: skip


@pytest.mark.usefixtures("gadgets")
def test_names_and_keywords_that_went_are_found_and_renamed() -> None:
    text = "from gadgets import Trainer, turn\nimport gadgets.old\n\nturn(3)\nTrainer(None, tokenizer=1)\n"
    said = [result.finding.message for result in checked(text).findings]
    assert said == [
        "gadgets.turn was removed in gadgets 2.0; use gadgets.rotate",
        "the module gadgets.old was removed in gadgets 2.0",
        "the argument tokenizer of Trainer was removed in gadgets 1.2; use processor",
    ]


@pytest.mark.usefixtures("gadgets")
@pytest.mark.parametrize(
    "text",
    [
        "from gadgets import turn, build_gadget\n\nturn(3)\n",  # a folder of the program's own with the same name
        "import other\n\nother.turn(3)\n",
        "gadgets = []\ngadgets.turn = 1\n",
    ],
)
def test_what_only_has_the_name_is_left_alone(text: str) -> None:
    assert not checked(text).findings


MOVED = """\
from gadgets import Trainer
from others import Arguments

size = 512
args = Arguments(folder="out")
trainer = Trainer(
    "model",
    args=args,
    packing=True,
    length=size,
    tokenizer=None,
)
"""


@pytest.mark.usefixtures("gadgets")
def test_keywords_move_into_the_settings_and_their_class_with_them() -> None:
    assert patched(MOVED) == (
        "from gadgets import Trainer\nfrom gadgets import Config\n\nsize = 512\n"
        'args = Config(folder="out", packing=True, most=size)\n'
        'trainer = Trainer(\n    "model",\n    args=args,\n    processor=None,\n)\n'
    )


@pytest.mark.usefixtures("gadgets")
def test_settings_of_the_right_class_keep_their_call() -> None:
    text = "import gadgets\n\ngadgets.Trainer(1, args=gadgets.Config(), packing=True)\n"
    assert patched(text) == "import gadgets\n\ngadgets.Trainer(1, args=gadgets.Config(packing=True))\n"


@pytest.mark.usefixtures("gadgets")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("Trainer(1, 2, packing=True)", "whether args is given cannot be seen"),
        ("Trainer(1, packing=True, **more)", "whether args is given cannot be seen"),
        ("Trainer(1, args=given, packing=True)", "what makes args is not seen"),
        ("Trainer(1, args=Config(packing=False), packing=True)", "whether args has packing already"),
        ("Trainer(1, args=Config(**more), packing=True)", "whether args has packing already"),
        ("Trainer(1, args=Config(), packing=choose())", "is not known yet where args is made"),
    ],
)
def test_what_cannot_be_moved_says_why(call: str, said: str) -> None:
    text = f"from gadgets import Config, Trainer\n\n\ndef run(given, more):\n    return {call}\n"
    [hit] = changed_arguments(uses_of(Source.from_bytes(text.encode(), "program.py")))
    assert said in hit.decline and not hit.edits


@pytest.mark.usefixtures("gadgets")
def test_settings_are_made_for_all_that_moves_into_them() -> None:
    text = "import gadgets\n\ngadgets.Trainer(1, {})\n"
    assert patched(text.format("packing=True")) == text.format("args=gadgets.Config(packing=True)")
    assert patched(text.format("packing=True, length=3")) == text.format("args=gadgets.Config(packing=True, most=3)")


PARSED = """from transformers import HfArgumentParser, TrainingArguments
from trl import SFTTrainer

options, arguments = HfArgumentParser((Options, TrainingArguments)).parse_args_into_dataclasses()
trainer = SFTTrainer("gpt2", args=arguments, train_dataset=data, max_seq_length=options.length, packing=True)
"""


def test_settings_of_training_that_a_parser_makes_are_the_start_of_those_that_are_needed() -> None:
    known = '{**arguments.to_dict(), "hub_token": arguments.hub_token}'
    settings = f"SFTConfig(**{known}, max_length=options.length, packing=True)"
    assert f'SFTTrainer("gpt2", args={settings}, train_dataset=data)' in patched(PARSED)


def test_settings_that_may_be_the_needed_ones_already_are_left_alone() -> None:
    assert not checked(PARSED.replace("TrainingArguments", "SFTConfig")).patches


def test_the_length_of_prompts_is_not_told_any_more() -> None:
    program = "from trl import DPOConfig\n\nDPOConfig('out', max_length=9, max_prompt_length=4)\n"
    assert patched(program).endswith("\n\nDPOConfig('out', max_length=9)\n")


@pytest.mark.usefixtures("gadgets")
def test_a_value_that_is_bound_later_is_not_moved_up() -> None:
    text = MOVED.replace('size = 512\nargs = Arguments(folder="out")', 'args = Arguments(folder="out")\nsize = 512')
    after = patched(text)
    assert "length=size" in after and "packing=True)" in after


@pytest.mark.usefixtures("gadgets")
def test_what_a_package_names_as_successor_does_what_the_older_version_did() -> None:
    text = "import gadgets\n\ngadgets.Trainer(1, args=gadgets.Config(), packing=True)\n"
    [hit] = changed_arguments(uses_of(Source.from_bytes(text.encode(), "program.py")))
    assert hit.exact and not hit.safe


MOST = 60
"""Names that are looked up of one package: what a release shows, it mostly imports."""


NEEDING_MORE = {"accelerate", "peft", "torchmetrics", "transformers"}
"""Packages that show a part of their names only where others are installed."""


@pytest.mark.parametrize("path", [p for p in HISTORIES if p.stem not in NEEDING_MORE], ids=lambda path: path.stem)
def test_what_is_gone_is_not_there_and_what_takes_its_place_is(path: Path) -> None:
    data = json.loads(path.read_bytes())
    try:
        if importlib.metadata.version(data["package"]).partition("+")[0] != data["last"]:
            pytest.skip("another release is installed")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("it is not installed")
    pairs = [pair for names in data["name"].values() for pair in names.items()]
    pairs = pairs[:: max(1, len(pairs) // MOST)]
    asked = sorted({name for pair in pairs for name in pair if name} | {path.stem})
    tools = str(Path(__file__).resolve().parents[2] / "tools")
    program = f"import sys, json; sys.path.insert(0, {tools!r}); import public_api as p\np.choose_backend()\n"
    program += "print('there: ' + json.dumps(sorted(p.looked_up(sys.argv[1:]))))"
    command = [sys.executable, "-W", "ignore", "-c", program, *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    there = set(json.loads(done.stdout.rpartition("there: ")[2]))
    assert path.stem in there, done.stderr
    assert not [old for old, _ in pairs if old in there]
    assert not [new for _, new in pairs if new and new not in there]


SOUND = {
    "gymnasium": """
        import gymnasium as gym
        from gymnasium.wrappers import RecordVideo, TimeLimit
        from gymnasium.vector import SyncVectorEnv

        envs = SyncVectorEnv([lambda: TimeLimit(gym.make("CartPole-v1"), max_episode_steps=9)])
        observations, infos = envs.reset(seed=0)
        print(gym.make_vec("CartPole-v1", num_envs=2), RecordVideo, envs.step(envs.action_space.sample()))
        """,
    "albumentations": """
        import albumentations as A
        from albumentations.pytorch import ToTensorV2

        augment = A.Compose([A.HorizontalFlip(p=0.5), A.Normalize(), ToTensorV2()], bbox_params=A.BboxParams("coco"))
        """,
    "flax": """
        from flax import linen as nn
        from flax.training import train_state

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(features=2)(nn.relu(nn.Dense(8)(x)))

        print(train_state.TrainState, nn.max_pool)
        """,
    "jax": """
        import jax
        import jax.numpy as jnp
        from jax import grad, jit, random, vmap
        from jax.example_libraries import optimizers, stax

        @jit
        def loss(w, x):
            return jnp.mean(jax.nn.relu(x @ w) ** 2)

        key, other = random.split(random.PRNGKey(0))
        print(grad(loss)(random.normal(key, (3, 2)), jnp.ones((4, 3))), jax.tree_util.tree_map(jnp.sum, [other]), vmap)
        print(jax.lax.scan, jax.random.bernoulli(key), optimizers.adam(1e-3), stax.Relu, jnp.conjugate(1j), jax.Array)
        """,
    "keras_hub": """
        import keras_hub

        classifier = keras_hub.models.ImageClassifier.from_preset("resnet_18_imagenet")
        print(keras_hub.layers.StartEndPacker(8), keras_hub.tokenizers.BytePairTokenizer)
        """,
    "keras_cv": """
        import keras_cv

        augment = keras_cv.layers.RandomShear(x_factor=0.1, y_factor=0.1)
        backbone = keras_cv.models.ResNet18V2Backbone()
        """,
    "tensorflow_datasets": """
        import tensorflow_datasets as tfds

        (train, test), info = tfds.load("mnist", split=["train", "test"], as_supervised=True, with_info=True)
        print(tfds.as_dataframe(train.take(3), info), tfds.builder("cifar10").info)
        """,
    "matplotlib": """
        import matplotlib.pyplot as plt
        from matplotlib import colormaps, patches
        from matplotlib.ticker import MaxNLocator
        from matplotlib.backends.backend_qt5 import FigureCanvasQT, NavigationToolbar2QT

        figure, axes = plt.subplots(subplot_kw={"projection": "3d"})
        axes.plot([1, 2], [3, 4], color=colormaps["viridis"](0.5), label="a")
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.legend(loc="upper left")
        figure.tight_layout()
        print(patches.Rectangle((0, 0), 1, 1))
        plt.show()
        """,
    "tensorflow": """
        import tensorflow as tf
        from tensorflow import keras
        from tensorflow.keras import layers
        from tensorflow.python.keras import backend

        dataset = tf.data.Dataset.from_tensor_slices(tf.range(8)).batch(2).prefetch(tf.data.AUTOTUNE)
        with tf.distribute.MirroredStrategy().scope(), tf.GradientTape() as tape:
            found = tf.nn.relu(tf.linalg.matmul(tf.ones((2, 3)), tf.ones((3, 1))))
        print(found.device, tf.constant(1).graph, layers.Dense, keras.Model, tf.image.resize, tf.io.read_file, tf.lite.Interpreter)
        print(tf.compat.v1.Session, tf.config.list_physical_devices("GPU"), tf.math.reduce_sum(found), tape, dataset, backend)
        """,
    "torchtext": """
        from torchtext.data.utils import get_tokenizer
        from torchtext.vocab import build_vocab_from_iterator

        words = get_tokenizer("basic_english")
        vocab = build_vocab_from_iterator([words("a b")], specials=["<unk>"])
        """,
}


@pytest.mark.parametrize("package", SOUND)
def test_programs_of_today_have_no_finding(package: str) -> None:
    assert (names.DATA / "history" / f"{package}.json").is_file()
    report = checked(textwrap.dedent(SOUND[package]))
    assert [result.finding.message for result in report.findings] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import gym\n\nenv = gym.wrappers.Monitor(None, '.')\n", "gym.wrappers.Monitor was removed in gym 0.23"),
        ("from gymnasium.wrappers import FrameStack\n", "gymnasium.wrappers.FrameStack was removed in gymnasium 1.0"),
        (
            "from keras_cv.layers.preprocessing import Grayscale\n",
            "keras_cv.layers.preprocessing.Grayscale was removed in keras_cv 0.6; use keras_cv.layers.Grayscale",
        ),
        (
            "import tensorflow as tf\nfrom tensorflow import keras\n\ntf.config.experimental.enable_mlir_graph_optimization()\n",
            "tensorflow.config.experimental.enable_mlir_graph_optimization was removed in TensorFlow 2.12",
        ),
        (
            "from matplotlib.backends.backend_qt4 import FigureCanvasQT\n",
            "matplotlib.backends.backend_qt4.FigureCanvasQT was removed in matplotlib 3.5",
        ),
        (
            "import tensorflow_datasets as tfds\n\nprint(tfds.image.dtd.Dtd)\n",
            "tensorflow_datasets.image.dtd.Dtd was removed in tensorflow_datasets 3.0; use tensorflow_datasets.image.Dtd",
        ),
    ],
)
def test_what_the_new_packages_lost_is_found(text: str, said: str) -> None:
    assert [result.finding.message for result in checked(text).findings if result.finding.message.startswith(said)]


def test_calls_that_do_nothing_any_more_are_left_out() -> None:
    program = """
from transformers.utils import check_min_version, send_example_telemetry
from transformers import file_utils

check_min_version("4.9.0")


def main():
    send_example_telemetry("run", 1)


if __name__ == "__main__":
    main()
    file_utils.send_example_telemetry("run")
"""
    assert (
        patched(program)
        == """
from transformers.utils import check_min_version

check_min_version("4.9.0")


def main():
    pass


if __name__ == "__main__":
    main()
"""
    )


def test_what_is_used_otherwise_than_by_a_call_alone_is_not_left_out() -> None:
    [result] = checked(
        "from transformers.utils import send_example_telemetry\n\nkept = send_example_telemetry\n"
    ).findings
    assert not result.patches


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from transformers.file_utils import is_offline_mode", "from huggingface_hub import is_offline_mode"),
        ("from transformers.utils import is_offline_mode", "from huggingface_hub import is_offline_mode"),
        (
            "from IPython.display import display, set_matplotlib_formats",
            "from IPython.display import display\nfrom matplotlib_inline.backend_inline import set_matplotlib_formats",
        ),
        ("from trl.import_utils import is_xpu_available", "from accelerate.utils import is_xpu_available"),
        ("from timm.data import Dataset", "from timm.data import ImageDataset"),
        ("from transformers.modeling_utils import Conv1D", "from transformers.pytorch_utils import Conv1D"),
    ],
)
def test_names_that_went_elsewhere_are_imported_from_there(old: str, new: str) -> None:
    used = old.rpartition(" ")[2]
    now = new.rpartition(" ")[2]
    assert patched(f"import torch\n{old}\n\nprint({used}())\n") == f"import torch\n{new}\n\nprint({now}())\n"


def test_a_function_that_is_called_otherwise_today_is_one_finding_and_its_import_goes() -> None:
    program = "from datasets import list_datasets, load_dataset\n\nprint(len(list_datasets()), load_dataset)\n"
    [result] = checked(program).findings
    assert result.finding.code == "DNF530"
    assert patched(program) == (
        "from datasets import load_dataset\nimport huggingface_hub\n\n"
        "print(len([each.id for each in huggingface_hub.list_datasets()]), load_dataset)\n"
    )


def test_what_is_asked_of_a_tokenizer_or_trainer_has_its_name_of_today() -> None:
    program = (
        "from transformers import AutoTokenizer, Trainer\n\ntokenizer = AutoTokenizer.from_pretrained('gpt2')\n"
        "trainer = Trainer(model)\ntrainer.train(model_path=None)\nprint(tokenizer.max_len, other.max_len)\n"
    )
    after = patched(program)
    assert "trainer.train(resume_from_checkpoint=None)\nprint(tokenizer.model_max_length, other.max_len)" in after


def test_an_import_that_comes_later_is_no_way_to_a_name() -> None:
    program = (
        "from transformers import AutoModel\n\nmodel = AutoModel.from_pretrained('gpt2', load_in_8bit=True)\n"
        "import transformers\n\nprint(transformers)\n"
    )
    assert "quantization_config=BitsAndBytesConfig(load_in_8bit=True)" in patched(program)
    within = program.replace("\nmodel =", "\ndef made():\n    return")
    assert "quantization_config=transformers.BitsAndBytesConfig(load_in_8bit=True)" in patched(within)


def test_whether_an_accelerator_is_in_16_bits_is_asked_of_its_precision() -> None:
    program = "from accelerate import Accelerator\n\naccelerator = Accelerator()\nstep = 8 if accelerator.use_fp16 else None\n"
    assert 'step = 8 if accelerator.mixed_precision == "fp16" else None' in patched(program)
    assert not checked(program.replace("accelerator.use_fp16", "args.use_fp16")).findings


def test_a_history_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(CatalogueError, match=r"broken\.json: not JSON"):
        tables.table(path)


def test_packages_with_a_successor_are_the_same_for_the_tables_and_the_probe() -> None:
    moved = {change.old: change.new for change in table(names.DATA / "successors.toml").changes() if change.new}
    assert {old: new for old, new in moved.items() if "." not in old} == SUCCESSORS


OF_GYM = """
import gym
from gym.wrappers import RecordVideo
from gym.spaces import Box, Discrete

env = gym.make("CartPole-v1")
state, info = env.reset(seed=1)
print(env.step(env.action_space.sample()), RecordVideo, Box, Discrete)
"""


def test_what_lives_on_under_another_name_still_works_where_nothing_else_is_known() -> None:
    assert {result.finding.code for result in checked(OF_GYM).findings} == {"DNF550"}
    assert {
        result.finding.code for result in checked("from pytorch_transformers import AdamW, BertModel\n").findings
    } == {"DNF550"}


def test_names_below_a_module_that_keeps_its_name_are_written_below_it() -> None:
    program = "import pytorch_transformers\nfrom pytorch_transformers import modeling_gpt2\n\nprint(pytorch_transformers.BertModel, modeling_gpt2.GPT2Model)\n"
    assert "pytorch_transformers.BertModel, pytorch_transformers.GPT2Model" in patched(program)


def test_a_class_that_a_module_showed_beside_its_own_is_the_one_of_the_package() -> None:
    program = "from transformers.modeling_gpt2 import GPT2Config, GPT2Model\n\nprint(GPT2Config, GPT2Model)\n"
    assert patched(program).startswith("from transformers import GPT2Config, GPT2Model\n")
    [result] = checked("from transformers.modeling_gpt2 import logger\n\nprint(logger)\n").findings
    assert not result.patches


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pytorch_transformers.BertModel", "transformers.BertModel"),
        ("pytorch_transformers.modeling_bert.BertModel.from_pretrained", "transformers.BertModel.from_pretrained"),
        ("pytorch_pretrained_bert.modeling.BertSelfOutput", "transformers.models.bert.modeling_bert.BertSelfOutput"),
        ("pytorch_pretrained_bert.modeling.CONFIG_NAME", "transformers.utils.CONFIG_NAME"),
        ("pytorch_pretrained_bert.PYTORCH_PRETRAINED_BERT_CACHE", "huggingface_hub.constants.HF_HUB_CACHE"),
        ("pytorch_transformers.AdamW", "torch.optim.AdamW"),
        ("gym.spaces.Box", "gymnasium.spaces.Box"),
    ],
)
def test_a_name_of_a_package_that_lives_on_is_what_it_is_called_there_today(old: str, new: str) -> None:
    target = uses_of(Source.from_bytes(f"import {old.partition('.')[0]}\n".encode(), "program.py")).target(old)
    assert target is not None
    assert (target.final, target.deprecated) == (new, True)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("gymnasium") is None, reason="gymnasium is not installed")
@pytest.mark.skipif(importlib.util.find_spec("gym") is not None, reason="gym is installed, so that nothing is missed")
def test_a_package_that_is_missed_is_imported_by_the_name_it_has_today(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""\
            import gym
            from gym import spaces
            import torch

            env = gym.make("CartPole-v1")
            env.seed(3)
            state = env.reset()
            print(isinstance(env.action_space, spaces.Discrete), torch.tensor(state).shape)
            """)
    )
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    report = suggest_file(path.read_bytes(), str(path), settings, lambda words: None)
    patch = next(one for one in report.patches if one.verdict is PatchVerdict.ACCEPTED)
    added = [line[1:] for line in patch.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == [
        "import gymnasium as gym",
        "from gymnasium import spaces",
        "env.reset(seed=3)",
        "state, _ = env.reset()",
    ]
