"""What is read of a trace: steps and their parts, operators, kernels, FLOPs, ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_traces import (
    Event,
    collective,
    event,
    kernel,
    launch,
    operator,
    step,
    steps_on_a_device,
    trace,
    written,
)
from ttastats.answers.profile import profile
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


def total(rows: pl.DataFrame, column: str, **where: Any) -> Any:
    return rows.filter(**where)[column].sum()


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

    def test_however_steps_lie_the_parts_sum_to_them(self) -> None:
        for own_work in (5.0, 40.0, 55.0, 99.0):
            found = parts(rows_of(trace(steps_on_a_device(own_work=own_work))))
            whole = found.pop("step_seconds")
            found.pop("communication_seconds")  # of which some is hidden
            assert sum(found.values()) == pytest.approx(whole)

    def test_waiting_for_the_loader_is_told_from_waiting_for_the_host(self) -> None:
        waits = event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 82.0, 18.0)
        found = parts(rows_of(trace([*steps_on_a_device(1), waits])))
        assert found["input_seconds"] == 10  # from 90, where the collective ends
        assert found["idle_seconds"] == 11

    def test_a_last_step_without_work_is_none(self) -> None:
        rows = rows_of(trace([*steps_on_a_device(2), step(5, 200.0, 3.0)]))
        assert rows.filter(name="step_seconds")["step"].to_list() == [3, 4]

    def test_without_marks_the_whole_is_the_step(self) -> None:
        events = [one for one in steps_on_a_device(1) if "Profiler" not in one["name"]]
        rows = rows_of(trace(events))
        assert parts(rows)["step_seconds"] == 89  # from 1, where the first operator begins, to 90
        (said,) = rows.filter(name="steps")["text"]
        assert "does not mark steps" in said

    def test_long_first_steps_are_left_out_and_counted(self) -> None:
        slow = [step(1, -500.0, 400.0), operator("aten::add", -400.0, 10, 900)]
        rows = rows_of(trace([*slow, *steps_on_a_device(4)]))
        assert rows.filter(name="warmup_steps")["value"].to_list() == [1]
        assert rows.filter(name="step_seconds")["step"].to_list() == [3, 4, 5, 6]
        assert rows.filter(name="aten::add").is_empty()

    def test_a_host_that_runs_ahead_does_not_hide_the_device(self) -> None:
        events: list[Event] = []
        for number in range(4):  # launched within 10, and 100 long on the device
            events += [
                step(number, 10.0 * number, 10.0),
                operator("aten::mm", 10.0 * number + 1, 5, number + 1),
                launch(10.0 * number + 2, number + 1),
                kernel("gemm", 5 + 100.0 * number, 100.0, number + 1),
            ]
        rows = rows_of(trace(events))
        assert [parts(rows, at)["step_seconds"] for at in range(4)] == [100] * 4
        assert parts(rows, 2)["compute_seconds"] == 100


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

    def test_steps_of_the_optimizer_are_its_work_whatever_they_call(self) -> None:
        note = event("user_annotation", "Optimizer.step#SGD.step", 0.0, 50.0)
        events = [note, operator("aten::add_", 1.0, 5, 1), operator("aten::add_", 60.0, 5, 2)]
        rows = rows_of(trace(events)).filter(kind="operator")
        assert dict(rows.select("category", "calls").iter_rows()) == {
            "optimizer": 1,
            "elementwise": 1,
        }


class TestKernels:
    def test_belong_to_the_operator_of_their_external_id(self) -> None:
        rows = rows_of(trace(steps_on_a_device(1)))
        found = rows.filter(kind="kernel").sort("name")
        assert found["operator"].to_list() == ["aten::addmm", "aten::native_batch_norm"]
        assert found["category"].to_list() == ["matrix product", "batch norm"]
        launched = rows.filter(name="aten::addmm")["device_seconds"].sum()
        assert launched * 1e6 == pytest.approx(40)

    def test_of_2022_are_found_through_the_call_that_launched_them(self) -> None:
        events = steps_on_a_device(1)
        for one in events:  # the external id of a kernel repeated its correlation
            if one["cat"] == "kernel":
                one["args"]["External id"] = one["args"]["correlation"]
        found = rows_of(trace(events)).filter(kind="kernel").sort("name")
        assert found["operator"].to_list() == ["aten::addmm", "aten::native_batch_norm"]

    def test_flops_of_a_product_are_those_of_its_longest_kernel(self) -> None:
        events = steps_on_a_device(1)
        events += [launch(4.0, 700), kernel("splitKreduce_kernel", 51.0, 2, 2, correlation=100_700)]
        rows = rows_of(trace(events)).filter(kind="kernel", operator="aten::addmm")
        assert dict(rows.select("name", "flops").iter_rows()) == {
            "ampere_sgemm_32x128_tn": 2 * 4 * 16 * 8,
            "splitKreduce_kernel": 0,
        }

    def test_collectives_are_apart_with_their_bytes(self) -> None:
        rows = rows_of(trace(steps_on_a_device(1)))
        (row,) = rows.filter(kind="collective").to_dicts()
        assert (row["category"], row["bytes"], row["stream"]) == ("communication", 4000, 20)

    def test_whose_instructions_were_counted_have_flops_and_no_time(self) -> None:
        counted = event("cuda_profiler_range", "ampere_sgemm", 0.0, 99.0)
        for name, number in (("fadd", 5), ("fmul", 7), ("ffma", 100), ("dadd", 0)):
            counted["args"][f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"] = number
        read = kineto.read_trace([trace([counted, operator("aten::mm", 0.0, 5, 1)])])
        (row,) = read.rows.filter(kind="kernel").to_dicts()
        assert (row["flops"], row["seconds"]) == (212, None)
        assert [problem.code for problem in read.problems] == ["counted_instructions"]

    def test_tensor_cores_are_known_by_name(self) -> None:
        events = [
            operator("aten::mm", 0.0, 5, 1),
            kernel("ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_tn", 1.0, 5, 1),
            kernel("ampere_sgemm_128x64_nn", 7.0, 5, 1),
        ]
        rows = rows_of(trace(events)).filter(kind="kernel").sort("name")
        assert rows["tensor_core"].to_list() == [True, False]


class TestForms:
    """The same trace, as other programs and other years wrote it."""

    def test_before_kineto_no_event_had_a_category(self) -> None:
        told = [
            {"ph": "X", "name": "mm", "pid": "CPU functions", "tid": 1, "ts": 0.0, "dur": 9.0},
            {"ph": "X", "name": "mm", "pid": "CUDA functions", "tid": 0, "ts": 2.0, "dur": 5.0},
            {"ph": "s", "name": "mm", "pid": "CPU functions", "tid": 1, "ts": 0.0, "id": 1},
        ]
        read = kineto.read_trace([json.dumps(told).encode()])
        kinds = read.rows.filter(pl.col("calls") > 0)["kind"].to_list()
        assert (sorted(kinds), read.origin) == (["kernel", "operator"], "autograd")

    def test_an_array_alone_compact_or_indented_says_the_same(self) -> None:
        events = steps_on_a_device(2)
        usual = rows_of(trace(events)).filter(pl.col("kind") != "measure")
        for data in (
            json.dumps(events),
            json.dumps(events, separators=(",", ":")),
            json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, indent=1),
            json.dumps({"traceEvents": events, "after": {"a": [1, {"b": 2}]}}),
            "\ufeff" + json.dumps({"traceEvents": events}),
        ):
            found = rows_of(data.encode()).filter(pl.col("kind") != "measure")
            assert found.sort(pl.all()).equals(usual.sort(pl.all()))

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

    def test_a_trace_that_breaks_off_gives_what_it_holds_and_says_so(self) -> None:
        data = trace(steps_on_a_device(4))
        whole = rows_of(data).filter(kind="operator")["calls"].sum()
        for cut in (len(data) // 2, len(data) * 3 // 4, len(data) - 40):
            read = kineto.read_trace([data[:cut]])
            assert [problem.code for problem in read.problems] == ["truncated_trace"]
            calls = read.rows.filter(kind="operator")["calls"].sum()
            assert 0 < calls <= whole

    def test_numbers_that_are_none_and_broken_names_cost_at_most_their_event(self) -> None:
        data = trace(steps_on_a_device(2))
        usual = rows_of(data)
        odd = data.replace(b'"stream": 7', b'"warps per SM": inf, "stream": 7', 1)
        assert rows_of(odd).equals(usual)
        broken = data.replace(b"aten::native_batch_norm", b"aten::native_batch_norm\xff", 1)
        assert rows_of(broken).filter(kind="operator")["calls"].sum() == 8
        lost = kineto.read_trace([data.replace(b'"aten::linear"', b'"aten::linear', 1)])
        assert [problem.code for problem in lost.problems] == ["damaged_events"]
        assert lost.rows.filter(kind="operator")["calls"].sum() == 7

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

    def test_two_traces_of_one_rank_are_two_profiles(self, tmp_path: Path) -> None:
        for name, work in (("a", 40.0), ("b", 45.0)):
            written(tmp_path / "t" / f"{name}.json", trace(steps_on_a_device(own_work=work), 0))
        assert tta.ingest([tmp_path / "t"], tmp_path / "p.parquet").profiles == 2

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


def test_an_exposed_collective_is_seen_alone() -> None:
    events = [operator("c10d::allreduce_", 0.0, 5, 1), launch(1.0, 1), collective(10.0, 30, 1)]
    assert parts(rows_of(trace(events)))["exposed_seconds"] == 30


def test_memory_of_the_host_is_left_out_beside_that_of_a_device() -> None:
    def allocated(kind: int, size: int) -> Event:
        told = {"Device Type": kind, "Device Id": 0, "Total Allocated": size}
        return event("cpu_instant_event", "[memory]", 5.0, 0, **told) | {"ph": "i"}

    def peaks(*events: Event) -> dict[str, float]:
        rows = rows_of(trace([*steps_on_a_device(), *events]))
        found = rows.filter(name="memory_bytes")
        return dict(found.select("of", "value").iter_rows())

    assert peaks(allocated(0, 8), allocated(1, 4096)) == {"allocated on gpu 0": 4096.0}
    assert peaks(allocated(0, 8)) == {"allocated on cpu": 8.0}


def test_an_operator_without_flops_is_not_below_the_average_rate() -> None:
    report = profile.report(rows_of(trace(steps_on_a_device())))
    rows = {row["name"]: row for row in report.rows if row["section"] == "operator"}
    assert rows["aten::addmm"]["of_average"] > 1
    assert rows["aten::native_batch_norm"]["of_average"] is None
    assert not [table.title for table in report.tables if "below the average" in table.title]
