"""How fast does a small network predict the progression of diabetes? Tabular regression.

442 patients, ten measurements each, that come with scikit-learn. Quality is the root mean squared
error on the last 142, in units of the score: lower is better.

    ttastats train examples/workloads/diabetes.py --runs 5 --emit-log logs
"""

import torch
from sklearn.datasets import load_diabetes
from torch import nn

from ttastats.trainer.workloads.contract import Data, Recipe

RECIPE = Recipe(
    metric="rmse", higher_is_better=False, target=60.0, epochs=80, batch_size=32,
    optimizer="adamw", lr=0.02, hidden=32, held_out=142,
)  # fmt: skip


def data(held_out):
    inputs, targets = (torch.tensor(part).float() for part in load_diabetes(return_X_y=True))
    train = slice(len(targets) - held_out)
    rest = slice(len(targets) - held_out, None)
    inputs = (inputs - inputs[train].mean(0)) / inputs[train].std(0)
    return Data(inputs[train], targets[train], inputs[rest], targets[rest])


def model(data, hidden):
    measurements = data.train_inputs.shape[1]
    return nn.Sequential(nn.Linear(measurements, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def loss(outputs, targets):
    return nn.functional.mse_loss(outputs[:, 0] / 100, targets / 100)


def evaluate(model, data):
    return (model(data.eval_inputs)[:, 0] - data.eval_targets).square().mean().sqrt()
