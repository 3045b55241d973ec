"""Tables and lines of own logs, random in content, kind and description, are read as was accepted.

Cells may be missing, no numbers, or of rows that go back, repeat the header or are of another
width; the block says anything that it can about them, also what does not fit.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import polars as pl

from tests.accepted import Case, cases
from tests.random_cases import Draw, at_random, in_short
from ttastats.formats import config
from ttastats.formats.dialect import Metrics, log_from_bytes
from ttastats.ingestion import registry

Row = dict[str, Any]
#: The bytes, and what a block says of them.
Made = tuple[bytes, dict[str, Any]]

BAD: tuple[Any, ...] = (
    None, "", "-", "nan", "inf", "words", "12 %", True, 1e30, " 7 ", "long " * 20,
)  # fmt: skip
METRICS: tuple[Any, ...] = (
    "acc", "acc >= 0.5", "acc >= 50 %", "acc >= 40", ["acc >= 0.5", "loss <= 1"], "loss higher",
    {"a": "acc >= 0.5", "b": "loss"}, "nothing", ["nothing", "acc"], "odd",
)  # fmt: skip
CLOCKS = (
    "seconds s", "ms ms", "ms min", "stamp %Y-%m-%d %H:%M:%S.%f", "stamp %H:%M:%S", "", "none s",
    "unix unix", "ms ms per step", "seconds s per none", "stamp %d %z", "time %H:%M:%S.%f x",
    "stamp %b",
)  # fmt: skip
COLUMNS = frozenset(
    {
        "name", "seed", "lr", "step", "epoch", "n", "seconds", "ms", "unix", "stamp", "time", "acc",
        "loss", "odd", "state",
    }
)  # fmt: skip
NOWHERE = {"none", "nothing"}


def block_of(draw: Draw, columns: Collection[str]) -> dict[str, Any]:
    """Return a random block with a few of its keys, of columns that mostly exist."""
    every: dict[str, tuple[Any, ...]] = {
        "metric": METRICS, "seconds": CLOCKS,
        "step": ("step", "step + 1", "sum n", ["none", "step"], ""),
        "epoch": ("epoch + 1", "none", ["none", ""]), "samples": ("sum n", "n"),
        "run": ("name", ["name", "seed"], "none"), "new_run": ("row", "step back", "time back"),
        "resume": ("step back", "time back"), "new_epoch": ("step back",), "clock": ("train",),
        "carry": (True,), "failed": ("state = crashed, x", "none = x"), "seed": ("seed", 4),
        "entry": ("{name}-{lr}", "name"), "benchmark": ("a", "name"), "round": ("x",),
    }  # fmt: skip
    likely = {"metric": 0.7, "seconds": 0.6, "step": 0.4, "run": 0.3, "new_run": 0.3, "resume": 0.2}
    lacking = (COLUMNS | NOWHERE) - set(columns)
    chosen = {}
    for name, values in every.items():
        fitting = [value for value in values
                   if draw.chance(0.04) or not words(value) & lacking]  # fmt: skip
        if fitting and draw.chance(likely.get(name, 0.12)):
            chosen[name] = draw.choice(fitting)
    if "resume" in chosen or "new_epoch" in chosen:
        chosen.pop("new_run", None)
    return chosen


def words(value: Any) -> set[str]:
    return set(re.findall(r"\w+", json.dumps(value)))


def rows_of(draw: Draw) -> list[Row]:
    """Return the rows of some runs, one behind the other, whose steps may go back."""
    rows = []
    for number in range(draw.choice([1, 1, 2, 3])):
        name, step, clock, scale = draw.choice("abx"), 0, 0.0, draw.choice([1, 1, 1, 100])
        for place in range(draw.randrange(1, 7)):
            step = max(0, step + draw.choice([10] * 25 + [-15, 0]))
            clock += draw.choice([12.5] * 25 + [-30.0, 0.0])
            minute = int(clock) // 60 % 60
            row = {
                "name": name, "seed": number, "lr": 0.1, "step": step, "epoch": place // 2,
                "n": 128, "seconds": clock, "ms": 1000 * clock, "unix": 1.7e9 + clock,
                "stamp": f"2024-01-0{1 + number} 23:{minute:02}:{clock % 60:05.2f}",
                "time": f"{(23 + place) % 24}:00:{clock % 60:05.2f} x",
                "acc": round(scale * (0.3 + 0.1 * place), 3), "loss": round(2 - 0.2 * place, 3),
                "odd": place, "state": draw.choice(["ok", "ok", "crashed"]),
            }  # fmt: skip
            rows.append({name: draw.choice(BAD) if draw.chance(0.02) else value
                         for name, value in row.items() if draw.chance(0.97)})  # fmt: skip
    left_out = draw.sample(["name", "seed", "lr", "step", "epoch", "seconds", "ms", "unix", "loss",
                            "stamp", "time", "n", "state", "odd"], draw.randrange(8))  # fmt: skip
    return [{name: value for name, value in row.items() if name not in left_out} for row in rows]


def delimited(draw: Draw) -> Made:
    rows = rows_of(draw)
    names = list(dict.fromkeys(name for row in rows for name in row))
    renamed = {name: draw.choice([name] * 60 + ["acc", "", '"a b"']) for name in names}
    mark = draw.choice(",\t;|,,")
    lines = ["# a comment", ""][: draw.choice([0, 0, 0, 1, 2])]
    lines.append(mark.join(renamed[name] for name in names))
    for row in rows:
        cells = ["" if row.get(name) is None else str(row[name]) for name in names]
        lines.append(mark.join(cells) + mark * (draw.chance(0.02)))
        while draw.chance(0.04):
            lines.append(draw.choice([lines[-1] + mark + "5", "", lines[0], mark.join(cells[1:]),
                                      '"' + mark.join(cells), f'"a\nb"{mark}{mark.join(cells[1:])}',
                                      "1", mark * 3]))  # fmt: skip
    text = draw.choice(["\n", "\n", "\r\n"]).join(lines) + draw.choice(["", "\n"])
    return text.encode(), block_of(draw, names)


def nested(draw: Draw) -> Made:
    """Return JSON: a value a line, a list of objects, or columns, perhaps in an object."""
    rows = rows_of(draw)
    for row in rows:
        if draw.chance(0.2):
            row |= {"eval": {"acc": 0.3, "deep": {"er": 1}}, "list": [1, 2]}
    form = draw.randrange(7)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    if form < 3:
        lines = [json.dumps(row) for row in rows]
        broken = ["{", "[]", "", "7", "{1}", "x", "}", "]"]
        lines += draw.sample(broken, draw.choice([0, 0, 0, 2, 8]))
        text = "\n".join(lines)
    elif form == 3:
        text = json.dumps(rows, indent=draw.choice([None, 1]))
    elif form == 4:
        text = json.dumps({"about": "x", "few": [{"acc": 1}], "history": rows, "numbers": [1]})
    elif form == 5:
        text = json.dumps(columns)
    else:
        indexed = {name: dict(enumerate(cells)) for name, cells in columns.items()}
        text = json.dumps({"acc": {"values": indexed.pop("acc", {})}, **indexed, "title": "x"})
    return text.encode()[: -1 if draw.chance(0.05) else None], block_of(draw, names)


def parquet(draw: Draw) -> Made:
    buffer = io.BytesIO()
    rows = [{name: None if isinstance(value, bool) else value for name, value in row.items()}
            for row in rows_of(draw)]  # fmt: skip
    pl.DataFrame(rows, strict=False, infer_schema_length=None).write_parquet(buffer)
    return buffer.getvalue(), block_of(draw, {name for row in rows for name in row})


def panel(draw: Draw) -> Made:
    """Return a column for each run, as a panel of Weights & Biases is exported."""
    axis = draw.choice(["Step", "epoch", "trainer/global_step", "Relative Time (Process)",
                        "train/epochs", "my iterations", "axis"])  # fmt: skip
    runs = ["a - b", "c"][: draw.randrange(1, 3)]
    metrics = ["acc", "eval/loss"][: draw.randrange(1, 3)]
    names = [axis, *(f"{run} - {metric}" for run in runs for metric in metrics)]
    names += [f"{name}{limit}" for name in names[1:] for limit in ("__MIN", "__MAX")]
    shift = draw.choice([0, 0, 0.1])
    rows = [
        [str(10 * n)]
        + [
            "" if draw.chance(0.2) else f"{0.1 * n + shift * name.endswith('X'):g}"
            for name in names[1:]
        ]
        for n in range(1, 5)
    ]
    if draw.chance(0.2):
        names[-1] = "other"
    about = {"metric": draw.choice(["acc", "acc >= 0.3", "c - acc"])} if draw.chance(0.7) else {}
    return "\n".join(",".join(cells) for cells in [names, *rows]).encode(), about


PATTERNS = (
    r"acc (?P<acc>0\.\d)",
    r"step[ =](?P<step>\d+)", r"acc[ =](?P<acc>\S+)", r"loss (?P<loss>[\d.]+)",
    r"^\[(?P<stamp>[^\]]+)\]", r"run (?P<name>\w+)", r"(?P<seconds>[\d.]+) s\b",
)  # fmt: skip


def lines(draw: Draw) -> Made:
    """Return a log with one or several values a line, in colours, or of ranks."""
    text = ["preamble acc 0.01"] if draw.chance(0.3) else []
    before = None
    for row in rows_of(draw):
        if row.get("name") != before:
            before = row.get("name")
            text.append(f"=== run {before}")
        parts = [f"step {row.get('step', 0)}", f"acc {row.get('acc', 'none')}"]
        parts += [f"loss {row['loss']}"] if "loss" in row else []
        parts += [f"{row['seconds']} s"] if "seconds" in row else []
        start = draw.choice(["", "", "[rank0]: ", "[1,0]<stdout>:", "\x1b[32m"])
        start += f"[{row['stamp']}] " if "stamp" in row else ""
        joined = draw.choice([" ", " ", " ", f"\n{start}", "\r"])
        text.append(start + joined.join(parts))
    patterns = draw.sample(PATTERNS, draw.choice([1, 3, 4, 5, 6, 7]))
    about = block_of(draw, {name for text in patterns for name in re.findall(r"<(\w+)>", text)})
    about["line"] = patterns
    if draw.chance(0.3):
        about["new_run"] = "^=== run"
        about.pop("resume", None)
        about.pop("new_epoch", None)
    about.pop("failed", None)
    return draw.choice(["\n", "\r\n"]).join(text).encode(), about


def read(table: Made, seed: int) -> Iterator[str]:
    data, about = table
    block = config.complete_block(about, lambda key: key, "/logs")
    if seed % 5 == 0:
        block = msgspec.structs.replace(block, preset="p", recognised=True, refined_by=("step",))
    metrics: Metrics = "evaluations" if seed % 3 else "all"
    log = log_from_bytes(data, "/logs/a.log", block=block, metrics=metrics)
    for item in registry.named(block.dialect).parse(log):
        yield in_short(item)


#: What is rare at random: clocks of iterations, sessions that go on, lines that tell a thing twice.
RARE: tuple[Made, ...] = (
    (b"acc,ms\n1,2", {"metric": "acc", "seconds": "ms ms per none"}),
    (b"acc,ms,n\n1,2,1\n2,,2\n3,5,\n4,5,9\n5,5,3", {"metric": "acc", "seconds": "ms s per n"}),
    (b"acc\n1", {"metric": "acc", "resume": "time back"}),
    (b"acc\n1", {"metric": "acc", "new_run": "step back"}),
    (b"acc,step,seconds\n1,1,5\n2,2,9\n3,1,12\n4,2,15\n5,3,18",
     {"metric": "acc", "resume": "step back", "seconds": "seconds s"}),
    (b"acc,step,seconds\n1,1,5\n2,2,4\n3,3,12\n4,2,3\n5,3,",
     {"metric": "acc", "resume": "time back", "seconds": "seconds s"}),
    (b"acc,t\n1,2024-01-01T00:00:05+0000\n2,2024-01-01T01:00:04+0100\n3,2024-01-01T00:00:09+0000",
     {"metric": "acc", "seconds": "t %Y-%m-%dT%H:%M:%S%z"}),
    (b"acc 0.1 was 0.2\nacc 0.3\rnow 0.4", {"line": [r"acc (?P<acc>\S+)", r"was (?P<acc>\S+)"]}),
    (b"acc 0.1", {"line": ["not (?P<acc>.)"]}), (b"# x\n1,2\n3,4", {"metric": "acc"}),
    (b"1,acc\n1,2\n3,4", {"metric": "acc"}),
    (b"a - acc,a - acc__MIN,a - acc__MAX\n0.5,0.5,0.5\n0.6,0.6,0.7", {"metric": "acc"}),
)  # fmt: skip


def rare() -> Iterator[str]:
    for number, table in enumerate(RARE, start=1):
        yield from (f"{number} {line}" for line in read(table, seed=1))


MAKERS = ((delimited, 70), (nested, 60), (parquet, 8), (panel, 24), (lines, 70))


@cases("random_logs", rare=rare, **at_random(MAKERS, read))
def test_random_tables_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
