"""From Lightning 1 to 2, where a rename does not do: hooks with the outputs of an epoch, metrics that need to be told their task, and more."""

from __future__ import annotations

import pytest

from dnnfix.config import Settings
from dnnfix.emit.hunks import apply, replacements
from dnnfix.fix_templates.versioning.outdated_call import OutdatedCall
from dnnfix.fix_templates.versioning.removed_name import RemovedName
from dnnfix.pipeline.check import check_file
from dnnfix.records import FileReport
from dnnfix.source.program import Source
from dnnfix.subject import Subject


def checked(text: str) -> FileReport:
    return check_file(text.encode(), "program.py", Settings())


def patched(text: str) -> str:
    """The program with the first patch of the check, which repairs what is outdated together."""
    return apply(text.encode(), replacements(checked(text).patches[0].diff)).decode()


def reasons(text: str) -> str:
    """Why nothing of a program is changed."""
    assert not checked(text).patches
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    return " | ".join(hit.decline for rule in (RemovedName, OutdatedCall) for hit in rule().hits(subject))


MODULE = """\
import torch
import pytorch_lightning as pl


class Net(pl.LightningModule):
"""

CONSTRUCTOR = """\
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

"""

STEP = """\
    def validation_step(self, batch, batch_idx):
        return {"loss": self.layer(batch).mean()}

"""

END = """\
    # what the epoch comes to
    def validation_epoch_end(self, outputs: list) -> None:
        \"\"\"Logs.\"\"\"
        if not outputs:
            return
        self.log("loss", torch.stack([one["loss"] for one in outputs]).mean())
"""


def test_the_outputs_of_an_epoch_are_collected_behind_each_batch() -> None:
    assert patched(MODULE + CONSTRUCTOR + STEP + END) == MODULE + CONSTRUCTOR.replace(
        "__init__()\n", "__init__()\n        self.validation_step_outputs = []\n"
    ) + STEP + (
        """\
    def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0):
        self.validation_step_outputs.append(outputs)

    # what the epoch comes to
    def on_validation_epoch_end(self) -> None:
        \"\"\"Logs.\"\"\"
        outputs, self.validation_step_outputs = self.validation_step_outputs, []
        if not outputs:
            return
        self.log("loss", torch.stack([one["loss"] for one in outputs]).mean())
"""
    )


def test_tabs_stay_tabs() -> None:
    text = patched((MODULE + CONSTRUCTOR + STEP + END).replace("    ", "\t"))
    assert "\n\tdef on_validation_batch_end(" in text and "\n\t\tself.validation_step_outputs = []\n" in text
    compile(text, "program.py", "exec")


def test_without_a_constructor_the_list_is_made_where_an_epoch_starts() -> None:
    program = MODULE + STEP + END
    made = "    def on_validation_epoch_start(self):\n        self.validation_step_outputs = []\n\n"
    assert made + "    def on_validation_batch_end" in patched(program)
    has = "    def on_validation_epoch_start(self):\n        print(1)\n\n"
    assert has.replace("print(1)", "self.validation_step_outputs = []\n        print(1)") in patched(
        MODULE + has + STEP + END
    )


def test_an_output_of_none_is_left_out_as_it_was() -> None:
    step = STEP.replace("        return", "        if batch_idx:\n            return")
    kept = "        if outputs is not None:\n            self.validation_step_outputs.append(outputs)\n"
    assert kept in patched(MODULE + CONSTRUCTOR + step + END)
    training = (step + END).replace("validation", "training")
    assert (
        "    def on_train_batch_end(self, outputs, batch, batch_idx):\n        if outputs:\n            self.training_step_outputs"
        in (patched(MODULE + CONSTRUCTOR + training))
    )


def test_outputs_that_nothing_reads_are_not_collected() -> None:
    end = "    def training_epoch_end(self, outputs):\n        super().training_epoch_end(outputs)\n        print(1)\n"
    assert patched(MODULE + end) == MODULE + "    def on_train_epoch_end(self):\n        print(1)\n"


