"""LeNet on little handwritten-like digits that are kept as rows of a table, as in the old tutorials."""
import numpy as np
import torch
import torch.nn.functional as F

SIDE = 14
SEGMENTS = {  # which strokes of a seven-segment display are on
    0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc",
    5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg",
}
STROKES = {
    "a": (slice(2, 3), slice(4, 10)), "g": (slice(6, 7), slice(4, 10)), "d": (slice(11, 12), slice(4, 10)),
    "f": (slice(2, 7), slice(3, 4)), "b": (slice(2, 7), slice(10, 11)),
    "e": (slice(6, 12), slice(3, 4)), "c": (slice(6, 12), slice(10, 11)),
}


def load_data(n):
    """Rows of SIDE * SIDE grey values, and the digits."""
    digits = np.random.randint(0, 10, n)
    rows = np.zeros((n, SIDE * SIDE), dtype=np.float32)
    for row, digit in zip(rows, digits):
        image = np.zeros((SIDE, SIDE))
        for segment in SEGMENTS[digit]:
            image[STROKES[segment]] = np.random.uniform(0.6, 1.0)
        image = np.roll(image, np.random.randint(-1, 2, 2), axis=(0, 1))
        row[:] = (image + 0.1 * np.random.randn(SIDE, SIDE)).ravel()
    return torch.from_numpy(rows), torch.from_numpy(digits)


class LeNetConvPoolLayer:
    def __init__(self, filter_shape, poolsize=2):
        fan_in = np.prod(filter_shape[1:])
        self.W = torch.empty(filter_shape).uniform_(-1, 1).mul_(np.sqrt(3.0 / fan_in)).requires_grad_()
        self.b = torch.zeros(filter_shape[0], requires_grad=True)
        self.poolsize = poolsize
        self.params = [self.W, self.b]

    def __call__(self, x):
        conv_out = F.conv2d(x, self.W)
        pooled = F.max_pool2d(conv_out, self.poolsize)
        return torch.tanh(pooled + self.b.view(1, -1, 1, 1))


class LogisticRegression:
    def __init__(self, n_in, n_out):
        self.W = torch.zeros(n_in, n_out, requires_grad=True)
        self.b = torch.zeros(n_out, requires_grad=True)
        self.params = [self.W, self.b]

    def __call__(self, x):
        return x @ self.W + self.b


layer0 = LeNetConvPoolLayer((8, 1, 3, 3))
layer1 = LeNetConvPoolLayer((16, 8, 3, 3))
layer2 = LogisticRegression(16 * 2 * 2, 10)
params = layer0.params + layer1.params + layer2.params


def scores(x):
    hidden = layer1(layer0(x))
    return layer2(hidden.flatten(1))


train_x, train_y = load_data(1500)
test_x, test_y = load_data(300)
learning_rate, batch_size = 0.1, 30
for epoch in range(6):
    for index in range(len(train_x) // batch_size):
        x = train_x[index * batch_size:(index + 1) * batch_size]
        y = train_y[index * batch_size:(index + 1) * batch_size]
        cost = F.cross_entropy(scores(x), y)
        grads = torch.autograd.grad(cost, params)
        with torch.no_grad():
            for param, grad in zip(params, grads):
                param -= learning_rate * grad
    with torch.no_grad():
        errors = (scores(test_x).argmax(1) != test_y).float().mean().item()
    print("epoch %i, test error %.2f %%" % (epoch, 100 * errors))
