"""What callers give: arguments of the Python functions, blocks, keys and cells of all types.

A call is valid but for up to three of its arguments, which may be of any type. It ends in an
answer or in a TtastatsError; a TypeError is of Python only where an argument is missing or has no
parameter.
"""

from __future__ import annotations

import datetime
import decimal
import json
import random
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import ttastats as tta
from benchmarks.fuzz import columns
from ttastats.base import arguments as door
from ttastats.formats.block import KEYS

if TYPE_CHECKING:
    from benchmarks.fuzz.around import Tally

#: CPU seconds that a call may take.
SECONDS = 10.0
#: Calls of one draw.
CALLS = 10
_DEEP: list[Any] = []
for _ in range(3_000):
    _DEEP = [_DEEP]
#: Values that no parameter, or hardly one, takes.
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 5, 10**400, -(2**63), 0.5, -0.0, 1e308, float("nan"), float("inf"),
    "", " ", "x", "=", ">=", ">=0.75", "slower:2%", "acc>=0.5", "epoch=3", "a=b=c", "seed",
    "a,b,,c",
    "\0", "\ud800", "\udcff", "a" * 5_000, "a/" * 2_500, "{" * 99, "[" * 5_000, "*", "..", "-", "://",
    "memory://x?y=1", "s3://", "%", "9" * 5_000, "1e999", "\n", b"x", b"\xff", 1j,
    decimal.Decimal("0.5"),
    np.float32(0.5), np.int64(3), np.bool_(True), np.array([1, 2]), np.array(0.5),
    datetime.date(2024, 1, 1),
    datetime.timedelta(1), Path("x"), Path("\ud800"), [], (), {}, set(), [[]], [None], [{}], [""],
    ["x", 5],
    [["x"]], {"a": None}, {"a": []}, {"": ""}, {None: 1}, {5: 5}, {"acc": 0.5}, {"epoch": 3},
    {"x": {"y": 1}},
    _DEEP, {"a": _DEEP}, range(3), iter(()), object(), object, len, lambda: None, Exception("x"),
    pl.lit(1), pl.col("seed") > 1, pl.col("x"), pl.lit(True), pl.DataFrame(),
    pl.DataFrame({"x": [1]}),
    pl.Series([1]), pl.LazyFrame({"x": [None]}), tta.Options(), tta.View(), slice(1), ...,
    NotImplemented,
)  # fmt: skip
#: Functions that take what they are given elsewhere, need a package, or would write anywhere.
_SKIPPED = {"profile", "Account", "Gated", "Report"}
#: Parameters that name what is read or written: odd, but never elsewhere than in the folder.
_OUTPUTS = ("output", "logs", "path", "paths")


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name."""
    objects = {name: getattr(tta, name) for name in {*tta.__all__, "filter"} - _SKIPPED}
    return {
        name: objects[name]
        for name in sorted(objects)
        if callable(objects[name]) and not (isinstance(objects[name],
        type) and issubclass(objects[name], Exception))
    }  # fmt: skip


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Return any value: odd ones, what another parameter takes, or containers of these."""
    if depth < 3 and rng.random() < 0.2:
        inner = [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.5:
            return rng.choice((list, tuple))(inner)
        return {
            rng.choice(("acc", "epoch", "seed", "\ud800", 5, "metric")): value for value in inner
        }
    return rng.choice(rng.choice((ODD, columns.TEXTS, columns.FLOATS)))


#: Evaluations of six runs of two setups.
_ROWS = pl.DataFrame(
    [
        {
            "seed": seed, "epoch": epoch, "s": 10.0 * epoch + seed,
            "acc": 0.2 * epoch + 0.01 * seed,
            "side": "a" if seed < 3 else "b",
        }
        for seed in range(6)
        for epoch in range(1, 5)
    ]
)  # fmt: skip


def valid(name: str, folder: Path) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with which a function answers."""
    rows = _ROWS
    table = tta.from_frame(
        rows, run="seed", metric="acc", seconds="s", epoch="epoch", benchmark="b", entry="side",
        seed="seed", target=0.6,
    )  # fmt: skip
    a, b = (table.filter(pl.col("entry") == side) for side in "ab")
    logs = folder / "logs"
    if not logs.exists():
        logs.mkdir()
        rows.filter(pl.col("side") == "a").write_csv(logs / "log.csv")
    keywords: dict[str, dict[str, Any]] = {
        "from_frame": {"run": "seed", "metric": "acc"},
        "effects": {"on": "entry"}, "claim": {"seconds": 80}, "power": {"cv": 0.1},
        "filter": {"output": folder / "f.parquet"}, "judge_record": {"rules": "nanogpt"},
        "record": {"benchmark": "b", "metric": "acc", "target": 0.6},
    }  # fmt: skip
    sources: dict[str, list[Any]] = {
        "compare": [a, b], "plots": [a, b], "html_report": [a, b], "plot": ["tta", a],
        "judge_record": [a, b], "targets": [a, b], "from_frame": [rows], "export": [a,
        folder / "x.csv"],
        "ingest": [logs, folder / "i.parquet"], "guess": [logs], "power": [],
        "record": [folder / "r"],
        "plot_profiles": ["step", folder], "compare_profiles": [folder, folder],
        "Question": [], "Options": [], "View": [],
    }  # fmt: skip
    return sources.get(name, [table]), keywords.get(name, {})


def call(rng: random.Random, folder: Path) -> tuple[str, list[Any], dict[str, Any]]:
    """Return a call with up to three odd arguments."""
    name = rng.choice([*functions()])
    args, kwargs = valid(name, folder)
    parameters = signature(functions()[name]).parameters.values()
    free = [p.name for p in parameters if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}]
    free = free[len(args) :]
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        free += ["lr", "accelerators", "run_seconds"]
    for _ in range(rng.choice((0, *[1] * 6, 2, 2, 3))):
        if args and (rng.random() < 0.2 or not free):
            args[rng.randrange(len(args))] = harmless(anything(rng), folder)
        elif free:
            parameter = rng.choice(free)
            value = anything(rng)
            kwargs[parameter] = harmless(value, folder) if parameter in _OUTPUTS else value
            if parameter == "workers" and door.is_number(value):  # processes cost seconds
                kwargs[parameter] = min(1, value)
    return name, args, kwargs


def harmless(value: Any, folder: Path) -> Any:
    """Return a value that names no place outside a folder and no server."""
    if isinstance(value, str | Path) and "\0" not in str(value) and "://" not in str(value):
        return folder / "odd" / str(value).strip("./*-") if str(value) else value
    is_text = isinstance(value, str)
    if isinstance(value, list | tuple | range) or (is_text and "s3:" in value):
        return []  # of the whole disk, such as `["/"]`
    return value


def arguments(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Call public functions with odd arguments."""
    for _ in range(CALLS):
        name, args, kwargs = call(rng, folder)
        words = [*map(short, args), *(f"{key}={short(value)}" for key, value in kwargs.items())]
        call_text = f"{name}({', '.join(words)})"
        tried(tally, call_text, lambda: functions()[name](*args, **kwargs))  # noqa: B023 - at once


def short(value: Any) -> str:
    """Return a value as a finding shows it."""
    try:
        text = type(value).__name__ if isinstance(value, pl.DataFrame) else repr(value)
    except RecursionError:
        text = "deep"
    return text if len(text) < 80 else f"{text[:60]}...({len(text)})"


def tried(tally: Tally, call_text: str, act: Callable[[], Any]) -> None:
    """Do something, and note an end other than an answer or a TtastatsError, or a late one."""
    begun = time.process_time()
    tally.commands += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            str(act())
        tally.codes[0] += 1
    except tta.TtastatsError as error:
        tally.codes[2] += 1
        if (
            "internal error" in str(error)
            or "dialect_failed" in str(error)
            or "failed: " in str(error)
        ):
            tally.findings.append(f"{call_text}\n  {error}")
    except Exception as error:
        if (
            not isinstance(error, TypeError)
            or "argument" not in str(error)
            or "()" not in str(error)
        ):
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            at = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))
            tally.findings.append(
                f"{call_text}\n  {type(error).__name__}: {str(error)[:200]} ({at})"
            )
        tally.codes[2] += 1
    if (took := time.process_time() - begun) > SECONDS:
        tally.findings.append(f"{call_text}\n  {took:.0f} s")