def test_a_parameter_may_have_the_name_of_the_attribute() -> None:
    text = patched((MODULE + CONSTRUCTOR + STEP + END).replace("outputs", "validation_step_outputs"))
    kept = "        validation_step_outputs, self.validation_step_outputs = self.validation_step_outputs, []\n"
    assert kept in text


def test_a_hook_behind_a_batch_that_is_there_collects() -> None:
    hook = "    def on_validation_batch_end(self, out, *rest):\n        print(out)\n\n"
    new = hook.replace("print(out)", "self.validation_step_outputs.append(out)\n        print(out)")
    text = patched(MODULE + CONSTRUCTOR + STEP + hook + END)
    assert new in text and text.count("def on_validation_batch_end") == 1


def test_a_method_that_the_program_calls_as_well_stays_one() -> None:
    test = "    def test_step(self, batch, batch_idx):\n        return self.validation_step(batch, batch_idx)\n\n"
    end = "    def test_epoch_end(self, outputs):\n        return self.validation_epoch_end(outputs)\n"
    text = patched(MODULE + CONSTRUCTOR + STEP + END + "\n" + test + end)
    assert "    def _validation_epoch_end(self, outputs: list) -> None:\n" in text
    assert "        self._validation_epoch_end(outputs)\n\n    # what the epoch comes to\n" in text
    assert "        return self._validation_epoch_end(outputs)\n" in text
    assert (
        "def on_test_epoch_end(self):\n        outputs, self.test_step_outputs = self.test_step_outputs, []\n" in text
    )
    assert ".validation_epoch_end" not in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("batch, batch_idx", "batch, batch_idx, dataloader_idx=0", "several loaders"),
        ("outputs: list", "*outputs", "not those that it was called with"),
        (
            "    # what",
            "    def on_validation_epoch_end(self):\n        pass\n\n    # what",
            "on_validation_epoch_end too",
        ),
        (
            "    # what",
            "    def validation_step_end(self, o):\n        return o\n\n    # what",
            "validation_step_end made",
        ),
        ("one in outputs", "one in super().validation_epoch_end(outputs)", "uses what"),
        ("super().__init__()", "super().__init__()\n        self.validation_step_outputs = 1", "already"),
        (
            "class Net",
            "def run(net):\n    net.validation_epoch_end([])\n\n\nclass Net",
            "calls validation_epoch_end itself",
        ),
    ],
)
def test_what_would_mean_something_else_is_declined(old: str, new: str, said: str) -> None:
    assert said in reasons((MODULE + CONSTRUCTOR + STEP + END).replace(old, new))


def test_the_hook_of_a_class_above_is_not_hidden() -> None:
    child = "\n\nclass Child(Net):\n    def validation_epoch_end(self, outputs):\n        super().validation_epoch_end(outputs)\n"
    assert "derives from" in reasons(MODULE + CONSTRUCTOR + STEP + END + child)


def test_a_plain_module_that_is_driven_by_hand_is_left_alone() -> None:
    text = (MODULE + CONSTRUCTOR + STEP + END).replace("pl.LightningModule", "torch.nn.Module")
    assert not checked(text + "\n\nNet().validation_epoch_end([])\n").findings


METRIC = """\
import torch
import torch.nn.functional as F
import torchmetrics
import pytorch_lightning as pl
from torchmetrics.functional import accuracy


class Net(pl.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.last = torch.nn.Linear(8, {width})
        self.metric = torchmetrics.{metric}

    def training_step(self, batch, batch_idx):
        x, y = batch
        z = self.last(self.first(x).relu())
        self.log("accuracy", {called})
        return F.{loss}(z, y)
"""


def metric(metric: str, width: str = "3", loss: str = "cross_entropy", called: str = "y") -> str:
    return METRIC.format(metric=metric, width=width, loss=loss, called=called)


