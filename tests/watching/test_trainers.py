"""Lightning and the `Trainer` of transformers, by their callbacks: real trainings, one that is sound and one that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from dnnfix.watching.log import read_log
from tests.watching import trainings

EAGER: dict[str, Any] = {"share": 1.0, "patience": 120}
UNBOUND, SLOW, SOUND = 1e30, 1e-7, 0.01


def by_lightning(rate: float, log: Path, stop: bool = False) -> Any:
    lightning: Any = pytest.importorskip("lightning")
    from dnnfix.lightning import WatchCallback

    class Classifier(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = trainings.perceptron()

        def training_step(self, batch: Any, index: int) -> Any:
            x, y = batch
            return nn.functional.cross_entropy(self.layers(x), y)

        def configure_optimizers(self) -> Any:
            return (
                torch.optim.SGD(self.parameters(), lr=rate)
                if rate > 1
                else torch.optim.Adam(self.parameters(), lr=rate)
            )

    callback = WatchCallback(log=log, stop=stop, **EAGER)
    data = torch.utils.data.TensorDataset(*trainings.classes())
    trainer = lightning.Trainer(
        max_epochs=20,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        callbacks=[callback],
    )
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=32))
    return callback.watch


def by_transformers(rate: float, log: Path, stop: bool = False) -> Any:
    transformers: Any = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from dnnfix.transformers import WatchCallback

    class Classifier(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = trainings.perceptron()

        def forward(self, x: Any, labels: Any = None) -> Any:
            scores = self.layers(x)
            return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}

    callback = WatchCallback(log=log, stop=stop, **EAGER)
    arguments = transformers.TrainingArguments(
        output_dir=str(log.parent / "out"),
        learning_rate=rate,
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        optim="sgd" if rate > 1 else "adamw_torch",
        per_device_train_batch_size=32,
        num_train_epochs=20,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    rows = [{"x": x, "labels": y} for x, y in zip(*trainings.classes(), strict=True)]
    transformers.Trainer(model=Classifier(), args=arguments, train_dataset=rows, callbacks=[callback]).train()
    return callback.watch


TRAINERS = pytest.mark.parametrize("train", [by_lightning, by_transformers])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@TRAINERS
def test_a_sound_training_shows_nothing(train: Any, tmp_path: Path) -> None:
    watch = train(SOUND, tmp_path / "symptoms.jsonl")
    assert watch.seen == [] and watch.closed
    assert watch.steps == 400 and watch._looks >= 5
    assert read_log(tmp_path / "symptoms.jsonl").steps == 400


@TRAINERS
def test_a_rate_far_too_small_is_told(train: Any, tmp_path: Path) -> None:
    watch = train(SLOW, tmp_path / "symptoms.jsonl")
    seen = read_log(tmp_path / "symptoms.jsonl").seen
    assert {"at-chance", "rate-off"} <= {one.reading.name for one in seen}
    assert [one.reading.name for one in seen] == [one.reading.name for one in watch.seen]


@TRAINERS
def test_the_trainer_ends_where_it_is_to_end(train: Any, tmp_path: Path) -> None:
    watch = train(UNBOUND, tmp_path / "symptoms.jsonl", stop=True)
    assert [seen.reading.name for seen in watch.seen] == ["non-finite"]
    assert watch.steps < 60 and watch.closed
