"""Answers of hundreds of rows stay readable: order, sections, narrow screens, the pager."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.programs import PATIENCE, environment
from ttastats.base.errors import TtastatsError
from ttastats.cli.output import paged, pager_words
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.ordering import sort_rows
from ttastats.report.render import as_csv, as_json, as_markdown, as_table
from ttastats.report.render.shortening import shorten_names
from ttastats.report.row import Row

ENTRIES = 6
BENCHMARKS = ("bert", "rgat", "unet")


def report(entries: int = ENTRIES, stem: str = "Example/machine") -> Report:
    """Return a summary of some benchmarks, as many entries each; the times of one are unknown."""
    rows = [
        {
            "suite": "mlperf",
            "round": "v5.0",
            "benchmark": benchmark,
            "entry": f"{stem}_{number}",
            "n": 10,
            "tta_mean_seconds": None if number == 2 else 60.0 * ((number * 4) % 7),
            "epoch_seconds_mean": 1.0,
        }
        for benchmark in BENCHMARKS
        for number in range(entries)
    ]
    columns = (
        Column("benchmark", names=True, heads=True),
        Column("entry", names=True, heads=True),
        Column("mean TTA", "right"),
        Column("per epoch", "right", rank=1),
        Column("ERT", "right", rank=2),
    )
    table = Table(columns, tuple(map(cells, rows)), "mlperf v5.0")
    return Report("summary", tuple(Row(keys=row) for row in rows), (table,))


def cells(row: Mapping[str, Any]) -> Line:
    seconds = Quantity(row["tta_mean_seconds"], "seconds")
    names = (Text(row["benchmark"]), Text(row["entry"]))
    return Line((*names, seconds, Quantity(row["epoch_seconds_mean"], "seconds"), seconds))


def shown(report: Report, width: int | None) -> list[str]:
    stream = io.StringIO()
    as_table.print_report(report, Console(file=stream, width=width or 500), width=width)
    return stream.getvalue().splitlines()


def times(report: Report, benchmark: str) -> list[Any]:
    return [row["tta_mean_seconds"] for row in report.rows if row["benchmark"] == benchmark]


class TestOrder:
    @pytest.mark.parametrize("name", ["tta", "tta_mean_seconds"])
    def test_rows_are_sorted_inside_their_benchmark(self, name: str) -> None:
        found = sort_rows(report(), sort=name)
        assert [row["benchmark"] for row in found.rows[::ENTRIES]] == list(BENCHMARKS)
        for benchmark in BENCHMARKS:
            *known, last = times(found, benchmark)
            assert last is None
            assert known == sorted(known)

    def test_a_minus_sorts_from_high_to_low_and_unknown_still_comes_last(self) -> None:
        *known, last = times(sort_rows(report(), sort="-tta"), "bert")
        assert last is None
        assert known == sorted(known, reverse=True)

    def test_the_cells_for_people_move_with_the_rows(self) -> None:
        found = sort_rows(report(), sort="-tta", top=2)
        assert found.tables[0].rows == tuple(map(cells, found.rows))

    def test_equal_rows_keep_their_order(self) -> None:
        assert sort_rows(report(), sort="-n").rows == report().rows

    def test_a_column_that_is_none_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(TtastatsError, match="unknown column 'speed'") as refused:
            sort_rows(report(), sort="-speed")
        assert "benchmark, entry, n, tta, epoch_seconds." in str(refused.value)

    def test_the_first_of_each_benchmark_stay_and_the_others_are_counted(self) -> None:
        found = sort_rows(report(), top=2)
        assert [row["entry"][-1] for row in found.rows] == ["0", "1"] * 3
        (note,) = found.notes
        assert note.text == (
            "--top 2: 12 more rows not shown (bert 4, rgat 4, unet 4); --top 0 shows all."
        )

    @pytest.mark.parametrize("top", [0, ENTRIES, 100])
    def test_nothing_is_said_where_nothing_is_left_out(self, top: int) -> None:
        assert sort_rows(report(), top=top) == report()

    @pytest.mark.parametrize(
        "render", [as_csv.render_csv, as_json.render_json, as_markdown.render_markdown]
    )
    def test_every_format_has_the_rows_asked_for_in_full(self, render: Any) -> None:
        text = render(sort_rows(report(stem="Example/" + "x" * 80), top=1, sort="-tta"))
        assert text.count("x" * 80) == len(BENCHMARKS)
        assert "…" not in text


class TestNames:
    def test_a_name_loses_its_middle(self) -> None:
        (name,) = (shorten_names(["abcdefghijklmnop"], 7) or {}).values()
        assert name == "abc…nop"

    def test_a_name_that_fits_stays(self) -> None:
        assert shorten_names(["abc", "d"], 3) == {"abc": "abc", "d": "d"}

    def test_what_tells_names_apart_stays_and_numbers_stay_whole(self) -> None:
        names = [f"NVIDIA/tyche_ngpu{n}_ngc25.04_pytorch" for n in (8, 64, 512)]
        short = shorten_names(names, 30) or {}
        found = [re.search(r"(?<!\d)(8|64|512)(?!\d)", text) for text in short.values()]
        assert [match and match.group() for match in found] == ["8", "64", "512"]
        assert all(len(text) == 30 for text in short.values())

    def test_names_that_cannot_be_told_apart_are_not_shortened(self) -> None:
        assert shorten_names(["aaaaaaaabaaaaaaaa", "aaaaaaaacaaaaaaaa"], 5) is None

    def test_wide_letters_take_two_columns(self) -> None:
        (name,) = (shorten_names(["時間時間時間時間"], 9) or {}).values()
        assert name == "時間…時間"


class TestScreen:
    def test_a_benchmark_is_said_once_above_its_rows(self) -> None:
        lines = shown(report(), 80)
        assert [line.strip() for line in lines].count("bert") == 1
        assert "benchmark" not in lines[1]
        assert sum("bert" in line for line in lines) == 1

    def test_a_pipe_gets_each_row_complete(self) -> None:
        lines = shown(report(), None)
        assert "benchmark" in lines[1]
        assert sum("bert" in line for line in lines) == ENTRIES

    def test_few_rows_of_a_benchmark_need_no_heading(self) -> None:
        assert "benchmark" in shown(sort_rows(report(), top=2), 80)[1]

    def test_all_that_many_rows_share_stands_above_them(self) -> None:
        one = report(entries=1)
        runs = Table(one.tables[0].columns, one.tables[0].rows * 1)
        repeated = tuple(row for row in runs.rows for _ in range(10))
        lines = shown(Report("runs", one.records, (Table(runs.columns, repeated),)), 80)
        assert " bert · Example/machine_0" in lines
        assert "entry" not in lines[0]

    @pytest.mark.parametrize("width", [40, 50, 60, 80, 120, 200])
    def test_no_line_is_longer_than_the_screen(self, width: int) -> None:
        lines = shown(report(stem="Example/a_system_of_a_long_name_with_accelerators"), width)
        assert max(map(len, lines)) <= width
        assert sum("Example/" in line for line in lines) == ENTRIES * len(BENCHMARKS)

    def test_columns_give_way_before_names_are_too_short_and_are_named(self) -> None:
        text = "\n".join(shown(report(stem="Example/a_system_of_a_long_name"), 44))
        assert "hidden columns: per epoch, ERT" in " ".join(text.split())
        assert "mean TTA" in text

    def test_on_a_very_narrow_screen_each_row_becomes_a_record(self) -> None:
        lines = shown(report(stem="Example/a_system_of_a_long_name"), 32)
        place = next(n for n, line in enumerate(lines) if line.endswith("name_1"))
        record = " ".join(" ".join(lines[place + 1 : place + 4]).split())
        assert record == "mean TTA 4.00 min · per epoch 1.00 s · ERT 4.00 min"

    def test_a_wider_screen_never_shows_less(self) -> None:
        titles = [shown(report(stem="Example/a_long_name"), width)[1] for width in range(30, 90)]
        counts = [sum(word in title for word in ("TTA", "epoch", "ERT")) for title in titles]
        assert all(one <= other for one, other in pairwise(counts))


LONG = "".join(f"line {number}\n" for number in range(50_000))


class TestPager:
    @pytest.mark.parametrize(
        ("environment", "words"),
        [
            ({}, ("less",)),
            ({"PAGER": "less -S"}, ("less", "-S")),
            ({"PAGER": ""}, ()),
            ({"PAGER": "cat"}, ()),
            ({"PAGER": "less 'x"}, ()),
        ],
    )
    def test_the_reader_chooses_the_pager(
        self, environment: dict[str, str], words: tuple[str, ...]
    ) -> None:
        assert pager_words(environment) == words

    def test_the_pager_gets_the_text(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert paged("one\ntwo ±\n", ("cat",))
        assert capfd.readouterr().out == "one\ntwo ±\n"

    def test_a_reader_may_leave_before_the_end(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert paged(LONG, ("head", "-n", "1"))
        assert capfd.readouterr() == ("line 0\n", "")

    @pytest.mark.parametrize("words", [("no-such-pager",), ("false",), (str(Path(__file__)),)])
    def test_a_pager_that_fails_is_told(self, words: tuple[str, ...]) -> None:
        assert not paged(LONG, words)

    def test_less_keeps_colours_unless_the_reader_has_other_wishes(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("LESS", raising=False)
        paged("", ("env",))
        assert "LESS=FRX\n" in capfd.readouterr().out
        monkeypatch.setenv("LESS", "-S")
        paged("", ("env",))
        assert "LESS=-S\n" in capfd.readouterr().out

    def test_an_interrupt_is_for_the_pager_alone(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        assert paged("", ("sh", "-c", "kill -INT $PPID"))
        assert signal.getsignal(signal.SIGINT) is before

    def test_a_pager_that_an_interrupt_ends_has_not_failed(self) -> None:
        assert paged("", ("sh", "-c", "kill -INT $$"))


def terminal(words: Sequence[str | Path], size: tuple[int, int], **more: str) -> str:
    """Run the program on a terminal of some lines and columns, and give what that shows."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    names = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    kept = {name: value for name, value in environment().items() if name in names}
    program = subprocess.Popen(
        [sys.executable, "-m", "ttastats", *map(str, words)],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**kept, "TERM": "xterm", **more},
        start_new_session=True,
    )
    os.close(its)
    text = _everything(ours)
    assert program.wait(PATIENCE) == 0, text
    return text