_WORDS = (
    "val_loss", "val_loss <= 3", "loss higher", "time s", "time unix", "stamp %Y", "epoch + 1",
    "sum n",
    "step", "(?P<step>\\d+) (?P<val_loss>\\S+)", "step back", "row", "{seed}.csv", "{entry}*/**",
    "keras",
)  # fmt: skip


def toml(rng: random.Random, depth: int = 0) -> str:
    """Return a value as TOML has it: containers in containers, dates, and texts of a block."""
    if depth < 4 and rng.random() < 0.3:
        inner = [toml(rng, depth + 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.6:
            return f"[{', '.join(inner)}]"
        return "{" + ", ".join(f"k{n} = {value}" for n, value in enumerate(inner)) + "}"
    plain = (
        "1",
        "-1.5",
        "true",
        "nan",
        "inf",
        "2024-01-01",
        "07:32:00",
        "1979-05-27T07:32:00Z",
        "0x1f",
    )
    texts = (
        *_WORDS,
        "",
        "\t",
        "*" * 40,
        "*a" * 40,
        "[" * 500,
        "(" * 500,
        "{a}" * 20,
        "a{9999}",
        "é" * 300,
    )
    return rng.choice(
        (rng.choice(plain), json.dumps(rng.choice(texts)), json.dumps(rng.choice(texts)))
    )


def _cell(rng: random.Random) -> str:
    return rng.choice(("1", "2.5", "", "nan", "x", "1e400", '"\\ud800"', "[[]]", '{"a":[]}'))


def keys(rng: random.Random, folder: Path, tally: Tally) -> None:
    """Read a table, JSON lines or lines of text with a block in which any key has any value."""
    log = folder / "a.csv"
    log.write_text(
        "step,time,val_loss\n" + "".join(f"{n},{n},{_cell(rng)}\n" for n in range(5)), "utf-8"
    )
    names = ('"step"', '"val_loss"', '"\\ud800"', '""', f'"{"k" * 5_000}"', '"a.b"', '"time"')
    lines = [
        "{" + ", ".join(f"{rng.choice(names)}: {_cell(rng) or 0}" for _ in range(4)) + "}"
        for _ in range(5)
    ]
    (folder / "b.jsonl").write_text("\n".join(lines), "utf-8")
    nested = pl.DataFrame(
        {
            "step": [1, 2, 3], "val_loss": [3.0, 2.0, 1.0],
            "time": rng.choice((
                [datetime.timedelta(seconds=n) for n in range(3)],
                [datetime.time(n) for n in range(3)],
                [[1], [], [2]], [{"a": 1}] * 3, [b"\xff"] * 3, [decimal.Decimal(1)] * 3, [None] * 3,
            )),
        }
    )  # fmt: skip
    nested.write_parquet(folder / "c.parquet")
    values = {"files": '"*"', "metric": '"val_loss"'}
    for key in rng.sample(KEYS, rng.choice((0, 1, 1, 2, 4))):
        values[key] = toml(rng)
    text = "[[logs]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
    if rng.random() < 0.05:
        text += f"deep = {'[' * 10_000}"
    (folder / "ttastats.toml").write_text(text, "utf-8")
    tried(tally, text, lambda: problems_of(tta.ingest(folder, folder / "o.parquet")))
    tried(tally, text, lambda: tta.guess(folder))


def problems_of(account: tta.Account) -> str:
    """Return the account of an ingest; raise its problem if a parser failed."""
    for problem in account.problems:
        if problem.code == "dialect_failed":
            raise AssertionError(problem.message)
    return str(account)
