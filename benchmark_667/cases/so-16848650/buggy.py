# Logistic regression and one hidden layer on words: which of two languages does a word belong to?
import random

import numpy as np
import torch

SYLLABLES = {
    "norrish": ["sten", "vik", "land", "berg", "dal", "strom"],
    "sulian": ["ola", "mia", "tero", "lua", "cora", "vea"],
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_words(language, count):
    return ["".join(random.choices(SYLLABLES[language], k=random.randint(2, 3))) for _ in range(count)]


def letter_counts(word):
    return [word.count(letter) for letter in LETTERS]


def load_data(count=400):
    """(features, label) pairs of both languages, shuffled, and cut into a training and a test set."""
    words, labels = [], []
    for label, language in enumerate(SYLLABLES):
        words += make_words(language, count // 2)
        labels += [label] * (count // 2)
    examples = zip(map(letter_counts, words), labels)
    random.shuffle(examples)
    cut = int(0.8 * len(examples))
    return examples[:cut], examples[cut:]


def shared_dataset(examples):
    features, labels = zip(*examples)
    return torch.tensor(features, dtype=torch.float32), torch.tensor(labels, dtype=torch.float32)


class HiddenLayerNet:
    """Weights by hand, gradients by torch."""

    def __init__(self, n_in, n_hidden):
        bound = np.sqrt(6.0 / (n_in + n_hidden))
        self.W = torch.empty(n_in, n_hidden).uniform_(-bound, bound).requires_grad_()
        self.b = torch.zeros(n_hidden, requires_grad=True)
        self.w_out = torch.zeros(n_hidden, requires_grad=True)
        self.b_out = torch.zeros((), requires_grad=True)
        self.params = [self.W, self.b, self.w_out, self.b_out]

    def p_y_given_x(self, x):
        return torch.sigmoid(torch.tanh(x @ self.W + self.b) @ self.w_out + self.b_out)

    def cost(self, x, y, l2=1e-4):
        p = self.p_y_given_x(x).clamp(1e-6, 1 - 1e-6)
        nll = -(y * p.log() + (1 - y) * (1 - p).log()).mean()
        return nll + l2 * (self.W ** 2).sum()


if __name__ == "__main__":
    train_set, test_set = load_data()
    train_x, train_y = shared_dataset(train_set)
    test_x, test_y = shared_dataset(test_set)

    net = HiddenLayerNet(len(LETTERS), 10)
    batch_size, rate = 20, 0.3
    for epoch in range(15):
        for start in range(0, len(train_x), batch_size):
            cost = net.cost(train_x[start:start + batch_size], train_y[start:start + batch_size])
            gradients = torch.autograd.grad(cost, net.params)
            with torch.no_grad():
                for param, gradient in zip(net.params, gradients):
                    param -= rate * gradient
        if epoch % 5 == 0:
            print("epoch %d cost %.4f" % (epoch, cost.item()))

    with torch.no_grad():
        missed = ((net.p_y_given_x(test_x) > 0.5) != (test_y > 0.5)).float().mean().item()
    print("test error %.3f" % missed)
