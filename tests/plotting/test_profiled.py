"""The plots of profiles show the numbers of their reports, and become files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import made_traces
from tests.conftest import ROOT, matches_accepted, plain
from tests.test_cli import refusal, run
from ttastats import api
from ttastats.ingestion.given import is_profile
from ttastats.output.plots import kinds
from ttastats.output.plots.plot import NothingToDrawError
from ttastats.traces import table
from ttastats.traces.table import measure_row

ACCEPTED = ROOT / "tests" / "reference" / "answers"
#: Name, kind of work, seconds, FLOPs and bytes of the operators of one step.
OPERATORS = (
    ("aten::convolution", "convolution", 0.006, 300_000_000, 5_000_000),
    ("aten::addmm", "matrix product", 0.001, 80_000_000, 4_000_000),
    ("aten::native_batch_norm", "batch norm", 0.003, 0, 8_000_000),
)


def operator(step: int, *of: Any) -> Mapping[str, Any]:
    names = ("name", "category", "seconds", "flops", "bytes")
    return {"kind": "operator", "device": "cpu", "step": step, "calls": 1} | dict(
        zip(names, of, strict=True)
    )


def measures() -> Iterable[Mapping[str, Any]]:
    for step in range(2):
        for part, seconds in (("step", 0.011), ("compute", 0.01), ("host", 0.001)):
            yield {**measure_row(f"{part}_seconds", seconds), "step": step}
    yield measure_row("precision", text="fp32")
    yield measure_row("peak_flops", 1e11, of="fp32")
    yield measure_row("peak_flops", 9e11, of="bf16")
    yield measure_row("peak_bandwidth", 1e10, of="cpu")
    yield measure_row("device_name", of="0", text="Abacus 3")
    for kind, size in (("weights", 10), ("gradients", 10), ("feature maps", 80)):
        yield measure_row("memory_bytes", size, of=kind)
    for size, rate in ((8, 100.0), (16, 190.0), (32, 195.0)):
        yield measure_row("batch_samples_per_second", rate, of=str(size))
        yield measure_row("batch_step_flops", size * 1e6, of=str(size))
    yield measure_row("uninstrumented_step_seconds", 0.011, text="by CPU time of the thread")
    yield measure_row("step_flops", 38e7)
    yield measure_row("cpu_utilization", 0.5)
    for variant, seconds in (("all layers", 0.011), ("no batch norm", 0.008)):
        yield measure_row("ablated_step_seconds", seconds, of=variant)
        yield measure_row("ablated_step_flops", 38e7, of=variant)
    yield measure_row("workers_step_seconds", 0.02, of="2")
    for kind, seconds in (("under_way", 0.01), ("exposed", 0.004), ("pure", 0.002)):
        yield measure_row(f"workers_{kind}_seconds", seconds, of="2")


def profile(name: str = "made", *, measured: bool = True) -> pl.DataFrame:
    work = [operator(step, *fields) for step in range(2) for fields in OPERATORS]
    return table.frame_of([*work, *(measures() if measured else ())], profile=name, profile_id=name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table.write_profile(profile(), tmp_path / "p.parquet")
    return tmp_path / "p.parquet"


def test_what_is_drawn_is_as_accepted(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        events = made_traces.steps_on_a_device(own_work=40.0 - 5 * rank)
        (folder / f"rank{rank}.json").write_bytes(made_traces.trace(events, rank))
    table.write_profile(profile(), tmp_path / "p.parquet")
    lines = []
    for kind in kinds.OF_PROFILES:
        for source in ([tmp_path / "p.parquet"], [folder, tmp_path / "p.parquet"]):
            for plot in api.plot_profiles(kind, source):
                lines += [f"{kind}: {plot.title}", f"caption: {plot.caption}"]
                lines += [
                    f"{name}: {json.dumps(plain(row))}"
                    for name, table in plot.data.items()
                    for row in table.iter_rows(named=True)
                ]
    assert matches_accepted(ACCEPTED / "profiles_drawn.txt", "\n".join(lines) + "\n")


def test_time_adds_up_over_the_use_of_tensor_cores(tmp_path: Path) -> None:
    conv, matmul = pl.col("category") == "convolution", pl.col("category") == "matrix product"
    kernels = profile(measured=False).with_columns(
        kind=pl.lit("kernel"),
        operator=pl.when(conv | matmul).then(pl.lit("aten::both")).otherwise("name"),
        tensor_core=conv,
        flops=pl.lit(None, pl.Int64),
    )
    table.write_profile(kernels, tmp_path / "p.parquet")
    (plot,) = api.plot_profiles("work", tmp_path / "p.parquet")  # FLOPs are unknown
    rows = plot.data["work"].select("profile", "tensor_core_share", "below").rows()
    assert rows == [
        ("made", 0.0, pytest.approx(0.3)), ("made", pytest.approx(6 / 7), pytest.approx(1)),
        ("without batch norm", pytest.approx(6 / 7), pytest.approx(1)),
    ]  # fmt: skip
    assert "made 60.0%, without batch norm 85.7%." in plot.caption
    table.write_profile(profile("on a CPU"), tmp_path / "q.parquet")
    _, both = api.plot_profiles("work", [tmp_path / "q.parquet", tmp_path / "p.parquet"])
    assert set(both.data["work"]["profile"]) == {"made"}
    assert "of the time: made 60.0%." in both.caption


def test_traces_are_profiles_and_logs_and_tables_are_not(path: Path, tmp_path: Path) -> None:
    trace, log, runs = (tmp_path / name for name in ("a.json", "b.log", "c.parquet"))
    trace.write_bytes(made_traces.trace(made_traces.steps_on_a_device(), 0))
    log.write_text('{"loss": 1}')
    pl.DataFrame({"run_id": ["a"]}).write_parquet(runs)
    assert all(map(is_profile, (path, trace)))
    assert not any(map(is_profile, (log, runs, tmp_path / "none.parquet")))


def test_profiles_of_one_name_are_called_by_their_files_in_the_order_given(
    path: Path, tmp_path: Path
) -> None:
    other = profile().with_columns(profile_id=pl.lit("b"), seconds=pl.col("seconds") * 2)
    table.write_profile(other, tmp_path / "a.parquet")
    (plot,) = api.plot_profiles("memory", [path, tmp_path / "a.parquet"])
    assert plot.data["memory"]["bar"].unique(maintain_order=True).to_list() == ["p", "a"]
    table.write_profile(pl.concat([profile(), other]), tmp_path / "both.parquet")
    (plot,) = api.plot_profiles("memory", tmp_path / "both.parquet")
    assert set(plot.data["memory"]["bar"]) == {"both", "both (2)"}


def test_missing_measures_are_named(tmp_path: Path) -> None:
    table.write_profile(profile(measured=False), tmp_path / "p.parquet")
    for kind in ("memory", "batch-sizes", "workers"):
        with pytest.raises(NothingToDrawError, match="was not measured"):
            api.plot_profiles(kind, tmp_path / "p.parquet")
    (roofline,) = api.plot_profiles("roofline", tmp_path / "p.parquet")
    assert "Peaks are not known" in roofline.caption
    table.write_profile(profile().with_columns(flops=pl.lit(0)), tmp_path / "p.parquet")
    with pytest.raises(NothingToDrawError, match="FLOPs are unknown"):
        api.plot_profiles("work", tmp_path / "p.parquet")


class TestCommand:
    def test_it_draws_to_a_file_and_says_what_is_shown(self, path: Path, tmp_path: Path) -> None:
        result = run("plot", "roofline", path, "-o", tmp_path / "r.svg")
        assert result.returncode == 0
        assert "Roofline of operators: made" in result.stderr
        assert (tmp_path / "r.svg").read_text("utf-8").startswith("<svg")

    def test_options_that_choose_runs_are_refused(self, path: Path, tmp_path: Path) -> None:
        words = ("plot", "memory", path, "-o", tmp_path / "m.svg")
        assert "--where: applies to runs" in refusal(run(*words, "--where", "x=1"))
        assert "--metric: applies to runs" in refusal(run(*words, "--metric", "loss"))
        assert "an output file" in refusal(run("plot", "memory", path))


def test_steps_that_differ_more_than_tenfold_are_drawn_as_shares(tmp_path: Path) -> None:
    titles = []
    for factor in (9.0, 11.0):
        longer = pl.col("seconds", "value") * factor
        for name, rows in (("a", profile("a")), ("b", profile("b").with_columns(longer))):
            table.write_profile(rows, tmp_path / f"{name}.parquet")
        files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        titles.append(json.dumps(api.plot_profiles("step", files)[0].chart))
    assert ["share of the time of a step" in title for title in titles] == [False, True]
