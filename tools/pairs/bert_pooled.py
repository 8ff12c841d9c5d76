"""A head on the pooled output of a BERT, unpacked from a tuple, as it was written for transformers 2 and 3."""

import torch
from torch import nn
from transformers import AdamW, BertConfig, BertModel


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = BertModel(config)
        self.head = nn.Linear(32, 1)

    def forward(self, ids, mask):
        _, pooled = self.bert(ids, attention_mask=mask)
        return self.head(pooled)


torch.manual_seed(0)
ids = torch.randint(5, 50, (24, 10))
mask = torch.ones_like(ids)
mask[::3, 7:] = 0
labels = (ids[:, 0] % 2).float()
model = Classifier()
groups = [
    {"params": [weight for name, weight in model.named_parameters() if "bias" not in name], "weight_decay": 0.01},
    {"params": [weight for name, weight in model.named_parameters() if "bias" in name], "weight_decay": 0.0},
]
optimizer = AdamW(groups, lr=3e-5)
for step in range(12):
    rows = slice(step % 3 * 8, step % 3 * 8 + 8)
    loss = nn.BCEWithLogitsLoss()(model(ids[rows], mask[rows]), labels[rows].unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
