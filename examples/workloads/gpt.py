"""How fast does a small GPT learn to foretell the next byte of a text?

Quality is the mean loss in nats per byte on the last tenth of the text: lower is better. `--data`
names a folder of *.txt; without one the text is the help that comes with Python, which another
version of it changes. docs/trainer.md has a size for a CPU.

Not yet run on a GPU. Sizes are those of nanoGPT's character model of Shakespeare, whose published
best loss is 1.47 after 5,000 steps, three minutes of an A100; this takes 2,440 steps on that text.
Compare setups of this recipe, not with that figure: nanoGPT has a beta2 of 0.99, clips gradients,
decays matrices only, along a cosine to a tenth of the rate, and has no biases and a tied head.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ttastats.base.errors import raise_if
from ttastats.trainer.workloads import digits_lm
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
    compile=True,
    optimizer="adamw",
    learning_rates={"adamw": LearningRate(1e-3, 64, "sqrt", 0.1)},
    eval_batch_size=64,
)

loss, score = digits_lm.loss, digits_lm.nats_per_token


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


def model(width: int, layers: int, heads: int, context: int, dropout: float) -> nn.Module:
    """Return the network, with residual layers initialised small."""
    raise_if(width % heads, f"width {width} is not divisible by {heads} heads", "--set heads")
    net = digits_lm.Decoder(_BYTES, _BYTES, context, width, layers, width // heads, dropout)
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Linear):
            added = name.endswith(("join", "inner.2"))
            nn.init.normal_(layer.weight, std=0.02 / (2 * layers) ** 0.5 if added else 0.02)
            nn.init.zeros_(layer.bias)
    return net
