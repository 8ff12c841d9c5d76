"""Reviews of two kinds by a BERT, as it was written for transformers 3."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import (
    AdamW,
    BertConfig,
    BertForSequenceClassification,
    BertTokenizer,
    get_linear_schedule_with_warmup,
)

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "the",
    "film",
    "was",
    "good",
    "bad",
    "dull",
    "fine",
    "and",
    "not",
    "very",
    "it",
    "plot",
    "cast",
]
with open("vocab.txt", "w") as file:
    file.write("\n".join(WORDS))
REVIEWS = [("the film was very good", 1), ("a dull and bad plot", 0), ("fine cast", 1), ("it was not good", 0)] * 4


class Reviews(Dataset):
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __len__(self):
        return len(REVIEWS)

    def __getitem__(self, index):
        text, label = REVIEWS[index]
        inputs = self.tokenizer.encode_plus(text, None, add_special_tokens=True, max_length=12, pad_to_max_length=True)
        return {
            "ids": torch.tensor(inputs["input_ids"]),
            "mask": torch.tensor(inputs["attention_mask"]),
            "label": torch.tensor(label),
        }


tokenizer = BertTokenizer("vocab.txt")
config = BertConfig(
    vocab_size=len(WORDS),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
model = BertForSequenceClassification(config)
optimizer = AdamW(model.parameters(), lr=2e-5, eps=1e-8)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=20)
model.train()
for epoch in range(3):
    for batch in DataLoader(Reviews(tokenizer), batch_size=4):
        optimizer.zero_grad()
        loss, logits = model(batch["ids"], attention_mask=batch["mask"], labels=batch["label"])
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, loss.item())
