"""Answers of hundreds of rows stay readable: order, narrow screens, colour, the pager."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console

from tests.accepted import Case, cases
from tests.programs import PATIENCE, environment
from ttastats.base.errors import TtastatsError
from ttastats.cli.output import paged, pager_words
from ttastats.report import as_csv, as_json, as_markdown, as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.fitting import shorten_names
from ttastats.report.ordering import sort_rows
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


def one_entry() -> Report:
    """Return an answer whose rows are all of one benchmark and entry."""
    single = report(entries=1)
    (table,) = single.tables
    return Report("runs", single.records, (structs.replace(table, rows=table.rows[:1] * 10),))


NAMES = [f"NVIDIA/tyche_ngpu{n}_ngc25.04_pytorch" for n in (8, 64, 512)]
SHORTENED: tuple[tuple[Sequence[str], int], ...] = (
    (["abcdefghijklmnop"], 7), (["abc", "d"], 3), (NAMES, 30), (["時間時間時間時間"], 9),
    (["aaaaaaaabaaaaaaaa", "aaaaaaaacaaaaaaaa"], 5),
)  # fmt: skip
STEM = "Example/a_system_of_a_long_name"
SCREENS: dict[str, Callable[[], list[str]]] = {
    "sorted within benchmarks": lambda: shown(sort_rows(report(), sort="tta"), 80),
    "from high to low": lambda: shown(sort_rows(report(), sort="-tta_mean_seconds"), None),
    "equal rows keep their order": lambda: shown(sort_rows(report(), sort="-n"), 80),
    "the first of each": lambda: shown(sort_rows(report(), sort="-tta", top=2), 80),
    "all that rows share stands above them": lambda: shown(one_entry(), 80),
    "each row is a record": lambda: shown(report(stem=STEM), 32),
    "columns give way": lambda: shown(report(stem=STEM), 44),
    **{
        f"{width} columns": lambda width=width: shown(
            report(stem=f"{STEM}_with_accelerators"), width
        )
        for width in (40, 50, 60, 80, 120, 200)
    },
}


def of_screens() -> Iterator[Any]:
    for names, room in SHORTENED:
        yield [*(shorten_names(names, room) or {}).values()]
    for name, screen in SCREENS.items():
        yield f"---------- {name}"
        yield from screen()


@cases("screens", long_answers=of_screens)
def test_long_answers_are_shown_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


class TestOrder:
    def test_the_cells_for_people_move_with_the_rows(self) -> None:
        top = sort_rows(report(), sort="-tta", top=2)
        assert top.tables[0].rows == tuple(map(cells, top.rows))

    def test_a_column_that_is_none_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(TtastatsError, match="unknown column 'speed'") as refused:
            sort_rows(report(), sort="-speed")
        assert "round, benchmark, entry, suite, n, tta, epoch_seconds." in str(refused.value)

    def test_nothing_is_said_where_nothing_is_left_out(self) -> None:
        assert all(sort_rows(report(), top=top) == report() for top in (0, ENTRIES, 100))

    @pytest.mark.parametrize(
        "render", [as_csv.render_csv, as_json.render_json, as_markdown.render_markdown]
    )
    def test_every_format_has_the_rows_asked_for_in_full(self, render: Any) -> None:
        text = render(sort_rows(report(stem="Example/" + "x" * 80), top=1, sort="-tta"))
        assert text.count("x" * 80) == len(BENCHMARKS)
        assert "…" not in text

    def test_a_wider_screen_never_shows_less_and_no_line_is_too_long(self) -> None:
        counts = []
        for width in range(30, 90):
            lines = shown(report(stem="Example/a_long_name"), width)
            assert max(map(len, lines)) <= width
            counts.append(sum(word in lines[1] for word in ("TTA", "epoch", "ERT")))
        assert counts == sorted(counts)


def test_only_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table((Column("verdict"),), (Line((Text("B faster", "good"),)),))

    def printed(**console: bool) -> str:
        stream = io.StringIO()
        as_table.print_report(Report("test", (), (table,)), Console(file=stream, **console))
        return stream.getvalue()

    assert "\x1b[32mB faster" in printed(force_terminal=True)
    assert "\x1b" not in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in printed(force_terminal=True)


LONG = "".join(f"line {number}\n" for number in range(50_000))


class TestPager:
    def test_the_reader_chooses_the_pager(self) -> None:
        assert pager_words({}) == ("less",)
        assert pager_words({"PAGER": "less -S"}) == ("less", "-S")
        for none in ("", "cat", "less 'x"):
            assert pager_words({"PAGER": none}) == ()

    def test_the_pager_gets_the_text_and_a_reader_may_leave_before_its_end(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert paged("one\ntwo ±\n", ("cat",))
        assert capfd.readouterr().out == "one\ntwo ±\n"
        assert paged(LONG, ("head", "-n", "1"))
        assert capfd.readouterr() == ("line 0\n", "")

    @pytest.mark.parametrize("words", [("no-such-pager",), ("false",), (str(Path(__file__)),)])
    def test_a_failing_pager_is_reported(self, words: tuple[str, ...]) -> None:
        assert not paged(LONG, words)

    @pytest.mark.parametrize(("wish", "options"), [(None, "FRX"), ("-S", "-S")])
    def test_less_keeps_colours_unless_the_reader_has_other_wishes(
        self,
        wish: str | None,
        options: str,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("LESS", wish) if wish else monkeypatch.delenv("LESS", raising=False)
        paged("", ("env",))
        assert f"LESS={options}\n" in capfd.readouterr().out

    def test_an_interrupt_is_for_the_pager_alone_and_is_no_failure_of_it(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        for process in ("$PPID", "$$"):
            assert paged("", ("sh", "-c", f"kill -INT {process}"))
        assert signal.getsignal(signal.SIGINT) is before


def terminal(words: Sequence[str | Path], size: tuple[int, int], **more: str) -> str:
    """Run the program on a terminal of the given size, and return what it shows."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    names = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    variables = {name: value for name, value in environment().items() if name in names}
    program = subprocess.Popen(
        [sys.executable, "-m", "ttastats", *map(str, words)],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**variables, "TERM": "xterm", **more},
        start_new_session=True,
    )
    os.close(its)
    parts = []
    with suppress(OSError):  # by which Linux tells that the other side is closed
        while select.select([ours], [], [], PATIENCE)[0] and (part := os.read(ours, 65536)):
            parts.append(part)
    os.close(ours)
    text = b"".join(parts).decode().replace("\r\n", "\n")
    assert program.wait(PATIENCE) == 0, text
    return text


MARKING = "sed s/^/paged:/"


class TestTerminal:
    def test_an_answer_longer_than_the_screen_is_paged(self, tables: Path) -> None:
        text = terminal(["runs", tables / "both.parquet"], (10, 70), PAGER=MARKING)
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
            ([], 10, "false"),
        ],
    )
    def test_everything_else_is_printed(
        self, words: list[str], lines: int, more: str, tables: Path
    ) -> None:
        text = terminal(["runs", tables / "both.parquet", *words], (lines, 70), PAGER=more)
        assert "paged:" not in text
        assert sum("result_" in line for line in text.splitlines()) == 20
