"""Each kind of plot can be read at the widths of a paper, with names as rounds of MLPerf have them.

Words are measured with the font of the plots, marks as the renderer placed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

import polars as pl
import pytest

from tests.plotting import drawn, made
from tests.plotting.test_profiled import profile
from ttastats import api
from ttastats.ingestion.account import Account
from ttastats.output.plots import drawing, kinds, renderer, steps
from ttastats.output.plots.plot import Plot
from ttastats.report import fitting

COLUMN, PAGE = 3.3, 7.0
#: Entries with their accelerators, how many of these, and minutes of a run.
V07 = (
    ("NVIDIA/dgxa100_ngc20.06_mxnet", "NVIDIA A100-SXM4-40GB (400W)", 8, 40.0),
    ("NVIDIA/dgxa100_n2_ngc20.06_mxnet", "NVIDIA A100-SXM4-40GB (400W)", 16, 22.0),
    ("NVIDIA/dgxa100_n96_ngc20.06_mxnet", "NVIDIA A100-SXM4-40GB (400W)", 768, 1.1),
    ("SIAT/modelarts_512_tensorflow_close", "Ascend910", 512, 1.6),
    ("SIAT/modelarts_512_tensorflow_open", "Ascend910", 512, 1.58),
    ("SIAT/modelarts_1024_tensorflow_open", "Ascend910", 1024, 1.2),
    ("Google/tpu-v3-8192-JAX", "TPU v3", 4096, 0.5),
    ("Intel/1-node-8s-cpx-1-tensorflow", "1-node-8s-cpx-1-tensorflow", 8, 1100.0),
)
V50 = (
    ("HPE/HPE-Cray-XD670-H200-SXM5-141GB_n1_24.09", "NVIDIA H200-SXM5-141GB", 8, 24.0),
    ("HPE/HPE-Cray-XD670-H200-SXM5-141GB_n4_24.09", "NVIDIA H200-SXM5-141GB", 32, 7.4),
    ("Supermicro/AS-A126GS-TNBR_N1", "NVIDIA Blackwell GPU (B200-SXM-180GB)", 8, 11.1),
    ("Supermicro/AS-A126GS-TNBR_N2", "NVIDIA Blackwell GPU (B200-SXM-180GB)", 16, 6.6),
    ("Oracle/2xBM.GPU.GB200.4", "NVIDIA Blackwell GPU (GB200)", 8, 11.3),
    ("MangoBoost/MI300X-LLMBoost-GPUBoost-1node", "AMD Instinct MI300X 192GB HBM3", 8, 29.2),
    ("MangoBoost/MI300X-LLMBoost-GPUBoost-2node", "AMD Instinct MI300X 192GB HBM3", 16, 16.0),
    ("NVIDIA/tyche_ngpu512_ngc25.04_nemo", "NVIDIA Blackwell GPU (GB200)", 512, 0.55),
)
BENCHMARKS = ("llama2_70b_lora", "stable_diffusion", "dlrm_dcnv2")


def entries(of: Iterable[tuple[str, str, int, float]], **more: Any) -> pl.DataFrame:
    """Return the runs of some entries, of which one failed."""
    facts = {"benchmark": "llama2_70b_lora", "framework": "NVIDIA Release 25.04", **more}
    tables = []
    for n, (entry, hardware, size, minutes) in enumerate(of):
        times = [60 * minutes * (1 + 0.02 * ((3 * n + run) % 5)) for run in range(5)]
        epochs = [None if (n, run) == (2, 4) else 5 + (n * run) % 3 for run in range(5)]
        tables.append(
            made.rows(
                list(zip(times, epochs, strict=True)), entry=entry, hardware=hardware,
                submitter=entry.split("/", maxsplit=1)[0], accelerators=size, **facts,
            )
        )  # fmt: skip
    return pl.concat(tables)


def side(name: str, factor: float) -> pl.DataFrame:
    """Return the runs of a submitter on three benchmarks and two kinds of accelerators."""
    of = [
        (f"{name}/{entry.rsplit('/', maxsplit=1)[-1]}", hardware, size, minutes * factor)
        for entry, hardware, size, minutes in V50[1:4]
    ]
    return pl.concat(entries(of, benchmark=name) for name in BENCHMARKS)


def leaders() -> pl.DataFrame:
    """Return entries of one run each, as DAWNBench has them."""
    names = ("apple_resnet9_1V100_pytorch", "kakaobrain_custom-resnet9_single-V100_pytorch",
             "BAIDU-USA-GAIT_BaiduNet9_1xV100_tensorflow", "bkj_basenet_pytorch",
             "dawn_resnet164_tk_tensorflow_1k80", "dawn_resnet56_1k80-gc_tensorflow")  # fmt: skip
    return pl.concat(
        made.rows([(9.43 * 5.0**n, 9)], entry=name, suite="dawnbench", round=None,
                  benchmark="cifar10", cost_per_hour=3.0 + n,
                  started_at=datetime(2020 - n // 3, 1 + 4 * (2 - n % 3), 1, tzinfo=UTC))
        for n, name in enumerate(names)
    )  # fmt: skip


def traces(kind: str) -> tuple[Plot, ...]:
    """Return the plots of three profiles, and of the first alone."""
    names = ("digits_resnet50_batch256_one_GPU", "digits_resnet50_batch256_fused", "digits")
    profiles = steps.profiles_by_name([(name, profile(name)) for name in names])
    return *kinds.plots_of_profiles(kind, profiles), *kinds.plots_of_profiles(
        kind, {names[0]: profiles[names[0]]}
    )


@cache
def plots_of(kind: str) -> tuple[Plot, ...]:
    """Return the plots of a kind."""
    if kind in kinds.OF_PROFILES:
        return traces(kind)
    if kind == "speedups":
        sides = side("Dell", 1.0), side("Supermicro", 0.98)
        return api.plot(kind, *sides, labels=["submitter=Dell", "submitter=Supermicro"])
    if kind == "targets":
        a, b = (entries(V50[n : n + 1]) for n in (0, 2))
        return *api.plot(kind, a, b), *api.plot(kind, a)
    if kind == "history":
        return api.plot(kind, made.nightly())
    if kind == "effects":
        return api.plot(kind, made.swept())
    if kind in {"leaderboard", "record"}:
        return api.plot(kind, leaders())
    if kind == "profile":
        of = [(entry, hardware, 8, minutes) for entry, hardware, _, minutes in (*V07[3:7], *V50)]
        return api.plot(kind, pl.concat(entries(of, benchmark=name) for name in BENCHMARKS))
    return *api.plot(kind, entries(V07, round="v0.7")), *api.plot(kind, entries(V50))


def faults(plots: Iterable[Plot], width: float) -> list[str]:
    result = []
    for plot in plots:
        sized = drawing.sized_specification(plot, drawing.Style(96 * width))
        svg = renderer.call_renderer("vegalite_to_svg", sized).decode()
        result += [f"{plot.title}: {fault}" for fault in drawn.faults(drawn.picture(svg))]
    return result


@pytest.mark.parametrize("width", [COLUMN, PAGE])
@pytest.mark.parametrize("kind", [*kinds.KINDS, *kinds.OF_PROFILES])
def test_a_plot_can_be_read(kind: str, width: float) -> None:
    assert faults(plots_of(kind), width) == []


@pytest.mark.real
@pytest.mark.parametrize("kind", ["tta", "quality-time", "solved", "scaling", "variance"])
def test_a_plot_of_a_round_can_be_read(kind: str, ingested_round: Callable[[str], Account]) -> None:
    table = ingested_round("v5.0").output
    assert faults(api.plot(kind, table, where=["benchmark=llama2_70b_lora"]), COLUMN) == []


def test_hardware_is_named_by_its_model() -> None:
    rows = plots_of("speedups")[0].data["speedups"].get_column("row")
    sizes = {row.split(fitting.LINE)[1] for row in rows}
    assert sizes == {"8 · B200", "16 · B200", "32 · H200"}
