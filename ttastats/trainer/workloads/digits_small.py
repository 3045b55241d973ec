"""How fast does one hidden layer learn the digits? A run in a fifth of a second, to try methods on.

The images of `digits`. Runs vary as those of large trainings do, so that many seeds show at once
what a method answers; time goes to Python rather than to arithmetic.
"""

from __future__ import annotations

from torch import nn

from ttastats.trainer.workloads import digits
from ttastats.trainer.workloads.contract import LearningRate, Recipe

RECIPE = Recipe(
    metric="accuracy",
    higher_is_better=True,
    target=0.92,
    epochs=30,
    batch_size=16,
    width=48,
    optimizer="sgd",
    learning_rates={"sgd": LearningRate(0.05, 16, "sqrt", 5e-4)},
    train_samples=digits.RECIPE.values["train_samples"],
    eval_samples=digits.RECIPE.values["eval_samples"],
    test_samples=0,
)
check, data, dummy = digits.check, digits.data, digits.dummy


def model(width: int) -> nn.Module:
    """Return a network of one hidden layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
