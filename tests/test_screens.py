"""Screens: every command begins with its answer, no row is folded, a column has one unit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from ttastats.base import units
from ttastats.cli import app
from ttastats.report import as_table, harmless
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.fitting import fit_columns, hardware_models
from ttastats.report.time_units import with_common_units

EXAMPLES = Path(__file__).parent.parent / "examples"
SEEDS = range(20)
WIDTHS = (80, 100, 160)


def split(table: Path) -> list[pl.DataFrame]:
    """Return the runs of both entries of a table."""
    return [pl.read_parquet(table).filter(entry=entry) for entry in ("adam", "muon")]


ANSWERS: dict[str, Callable[[Path], Report]] = {
    "runs": lambda table: tta.runs(table, target="val_loss<=3.4"),
    "summary": lambda table: tta.summary(table, target="val_loss<=3.4"),
    "rank": lambda table: tta.rank(table, target="val_loss<=3.4"),
    "variance": lambda table: tta.variance(table, target="val_loss<=3.4"),
    "power": lambda table: tta.power(table, target="val_loss<=3.4"),
    "power of a CV": lambda _: tta.power(cv=0.14),
    "targets": lambda table: tta.targets(table),
    "history": lambda table: tta.history(table, target="val_loss<=3.4", order="seed"),
    "compare": lambda table: tta.compare(
        *split(table), target="val_loss<=3.4", labels=("adam", "muon")
    ),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("screens") / "own.parquet"
    return tta.ingest([EXAMPLES / "own_logs"], output).output


def lines_of(report: Report, width: int) -> list[str]:
    return [line.plain for line in as_table._report_lines(report, width, verbose=False)]


@pytest.mark.parametrize("command", ANSWERS)
def test_a_command_begins_with_its_answer_and_keeps_to_the_screen(
    command: str, table: Path
) -> None:
    report = ANSWERS[command](table).displayed
    assert report.headline
    for width in WIDTHS:
        lines = lines_of(report, width)
        assert all(len(line) <= width for line in lines)
        assert " ".join(lines).startswith(f" {str(report.headline[0])[:8]}"[:8])
        body = [line for line in lines if re.match(r"   \S.* · ", line)]
        assert not body, f"folded below a row: {body[:1]}"


def test_one_comparison_is_a_table_of_both_sides_and_their_factors(table: Path) -> None:
    report = ANSWERS["compare"](table)
    lines = lines_of(report, 80)
    rows = {line.split()[0]: line.split() for line in lines if line.split()}
    a, b, ratio = rows["adam"], rows["muon"], rows["speedup"]
    assert (a[1], b[1]) == ("84.2", "72.6")
    assert float(a[1]) / float(b[1]) == pytest.approx(report.speedup, rel=2e-3)
    assert float(ratio[1]) == pytest.approx(report.speedup, rel=1e-3)
    steps, per_step = float(a[4]) / float(b[4]), float(a[5]) / float(b[5])
    assert steps * per_step == pytest.approx(report.speedup, rel=1e-2)
    assert report.rows[0]["verdict"] == "faster"
    assert not any("why " in line for line in lines)
    (only,) = report.tables
    assert len(only.rows) == 1 == len(report)  # programs and pages have the row


def drawn_table(draw: random.Random) -> Table:
    """Return a table of names and numbers of several widths and ranks."""
    columns = [Column(f"name{n}", names=True) for n in range(draw.randint(1, 3))]
    columns += [
        Column("x" * draw.randint(1, 9) + str(n), "right", rank=draw.choice([-1, 0, 0, 1, 2]))
        for n in range(draw.randint(1, 9))
    ]
    rows = [
        Line(tuple(Text(f"{n}{'y' * draw.randint(1, 30 if c.names else 12)}") for c in columns))
        for n in range(draw.randint(1, 6))
    ]
    return Table(columns, rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_give_way_by_rank_and_from_the_right(seed: int) -> None:
    draw = random.Random(seed)
    table, width = drawn_table(draw), draw.randint(30, 140)
    layout = fit_columns(table, width)
    assert sorted((*layout.shown, *layout.hidden, *layout.heads)) == list(range(len(table.columns)))
    assert not any(table.columns[p].names for p in layout.hidden)
    weights = {p: (table.columns[p].rank, p) for p in range(len(table.columns))}
    kept = [weights[p] for p in layout.shown if not table.columns[p].names]
    assert all(weights[p] > weight for p in layout.hidden for weight in kept)
    if len(layout.shown) > 1 + len(layout.hidden) and layout.hidden:
        total = 1 + sum(layout.widths.values()) + 2 * (len(layout.shown) - 1)
        assert total <= width


@pytest.mark.parametrize("seed", SEEDS)
def test_a_column_hidden_in_one_table_is_hidden_in_all_and_named_once(seed: int) -> None:
    draw = random.Random(seed)
    narrow = Table((Column("a", names=True), Column("b"), Column("c", rank=1)),
                   (Line((Text("x"), Text("y"), Text("z"))),))  # fmt: skip
    wide = Table(narrow.columns, (Line((Text("x"), Text("y"), Text("z" * draw.randint(90, 200)))),))
    tables = [narrow] * draw.randint(1, 3) + [wide]
    draw.shuffle(tables)
    text = lines_of(Report("summary", (), tuple(tables)), 80)
    assert sum("hidden columns: c (" in line for line in text) == 1
    assert not any("z" in line for line in text if "hidden" not in line and "horiz" not in line)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_times_of_a_column_have_one_unit_and_keep_their_value(seed: int) -> None:
    draw = random.Random(seed)
    scale = 10 ** draw.uniform(-3, 5)
    times = [scale * 10 ** draw.uniform(-1, 1) for _ in range(draw.randint(1, 9))]
    cells = [Quantity(t, "seconds", 0.9 * t, 1.2 * t) for t in times]
    column = Column(draw.choice(["mean TTA", "A: mean", "per epoch"]))
    shown = with_common_units(Table((column,), [Line((cell,)) for cell in cells]))
    texts = [harmless.cell_text(row.cells[0]) for row in shown.rows]
    (unit,) = {text.split()[1] for text in texts}
    seconds = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
    for text, time in zip(texts, times, strict=True):
        number, low, high = map(float, re.findall(r"[\d.]+", text))
        assert number * seconds == pytest.approx(time, rel=6e-3)
        assert (low * seconds, high * seconds) == pytest.approx((0.9 * time, 1.2 * time), rel=6e-3)
    assert unit == units.time_unit(times)


@pytest.mark.parametrize(
    ("names", "models"),
    [
        (["NVIDIA DGX-2H", "NVIDIA DGX-2"], ["DGX-2H", "DGX-2"]),
        (["NVIDIA GeForce RTX 4090", "AMD Radeon RX 7900 XTX"], ["RTX 4090", "RX 7900"]),
        (["NVIDIA H200-SXM5-141GB", "NVIDIA H200-NVL-141GB"], ["H200-SXM5", "H200-NVL"]),
        (["NVIDIA Blackwell GPU (B200-SXM-180GB)", "tpu-v3"], ["B200", "tpu-v3"]),
        (["AMD Instinct MI325X 256GB HBM3E DLC"], ["MI325X"]),
        (["Trainium", "H100 | NVIDIA A100-SXM"], ["Trainium", "H100 | A100"]),
    ],
)
def test_hardware_is_named_by_its_model(names: list[str], models: list[str]) -> None:
    assert hardware_models(names) == dict(zip(names, models, strict=True))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("compare F", "--a 'entry=adam' --b 'entry=muon'"),
        ("compare F --a adam --b entry=muon", "Write entry=adam."),
        ("summary F --where accelerators=>8", "Write accelerators>=8."),
        ("summary F --where nodes=<2", "Write nodes<=2."),
        ("plot tt F -o x.svg", "Nearest: tta."),
    ],
)
def test_a_hint_names_what_to_type(words: str, hint: str, table: Path) -> None:
    result = CliRunner().invoke(
        app, [str(table) if word == "F" else word for word in words.split()]
    )
    assert hint in (getattr(result.exception, "remedy", "") or result.stderr)


def test_sentences_of_the_help_end() -> None:
    result = CliRunner().invoke(app, ["--help"], terminal_width=80)
    assert "compare" in result.stdout
    assert not re.findall(r"^  \w+ .*\.\.\.$", result.stdout, re.MULTILINE)