@pytest.mark.parametrize(
    ("old", "new", "width", "loss"),
    [
        ("Accuracy()", 'Accuracy(task="multiclass", num_classes=3)', "3", "cross_entropy"),
        ("Accuracy()", 'Accuracy(task="multiclass", num_classes=classes)', "classes", "cross_entropy"),
        ("Accuracy()", 'Accuracy(task="binary")', "1", "binary_cross_entropy_with_logits"),
        ("Accuracy()", 'Accuracy(task="multilabel", num_labels=5)', "5", "binary_cross_entropy_with_logits"),
        ("F1(num_classes=1)", 'F1Score(task="binary")', "1", "binary_cross_entropy_with_logits"),
        (
            "F1(num_classes=3, average='macro', compute_on_step=False)",
            "F1Score(num_classes=3, average='macro', task=\"multiclass\")",
            "3",
            "cross_entropy",
        ),
    ],
)
def test_a_metric_is_told_its_task(old: str, new: str, width: str, loss: str) -> None:
    assert patched(metric(old, width, loss)) == metric(new, width, loss)


def test_a_function_is_told_the_size_of_the_layer() -> None:
    loss = "cross_entropy"
    new = 'accuracy(z.argmax(-1), y, task="multiclass", num_classes=self.last.out_features)'
    done = 'Accuracy(task="binary")'
    assert patched(metric(done, "classes", loss, "accuracy(z.argmax(-1), y)")) == metric(done, "classes", loss, new)


@pytest.mark.parametrize(
    ("old", "width", "loss", "said"),
    [
        ("Accuracy()", "3", "mse_loss", "no loss of the program tells"),
        ("Accuracy()", "wide()", "cross_entropy", "number of classes cannot be seen"),
        ("Accuracy(mdmc_average='global')", "3", "cross_entropy", "mdmc_average meant"),
        ("Accuracy(0.5)", "3", "cross_entropy", "another order"),
        ("Accuracy(num_classes=2)", "1", "binary_cross_entropy_with_logits", "two classes or two labels"),
    ],
)
def test_a_task_that_cannot_be_told_is_declined(old: str, width: str, loss: str, said: str) -> None:
    assert said in reasons(metric(old, width, loss))


@pytest.mark.parametrize(
    "told",
    [
        "Accuracy(task='binary') if new else torchmetrics.Accuracy()",
        "Accuracy('binary')",
        "Accuracy(kind, num_classes=3)",
        "Accuracy(*given)",
        "Accuracy(**given)",
    ],
)
def test_a_metric_that_knows_its_task_is_left_alone(told: str) -> None:
    assert not checked(metric(told)).findings


def test_the_metrics_of_lightning_are_a_package_of_their_own() -> None:
    program = "import pytorch_lightning as pl\nmetric = pl.metrics.{}\n"
    assert "from pytorch_lightning" not in patched(program.format("MeanSquaredError()"))
    assert "metric = torchmetrics.MeanSquaredError()" in patched(program.format("MeanSquaredError()"))


OPTIONS = """\
from argparse import ArgumentParser
import torch
from pytorch_lightning import Trainer

parser = ArgumentParser()
parser.add_argument("--lr", default=0.1, type=float)
parser = Trainer.add_argparse_args(parser)
args = parser.parse_args()
trainer = Trainer.from_argparse_args(args, weights_summary=None)
"""


def test_the_options_of_a_trainer_are_defined_by_the_program() -> None:
    text = patched(OPTIONS)
    assert "\nparser = add_argparse_args(parser)\n" in text and "import inspect\n" in text
    assert "\ntrainer = from_argparse_args(args, enable_model_summary=False)\n" in text
    resumed = patched(OPTIONS.replace("weights_summary=None", "resume_from_checkpoint=args.path") + "trainer.fit(1)\n")
    assert "from_argparse_args(args)\ntrainer.fit(1, ckpt_path=args.path)\n" in resumed
    compile(text, "program.py", "exec")


def test_a_trainer_that_is_imported_from_its_own_module_is_not_imported_again() -> None:
    text = patched(OPTIONS.replace("from pytorch_lightning import", "from pytorch_lightning.trainer import"))
    assert text.count("import Trainer") == 1 and "def add_argparse_args" in text


