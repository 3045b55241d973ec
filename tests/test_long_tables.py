"""A long table gives the same runs read block by block and read whole."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from msgspec import structs

from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.block import Block, CellCondition, CountColumn, Metric, TimeColumn
from ttastats.formats.dialect import Log, log_from_bytes
from ttastats_parsers import own_blocks, own_cells, own_choice, own_rows
from ttastats_parsers.own_runs import runs_of

ACCURACY = (Metric("val_acc", higher_is_better=True, target=0.9),)
SECONDS = (TimeColumn("time"),)
STAMPS = (TimeColumn("stamp", format="%Y-%m-%d %H:%M:%S"),)
BLOCKS = {
    "one run": Block("", metrics=ACCURACY, seconds=SECONDS),
    "nothing said": Block(""),
    "runs": Block("", metrics=ACCURACY, seconds=SECONDS, run=("run",)),
    "names": Block("", metrics=ACCURACY, run=("run",), fields={"entry": "{setup}", "seed": "note"}),
    "dates": Block("", metrics=ACCURACY, seconds=STAMPS),
    "hours": Block("", metrics=ACCURACY, seconds=(TimeColumn("hour", format="%H:%M:%S"),)),
    "sums": Block("", metrics=ACCURACY, seconds=(TimeColumn("time", summed=True),)),
    "summed steps": Block("", metrics=ACCURACY, step=(CountColumn("one", summed=True),)),
    "step back": Block("", metrics=ACCURACY, seconds=SECONDS, new_run="step back"),
    "rows": Block("", metrics=ACCURACY, new_run="row"),
    "resumed": Block("", metrics=ACCURACY, seconds=SECONDS, resume="step back"),
    "failed": Block("", metrics=ACCURACY, failed=CellCondition("note", ("oom",))),
    "no metric": Block("", metrics=(Metric("absent", None),)),
}


def rows(draw: random.Random, number: int, kind: str) -> Iterator[dict[str, Any]]:
    """Yield rows of several runs in turns, of which some are evaluated."""
    for at in range(number):
        row: dict[str, Any] = {
            "run": f"r{at % 3}" if at else "alone",
            "step": at,
            "time": round(at * 0.7 + draw.random(), 3),
            "stamp": f"2026-01-{1 + at // 80:02} {at // 20 % 24:02}:{at % 60:02}:00",
            "hour": f"{at // 60 % 24:02}:{at % 60:02}:00",
            "train_loss": draw.random(),
            "one": 1,
            "note": draw.choice(["", "-", "1", "ok"]),
            "setup": draw.choice(["", "adam", "sgd"]),
            "val_acc": round((at + 1) / number, 4) if at % 7 == 6 else None,
        }
        if "odd" in kind and draw.random() < 0.05:
            row[draw.choice(["time", "step", "val_acc", "epoch"])] = draw.choice(
                ["oops", "nan", "inf", "12%", " 5 ", "1:02:03", True, "é"]
            )
        yield row


def as_cells(draw: random.Random, number: int, kind: str) -> bytes:
    """Return a table as text, with the peculiarities of a kind of file."""
    table = [{"epoch": at // 9, **row} for at, row in enumerate(rows(draw, number, kind))]
    names = list(table[0])
    lines = [",".join(names)]
    for row in table:
        cells = ["" if row[name] is None else str(row[name]) for name in names]
        if "quoted" in kind:
            cells = [f'"{cell}"' if draw.random() < 0.8 else cell for cell in cells]
        if "torn" in kind and draw.random() < 0.1:
            cells = draw.choice([cells[:-2], [*cells, "x"], [*cells, ""], names, [""]])
        if "breaks" in kind and draw.random() < 0.1:
            cells[names.index("note")] = '"a, ""b""\nc"'
        lines.append(",".join(cells))
    text = ("\r\n" if "windows" in kind else "\n").join(lines)
    data = (text if "cut" in kind else f"{text}\n").encode("latin-1" if "odd" in kind else "utf-8")
    return b"\xef\xbb\xbf" + data if "mark" in kind else data


def as_json(draw: random.Random, number: int, kind: str) -> bytes:
    """Return lines of JSON."""
    lines = []
    for at, row in enumerate(rows(draw, number, kind)):
        fields = {name: cell for name, cell in row.items() if cell not in {None, ""}}
        if "late" in kind and at > number // 2:
            fields["val_loss"] = draw.random()
        if "nested" in kind:
            fields["more"] = {"val_f1": row["val_acc"], "all": [1, 2]}
        if "odd" in kind and draw.random() < 0.05:
            fields["val_acc"] = draw.choice([float("nan"), [1], {"a": 1}, None])
        line = json.dumps(fields, ensure_ascii=False)
        torn = at and "odd" in kind and draw.random() < 0.05
        lines.append(draw.choice(["{", "[1]", "", line[:-3]]) if torn else line)
    return "\n".join(lines).encode()


def in_pieces(log: Log, data: bytes, size: int) -> Log:
    """Return a log whose blocks are about so long."""
    pieces = [b""]
    for line in io.BytesIO(data):
        pieces = [*pieces, line] if len(pieces[-1]) > size else [*pieces[:-1], pieces[-1] + line]
    return structs.replace(log, blocks=lambda: iter(pieces))


def parsed(log: Log) -> list[Run | Problem]:
    return list(runs_of(own_blocks.rows_of, log))


CELLS = ("", "quoted", "torn", "odd", "windows mark cut", "breaks quoted", "odd torn windows")
JSON = ("", "late", "nested", "odd", "odd late nested")
MADE = [*((as_cells, kind) for kind in CELLS), *((as_json, kind) for kind in JSON)]


#: Of all pairs every second: each block with half of the kinds, each kind with half of the blocks.
@pytest.mark.parametrize(("size", "make", "kind"), [
    (size, *made) for (at, size), (place, made) in product(enumerate(BLOCKS), enumerate(MADE))
    if (at + place) % 2
])  # fmt: skip
def test_blocks_give_what_the_whole_gives(size: str, make: Any, kind: str) -> None:
    data = make(random.Random(f"{size} {kind}"), 60, kind)
    log = log_from_bytes(data, "/logs/a/train.csv", block=BLOCKS[size])
    whole = parsed(log)
    assert whole
    assert repr(parsed(in_pieces(log, data, 800))) == repr(whole)  # NaN is not NaN


def short_table(draw: random.Random) -> bytes:
    """Return a few rows in which steps and times may repeat, fall, or be of several runs."""
    header = ["run", "step", "time", "val_acc", "split"]
    step, time = 0, 0.0
    steps, times = (draw.choice([[1], [1, 0, 0, 0], [2, -1]]) for _ in range(2))
    runs, odd = draw.choice(["a", "aab", "ab"]), draw.choice([0.0, 0.3])
    parts = draw.choice([["val"], ["val", "Val "], ["val", "train"]])
    table = [header]
    for at in range(draw.choice([1, 2, 6, 9])):
        step += draw.choice(steps)
        time += draw.choice(times)
        row = [runs[at % len(runs)], step, time, round(draw.random(), 3), draw.choice(parts)]
        if draw.random() < odd:
            row[draw.randrange(5)] = draw.choice(["", "-", "oops", "nan", "5%", "1:02", "train"])
        table.append(draw.choice([row] * 20 + [header, row[:-1], [""]]))
    return "\n".join(",".join(map(str, row)) for row in table).encode()


def test_a_short_table_is_read_without_queries_as_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(1)
    logs = [
        log_from_bytes(short_table(draw), "/logs/a/train.csv", block=block)
        for block in BLOCKS.values()
        for _ in range(30)
    ]
    without = [parsed(log) for log in logs]
    for module in (own_cells, own_choice, own_rows):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(own_rows, "_rises", lambda frame: False)
    for log, read in zip(logs, without, strict=True):
        assert repr(parsed(log)) == repr(read), log.read().decode()


@pytest.mark.parametrize("make", [as_cells, as_json])
def test_only_rows_that_count_are_held(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make(random.Random(1), 2_000, "")
    log = in_pieces(log_from_bytes(data, block=BLOCKS["one run"]), data, 20_000)
    monkeypatch.setattr(own_cells, "rows_of", pytest.fail)  # which reads it whole
    monkeypatch.setenv(streams.VARIABLE, "1")
    (run,) = (item for item in parsed(log) if isinstance(item, Run))
    assert len(run.evaluations) == 2_000 // 7


def test_more_evaluations_than_the_limit_end_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    data = as_cells(random.Random(1), 2_000, "")
    log = in_pieces(log_from_bytes(data, block=BLOCKS["one run"]), data, 20_000)
    monkeypatch.setattr(streams, "EVALUATIONS", 100)
    with pytest.raises(streams.TooLargeError, match="evaluations"):
        parsed(log)
