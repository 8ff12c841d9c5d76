"""Settings of other libraries' trainers (transformers, Lightning): their names and defaults, such as the learning rate.

Sources: `TrainingArguments` of transformers 5.0 and `Trainer` of Lightning 2.5. The default rate of transformers suits
pretrained networks; from scratch AdamW usually begins with a thousandth.
"""

from __future__ import annotations

from dnnfix.records.record import record


@record
class Trainer:
    """The names of a trainer's settings; empty for one that it does not have."""

    epochs: str
    rate: str = ""
    default_rate: float = 0.0
    usual_rate: float = 0.0
    batch_size: str = ""


_TRANSFORMERS = Trainer("num_train_epochs", "learning_rate", 5e-5, 1e-3, "per_device_train_batch_size")

TRAINERS: dict[str, Trainer] = {
    **dict.fromkeys(("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"), _TRANSFORMERS),
    **dict.fromkeys(
        ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer"), Trainer("max_epochs")
    ),
}
"""By canonical name."""