@pytest.mark.parametrize("lost", ["parser.add_argument('--tpu_cores')", "print(args.auto_lr_find)"])
def test_an_option_that_trainers_lost_is_not_passed_over(lost: str) -> None:
    report = checked(OPTIONS + lost + "\n")
    assert any("options its command line has" in each.finding.message for each in report.findings)
    assert "def from_argparse_args" not in "".join(patch.diff for patch in report.patches)


TRAINER = """\
import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint


def main(model, args):
    saved = ModelCheckpoint("x")
    trainer = pl.Trainer({})
    trainer.fit({})
"""


@pytest.mark.parametrize(
    ("given", "new", "fitted"),
    [
        ("resume_from_checkpoint=args.path", "", "model, ckpt_path=args.path"),
        ("checkpoint_callback=saved", "callbacks=[saved]", "model"),
        ("callbacks=[1], checkpoint_callback=saved", "callbacks=[1, saved]", "model"),
        (
            "early_stop_callback=EarlyStopping('a'), checkpoint_callback=saved",
            "callbacks=[EarlyStopping('a'), saved]",
            "model",
        ),
        ("checkpoint_callback=False", "enable_checkpointing=False", "model"),
        ("auto_lr_find=True", "", "model"),
        ("gpus=-1", 'devices=-1, accelerator="auto"', "model"),
        ("gpus=0", 'accelerator="cpu"', "model"),
        (
            "gpus=min(1, args.n)",
            'devices=min(1, args.n) or 1, accelerator="auto" if min(1, args.n) else "cpu"',
            "model",
        ),
        ("gpus=[0, 1]", 'devices=[0, 1], accelerator="gpu"', "model"),
        ("accelerator='ddp'", "strategy='ddp'", "model"),
    ],
)
def test_settings_of_a_trainer(given: str, new: str, fitted: str) -> None:
    assert patched(TRAINER.format(given, "model")) == TRAINER.format(new, fitted)


def test_several_processes_on_gpus() -> None:
    text = patched(TRAINER.format("gpus=args.gpus, distributed_backend='ddp'", "model"))
    for given in ("devices=args.gpus or 1", 'accelerator="gpu" if args.gpus else "cpu"', "strategy='ddp'"):
        assert given in text
    assert "distributed" not in text and "gpus=" not in text


@pytest.mark.parametrize(
    ("given", "fitted", "said"),
    [
        ("resume_from_checkpoint=find(args)", "model", "not known where fit is called"),
        ("resume_from_checkpoint=args.path", "model, ckpt_path=1", "cannot be seen"),
        ("resume_from_checkpoint=args.path", "model)\n    trainer.fit(model", "one fit"),
        ("resume_from_checkpoint=args.path)\n    args.path = (1", "model", "not known where fit is called"),
        ("checkpoint_callback=saved, callbacks=args.all", "model", "what is given as callbacks"),
    ],
)
def test_a_setting_that_cannot_be_moved_is_declined(given: str, fitted: str, said: str) -> None:
    assert said in reasons(TRAINER.format(given, fitted))


def test_a_tuner_does_what_tune_did() -> None:
    program = TRAINER.format("auto_lr_find='rate', auto_scale_batch_size=True", "model").replace(
        "    trainer.fit", "    trainer.tune(model, datamodule=args.data)\n    trainer.fit"
    )
    text = patched(program)
    assert "from pytorch_lightning.tuner import Tuner\n" in text and "    trainer = pl.Trainer()\n" in text
    assert (
        "    Tuner(trainer).scale_batch_size(model, datamodule=args.data)\n"
        "    Tuner(trainer).lr_find(model, datamodule=args.data, attr_name='rate')\n    trainer.fit(model)\n"
    ) in text
    assert "tune returned" in reasons(program.replace("trainer.tune", "found = trainer.tune"))


HPARAMS = MODULE + "    def __init__(self, hparams):\n        super().__init__()\n        self.hparams = hparams\n"


