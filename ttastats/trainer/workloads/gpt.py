"""How fast does a small GPT learn to foretell the next byte of a text?

Quality is the mean loss in nats per byte on the last tenth of the text: lower is better. Sizes are
those of nanoGPT's character model of Shakespeare, whose best loss is published as 1.47 after 5,000
steps, three minutes of an A100; this takes 2,440 steps on that text. `--data` names a folder of
*.txt; without one the text is the help that comes with Python, which another version of it changes.
Nobody has trained it to its target on a GPU yet; docs/trainer.md has a size for a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ttastats.base.errors import raise_if
from ttastats.trainer.workloads.contract import Data, LearningRate, Recipe

_BYTES = 256

RECIPE = Recipe(
    metric="loss",
    higher_is_better=False,
    target=1.5,
    epochs=40,
    warmup_epochs=2.0,
    batch_size=64,
    drop_last=True,
    width=384,
    layers=6,
    heads=6,
    context=256,
    dropout=0.2,
    precision="bf16",
    optimizer="adamw",
    learning_rates={"adamw": LearningRate(1e-3, 64, "sqrt", 0.1)},
    eval_batch_size=64,
)


def check(folder: Path | None, context: int) -> None:
    """Raise an error if the text is too short."""
    _split_text(folder, context)


def data(folder: Path | None, context: int) -> Data:
    """Return windows of bytes, each with the bytes that come next."""
    train, held_out = _split_text(folder, context)
    return Data(*_cut_windows(train, context), *_cut_windows(held_out, context))


def _split_text(folder: Path | None, context: int) -> tuple[Tensor, Tensor]:
    """Return the training text, and the last tenth for evaluation."""
    if folder is None:
        from pydoc_data.topics import topics  # half a megabyte that no other workload needs

        where, content = "Python's help", "\n".join(topics.values()).encode()
    else:
        files = sorted(folder.rglob("*.txt"))
        where, content = str(folder), b"\n".join(path.read_bytes() for path in files)
    text = torch.from_numpy(np.frombuffer(content, np.uint8).copy())
    cut = len(text) - len(text) // 10
    few = f"{len(text):,} bytes are too few for a context of {context}"
    remedy = "Give more text, or a smaller --set context=."
    raise_if(len(text) - cut <= context, few, where, remedy)
    return text[:cut], text[cut:]


def _cut_windows(text: Tensor, context: int) -> tuple[Tensor, Tensor]:
    """Return a text cut into windows of equal length, and the same one byte later."""
    whole = (len(text) - 1) // context * context
    inputs, targets = (text[start : whole + start].view(-1, context).long() for start in (0, 1))
    return inputs, targets


def batches(
    data: Data, rng: torch.Generator, batch_size: int, context: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the text once, in windows that start at another offset in every epoch."""
    text, device = data.train_inputs.flatten(), data.train_inputs.device
    start = int(torch.randint(context, (), generator=rng, device=device))
    inputs, targets = (text.roll(-by).view(-1, context) for by in (start, start + 1))
    order = torch.randperm(len(inputs), generator=rng, device=device)
    for part in torch.split(order, batch_size):
        if len(part) == min(batch_size, len(inputs)):
            yield inputs[part], targets[part]


def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy per token, in nats."""
    return functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())


def score(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy of each window, in nats per token."""
    nats = functional.cross_entropy(outputs.transpose(1, 2).float(), targets, reduction="none")
    return nats.double().mean(dim=1)


def model(width: int, layers: int, heads: int, context: int, dropout: float) -> nn.Module:
    """Return the network, with residual layers initialised small."""
    raise_if(width % heads, f"width {width} is not divisible by {heads} heads", "--set heads")
    net = Decoder(_BYTES, _BYTES, context, width, layers, width // heads, dropout)
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Linear):
            added = name.endswith(("join", "inner.2"))
            nn.init.normal_(layer.weight, std=0.02 / (2 * layers) ** 0.5 if added else 0.02)
            nn.init.zeros_(layer.bias)
    return net


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
