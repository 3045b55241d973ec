"""What does a block say of some logs: which files, which metric, which clock, what is a run?

A block is a table `[[logs]]` of `ttastats.toml`, a preset, or the options of `ingest`. It is read
here from what TOML gives into a struct that can travel to other processes; nothing looks at logs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, cast

import msgspec

from ttastats.base import percentages
from ttastats.base.arguments import is_text
from ttastats.base.errors import TtastatsError, suggestion
from ttastats.base.metrics import SECONDS, against_direction, higher_is_better, plain
from ttastats.base.records import FORMER_NAMES
from ttastats.formats import patterns

#: Columns of the table that a block, a pattern or the log itself may fill.
FIELDS = (
    "entry", "system", "benchmark", "seed", "submitter", "hardware", "accelerators", "nodes",
    "global_batch_size", "train_samples", "framework", "division", "round", "cost_per_hour",
)  # fmt: skip
#: The field that is a price, as `$12.50` or `12.5`.
PRICE = "cost_per_hour"
#: What may tell that something begins anew.
BACK = ("step back", "time back")


class Metric(msgspec.Struct, frozen=True):
    """One metric, its direction and target; `benchmark` is the one it belongs to, None for all.

    With `percent` the log holds percentages, and the target is a fraction already.
    """

    name: str
    higher_is_better: bool | None = None
    target: float | None = None
    percent: bool = False
    guessed: bool = False
    benchmark: str | None = None


class TimeColumn(msgspec.Struct, frozen=True):
    """A column that tells the time.

    It holds units of `seconds`, or stamps of a `format` (`unix`: seconds since 1970), of which the
    first is zero. With `per`, it holds the time of one iteration, and that column counts them: the
    mean of all since the row before, or `alone` of the last of them. If it is `summed`, a row tells
    the time of its own part.
    """

    column: str
    seconds: float = 1.0
    format: str | None = None
    per: str | None = None
    alone: bool = False
    summed: bool = False


class CountColumn(msgspec.Struct, frozen=True):
    """A column that counts training, and what to add; `summed` where a row tells its own part."""

    column: str
    plus: float = 0.0
    summed: bool = False


class CellCondition(msgspec.Struct, frozen=True):
    """Rows in which a column holds one of some texts."""

    column: str
    values: tuple[str, ...]


class Block(msgspec.Struct, frozen=True):
    """How some logs are read. None or empty is: not given.

    Of several clocks and counts, the first that a file has is taken. It must have one, unless the
    key stands in `may_lack`, as where an empty text is among them. Of lines, a row takes the first
    that it tells. `pairs` tells the names and values in their group `pairs`. What they match next
    behind `skip_after` repeats an earlier line. `carry` says that a cell that is empty holds what
    stood there before, as is always so with lines; `joined`, that lines are one row until one tells
    anew what another has told. `otherwise` are metrics of training for files without another.
    `quiet` blocks name no files: a file without their columns is no log of theirs, and no error.
    `recognised` ones are presets whose signs a file bears; `refined_by` are the keys that the user
    gave beside. A `refining` block holds for recognised files alone. `doubts` say what of a guessed
    block is uncertain.
    """

    where: str
    root: str = ""
    preset: str | None = None
    files: str | None = None
    line: tuple[str, ...] = ()
    pairs: str | None = None
    skip_after: str | None = None
    metrics: tuple[Metric, ...] = ()
    otherwise: tuple[Metric, ...] = ()
    seconds: tuple[TimeColumn, ...] | None = None
    step: tuple[CountColumn, ...] | None = None
    epoch: tuple[CountColumn, ...] | None = None
    samples: tuple[CountColumn, ...] | None = None
    run: tuple[str, ...] = ()
    new_run: str | None = None
    resume: str | None = None
    new_epoch: str | None = None
    clock: str | None = None
    carry: bool = False
    joined: bool = False
    failed: CellCondition | None = None
    may_lack: tuple[str, ...] = ()
    target_source: str = "user"
    quiet: bool = False
    recognised: bool = False
    refined_by: tuple[str, ...] = ()
    refining: bool = False
    doubts: tuple[str, ...] = ()
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def dialect(self) -> str:
        """Return the name of the dialect of such logs."""
        return "lines" if self.line else "table"


def run_fields(named: Mapping[str, str]) -> dict[str, Any]:
    """Return the named groups that are columns of the table; counts become integers."""
    fields: dict[str, Any] = {name: named[name] for name in FIELDS if name in named}
    for name in fields.keys() & patterns.COUNTS:
        try:
            number = float(fields[name])
        except ValueError:
            number = math.nan
        is_whole = number.is_integer() and abs(number) < 2.0**62
        fields[name] = int(number) if is_whole else None
    return fields | ({PRICE: price_of(fields[PRICE])} if PRICE in fields else {})


#: Words for dollars, and for an hour.
_DOLLARS = {"cost", "price", "usd", "dollar", "dollars", "rate"}
_HOUR = {"hour", "hr", "h", "hourly"}


def price_in(names: Iterable[str]) -> str | None:
    """Return the first name of a price of an hour, as `usd_per_hour`; its own goes before all."""
    labels = [*names]
    if PRICE in labels:
        return PRICE
    return next(filter(_is_price, labels), None)


@lru_cache(maxsize=10_000)
def _is_price(name: str) -> bool:
    words = {*plain(name.rpartition(".")[2].replace("$", "usd_")).split("_")} - {"per", "in"}
    return bool(words & _DOLLARS and words & _HOUR and words <= _DOLLARS | _HOUR)


def price_of(value: object) -> float | None:
    """Return the price in a number or a text such as `$12.50`, or None."""
    try:
        price = float(str(value).strip().removeprefix("$"))
    except ValueError:
        return None
    return price if math.isfinite(price) else None


#: What says how the rows of a file become runs: of these, what a block says replaces all.
APART = ("run", "new_run", "resume", "new_epoch")
_ROWS = ("seconds", "step", "epoch", "samples", *APART, "carry", "joined", "failed")


def has_layout(block: Block) -> bool:
    """Return whether a block tells how to read a file, not only which of its columns count."""
    return bool(block.line or block.preset or _given_keys(block, _ROWS))


def _given_keys(block: Block, names: Sequence[str]) -> list[str]:
    return [name for name in names if getattr(block, name) != getattr(_SILENT, name)]


_SILENT = Block("")


def merge_block(preset: Block, block: Block) -> Block:
    """Return the block of a preset with the user's settings for the file in their place."""
    keys = _given_keys(block, (*_ROWS, "clock"))
    row_keys = APART if any(name in keys for name in APART) else ()
    settings = {name: getattr(block, name) for name in (*keys, *row_keys)}
    if block.metrics:
        names = ("metrics", "otherwise", "target_source")
        settings |= {name: getattr(block, name) for name in names}
    return msgspec.structs.replace(
        preset,
        **settings,
        may_lack=tuple(key for key in preset.may_lack if key not in keys) + block.may_lack,
        fields={**preset.fields, **block.fields},
        refined_by=(*(["metric"] if block.metrics else []), *keys, *block.fields),
    )