def test_hyperparameters_are_saved() -> None:
    assert patched(HPARAMS) == HPARAMS.replace("self.hparams = hparams", "self.save_hyperparameters(hparams)")
    assert "vars" in reasons(HPARAMS + "        print(vars(self.hparams))\n")
    early = HPARAMS.replace("        super().__init__()\n", "") + "        super().__init__()\n"
    assert "no module yet" in reasons(early)
    assert not checked(HPARAMS.replace("pl.LightningModule", "torch.nn.Module")).findings


def test_the_decorator_of_loaders_goes() -> None:
    loader = "    # all\n    @pl.data_loader\n    def train_dataloader(self):\n        return []\n"
    assert patched(MODULE + loader) == MODULE + loader.replace("    @pl.data_loader\n", "")


ADVERSARIES = """\
import torch
import torch.nn.functional as F
import pytorch_lightning as pl


class Pair(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    # one after the other
    def training_step(self, batch, number, optimizer_idx):
        if optimizer_idx == 0:
            return {first}
        if optimizer_idx == 1:
            return {second}

    def configure_optimizers(self):
        first = torch.optim.SGD(self.one.parameters(), lr=0.1)
        second = torch.optim.SGD(self.two.parameters(), lr=0.1)
        return {both}
"""


def adversaries(first: str = "-self.one(batch).mean()", second: str = "", both: str = "first, second") -> str:
    return ADVERSARIES.format(first=first, second=second or first, both=both)


def test_a_module_steps_its_optimizers_as_lightning_did() -> None:
    assert """\
        super().__init__()
        self.automatic_optimization = False
""" in patched(adversaries())
    assert """\
    def training_step(self, batch, number):
        for optimizer_idx, optimizer in enumerate(self.optimizers()):
            self.toggle_optimizer(optimizer)
            loss = self.optimizer_loss(batch, number, optimizer_idx)
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
            self.untoggle_optimizer(optimizer)

    # one after the other
    def optimizer_loss(self, batch, number, optimizer_idx):
        if optimizer_idx == 0:
""" in patched(adversaries())


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            adversaries("{'loss': -self.one(batch).mean()}"),
            '            loss = self.optimizer_loss(batch, number, optimizer_idx)["loss"]\n',
        ),
        (
            adversaries("{'loss': 1}", "-batch"),
            '            loss = output["loss"] if isinstance(output, dict) else output\n',
        ),
        (
            adversaries().replace("== 1", "== 2"),
            "            if loss is not None:\n                optimizer.zero_grad()\n",
        ),
        (
            adversaries(both="[first, second], [torch.optim.lr_scheduler.StepLR(first, 1)]"),
            "    def on_train_epoch_end(self):\n        self.lr_schedulers().step()\n\n    # one after",
        ),
        (
            adversaries(both="[first, second], 2 * [torch.optim.lr_scheduler.StepLR(first, 1)]")
            .replace("2 * ", "")
            .replace("1)]", "1), torch.optim.lr_scheduler.StepLR(second, 1)]"),
            "        for scheduler in self.lr_schedulers():\n            scheduler.step()\n",
        ),
    ],
)
def test_what_a_step_gives_and_schedulers(program: str, said: str) -> None:
    assert said in patched(program)


def test_a_name_that_held_something_else_in_between_is_what_is_returned() -> None:
    named = (
        "            output = self.one(batch)\n            output = {'loss': output.mean()}\n            return output"
    )
    program = adversaries().replace("            return -self.one(batch).mean()", named)
    assert 'optimizer_idx)["loss"]\n' in patched(program)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (adversaries(both="self.all()"), "how many optimizers"),
        (adversaries(both="[{'optimizer': first, 'frequency': 2}, second]"), "how many optimizers"),
        (adversaries(both="[first, second], [{'scheduler': 1}]"), "how its schedulers step"),
        (adversaries().replace("optimizer_idx):", "optimizer_idx, hiddens):"), "parameters of training_step"),
        (adversaries() + "\n    def backward(self, loss):\n        loss.backward()\n", "own backward"),
        (adversaries() + "\n\npl.Trainer(gradient_clip_val=1.0)\n", "gradient_clip_val"),
    ],
)
def test_several_optimizers_that_cannot_be_stepped_alike_are_declined(program: str, said: str) -> None:
    assert said in reasons(program)


