"""What is read of a trace: steps and their parts, operators, kernels, FLOPs, ranks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ttastats as tta
from tests.made_traces import (
    collective,
    kernel,
    launch,
    operator,
    step,
    steps_on_a_device,
    trace,
    written,
)
from ttastats.base.errors import TtastatsError
from ttastats.traces import categories, kineto, store
from ttastats.traces.pieces import NoTraceError


def rows_of(data: bytes) -> pl.DataFrame:
    return kineto.read_trace([data]).rows


def parts(rows: pl.DataFrame, at: int | None = None) -> dict[str, float]:
    """Return the parts of a step in microseconds."""
    found = rows.filter(pl.col("kind") == "measure", pl.col("name").str.ends_with("_seconds"))
    first = found["step"].min() if at is None else at
    own = found.filter(pl.col("step") == first)
    return {name: round(value * 1e6, 3) for name, value in own.select("name", "value").iter_rows()}


class TestASteps:
    def test_time_is_split_into_parts_that_sum_to_it(self) -> None:
        assert parts(rows_of(trace(steps_on_a_device()))) == {
            "step_seconds": 100,
            "compute_seconds": 60,  # 10 to 50, 60 to 80
            "communication_seconds": 20,
            "exposed_seconds": 10,
            "copy_seconds": 0,
            "input_seconds": 0,
            "host_seconds": 9,  # operators from 1 to 10, while nothing is on the device
            "idle_seconds": 21,
        }


class TestOperators:
    def test_time_is_their_own_and_that_of_what_a_product_calls(self) -> None:
        rows = rows_of(trace(steps_on_a_device(1)))
        own = rows.filter(kind="operator").select("name", "seconds", "calls")
        assert {name: (round(s * 1e6, 3), n) for name, s, n in own.iter_rows()} == {
            "aten::linear": (2, 1),
            "aten::addmm": (7, 1),
            "aten::native_batch_norm": (4, 1),
            "c10d::allreduce_": (5, 1),
        }

    def test_what_a_convolution_calls_counts_for_it(self) -> None:
        shapes = {
            "Input Dims": [[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []],
            "Input type": ["float", "float", "", "", "", "", "", "", ""],
            "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
        }
        events = [
            operator("aten::conv2d", 0.0, 100, 1),
            operator("aten::convolution", 5.0, 90, 2, **shapes),
            operator("aten::_convolution", 10.0, 80, 3, **shapes),
            operator("aten::mkldnn_convolution", 15.0, 70, 4),
        ]
        rows = rows_of(trace(events)).filter(kind="operator").sort("name")
        assert rows["name"].to_list() == ["aten::conv2d", "aten::convolution"]
        assert [round(s * 1e6) for s in rows["seconds"]] == [10, 90]
        assert rows["flops"].to_list() == [0, 2 * 2 * 4 * 3 * 9 * 64]

    def test_neighbours_that_share_a_moment_do_not_call_each_other(self) -> None:
        base = 4.458676522690655e12  # as large as the clocks of real traces, whose grain is coarse
        events = [operator("aten::add", base + 0.1 * n, 0.1, n + 1) for n in range(50)]
        rows = rows_of(trace(events)).filter(kind="operator")
        assert rows["calls"].to_list() == [50]
        assert rows["seconds"].sum() * 1e6 == pytest.approx(5.0, abs=0.05)


class TestKernels:
    def test_belong_to_the_operator_of_their_external_id(self) -> None:
        rows = rows_of(trace(steps_on_a_device(1)))
        found = rows.filter(kind="kernel").sort("name")
        assert found["operator"].to_list() == ["aten::addmm", "aten::native_batch_norm"]
        assert found["category"].to_list() == ["matrix product", "batch norm"]
        launched = rows.filter(name="aten::addmm")["device_seconds"].sum()
        assert launched * 1e6 == pytest.approx(40)


class TestForms:
    """The same trace, as other programs and other years wrote it."""

    @pytest.mark.parametrize("size", [700, 1000, 4096])
    def test_it_is_the_same_however_small_the_pieces(
        self, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = 'void f<{lambda()#1}, {"ph": 1}>, "x'  # a name that looks like the end of an event
        events = [*steps_on_a_device(3), kernel(name, 280.0, 5, 22)]
        data = trace(events)
        usual = rows_of(data)
        monkeypatch.setattr("ttastats.traces.pieces.PIECE", size)
        chunks = [data[at : at + 97] for at in range(0, len(data), 97)]
        assert kineto.read_trace(chunks).rows.sort(pl.all()).equals(usual.sort(pl.all()))

    @pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"traceEvents": []}', b"[1, 2]", b"\0"])
    def test_what_holds_no_events_is_no_trace(self, data: bytes) -> None:
        with pytest.raises(NoTraceError):
            kineto.read_trace([data])


class TestIngest:
    def test_a_trace_becomes_a_profile(self, tmp_path: Path) -> None:
        path = written(tmp_path / "run.pt.trace.json.gz", trace(steps_on_a_device()))
        account = tta.ingest([path], tmp_path / "p.parquet")
        assert (account.traces, account.profiles, account.runs) == (1, 1, 0)
        rows = store.read_profiles([tmp_path / "p.parquet"])
        assert rows["profile"].unique().to_list() == ["run"]
        assert parts(rows)["compute_seconds"] == 60

    def test_ranks_of_a_folder_are_one_profile_and_the_slowest_is_named(
        self, tmp_path: Path
    ) -> None:
        for rank, wait in enumerate((18.0, 2.0, 12.0)):  # who comes last waits least for the others
            events = [step(0, 0.0, 100.0), operator("aten::mm", 1.0, 5, 1), launch(2.0, 1)]
            events += [kernel("gemm", 5.0, 90 - wait, 1), operator("c10d::allreduce_", 7.0, 1, 2)]
            events += [launch(7.5, 2), collective(95.0 - wait, wait, 2)]
            written(tmp_path / "ranks" / f"host_{rank}.json", trace(events, rank, 3))
        account = tta.ingest([tmp_path / "ranks"], tmp_path / "p.parquet")
        assert (account.traces, account.profiles) == (3, 1)
        report = tta.profiled(tmp_path / "p.parquet")
        ranks = [row for row in report.rows if row["section"] == "rank"]
        assert [round(row["exposed_seconds"] * 1e6) for row in ranks] == [18, 2, 12]
        assert [row["name"] for row in ranks if row["slowest"]] == [1]
        assert "Rank 1 is the slowest of 3" in report.sentence
        assert ranks[1]["skew"] == pytest.approx(98 / ((82 + 98 + 88) / 3) - 1)

    def test_ranks_are_known_by_their_names_where_traces_do_not_tell(self, tmp_path: Path) -> None:
        for rank in range(2):
            for iteration in (5, 9):
                data = trace(steps_on_a_device(own_work=30.0 + rank + iteration))
                written(tmp_path / "t" / f"rank{rank}_iter{iteration}.json", data)
        account = tta.ingest([tmp_path / "t"], tmp_path / "p.parquet")
        assert (account.traces, account.profiles) == (4, 2)
        names = store.read_profiles([tmp_path / "p.parquet"])["profile"].unique().sort()
        assert names.to_list() == ["rank*_iter5", "rank*_iter9"]

    def test_what_has_not_changed_is_not_read_again(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t" / "a.json", trace(steps_on_a_device()))
        out = tmp_path / "p.parquet"
        tta.ingest([path.parent], out)
        again = tta.ingest([path.parent], out)
        assert (again.written, again.unchanged, again.traces) == (False, 1, 1)
        written(path.parent / "b.json", trace(steps_on_a_device(own_work=30.0)))
        assert tta.ingest([path.parent], out).traces == 2

    def test_beside_logs_traces_are_named_and_left(self, tmp_path: Path) -> None:
        written(tmp_path / "x" / "a.json", trace(steps_on_a_device()))
        rows = "epoch\thours\ttop1Accuracy\n1\t0.1\t93.0\n2\t0.2\t94.5\n"
        (tmp_path / "x" / "run.tsv").write_text(rows)
        account = tta.ingest([tmp_path / "x"], tmp_path / "r.parquet")
        assert (account.runs, account.traces) == (1, 0)
        (said,) = [one for one in account.problems if one.code == "trace"]
        assert (said.severity, Path(str(said.source)).name) == ("info", "a.json")

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        written(tmp_path / "x" / "a.json", trace(steps_on_a_device()))
        whole = written(tmp_path / "x" / "b.json.gz", trace(steps_on_a_device(40))).read_bytes()
        (tmp_path / "x" / "b.json.gz").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "x" / "c.json.gz").write_bytes(b"no gzip at all, whatever its name says")
        account = tta.ingest([tmp_path / "x"], tmp_path / "p.parquet")
        assert account.traces == 2
        assert {(Path(str(p.source)).name, p.code) for p in account.problems} == {
            ("b.json.gz", "truncated_trace"),
            ("c.json.gz", "unreadable_file"),
        }
        notes = [note.code for note in tta.profiled(tmp_path / "p.parquet").notes]
        assert sorted(notes[-2:]) == ["truncated_trace", "unreadable_file"]

    def test_each_kind_of_table_names_the_command_of_the_other(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.json", trace(steps_on_a_device()))
        tta.ingest([path], tmp_path / "p.parquet")
        with pytest.raises(TtastatsError, match="a profile, not a table of runs") as error:
            tta.summary(tmp_path / "p.parquet")
        assert "ttastats profile" in str(error.value)
        tsv = tmp_path / "run.tsv"
        tsv.write_text("epoch\thours\ttop1Accuracy\n1\t0.1\t93.0\n")
        tta.ingest([tsv], tmp_path / "r.parquet")
        with pytest.raises(TtastatsError, match="a table of runs, not a profile") as error:
            tta.profiled(tmp_path / "r.parquet")
        assert "ttastats summary" in str(error.value)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_nn>(Params)", "matrix product"),
        ("Cijk_Alik_Bljk_SB_MT64x16x32_MI16x16x1_SN", "matrix product"),
        ("void fbgemm_gpu::permute_indices_weights_kernel<false, int, long>(int)", "embedding"),
        ("void at::native::vectorized_elementwise_kernel<4, {lambda(float)#1}>", "elementwise"),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 32, true, 1>", "batch norm"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_nhwckrsc_nhwc", "convolution"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "communication"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "attention"),
        ("aten::convert_element", "other"),
    ],
)
def test_what_kernels_do_is_told_by_their_names(name: str, category: str) -> None:
    assert categories.categorize(name) == category


def test_times_of_nothing_give_no_rates_and_negative_ones_no_events(tmp_path: Path) -> None:
    told = {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
    events = [operator("aten::mm", 1.0, 0, 1, **told), operator("aten::add", 1.0, -2, 2)]
    path = written(tmp_path / "t.json", trace(events))
    report = tta.profiled(path)
    (row,) = [row for row in report.rows if row["section"] == "operator"]
    assert (row["name"], row["share"], row["flops_per_second"]) == ("aten::mm", None, None)


def test_a_trace_without_events_is_named(tmp_path: Path) -> None:
    written(tmp_path / "t" / "a.json", trace(steps_on_a_device()))
    (tmp_path / "t" / "b.json").write_text('{"traceEvents": [')
    account = tta.ingest([tmp_path / "t"], tmp_path / "p.parquet")
    assert [(one.code, one.severity) for one in account.problems] == [("unreadable_file", "error")]