#: What `ttastats.toml` or an option says, before it is read.
Keys = Mapping[str, Any]


def parse_block(keys: Keys, where: Callable[[str], str], **more: Any) -> Block:
    """Return the block in a mapping; `where` returns the position of a key."""
    keys = {FORMER_NAMES.get(key, key): value for key, value in keys.items()}
    for key in keys:
        if key not in KEYS:
            raise TtastatsError(
                f"unknown key {key!r}", where=where(key), remedy=suggestion(key, KEYS, "Keys")
            )
    settings: dict[str, Any] = {}
    for key, parse in _PARSERS.items():
        if key in keys:
            try:
                settings[key] = parse(key, keys[key])
            except ValueError as error:
                message, _, remedy = str(error).partition("\n")
                raise TtastatsError(message, where=where(key), remedy=remedy) from error
    return Block(
        where=where(""),
        metrics=settings.pop("metric", ()),
        may_lack=tuple(key for key in keys if isinstance(keys[key], list) and "" in keys[key]),
        fields={name: settings.pop(name) for name in FIELDS if name in settings},
        **settings,
        **more,
    )


# A parser of a key raises a ValueError that says what is wrong, and in a second line what to do.


def _parse_text(key: str, value: Any) -> str | None:
    if value is None or is_text(value):
        return cast("str | None", value)
    raise ValueError(f'{key} is not a string: {value!r}\nWrite {key} = "...".')