STEPPED = """\
optimizer_step(self, epoch, i, optimizer{}, optimizer_closure=None):
        super().optimizer_step(epoch, i, optimizer{}, optimizer_closure)"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            STEPPED.format(", optimizer_idx", ", optimizer_idx"),
            STEPPED.format("", ""),
        ),
        (
            "lr_scheduler_step(self, scheduler, optimizer_idx, metric):\n        scheduler.step()",
            "lr_scheduler_step(self, scheduler, metric):\n        scheduler.step()",
        ),
        (
            "on_train_batch_end(\n        self, outputs, batch, batch_idx: int,\n        dataloader_idx: int\n    ):\n        print(1)",
            "on_train_batch_end(\n        self, outputs, batch, batch_idx: int\n    ):\n        print(1)",
        ),
        ("on_train_epoch_end(self, outputs):\n        print(1)", "on_train_epoch_end(self):\n        print(1)"),
    ],
)
def test_hooks_lose_what_they_are_not_given(old: str, new: str) -> None:
    assert patched(MODULE + f"    def {old}\n") == MODULE + f"    def {new}\n"


def test_a_step_that_steps_its_optimizers_is_not_told_of_one() -> None:
    step = "    automatic_optimization = False\n\n    def training_step(self, batch, batch_idx, optimizer_idx):\n        print({})\n"
    assert patched(MODULE + step.format(1)) == MODULE + step.format(1).replace(", optimizer_idx", "")
    assert "uses optimizer_idx" in reasons(MODULE + step.format("optimizer_idx"))


def test_hooks_of_callbacks_do_too() -> None:
    callback = MODULE.replace("LightningModule", "Callback")
    old = "    def on_train_epoch_end(self, trainer, pl_module, outputs):\n        print(1)\n"
    assert patched(callback + old) == callback + old.replace(", outputs", "")


def test_the_index_of_the_only_loader_is_0() -> None:
    program = MODULE.replace("LightningModule", "Callback").replace("\n\n\n", "\ngpus = 1\n\n\n", 1) + (
        "    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx{}):\n        print(1)\n"
    )
    assert patched(program.format("")) == program.format("=0")
    assert patched(program.format(": int")) == program.format(": int = 0")
    assert not checked(program.format("=0")).findings


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (
            "optimizer_step(self, a, b, optimizer, optimizer_idx, closure):\n        if optimizer_idx == 0:\n            closure()",
            "uses optimizer_idx",
        ),
        ("optimizer_step(self, a, b, optimizer, optimizer_idx):\n        optimizer.step()", "never calls the closure"),
        ("on_train_epoch_end(self, outputs):\n        print(outputs)", "uses outputs"),
    ],
)
def test_hooks_that_use_it_are_declined(old: str, said: str) -> None:
    assert said in reasons(MODULE + f"    def {old}\n")


def test_the_hook_of_any_epoch_is_that_of_training_where_there_is_no_other() -> None:
    program = MODULE + "    def on_epoch_end(self):\n        print(1)\n"
    assert patched(program) == program.replace("on_epoch_end", "on_train_epoch_end")
    assert "training and of validation" in reasons(program + "\n" + STEP)


FIGURES = """\
    def training_step(self, batch, batch_idx):
        loss = self.layer(batch).mean()
        logs = {"train_loss": loss}
        return {"loss": loss, "log": logs, "progress_bar": logs}

    def validation_step(self, batch, batch_idx):
        return {"loss": self.layer(batch).mean()}

    def validation_epoch_end(self, outputs):
        mean = sum(one["loss"] for one in outputs)
        return {"mean": mean, "other": mean, "log": {"val_loss": mean}}


