"""Topics of short documents by autoencoding variational inference (a small ProdLDA)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader

VOCABULARY = 150
TOPICS = 6


def corpus(count, topic_words, length=12):
    """Bags of words; every document mixes two topics."""
    bags = np.zeros((count, VOCABULARY), dtype=np.float32)
    for bag in bags:
        weights = np.random.dirichlet([0.2] * TOPICS)
        words = np.random.choice(VOCABULARY, length, p=weights @ topic_words)
        np.add.at(bag, words, 1)
    return torch.from_numpy(bags)


class InferenceNetwork(nn.Module):
    def __init__(self, input_size, output_size, hidden_size, dropout):
        super().__init__()
        self.hidden = nn.Linear(input_size, hidden_size)
        self.dropout_enc = nn.Dropout(p=dropout)
        self.f_mu = nn.Linear(hidden_size, output_size)
        self.f_sigma = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        h = self.dropout_enc(F.softplus(self.hidden(x)))
        return self.f_mu(h), self.f_sigma(h)


class DecoderNetwork(nn.Module):
    def __init__(self, input_size, n_components=10, hidden_size=100, dropout=0.0):
        super().__init__()
        self.inf_net = InferenceNetwork(input_size, n_components, hidden_size, dropout)
        self.beta = nn.Linear(n_components, input_size, bias=False)
        self.drop_theta = nn.Dropout(p=dropout)

    def forward(self, x):
        mu, log_sigma = self.inf_net(x)
        theta = F.softmax(mu + torch.randn_like(mu) * torch.exp(0.5 * log_sigma), dim=1)
        log_words = F.log_softmax(self.beta(self.drop_theta(theta)), dim=1)
        return log_words, mu, log_sigma


class AVITM:
    def __init__(self, input_size, n_components=10, hidden_size=100, dropout=0.2, batch_size=20, lr=5e-3,
                 num_epochs=25):
        self.dropout = dropout
        self.batch_size = batch_size
        self.num_epochs = num_epochs
        self.model = DecoderNetwork(input_size, n_components, hidden_size)
        self.optimizer = optim.Adam(self.model.parameters(), lr=lr, betas=(0.9, 0.99))

    @staticmethod
    def _loss(inputs, log_words, mu, log_sigma):
        kl = 0.5 * torch.sum(log_sigma.exp() + mu ** 2 - 1 - log_sigma, dim=1)
        return torch.mean(-torch.sum(inputs * log_words, dim=1) + kl)

    def fit(self, documents):
        self.model.train()
        for epoch in range(self.num_epochs):
            for batch in DataLoader(documents, batch_size=self.batch_size, shuffle=True):
                self.optimizer.zero_grad()
                loss = self._loss(batch, *self.model(batch))
                loss.backward()
                self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def topics(self, documents, n_samples=20):
        """Topic shares of every document and how sure they are: mean and deviation over passes with dropout."""
        self.model.train()
        samples = torch.stack([F.softmax(self.model(documents)[1], dim=1) for _ in range(n_samples)])
        return samples.mean(dim=0), samples.std(dim=0)


topic_words = np.random.dirichlet([0.05] * VOCABULARY, TOPICS)
documents, new_documents = corpus(120, topic_words), corpus(60, topic_words)

avitm = AVITM(VOCABULARY, n_components=TOPICS, dropout=0.3)
print("loss of the last batch: %.2f" % avitm.fit(documents))
shares, deviation = avitm.topics(new_documents)
print("documents per topic:", torch.bincount(shares.argmax(dim=1), minlength=TOPICS).tolist())
print("mean deviation of the shares: %.4f" % deviation.mean().item())
