"""Train a small network on digits, and print its accuracy after every epoch: something to race.

How: docs/race.md.
"""

from argparse import ArgumentParser

import torch
from sklearn.datasets import load_digits
from torch.nn import Linear, ReLU, Sequential, functional

parser = ArgumentParser()
parser.add_argument("--opt", choices=["sgd", "adam"], default="sgd")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()

torch.manual_seed(options.seed)
torch.set_num_threads(1)
inputs, labels = (torch.tensor(part) for part in load_digits(return_X_y=True))
inputs = inputs.float() / 16
train, test = slice(1198), slice(1198, None)
model = Sequential(Linear(64, 48), ReLU(), Linear(48, 10))
if options.opt == "adam":
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(1, 61):
    for batch in torch.randperm(1198).split(8):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs[train][batch]), labels[train][batch]).backward()
        optimizer.step()
    accuracy = (model(inputs[test]).argmax(1) == labels[test]).float().mean().item()
    print(f"epoch {epoch} accuracy {accuracy:.4f}")