saved = pl.callbacks.ModelCheckpoint(monitor="mean")
"""


def test_figures_that_were_returned_are_logged() -> None:
    text = patched(MODULE + CONSTRUCTOR + FIGURES)
    assert '        self.log_dict(logs, prog_bar=True)\n        return {"loss": loss' in text
    logged = '        self.log_dict({"val_loss": mean})\n        self.log("mean", mean, logger=False)\n        return {"mean"'
    assert logged in text and 'self.log("other"' not in text
    assert not checked(text + "gpus = 1\n").findings
    named = FIGURES.replace('return {"loss": loss,', 'found = {"loss": loss,').replace(
        "logs}\n", "logs}\n        return found\n"
    )
    assert '        self.log_dict(found["log"], prog_bar=True)\n        return found\n' in patched(
        MODULE + CONSTRUCTOR + named
    )


def test_figures_that_the_program_reads_itself_are_its_own() -> None:
    step = (
        FIGURES[: FIGURES.index("    def validation_step")] + "    def shown(self, one):\n        return one['log']\n"
    )
    assert not checked(MODULE + CONSTRUCTOR + step).findings


def test_a_plugin_for_several_processes_is_a_strategy() -> None:
    program = (
        "import torch\nfrom pytorch_lightning import Trainer\nfrom pytorch_lightning.{} import {}\nt = Trainer({}={})\n"
    )
    old = program.format("plugins", "DDPPlugin", "plugins", "DDPPlugin(find_unused_parameters=False)")
    new = program.format("strategies", "DDPStrategy", "strategy", "DDPStrategy(find_unused_parameters=False)")
    assert patched(old) == new
    assert (
        patched(old.replace("=DDPPlugin(find_unused_parameters=False)", "=[DDPPlugin(find_unused_parameters=False)]"))
        == new
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("utilities.distributed import rank_zero_only", "utilities import rank_zero_only"),
        ("loggers.base import LightningLoggerBase", "loggers.logger import Logger"),
        ("utilities.cli import LightningCLI", "cli import LightningCLI"),
    ],
)
def test_names_that_moved(old: str, new: str) -> None:
    program = "import torch\nfrom pytorch_lightning.{}\nprint({})\n"
    name, now = old.rpartition(" ")[2], new.rpartition(" ")[2]
    assert patched(program.format(old, name)) == program.format(new, now)


@pytest.mark.parametrize(
    "body",
    [
        "    def test_end(self, outputs):\n        print(outputs)\n\n    def on_test_epoch_end(self):\n        self.test_end([1])\n",
        "    def on_epoch_end(self):\n        print(1)\n\n    def on_train_epoch_end(self):\n        self.on_epoch_end()\n",
        "    def on_train_epoch_end(self, step):\n        print(step)\n",
        "    def optimizer_step(self, a, b, optimizer, optimizer_closure, optimizer_idx=0):\n        optimizer_closure()\n",
        "    def backward(self, loss, optimizer=None, optimizer_idx=None):\n        loss.backward()\n",
        "    def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx):\n        print(1)\n",
        "    def training_step(self, batch, batch_idx):\n        return {'loss': batch.sum(), 'log': {'a': 1}}\n",
        "    hparams = None\n\n    def __init__(self, h):\n        super().__init__()\n        self.hparams = h\n",
    ],
)
def test_what_is_sound_today_is_left_alone(body: str) -> None:
    assert not checked(MODULE + body).findings


def test_the_size_of_a_data_module_is_what_it_set() -> None:
    data = MODULE.replace("class Net(pl.LightningModule)", "class Data(pl.LightningDataModule)")
    program = (
        data
        + "    def __init__(self):\n        super().__init__()\n        self.dims = (1, 28, 28)\n\n\ndata = Data()\nprint(*{})\n"
    )
    assert patched(program.format("data.size()")) == program.format("data.dims")
    assert not checked(program.format("data.dims")).findings
    assert "sets no dims" in reasons(program.replace("self.dims", "self.dim").format("data.size()"))
    assert not checked(program.replace("pl.LightningDataModule", "torch.Tensor").format("data.size()")).findings
