"""Hidden words by a BERT, with the labels and the paths of modules of transformers 2 and 3."""

import torch
from transformers.modeling_bert import BertConfig, BertForMaskedLM
from transformers.optimization import AdamW

torch.manual_seed(0)
words = torch.randint(5, 40, (16, 12))
hidden = torch.rand(words.shape) < 0.2
inputs = words.masked_fill(hidden, 4)
labels = words.masked_fill(~hidden, -100)
config = BertConfig(
    vocab_size=40,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
model = BertForMaskedLM(config)
optimizer = AdamW(model.parameters(), lr=5e-5, eps=1e-8)
model.train()
for step in range(12):
    rows = slice(step % 4 * 4, step % 4 * 4 + 4)
    loss = model(inputs[rows], masked_lm_labels=labels[rows])[0]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