def _parse_texts(key: str, value: Any) -> tuple[str, ...]:
    if is_text(value):
        return (value,)
    if isinstance(value, Sequence) and not isinstance(value, str) and all(map(is_text, value)):
        return tuple(value)
    message = f"{key} is neither a string nor a list of strings: {value!r}"
    raise ValueError(f'{message}\nWrite {key} = "...".')


def _parse_boolean(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"{key} is neither true nor false: {value!r}\nWrite {key} = true.")


def _parse_pattern(key: str, value: Any) -> str | None:
    text = _parse_text(key, value)
    try:
        patterns.compile_pattern(text or "")
    except TtastatsError as error:
        raise ValueError(f"{error.where}: {error.what}\n{error.remedy or ''}") from error
    return text


def _parse_pairs(key: str, value: Any) -> str | None:
    text = _parse_text(key, value)
    if text is None or ("<name>" in text and "<value>" in text):
        return text
    remedy = f"Write {key} = '(?P<name>\\w+)=(?P<value>\\S+)'."
    raise ValueError(f"{key} has no groups `name` and `value`: {text!r}\n{remedy}")


def _parse_choice(words: Sequence[str], key: str, value: Any) -> str | None:
    text = _parse_text(key, value)
    if text is None or text in words:
        return text
    choices = " or ".join(f'"{word}"' for word in words)
    raise ValueError(f"invalid value: {key} = {text!r}\nWrite {choices}.")


def _parse_list(parse: Callable[[str], Any], key: str, value: Any) -> tuple[Any, ...]:
    return tuple(parse(text) for text in _parse_texts(key, value) if text.strip())


def _parse_metrics(key: str, value: Any) -> tuple[Metric, ...]:
    by_benchmark = value if isinstance(value, Mapping) else {None: value}
    return tuple(
        msgspec.structs.replace(metric, benchmark=benchmark)
        for benchmark, texts in by_benchmark.items()
        for metric in _parse_list(parse_metric, key, texts)
    )


def _parse_condition(key: str, value: Any) -> CellCondition | None:
    text = _parse_text(key, value)
    if text is None:
        return None
    column, sign, values = text.partition("=")
    if not sign or not column.strip() or not values.strip():
        raise ValueError(f"{text!r} is not a condition\nWrite 'status = crash'.")
    return CellCondition(column.strip(), tuple(value.strip() for value in values.split(",")))


def _parse_field(key: str, value: Any) -> str:
    return str(value) if type(value) is int else _parse_text(key, value) or ""


