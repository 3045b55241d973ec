"""Which lines of a text tell evaluations, as `key=value`, `key: value`, `key value`, or numbers?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

from msgspec import Struct

from ttastats.answers.guessing import columns
from ttastats.answers.guessing.answer import NoLogError, Proposal, Reason
from ttastats.base import metrics as names
from ttastats.base.metrics import higher_is_better, unit_of
from ttastats.formats.block import Block
from ttastats.formats.dialect import log_from_bytes
from ttastats_parsers.own_cells import rows_of_lines
from ttastats_parsers.own_choice import UnfitError

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\b"
_UNIT = "ms|seconds|sec|s|minutes|min|hours|h"
_PAIR = re.compile(
    r"(?<![\w/.-])(?P<key>[A-Za-z][\w/@.-]*?(?:\([A-Za-z]\))?(?: [A-Za-z][\w/@.-]*?){0,3})"
    rf"(?P<mark>['\"]?[ \t]{{0,8}}(?:[:=][ \t]{{0,8}})?[\[(]?[ \t]{{0,2}})"
    # A number that is a part of a name, as in top1, is no value; one of step1 is.
    rf"(?:(?<!\w)|(?<=[Ss]tep)|(?<=[Ee]poch))(?P<number>{_NUMBER})"
    rf"(?P<unit>\s?(?:{_UNIT})\b)?(?![\w.]*[A-Za-z:-]\d)"
)
#: Colours and the rank in front, which are taken away before an expression is tried.
_DRESS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|^\[(?:(?:default|rank)\d+|\d+,\d+)\](?:<std\w+>)?:\s?")
_DIGIT = re.compile(r"\d")
_FILLERS = frozenset({"at", "with", "is", "of", "the", "and", "on", "in", "for", "after", "to"})
_STAMP = re.compile(
    r"^\[?((?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?)(?:Z|[+-]\d\d:?\d\d)?"
)
#: More lines are not looked at, and longer ones hold no evaluation.
_MOST_LINES = 20_000
_LONGEST = 2_000
#: More expressions are not proposed.
_MOST_EXPRESSIONS = 4


class _Named(Struct, frozen=True):
    """One number of a line: what it is called there, the name of its group, and its part."""

    literal: str
    mark: str
    group: str
    part: str
    written: str = ""

    def expression(self) -> str:
        if self.written:
            return self.written
        key = re.escape(self.literal).replace("\\ ", " ").replace("\\-", "-").replace("\\/", "/")
        value = r"\d+" if self.part in {"step", "samples"} else _VALUE
        value = r"\d+(?:\.\d+)?" if self.part in {"epoch", "clock"} else value
        before = r"\s*" if self.mark[:1].isspace() else ""
        plain = self.mark.strip()
        mark = rf"{before}{re.escape(plain)}\s*" if plain else r"\s+" if self.mark else ""
        return rf"{key}{mark}(?P<{self.group}>{value})"


_VALUE = r"[-+]?[\d.][\d.eE+-]*|nan|inf"


def proposal(text: str, path: str) -> Proposal:
    """Return the proposed keys of a block for the lines of a text."""
    lines = [_DRESS.sub("", line) for line in re.split("[\r\n]+", text)[:_MOST_LINES]]
    lines = [line for line in lines if line.strip() and len(line) <= _LONGEST]
    expressions = _numbers_only(lines, path) or _expressions(lines)
    if not expressions:
        raise NoLogError("neither a table nor a line with a metric as `key=value`")
    patterns = tuple(expressions)
    data = "\n".join(lines).encode()
    try:
        rows = rows_of_lines(log_from_bytes(data, f"/{path}", block=Block("", line=patterns)))
    except UnfitError as error:
        raise NoLogError(str(error)) from error
    block = columns.proposal(rows.frame)
    examples = [
        Reason("line", f"guessed from {line.strip()[:160]!r}", False)
        for line in dict.fromkeys(expressions.values())
    ]
    return Proposal({"line": patterns, **block.keys}, (*examples, *block.reasons))


def _expressions(lines: Sequence[str]) -> dict[str, str]:
    """Return regular expressions with an example each: clocks, then metrics, then the rest."""
    numbered = [
        (named, line) for line in lines if _DIGIT.search(line) and (named := _named_numbers(line))
    ]
    kinds = Counter(named for named, _ in numbered)
    examples = dict(reversed(numbered))  # the first line of each kind
    groups = dict.fromkeys(
        number.group for named in kinds for number in named if number.part == "value"
    )
    of_training = [name for name in groups if higher_is_better(name) is not None][:1]
    metrics = frozenset(names.guess_metrics(groups) or of_training)
    with_metric = _common_kinds(kinds, metrics)
    expressions: dict[str, str] = {}
    parts: set[str] = set()
    covered: set[str] = set()
    for named in with_metric:
        numbers = [number for number in named if number.group in metrics or number.part != "value"]
        values = {number.group for number in numbers} & metrics
        if values <= covered or len(expressions) == _MOST_EXPRESSIONS:  # told twice, in two forms
            continue
        covered |= values
        expression = _join_expressions(numbers)
        bars = [line for line in lines if _BAR_TIME in expression and re.search(expression, line)]
        # Of bars that are finished once per epoch only the last line counts.
        if len(bars) > 1 and all(re.search(r"100%\||<0?0:00", line) for line in bars):
            expression = expression.replace(_BAR_TIME, _ENDED_TIME)
        expressions[expression] = examples[named]
        parts |= {number.part for number in numbers}
    if not expressions:
        return {}
    of_metrics = tuple(expressions)
    if not parts & {"step", "epoch", "samples"}:
        for named, _ in kinds.most_common():
            counted = [number for number in named if number.part in {"step", "epoch", "samples"}]
            if counted and named not in with_metric:
                expressions.setdefault(_join_expressions(counted), examples[named])
                break
    # A clock on other lines: rising times, or finished bars.
    clocks: dict[str, str] = {}
    if "clock" not in parts:
        clocks = _line_before(lines, of_metrics, _clock_in_line)
        clocks = clocks or _line_before(lines, of_metrics, _finished_bar)
    return {**_line_before(lines, of_metrics, _stamp_expression), **clocks, **expressions}


def _clock_in_line(line: str) -> str:
    """Return an expression for the first time in a line, or an empty text."""
    numbers = _named_numbers(line) if _DIGIT.search(line) else ()
    clocks = [number for number in numbers if number.part == "clock" and number.group != _BAR]
    return _join_expressions(clocks[:1])


def _finished_bar(line: str) -> str:
    return rf"100%\|.*{_ENDED_TIME}" if re.search(r"100%\|.*\[\d[\d:]+<", line) else ""


def _stamp_expression(line: str) -> str:
    """Return an expression for the time stamp that a line begins with, or an empty text."""
    if (stamp := _STAMP.match(line)) is None:
        return ""
    written = re.sub(r"\d+", lambda digits: rf"\d{{{len(digits[0])}}}", stamp[1])
    written = re.sub(r"([.,])\\d\{\d+\}$", lambda end: rf"{re.escape(end[1])}\d+", written)
    return rf"^{re.escape(stamp[0][: stamp.start(1)])}(?P<stamp>{written})"


#: The group of the time that a bar of tqdm shows, `[00:12<00:34, 5.2it/s]`.
_BAR = "elapsed_bar"
_BAR_TIME = rf"\[(?P<{_BAR}>\d[\d:]+)<"
_ENDED_TIME = rf"\[(?P<{names.OF_A_BAR}>\d[\d:]+)<"


def _line_before(
    lines: Sequence[str], evaluations: Iterable[str], expression_of: Callable[[str], str]
) -> dict[str, str]:
    """Return the expression of a line that precedes nearly every evaluation, with an example."""
    evaluated = [re.compile(pattern) for pattern in evaluations]
    examples: dict[str, str] = {}
    since: set[str] = set()
    fresh: Counter[str] = Counter()
    number = 0
    for line in lines:
        if expression := expression_of(line):
            since.add(expression)
            examples.setdefault(expression, line)
        if any(pattern.search(line) for pattern in evaluated):
            number += 1
            fresh.update(since)
            since.clear()
    # Of a model that is evaluated before it is trained no time has passed.
    enough = min(0.9 * number, number - 1) if number > 2 else number
    return {most: examples[most] for most, times in fresh.most_common(1) if times >= enough}


def _common_kinds(
    kinds: Counter[tuple[_Named, ...]], metrics: frozenset[str]
) -> list[tuple[_Named, ...]]:
    """Return the kinds of lines with a metric, without rare incomplete ones."""
    with_metric = [
        (named, n) for named, n in kinds.most_common() if any(o.group in metrics for o in named)
    ]
    if not with_metric:
        return []
    most = with_metric[0][1]
    fewest = max(0.1 * most, min(most, 2))
    progress = {number.part for number in with_metric[0][0]} - {"value", "clock"}
    return [
        named
        for named, n in with_metric
        if n >= fewest and (n == most or progress <= {number.part for number in named})
    ]


def _join_expressions(named: Sequence[_Named]) -> str:
    expressions = (number.expression() for number in named)
    return ".*?".join(rf"\b{text}" if text[0].isalpha() else text for text in expressions)


def _named_numbers(line: str) -> tuple[_Named, ...]:
    """Return the numbers of a line in their order, the first of each name."""
    pairs = ((match.start("number"), _named_number(match)) for match in _PAIR.finditer(line))
    numbers: dict[str, tuple[int, _Named]] = {}
    for start, number in (*pairs, *_durations(line)):
        if number is not None:
            numbers.setdefault(number.group, (start, number))
    return tuple(number for _, number in sorted(numbers.values(), key=itemgetter(0)))


def _durations(line: str) -> Iterator[tuple[int, _Named]]:
    """Yield durations without a `name=`: `0.3s elapsed`, `elapsed 0:12:34`, of tqdm."""
    if match := re.search(rf"(?<![\w.:])({_NUMBER})(\s?)({_UNIT})\s+(elapsed|total)\b", line):
        group = f"time_{names.UNITS[names.SECONDS[match[3]]]}"
        written = rf"(?P<{group}>\d+(?:\.\d+)?){match[2] and ' '}{match[3]}\s+{match[4]}"
        yield match.start(), _Named("", "", group, "clock", written)
    if match := re.search(
        r"\b([Ee]lapsed|[Tt]ime)([:=]?)\s{0,3}(?:\d+:)?\d+:\d\d(?:\.\d+)?\b", line
    ):
        written = rf"{match[1]}{match[2]}\s*(?P<elapsed>\d[\d:.]+)"
        yield match.start(), _Named("", "", "elapsed", "clock", written)
    if match := re.search(r"\[\d+:[\d:]+<", line):
        yield match.start(), _Named("", "", _BAR, "clock", _BAR_TIME)


def _named_number(match: re.Match[str]) -> _Named | None:
    words = match["key"].split(" ")
    while words and words[0].lower() in _FILLERS:
        words.pop(0)
    if not words:
        return None
    last = _group_name(words[-2] if words[-1].lower() in _FILLERS else words[-1])
    literal = " ".join(words)
    for part in ("step", "epoch", "samples"):
        if last in names.LIKELY_COUNTS[part]:
            at = max(at for at, word in enumerate(words) if _group_name(word) == last)
            return _Named(" ".join(words[at:]), match["mark"], last, part)
    group = _group_name(literal)
    unit = (match["unit"] or "").strip()
    if not unit_of(group):
        return None if unit else _Named(literal, match["mark"], group, "value")
    if unit:
        group = f"time_{names.UNITS[names.SECONDS[unit]]}"
    elif group not in names.CLOCKS:
        return None
    return _Named(literal, match["mark"], group, "clock")


def _group_name(text: str) -> str:
    """Return a text as the name of a group of an expression."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name[:1].isalpha() else f"n_{name}"


_CELLS = re.compile(rf"^\s*(?:{_NUMBER})(?:\s+(?:{_NUMBER}))+\s*$")


def _numbers_only(lines: Sequence[str], path: str) -> dict[str, str]:
    """Return an expression for lines of bare numbers, named by a line above."""
    rows = [line for line in lines if _CELLS.match(line)]
    if len(rows) < 2 or len(rows) < 0.8 * len(lines):
        return {}
    width = len(rows[0].split())
    above = lines[0].lstrip("# ").split()
    groups = [_group_name(name) for name in above]
    if lines[0] is rows[0] or len(groups) != width or len(set(groups)) != width:
        first = [float(row.split()[0]) for row in rows]
        if width != 2 or any(number != int(number) for number in first) or first != sorted(first):
            return {}
        # A rising count, and what the path says. Numbers without groups are those of every step.
        words = reversed(re.findall("[a-z]+", path.lower()))
        known = next((word for word in words if higher_is_better(word) is not None), "value")
        groups = ["step", "train_loss" if known in {"loss", "losses"} else known]
    cells = r"\s+".join(rf"(?P<{name}>\S+)" for name in groups)
    return {rf"^\s*{cells}\s*$": rows[0]}
