"""Small networks with known numbers, and profiles of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.recording import Recording

CPU = torch.device("cpu")


def trained(
    model: nn.Module, inputs: Tensor, **sgd: Any
) -> tuple[Callable[[], None], TrainingState]:
    """Return a step of training, and its state."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, **sgd)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(model(inputs).square().mean())
        optimizer.step()

    return step, TrainingState(model, (optimizer,))


def recorded(
    step: Callable[[], None],
    state: TrainingState | None = None,
    steps: int = 3,
    *,
    compiled: bool = False,
) -> Recording:
    """Record a profile."""
    recording = Recording(CPU, state, steps=steps, compiled=compiled)
    recording.step()
    while not recording.done:
        step()
        recording.step()
    return recording


class Attending(nn.Module):
    """Two convolutions, attention over the pixels, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.second = nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False)
        self.head = nn.Linear(12, 5, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.second(functional.relu(self.first(x)))
        tokens = x.flatten(2).transpose(1, 2)[:, None].contiguous()
        seen = functional.scaled_dot_product_attention(tokens, tokens, tokens)
        scores: Tensor = self.head(seen[:, 0])
        return scores


def flops_of_attending(batch: int, side: int) -> int:
    """Return the FLOPs of a step of training by hand, two for each multiplication and addition.

    Convolutions and linear layers compute as much for the gradients of their weights, and again
    for those of their inputs, which the first needs not. Attention is two products forward; its
    backward pass computes the first again and takes four more.
    """
    first = 2 * batch * 8 * side**2 * 3 * 9
    half = side // 2
    second = 2 * batch * 12 * half**2 * 8 * 9
    product = 2 * batch * half**2 * half**2 * 12
    head = 2 * batch * half**2 * 12 * 5
    return 2 * first + 3 * second + (2 + 5) * product + 3 * head
