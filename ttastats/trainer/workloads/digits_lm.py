"""How fast does a tiny transformer learn to foretell the pixels of handwritten digits?

The images of `digits`, row by row, as 64 tokens of 17 grey levels. Quality is bits per pixel on the
held-out images: lower is better.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from ttastats.trainer.workloads import gpt
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe
from ttastats.trainer.workloads.digits import load_images

_TRAIN, _EVAL = 1198, 599
_PIXELS, _LEVELS = 64, 17
_START = _LEVELS  # a token that stands before the first pixel
_HEAD_WIDTH, _LAYERS = 8, 2

RECIPE = Recipe(
    metric="bits_per_pixel",
    higher_is_better=False,
    target=2.05,
    epochs=12,
    schedule_epochs=20,
    warmup_epochs=1.0,
    batch_size=16,
    width=32,
    optimizer="adamw",
    learning_rates={
        "adamw": LearningRate(4e-3, 64, "sqrt", 1e-2),
        "sgd": LearningRate(0.5, 64, "linear", 0.0),
    },
    train_samples=_TRAIN,
    eval_samples=_EVAL,
)


def data(_folder: Path | None = None) -> Data:
    """Return the pixels as input sequences, and the next pixels as targets."""
    levels, _ = load_images()
    pixels = levels.long()
    before = functional.pad(pixels[:, :-1], (1, 0), value=_START)
    return Data(before[:_TRAIN], pixels[:_TRAIN], before[_TRAIN:], pixels[_TRAIN:])


def dummy(samples: int) -> tuple[Tensor, Tensor]:
    """Return random samples of the right shape."""
    tokens = torch.randint(0, _LEVELS, (samples, _PIXELS))
    return tokens, tokens.clone()


loss = gpt.loss


def score(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the bits per pixel of each image."""
    return gpt.score(outputs, targets) / math.log(2)


def model(width: int) -> nn.Module:
    """Return a decoder of two layers with heads 8 wide, or one head."""
    head_width = width if width % _HEAD_WIDTH else _HEAD_WIDTH
    return gpt.Decoder(_LEVELS + 1, _LEVELS, _PIXELS, width, _LAYERS, head_width)
