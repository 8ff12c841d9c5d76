"""Train a net for iris flowers, then deploy it: the deployed net tells how sure it is of its class."""
from collections import OrderedDict

import numpy as np
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

SPECIES = ["setosa", "versicolor", "virginica"]


def body(num_input=4, num_hidden=16, num_output=3):
    return OrderedDict(
        ip1=nn.Linear(num_input, num_hidden),
        relu1=nn.ReLU(),
        ip2=nn.Linear(num_hidden, num_hidden),
        relu2=nn.ReLU(),
        ip3=nn.Linear(num_hidden, num_output),
    )


def train_net():
    # the loss layer has its own softmax
    return nn.Sequential(body()), nn.CrossEntropyLoss()


def deploy_net(weights):
    layers = body()
    net = nn.Sequential(layers)
    net.load_state_dict(weights)
    return net.eval()


class Classifier:
    """Takes raw measurements and gives the class with its probability."""

    def __init__(self, net, scaler):
        self.net, self.scaler = net, scaler

    def predict(self, measurements):
        data = torch.tensor(self.scaler.transform(measurements), dtype=torch.float32)
        with torch.no_grad():
            prob = self.net(data).numpy()
        return prob.argmax(axis=1), prob.max(axis=1)


def solve(net, loss_layer, data, label, max_iter=300, base_lr=0.05):
    solver = torch.optim.SGD(net.parameters(), lr=base_lr, momentum=0.9)
    for iteration in range(max_iter):
        rows = torch.randint(len(data), (32,))
        loss = loss_layer(net(data[rows]), label[rows])
        solver.zero_grad()
        loss.backward()
        solver.step()
        if iteration % 100 == 0:
            print("Iteration %d, loss = %.4f" % (iteration, loss.item()))
    return net.state_dict()


if __name__ == "__main__":
    iris = load_iris()
    x_train, x_test, y_train, y_test = train_test_split(iris.data, iris.target, test_size=50)
    scaler = StandardScaler().fit(x_train)
    data = torch.tensor(scaler.transform(x_train), dtype=torch.float32)

    net, loss_layer = train_net()
    weights = solve(net, loss_layer, data, torch.tensor(y_train))

    classifier = Classifier(deploy_net(weights), scaler)
    classes, confidence = classifier.predict(x_test)
    for flower in range(5):
        print("%-10s sure by %.3f" % (SPECIES[classes[flower]], confidence[flower]))
    print("accuracy %.3f" % np.mean(classes == y_test))
    print("mean confidence %.3f" % confidence.mean())
