"""The pictures of profiles show the numbers of their reports, and become files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert

from tests.test_cli import failed, run
from ttastats import api
from ttastats.pictures.picture import NothingToDrawError, Picture
from ttastats.pictures.profiled import kinds
from ttastats.profiles import answers, store, table
from ttastats.profiles.measures import measure

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
        yield {**measure("step_seconds", 0.011), "step": step}
    yield measure("precision", text="fp32")
    yield measure("peak_flops", 1e11, of="fp32")
    yield measure("peak_flops", 9e11, of="bf16")
    yield measure("peak_bandwidth", 1e10, of="cpu")
    yield measure("device_name", of="0", text="Abacus 3")
    for kind, size in (("weights", 10), ("gradients", 10), ("feature maps", 80)):
        yield measure("memory_bytes", size, of=kind)
    for size, rate in ((8, 100.0), (16, 190.0), (32, 195.0)):
        yield measure("batch_samples_per_second", rate, of=str(size))
        yield measure("batch_step_flops", size * 1e6, of=str(size))
    yield measure("uninstrumented_step_seconds", 0.011, text="by CPU time of the thread")
    yield measure("step_flops", 38e7)
    yield measure("cpu_utilization", 0.5)
    for variant, seconds in (("all layers", 0.011), ("no batch norm", 0.008)):
        yield measure("ablated_step_seconds", seconds, of=variant)
        yield measure("ablated_step_flops", 38e7, of=variant)
    yield measure("workers_step_seconds", 0.02, of="2")
    for kind, seconds in (("under_way", 0.01), ("exposed", 0.004), ("pure", 0.002)):
        yield measure(f"workers_{kind}_seconds", seconds, of="2")


def profile(name: str = "made", *, measured: bool = True) -> pl.DataFrame:
    work = [operator(step, *one) for step in range(2) for one in OPERATORS]
    return table.frame([*work, *(measures() if measured else ())], profile=name, profile_id=name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store.write(profile(), tmp_path / "p.parquet")
    return tmp_path / "p.parquet"


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_kind_compiles_and_finds_its_fields(kind: str, path: Path) -> None:
    for picture in api.plot_profiles(kind, path):
        compiled = vl_convert.vegalite_to_vega(picture.specification())
        assert set(picture.data) <= {data["name"] for data in compiled["data"]}
        assert "undefined" not in json.dumps(compiled["marks"])
        assert picture.caption.endswith("On Abacus 3.")


def drawn(kind: str, path: Path) -> Picture:
    return api.plot_profiles(kind, path)[0]


def test_the_roofline_has_each_operator_with_flops_and_the_whole_step(path: Path) -> None:
    data = drawn("roofline", path).data
    found = {row["operator"]: row for row in data["operators"].iter_rows(named=True)}
    assert found.keys() == {"aten::convolution", "aten::addmm", "the whole step"}
    assert found["aten::convolution"]["intensity"] == 60
    assert found["aten::convolution"]["flops_per_second"] == pytest.approx(5e10)
    assert found["the whole step"]["flops_per_second"] == pytest.approx(38e7 / 0.01)
    assert found["the whole step"]["intensity"] == pytest.approx(380 / 17)


def test_the_roof_bends_where_the_peak_of_its_precision_is_reached(path: Path) -> None:
    picture = drawn("roofline", path)
    corners = picture.data["roof"].select("intensity", "flops_per_second").rows()
    assert (10.0, 1e11) in corners
    assert max(rate for _, rate in corners) == 1e11
    assert "Operators without FLOPs, 30.0% of the time" in picture.caption


def test_time_adds_up_from_the_slowest_rate_to_the_fastest(path: Path) -> None:
    found = drawn("work", path).data["work"]
    assert found["operator"].to_list() == [
        "aten::native_batch_norm", "aten::convolution", "aten::addmm",
    ]  # fmt: skip
    assert found["below"].to_list() == pytest.approx([0.3, 0.9, 1.0])
    rates = answers.operators(profile()).sort("flops_per_second", nulls_last=False)
    assert found["flops_per_second"].to_list()[1:] == rates["flops_per_second"].to_list()[1:]


def test_memory_is_told_by_kind_and_in_all(path: Path) -> None:
    picture = drawn("memory", path)
    assert dict(picture.data["memory"].select("kind", "share").rows())["feature maps"] == 0.8
    assert "made 100 B" in picture.caption


def test_throughput_is_told_up_to_its_saturation(path: Path) -> None:
    throughput, share = api.plot_profiles("batch-sizes", path)
    assert throughput.data["batch sizes"]["samples_per_second"].to_list() == [100, 190, 195]
    assert share.data["batch sizes"]["utilization"].to_list() == pytest.approx(
        [0.001, 0.0019, 0.00195]
    )
    assert "made 16." in throughput.caption


def test_communication_is_told_in_shares_of_a_step(path: Path) -> None:
    found = drawn("workers", path).data["workers"]
    assert dict(found.select("measured", "share").rows()) == {
        "under way": 0.5, "exposed": 0.2, "pure": 0.1,
    }  # fmt: skip
    assert set(found["bar"]) == {"made"}


def test_profiles_of_one_name_are_told_apart(path: Path, tmp_path: Path) -> None:
    store.write(profile("made").with_columns(profile_id=pl.lit("b")), tmp_path / "q.parquet")
    (picture,) = api.plot_profiles("work", [path, tmp_path / "q.parquet"])
    assert picture.data["work"]["profile"].unique().sort().to_list() == ["made", "made (2)"]


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    store.write(profile(measured=False), tmp_path / "p.parquet")
    for kind in ("memory", "batch-sizes", "workers"):
        with pytest.raises(NothingToDrawError, match="was not measured"):
            api.plot_profiles(kind, tmp_path / "p.parquet")
    assert "No peaks are known" in drawn("roofline", tmp_path / "p.parquet").caption
    store.write(profile().with_columns(flops=pl.lit(0)), tmp_path / "p.parquet")
    with pytest.raises(NothingToDrawError, match="FLOPs are not known"):
        api.plot_profiles("work", tmp_path / "p.parquet")


class TestCommand:
    def test_it_draws_to_a_file_and_says_what_is_shown(self, path: Path, tmp_path: Path) -> None:
        done = run("plot", "roofline", path, "-o", tmp_path / "r.svg")
        assert done.returncode == 0
        assert "Roofline of operators: made" in done.stderr
        assert (tmp_path / "r.svg").read_text("utf-8").startswith("<svg")

    def test_the_list_names_the_kinds(self) -> None:
        listed = run("plot", "list").stdout
        assert all(f"\n{kind} " in listed for kind in kinds.KINDS)

    def test_options_that_choose_runs_are_refused(self, path: Path, tmp_path: Path) -> None:
        words = ("plot", "memory", path, "-o", tmp_path / "m.svg")
        assert "--where: is no option of memory" in failed(run(*words, "--where", "x=1"))
        assert "--metric: is no option of memory" in failed(run(*words, "--metric", "loss"))
        assert "to a file" in failed(run("plot", "memory", path))
