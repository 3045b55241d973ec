"""Reading a trace: steps and their parts, operators, kernels, FLOPs, ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttastats as tta
from tests.made_traces import operator, steps_on_a_device, trace, written
from ttastats.base.errors import TtastatsError
from ttastats.traces import kineto, table
from ttastats.traces.pieces import NoTraceError


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"traceEvents": []}', b"[1, 2]", b"\0"])
def test_a_file_without_events_is_no_trace(data: bytes) -> None:
    with pytest.raises(NoTraceError):
        kineto.read_trace([data])


class TestIngest:
    def test_a_trace_becomes_a_profile(self, tmp_path: Path) -> None:
        path = written(tmp_path / "run.pt.trace.json.gz", trace(steps_on_a_device()))
        account = tta.ingest([path], tmp_path / "p.parquet")
        assert (account.traces, account.profiles, account.runs) == (1, 1, 0)
        rows = table.read_profiles([tmp_path / "p.parquet"])
        assert rows["profile"].unique().to_list() == ["run"]
        computed = rows.filter(kind="measure", name="compute_seconds").sort("step")
        assert computed["value"][0] == pytest.approx(60e-6)

    def test_ranks_are_known_by_their_names_where_traces_do_not_tell(self, tmp_path: Path) -> None:
        for rank in range(2):
            for iteration in (5, 9):
                data = trace(steps_on_a_device(own_work=30.0 + rank + iteration))
                written(tmp_path / "t" / f"rank{rank}_iter{iteration}.json", data)
        account = tta.ingest([tmp_path / "t"], tmp_path / "p.parquet")
        assert (account.traces, account.profiles) == (4, 2)
        names = table.read_profiles([tmp_path / "p.parquet"])["profile"].unique().sort()
        assert names.to_list() == ["rank*_iter5", "rank*_iter9"]

    def test_unchanged_logs_are_not_read_again(self, tmp_path: Path) -> None:
        path = written(tmp_path / "t" / "a.json", trace(steps_on_a_device()))
        out = tmp_path / "p.parquet"
        tta.ingest([path.parent], out)
        again = tta.ingest([path.parent], out)
        assert (again.written, again.unchanged, again.traces) == (False, 1, 1)
        written(path.parent / "b.json", trace(steps_on_a_device(own_work=30.0)))
        assert tta.ingest([path.parent], out).traces == 2

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


def test_times_of_nothing_give_no_rates_and_negative_ones_no_events(tmp_path: Path) -> None:
    inputs = {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
    operators = [operator("aten::mm", 1.0, 0, 1, **inputs), operator("aten::add", 1.0, -2, 2)]
    path = written(tmp_path / "t.json", trace(operators))
    report = tta.profiled(path)
    (row,) = [row for row in report.rows if row["section"] == "operator"]
    assert (row["name"], row["share"], row["flops_per_second"]) == ("aten::mm", None, None)


def test_a_trace_without_events_is_named(tmp_path: Path) -> None:
    written(tmp_path / "t" / "a.json", trace(steps_on_a_device()))
    (tmp_path / "t" / "b.json").write_text('{"traceEvents": [')
    account = tta.ingest([tmp_path / "t"], tmp_path / "p.parquet")
    assert [(p.code, p.severity) for p in account.problems] == [("unreadable_file", "error")]
