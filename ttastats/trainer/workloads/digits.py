"""How fast does a small residual network learn real handwritten digits?

1,797 images of 8x8 pixels that come with scikit-learn. The last third is held out; the images are
ordered by writer as far as one can tell, so that the network meets hands it has not seen.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ttastats.base.errors import raise_if
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe

_SPEC = importlib.util.find_spec("sklearn")  # which takes long to import
if _SPEC is None or _SPEC.origin is None:
    raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
_FILE = Path(_SPEC.origin).parent / "datasets" / "data" / "digits.csv.gz"
_TRAIN, _EVAL = 1198, 599

RECIPE = Recipe(
    metric="accuracy",
    higher_is_better=True,
    target=0.96,  # three images below what the worst of 100 seeds reached on one processor
    epochs=11,  # where the rate falls to zero: at a high rate a lucky evaluation would end a run
    warmup_epochs=4.0,
    batch_size=64,
    width=16,
    optimizer="sgd",
    learning_rates={
        "sgd": LearningRate(0.05, 64, "linear", 5e-4),
        "adamw": LearningRate(3e-3, 64, "sqrt", 1e-2),
    },
    train_samples=_TRAIN,
    eval_samples=_EVAL,
    test_samples=0,  # of the held-out images, so many decide nothing
)


def load_images() -> tuple[Tensor, Tensor]:
    """Return grey levels, shape (1797, 64), and digits, as scikit-learn's `load_digits` does."""
    rows = torch.from_numpy(np.loadtxt(_FILE, delimiter=","))
    return rows[:, :-1], rows[:, -1].long()


def check(test_samples: int) -> None:
    """Raise an error if the test part leaves no samples to evaluate."""
    wrong = not 0 <= test_samples < _EVAL
    raise_if(wrong, f"must be from 0 to {_EVAL - 1}", "--set test_samples")


def data(_folder: Path | None = None, test_samples: int = 0) -> Data:
    """Return the images, standardised by the training part alone."""
    levels, targets = load_images()
    inputs = levels.float().reshape(-1, 1, 8, 8)
    train, held_out = inputs[:_TRAIN], inputs[_TRAIN:]
    mean, deviation = train.mean(), train.std()
    held_out, classes = (held_out - mean) / deviation, targets[_TRAIN:]
    apart = torch.zeros(_EVAL, dtype=torch.bool)  # evenly, since the last writers are the hardest
    apart[torch.arange(test_samples) * _EVAL // max(1, test_samples)] = True
    return Data(
        (train - mean) / deviation,
        targets[:_TRAIN],
        held_out[~apart],
        classes[~apart],
        test=(held_out[apart], classes[apart]) if test_samples else None,
    )


def dummy(samples: int) -> tuple[Tensor, Tensor]:
    """Return random samples of the right shape."""
    return torch.randn(samples, 1, 8, 8), torch.zeros(samples, dtype=torch.long)


def augment(inputs: Tensor, rng: torch.Generator) -> Tensor:
    """Return images shifted by up to one pixel in each direction."""
    samples, _, height, width = inputs.shape
    shifts = torch.randint(0, 3, (2, samples), generator=rng, device=inputs.device)
    rows = shifts[0, :, None, None] + torch.arange(height, device=inputs.device)[:, None]
    columns = shifts[1, :, None, None] + torch.arange(width, device=inputs.device)
    padded = functional.pad(inputs, (1, 1, 1, 1), mode="replicate")[:, 0]
    which = torch.arange(samples, device=inputs.device)[:, None, None]
    return padded[which, rows, columns][:, None]


def model(width: int) -> nn.Module:
    """Return a small residual network: a stem and three residual blocks."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        _Block(width, width, 1),
        _Block(width, 2 * width, 2),
        _Block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    )


class _Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride, bias=False),
                nn.BatchNorm2d(channels_out),
            )

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.norm1(self.conv1(x)), inplace=True)
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x), inplace=True)
