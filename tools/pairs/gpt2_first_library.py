"""A small GPT-2 that continues sequences, as it was written for pytorch_transformers 1."""

import torch
from pytorch_transformers import AdamW, GPT2Config, GPT2LMHeadModel, WarmupLinearSchedule

torch.manual_seed(0)
words = torch.randint(0, 40, (16, 12))
config = GPT2Config(
    n_positions=16, n_ctx=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
)
model = GPT2LMHeadModel(config)
optimizer = AdamW(model.parameters(), lr=5e-5, eps=1e-8)
scheduler = WarmupLinearSchedule(optimizer, warmup_steps=2, t_total=20)
model.train()
for step in range(12):
    batch = words[step % 4 * 4 : step % 4 * 4 + 4]
    outputs = model(batch, labels=batch)
    loss = outputs[0]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(step, loss.item())