def _everything(terminal: int) -> str:
    """Read until the other side is closed, which Linux tells as an error."""
    parts = []
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ttastats.ingestion.ingest import ingest

    logs = Path(__file__).parent.parent / "examples" / "two_systems" / "Example" / "results"
    path = tmp_path_factory.mktemp("tables") / "runs.parquet"
    ingest([logs], path)
    return path


MARKING = "sed s/^/paged:/"


class TestTerminal:
    def test_an_answer_taller_than_the_screen_is_paged(self, parquet: Path) -> None:
        text = terminal(["runs", parquet], (10, 70), PAGER=MARKING)
        lines = text.splitlines()
        assert all(line.startswith("paged:") for line in lines)
        assert sum("result_" in line for line in lines) == 20
        assert "\x1b[1m" in text

    @pytest.mark.parametrize(
        ("words", "lines", "more"),
        [
            (["--no-pager"], 10, MARKING),
            ([], 100, MARKING),
            (["--format", "csv"], 10, MARKING),
            ([], 10, "no-such-pager"),
            ([], 10, "false"),
        ],
    )
    def test_everything_else_is_printed(
        self, words: list[str], lines: int, more: str, parquet: Path
    ) -> None:
        text = terminal(["runs", parquet, *words], (lines, 70), PAGER=more)
        assert "paged:" not in text
        assert sum("result_" in line for line in text.splitlines()) == 20
