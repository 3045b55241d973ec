"""FLOPs read from a trace are exactly those that PyTorch counts."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from torch.utils import flop_counter

from ttastats.traces import kineto
from ttastats.trainer.profiler.trace import Recorder


def traced(work: Callable[[], object]) -> pl.DataFrame:
    with Recorder(torch.device("cpu")) as recorder:
        work()
    return kineto.read_trace([recorder.trace]).rows


def counted(work: Callable[[], object]) -> int:
    with flop_counter.FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def flops(rows: pl.DataFrame) -> int:
    return int(rows.filter(kind="operator")["flops"].sum())


def trained(model: torch.nn.Module, *shape: int) -> Callable[[], object]:
    inputs = torch.randn(*shape, requires_grad=True)
    return lambda: model(inputs).square().mean().backward()


NETS = {
    "strided": (torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), (4, 3, 16, 16)),
    "dilated, in groups": (torch.nn.Conv2d(8, 12, 3, groups=2, dilation=2), (4, 8, 16, 16)),
    "depthwise": (torch.nn.Conv2d(8, 8, 3, groups=8, padding="same"), (2, 8, 9, 9)),
    "transposed": (torch.nn.ConvTranspose2d(8, 4, 3, stride=2, output_padding=1), (2, 8, 7, 7)),
    "one dimension": (torch.nn.Conv1d(4, 6, 5), (2, 4, 20)),
    "three dimensions": (torch.nn.Conv3d(2, 3, 2), (2, 2, 5, 6, 7)),
    "linear": (torch.nn.Linear(16, 5), (7, 16)),
    "linear over sequences": (torch.nn.Linear(16, 5, bias=False), (3, 7, 16)),
}


@pytest.mark.parametrize("name", NETS)
def test_of_a_network_forward_and_backward(name: str) -> None:
    layer, shape = NETS[name]
    work = trained(layer, *shape)
    assert flops(traced(work)) == counted(work) > 0


def test_of_products_of_batches_and_of_attention_by_its_formula() -> None:
    a, b, c = torch.randn(3, 4, 5), torch.randn(3, 5, 6), torch.randn(3, 4, 6)
    query = torch.randn(2, 3, 40, 8, requires_grad=True)

    def work() -> None:
        torch.bmm(a, b)
        torch.baddbmm(c, a, b)
        torch.einsum("bij,bjk->bik", a, b)
        torch.matmul(a, b[0])
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            F.scaled_dot_product_attention(query, query, query).sum().backward()

    assert flops(traced(work)) == counted(work) > 0


@pytest.mark.parametrize("causal", [False, True])
def test_of_attention_on_a_cpu_are_those_on_a_gpu(causal: bool) -> None:
    query = torch.randn(2, 3, 40, 8, requires_grad=True)
    key, value = (torch.randn(2, 3, 24, 8, requires_grad=True) for _ in range(2))
    shapes = query.shape, key.shape, value.shape

    def work() -> None:
        output = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        output.sum().backward()

    rows = traced(work)
    assert "attention" in rows.filter(pl.col("flops") > 0)["category"].to_list()
    expected = flop_counter.sdpa_flop_count(*shapes)
    expected += flop_counter.sdpa_backward_flop_count(query.shape, *shapes)
    assert flops(rows) == expected
