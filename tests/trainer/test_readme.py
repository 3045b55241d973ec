"""Is what README prints of the trainer what fresh runs show?

On a CPU a run is its seed: whether it reached, and after how many epochs, is the same each time,
and what README prints of it is compared. Seconds are not; what stands around them is.
With TTASTATS_LONG set all commands of README are run, else one of its runs is made.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from rich.console import Console  # noqa: E402

from tests import programs  # noqa: E402
from tests.conftest import ROOT  # noqa: E402
from tests.trainer.runs import trained  # noqa: E402
from ttastats import api  # noqa: E402
from ttastats.report.render import as_table  # noqa: E402
from ttastats.trainer import after, hardware, table_7  # noqa: E402
from ttastats.trainer.settings import Overrides  # noqa: E402

if TYPE_CHECKING:
    from ttastats.report.answer import Report
    from ttastats.trainer.session import Made

#: The epochs of the twenty default runs, by their seeds, and what they were made on.
EPOCHS = (8, 8, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 6, 9, 9, 7, 7, 8)
PROCESSOR, CAPABILITY, PYTORCH = ("AMD EPYC", "26", "2"), "AVX512", "2.13"


def processor() -> tuple[str, ...]:
    """Return name, family and model: processors of one name may round differently."""
    path = Path("/proc/cpuinfo")
    text = path.read_text("utf-8") if path.exists() else ""
    numbers = re.findall(r"^(?:cpu family|model)\s*: (\d+)$", text, re.MULTILINE)[:2]
    return (hardware.processor_name(), *numbers)


same_machine = pytest.mark.skipif(
    (processor(), torch.backends.cpu.get_cpu_capability()) != (PROCESSOR, CAPABILITY)
    or not torch.__version__.startswith(PYTORCH),
    reason="README's runs were made on another processor, or with another PyTorch",
)

README = (ROOT / "README.md").read_text("utf-8")
TEXT = README.split("## Generate your own runs")[1].split("\n## ")[0]
COMMANDS = [line.strip() for line in TEXT.splitlines() if line.startswith("    ttastats ")]
SHOWN = re.findall(r"^```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def lines_of(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip())


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line)


def tables(text: str) -> Iterator[tuple[tuple[str, ...], list[dict[str, str]]]]:
    """Yield the columns and the rows of each table in a text."""
    lines = list(lines_of(text))
    for number, line in enumerate(lines):
        if set(line) == {"─"}:
            columns = cells(lines[number - 1])
            rows = []
            for below in lines[number + 1 :]:
                if len(cells(below)) != len(columns):
                    break
                rows.append(dict(zip(columns, cells(below), strict=True)))
            yield tuple(columns), rows


def counted(text: str) -> list[list[dict[str, str]]]:
    """Return what the tables of a text say that is the same each time."""
    same = ("benchmark", "setup", "reached", "epochs")
    return [[{c: row[c] for c in same if c in row} for row in rows] for _, rows in tables(text)]


def sentences(text: str) -> set[str]:
    """Return what stands below tables without its numbers, of the machine and of too few runs."""
    lines = {re.sub(r"\d[\d.]*", "#", line) for line in lines_of(text) if "  " not in line}
    left_out = (
        "CPU contention",
        "next",
        "─",
        "a CV interval needs at least",
        "no CV interval for",
        "share –",
    )
    worded = {line for line in lines if not line.startswith(left_out)}
    return {re.sub(r": [a-z ]+\.$", "", line) for line in worded}


def printed(report: Report) -> str:
    console = Console(file=io.StringIO(), width=200)
    as_table.render(report, console, width=None)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_columns_and_sentences_of_readme_are_those_that_are_printed(
    two_runs: list[Made],
) -> None:
    table = after.table_of([two_runs[0].log.parent])
    names = (pl.col(name) + "2" for name in ("source", "run_id", "content_digest"))
    other = table.with_columns(pl.lit("other").alias("system"), *names)
    both = pl.concat([table, other])
    texts = (
        printed(api.summary(table)),
        printed(api.variance(table, unit="cpu-seconds")),
        printed(table_7.report(both, {"batch_size 32": "machine", "batch_size 512": "other"})),
    )
    shown = "".join(SHOWN)
    assert [columns for text in texts for columns, _ in tables(text)] == [
        columns for columns, _ in tables(shown)
    ][:3]
    said = sentences("\n".join([*texts, *after.remarks(table)]))
    assert said <= sentences(shown)


def test_the_figures_of_readme_are_those_of_its_twenty_runs() -> None:
    (row,), (parts,) = counted(SHOWN[0])
    mean, deviation = statistics.fmean(EPOCHS), statistics.stdev(EPOCHS)
    assert (row["reached"], parts["reached"]) == ("20/20", "20/20")
    assert row["epochs"] == f"{mean:.2f}"
    assert parts["epochs"] == f"{mean:.2f} ±{deviation:.2g}"
    assert f"CV of epochs {deviation / mean:.1%};" in SHOWN[0]


@same_machine
def test_a_fresh_run_takes_as_many_epochs_as_that_of_readme(tmp_path: Path) -> None:
    seeds = range(len(EPOCHS)) if os.environ.get("TTASTATS_LONG") else range(1)
    made = trained(tmp_path, Overrides(device="cpu"), seeds=seeds)
    assert all(one.outcome.reached for one in made)
    assert tuple(one.outcome.checkpoints[-1].epoch for one in made) == EPOCHS[: len(made)]


@same_machine
@pytest.mark.skipif(not os.environ.get("TTASTATS_LONG"), reason="takes minutes")
def test_the_commands_of_readme_print_what_it_shows(tmp_path: Path) -> None:
    said = ""
    for command in COMMANDS:
        words = shlex.split(command)[1:]
        done = programs.python("-m", "ttastats", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    shown = "".join(SHOWN)
    assert counted(said) == counted(shown)
    assert sentences(shown) <= sentences(said)
