"""A small GPT-2 by the general class of those days, whose outputs are unpacked, as it was written for transformers 2 and 3."""

import torch
from transformers import AdamW, AutoModelWithLMHead, GPT2Config

torch.manual_seed(0)
words = torch.randint(0, 40, (16, 12))
config = GPT2Config(
    vocab_size=40,
    n_positions=16,
    n_ctx=16,
    n_embd=32,
    n_layer=2,
    n_head=2,
    resid_pdrop=0.0,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
)
model = AutoModelWithLMHead.from_config(config)
optimizer = AdamW(model.parameters(), lr=5e-5, eps=1e-8)
model.train()
for step in range(12):
    batch = words[step % 4 * 4 : step % 4 * 4 + 4]
    loss, logits, _ = model(batch, labels=batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
