"""A pole kept upright by the gradient of its policy, as it was written for gym."""

import gym
import torch
from torch import nn
from torch.distributions import Categorical

policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
env = gym.make("CartPole-v1")
for episode in range(12):
    state = env.reset()
    done = False
    chances, rewards = [], []
    while not done:
        choice = Categorical(logits=policy(torch.from_numpy(state).float().unsqueeze(0)))
        action = choice.sample()
        chances.append(choice.log_prob(action))
        state, reward, done, info = env.step(action.item())
        rewards.append(reward)
    loss = -torch.cat(chances).sum() * sum(rewards) / 100
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, sum(rewards))
env.close()
