"""Generated logs: more processes, one long log, many small ones."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.ingest import made, stores
from benchmarks.ingest.measuring import Cost, grep, measured, ours, ratio, ratios, reader


def _in_turns(commands: Sequence[Callable[[], list[str]]], turns: int) -> list[list[Cost]]:
    """Run commands in turns; return the costs of each."""
    rows = [[measured(command()) for command in commands] for _ in range(turns)]
    return [list(column) for column in zip(*rows, strict=True)]


#: A turn counts where the host gave at most this share of the processors to others.
_QUIET = 0.02


def _in_quiet_turns(
    commands: Sequence[Callable[[], list[str]]], turns: int
) -> tuple[list[list[Cost]], str]:
    """Run commands until enough turns were quiet, as wall times need; return costs and a note.

    Twice as many are tried; where too few of them were quiet, the quietest count.
    """
    rows: list[list[Cost]] = []
    while len(rows) < 2 * turns and sum(_stolen(row) <= _QUIET for row in rows) < turns:
        rows.append([measured(command()) for command in commands])
    quiet = sorted(rows, key=_stolen)[:turns]
    note = (
        f"{turns} of {len(rows)} turns count: those in which the host of this virtual machine gave "
        f"least of its processors to others, at most {max(map(_stolen, quiet)):.1%}."
    )
    return [list(column) for column in zip(*quiet, strict=True)], note


def _stolen(costs: Sequence[Cost]) -> float:
    return max(cost.stolen for cost in costs)


def _word(holds: bool) -> str:
    return "met" if holds else "**missed**"


def _line(name: str, costs: Sequence[Cost], size: int) -> str:
    cpu, wall = (median(getattr(cost, field) for cost in costs) for field in ("cpu", "wall"))
    peak = median(cost.peak for cost in costs) / 2**20
    return f"| {name} | {cpu:.2f} | {wall:.2f} | {size / 1e6 / cpu:,.0f} | {peak:.0f} |"


_HEAD = ["| | CPU s | wall s | MB per CPU s | peak MB |", "|---|---:|---:|---:|---:|"]


def workers(folder: Path, scratch: Path, turns: int) -> list[str]:
    """Two processes against one, on 2 GB and on twice as much."""
    lines = [
        "### Two processes\n",
        f"Ten copies of {folder.name} under ten names, the time stamps of each moved by a day; "
        "then twenty. The first process finds the files, reads with the other, and writes the "
        "table.\n",
    ]
    for copies in (10, 20):
        lines += _two_processes(folder, scratch, turns, copies)
    return lines


def _two_processes(folder: Path, scratch: Path, turns: int, copies: int) -> list[str]:
    logs, table = scratch / "repeated", scratch / "w.parquet"
    size = made.repeated(folder, logs, copies)
    commands = [lambda n=n: ours(logs, table, "--workers", n) for n in ("1", "2")]
    (single, two), note = _in_quiet_turns(commands, turns)
    shutil.rmtree(logs)
    of_turns = ratios([cost.wall for cost in single], [cost.wall for cost in two])
    faster = median(of_turns)
    dearer = ratio([cost.cpu for cost in two], [cost.cpu for cost in single])
    peak = max(cost.peak for cost in (*single, *two)) / 2**20
    return [
        f"{size / 1e9:.1f} GB. {note}\n",
        *_HEAD,
        _line("one process", single, size),
        _line("two processes", two, size),
        "",
        f"- wall time {faster:.2f}× better ({of_turns[0]:.2f} to {of_turns[-1]:.2f}); goal 1.6: "
        f"{_word(faster >= 1.6)}",
        f"- CPU time {dearer:.2f}×; goal at most 1.25: {_word(dearer <= 1.25)}",
        f"- peak of a process {peak:.0f} MB; goal under 256: {_word(peak < 256)}",
        "",
    ]


def one_log(_folder: Path, scratch: Path, turns: int) -> list[str]:
    """A log of 0.5 GB against one of 4 GB."""
    rows, peaks = [], []
    for gigabytes in (0.5, 4.0):
        logs = scratch / f"log{gigabytes}"
        size = made.one_log(logs, gigabytes)
        (costs,) = _in_turns([lambda logs=logs: ours(logs, scratch / "o.parquet")], turns)
        shutil.rmtree(logs)
        rows.append(_line(f"one log of {gigabytes} GB", costs, size))
        peaks.append(median(cost.peak for cost in costs) / 2**20)
    growth = peaks[1] / peaks[0]
    return [
        "### One long log\n",
        "One run; most of the log is program output, with the events spread between.\n",
        *_HEAD,
        *rows,
        "",
        f"- peak memory under 256 MB: {_word(max(peaks) < 256)}",
        f"- flat: {growth:.2f}× from 0.5 to 4 GB: {_word(growth <= 1.1)}",
        "",
    ]


def small_files(_folder: Path, scratch: Path, turns: int) -> list[str]:
    """Many small runs against few long ones with as many events."""
    small, large, table = scratch / "small", scratch / "large", scratch / "s.parquet"
    (size, events), (large_size, large_events) = (
        made.runs(small, 50_000),
        made.runs(large, 1_000, 50),
    )
    commands = [
        lambda: ours(small, table, "--workers", "1"),
        lambda: ours(large, table, "--workers", "1"),
        lambda: reader("plain", small),
        lambda: reader("plain", large),
        lambda: grep(small),
        lambda: grep(large),
    ]
    costs = _in_turns(commands, turns)
    for folder in (small, large):
        shutil.rmtree(folder)
    cpu = [[cost.cpu for cost in of_one] for of_one in costs]
    times, of_plain, of_grep = (ratio(*cpu[first : first + 2]) for first in (0, 2, 4))
    a_byte = large_size / size
    readers = ("ours", "plain loop", "grep -F")
    names = [f"{files}, {reader}" for reader in readers for files in ("50,000 small", "1,000 long")]
    return [
        "### Small files\n",
        f"50,000 complete runs of {size / 5e4 / 1e3:.1f} KB ({events:,} events, {size / 1e6:,.0f} "
        f"MB) against 1,000 runs of {large_size / 1e6:.2f} KB ({large_events:,} events, "
        f"{large_size / 1e6:,.0f} MB): the same lines, 8 epochs to a small run, 400 to a long, "
        "so 400,000 evaluations on either side. Every small run has a head of 16 events of its own "
        "and gives a run with all its columns, which is part of the price.\n",
        *_HEAD,
        *(_line(*row) for row in zip(names, costs, [size, large_size] * 3, strict=True)),
        "",
        f"- ours takes {times:.2f}× the CPU time of the long files: {times * a_byte:.2f}× for each "
        f"byte, {times * large_events / events:.2f}× for each event; goal 1.2 for each byte: "
        f"{_word(times * a_byte <= 1.2)}",
        f"- for each byte, the plain loop, which makes no runs: {of_plain * a_byte:.2f}×; "
        f"`grep -F`, which opens, reads and prints: {of_grep * a_byte:.2f}×",
        "",
    ]


def many_files(_folder: Path, scratch: Path, _turns: int) -> list[str]:
    """A tree of 100,000 logs, read, and read again."""
    logs, table = scratch / "many", scratch / "m.parquet"
    size, _ = made.runs(logs, 100_000)
    first = measured(ours(logs, table))
    second_cost = measured(ours(logs, table, afresh=False))
    shutil.rmtree(logs)
    return [
        f"### 100,000 logs: {size / 1e9:.1f} GB\n",
        *_HEAD,
        _line("read", [first], size),
        _line("read again, unchanged", [second_cost], size),
        "",
    ]


#: What reads the same file elsewhere, and how much of its time above its start ours may take.
_PEERS = {
    "CSV": ("polars_table", "polars.read_csv", 2.0),
    "JSON lines": ("polars_table", "polars.read_ndjson", 2.0),
    "event file": ("accumulator", "EventAccumulator", 0.2),
    "W&B store": ("store_by_hand", "protobuf and json by hand", 1.0),
}


def own_logs(_folder: Path, scratch: Path, turns: int) -> list[str]:
    """Custom logs of one size and of four times that; 1.2 GB.

    TTASTATS_WRITERS names a Python that has TensorBoard and wandb.
    """
    lines = [
        "### Long logs of one's own\n",
        f"Training is logged at every step, an evaluation after every {stores.EVERY}. Of tables, "
        "the time above the start is compared, that of the same command on 500 rows.\n",
        "| | MB | CPU s | peak MB | peer CPU s | ours takes | goal |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, (write, name, rows) in stores.KINDS.items():
        peer, words, goal = _PEERS[kind]
        folders = {times: scratch / f"own{times}" for times in (0, 1, 4)}
        for times, folder in folders.items():
            folder.mkdir()
            write(folder / name, rows * times or 2 * stores.EVERY)
        size = (folders[1] / name).stat().st_size
        costs = dict(zip((0, 1, 4), _of_kind(folders, name, peer, turns), strict=True))
        above = 0 if goal < 2.0 else 1
        cpu = [[cost.cpu - above * start.cpu for cost, start in zip(*pair, strict=True)]
               for pair in zip(costs[1], costs[0], strict=True)]  # fmt: skip
        holds = ratio(*cpu) <= goal
        medians = [median(cost.cpu for cost in of_one) for of_one in costs[1]]
        for times in (1, 4):
            mine = costs[times][0]
            peak = median(cost.peak for cost in mine) / 2**20
            row = f"{size * times / 1e6:.0f} | {median(c.cpu for c in mine):.2f} | {peak:.0f}"
            cells = (
                " | | |"
                if times > 1
                else (
                    f" {medians[1]:.2f} ({words}) | {ratio(*cpu):.2f}× | {goal:g}: {_word(holds)} |"
                )
            )
            lines.append(f"| {kind} | {row} |{cells}")
        for folder in folders.values():
            shutil.rmtree(folder)
    return [*lines, ""]


def _of_kind(
    folders: dict[int, Path], name: str, peer: str, turns: int
) -> Iterator[tuple[list[Cost], list[Cost]]]:
    """Yield the costs of ours and of the peer for each size; the peer skips the largest."""
    python = sys.executable
    if peer != "polars_table":
        python = os.environ.get("TTASTATS_WRITERS", python)
    for times, folder in folders.items():
        metric = "val/accuracy" if peer == "accumulator" else "val_accuracy"
        options = ("--metric", f"{metric} >= 0.9", "--workers", "1")
        if peer == "polars_table":
            options += ("--seconds", "time s")
        path = folder / name
        table = folder.with_suffix(".parquet")
        mine = lambda f=folder, o=options, t=table: ours(f, t, *o)  # noqa: E731
        theirs = lambda p=path: reader(peer, p, python=python)  # noqa: E731
        costs = _in_turns([mine] if times > 1 else [mine, theirs], turns)
        yield costs[0], costs[-1]
