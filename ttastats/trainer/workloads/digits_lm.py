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


def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy per token, in nats."""
    return functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())


def nats_per_token(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy of each window, in nats per token."""
    nats = functional.cross_entropy(outputs.transpose(1, 2).float(), targets, reduction="none")
    return nats.double().mean(dim=1)


def score(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the bits per pixel of each image."""
    return nats_per_token(outputs, targets) / math.log(2)


def model(width: int) -> nn.Module:
    """Return a decoder of two layers with heads 8 wide, or one head."""
    head_width = width if width % _HEAD_WIDTH else _HEAD_WIDTH
    return Decoder(_LEVELS + 1, _LEVELS, _PIXELS, width, _LAYERS, head_width)


class Decoder(nn.Module):
    """A causal transformer: tokens in, scores of the next token out."""

    def __init__(
        self, tokens: int, levels: int, places: int, width: int, layers: int, head_width: int,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Parameter(torch.zeros(places, width))
        self.drop = nn.Dropout(dropout)
        self.layers = nn.Sequential(*(_Layer(width, head_width, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.levels = nn.Linear(width, levels)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.places, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the scores of the next byte at every position."""
        inner = self.layers(self.drop(self.tokens(tokens) + self.places))
        levels: Tensor = self.levels(self.norm(inner))
        return levels


class _Layer(nn.Module):
    """Causal attention and a small network, each added to what came in."""

    def __init__(self, width: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.head_width, self.dropout = head_width, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.inner = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        samples, places, width = x.shape
        heads = self.mix(self.norm1(x)).view(samples, places, 3, -1, self.head_width)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, dropout_p=self.dropout if self.training else 0.0
        )
        x = x + self.drop(self.join(seen.transpose(1, 2).reshape(samples, places, width)))
        foretold: Tensor = x + self.drop(self.inner(self.norm2(x)))
        return foretold