_METRIC = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<plain>.*?[^\s<>=]))\s*
    (?:(?P<meets><=|>=)\s*(?P<value>[^\s<>=%]+)\s*(?P<percent>%)?|\s(?P<better>higher|lower))?\s*""",
    re.VERBOSE,
)


def parse_metric(text: str) -> Metric:
    """Return the metric in `val_loss`, `val_loss <= 3.28`, `acc >= 97 %`, `fancy higher`.

    A ValueError says what is wrong with another text, and in a second line what to do.
    """
    match = _METRIC.fullmatch(text)
    remedy = "Write 'val_loss', 'val_loss <= 3.28', 'acc >= 97 %' or 'fancy_metric higher'."
    if match is None or re.search(r"[<>=]", match["plain"] or ""):
        raise ValueError(f"metric {text!r} cannot be read\n{remedy}")
    name = match["quoted"] or match["plain"]
    if match["meets"]:
        target = percentages.parse_number(f"{match['value']}{match['percent'] or ''}")
        if target is None:
            raise ValueError(f"{match['value']!r} is no number\n{remedy}")
        higher = match["meets"] == ">="
        if contradiction := against_direction(name, higher):
            correction = text.replace(match["meets"], "<=" if higher else ">=")
            opposite = f"{name} {'higher' if higher else 'lower'}"
            raise ValueError(
                f"metric {text!r}: {contradiction}\nWrite {correction!r}. Otherwise write "
                f"{opposite!r}, and give the target to the commands (--target)."
            )
        return Metric(name, higher, target, bool(match["percent"]))
    if match["better"]:
        return Metric(name, match["better"] == "higher")
    return Metric(name, higher_is_better(name), guessed=True)


_PER = re.compile(
    rf"(?P<column>.+)\s(?P<unit>{'|'.join(SECONDS)})\s+(?P<which>per|of)\s+(?P<per>.+?)\s*"
)
_SUM = re.compile(rf"\s*sum\s+(?P<column>.+)\s(?P<unit>{'|'.join(SECONDS)})\s*")
_STAMP = re.compile(r"\s*(?P<column>\S(?:[^%]*\S)?)\s+(?P<format>\S*%.*)")
_PROGRESS = re.compile(r"\s*(?P<sum>sum\s+)?(?P<column>.*?\S)(?:\s*\+\s*(?P<plus>\d+))?\s*")


def _parse_clock(text: str) -> TimeColumn:
    """Return the clock in `time ms`, `stamp %H:%M:%S`, `time s per iter`, `sum time s`."""
    if per := _PER.fullmatch(text):
        column, seconds, alone = per["column"].strip(), SECONDS[per["unit"]], per["which"] == "of"
        return TimeColumn(column, seconds, per=per["per"], alone=alone)
    if part := _SUM.fullmatch(text):
        return TimeColumn(part["column"].strip(), SECONDS[part["unit"]], summed=True)
    if stamp := _STAMP.fullmatch(text):
        return TimeColumn(stamp["column"], format=stamp["format"].strip())
    if text.endswith(" unix ms"):
        return TimeColumn(text.removesuffix(" unix ms").strip(), 1e-3, format="unix")
    column, _, unit = text.strip().rpartition(" ")
    if column and unit == "unix":
        return TimeColumn(column.strip(), format="unix")
    if column and unit in SECONDS:
        return TimeColumn(column.strip(), SECONDS[unit])
    raise ValueError(
        f"seconds = {text!r} names no unit\nWrite a column and ms, s, min, h, unix, unix ms or a "
        "form of stamps: 'time ms', 'stamp %Y-%m-%d %H:%M:%S'; 'time s per iter' for the mean time "
        "of an iteration, 'time s of iter' for that of each printed one; 'sum time s' adds up."
    )


def _parse_progress(text: str) -> CountColumn:
    """Return the count in `step`, `epoch + 1`, `sum length`."""
    match = _PROGRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} names no column\nWrite 'epoch', 'epoch + 1' or 'sum length'.")
    return CountColumn(match["column"], float(match["plus"] or 0), bool(match["sum"]))


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "files": _parse_pattern,
    "line": _parse_texts,
    "pairs": _parse_pairs,
    "skip_after": _parse_text,
    "metric": _parse_metrics,
    "otherwise": partial(_parse_list, parse_metric),
    "seconds": partial(_parse_list, _parse_clock),
    **dict.fromkeys(("step", "epoch", "samples"), partial(_parse_list, _parse_progress)),
    "run": _parse_texts,
    "new_run": _parse_text,
    "resume": partial(_parse_choice, BACK),
    "new_epoch": partial(_parse_choice, BACK[:1]),
    "clock": _parse_text,
    "carry": _parse_boolean,
    "joined": _parse_boolean,
    "failed": _parse_condition,
    **dict.fromkeys(FIELDS, _parse_field),
}
KEYS = ("files", "preset", *list(_PARSERS)[1:])
