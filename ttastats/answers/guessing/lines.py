"""Which lines of a text tell evaluations: as `key=value`, `key: value`, in words, or as numbers?

What a quantity is follows from the words around it as a hypothesis, which its values test.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, permutations, zip_longest
from math import inf
from operator import attrgetter
from typing import Any, TypeAlias

import polars as pl
from msgspec.structs import replace

from ttastats.answers.guessing import columns
from ttastats.answers.guessing.answer import NoLogError, Proposal, Reason
from ttastats.answers.guessing.quantities import (
    BAR,
    BAR_TIME,
    COUNTS,
    Form,
    Line,
    Quantity,
    escape,
    expression_of,
    group_name,
    in_words,
    names_its_tag,
    read_lines,
    template,
)
from ttastats.answers.guessing.stamps import STAMP, expression_like
from ttastats.base import metrics as names
from ttastats.base.metrics import higher_is_better
from ttastats.formats.block import Block, TimeColumn
from ttastats.formats.dialect import log_from_bytes
from ttastats.formats.setups import SEED
from ttastats.ingestion.given import is_named
from ttastats_parsers.own_cells import rows_of_lines
from ttastats_parsers.own_choice import UnfitError, numbers, times

#: Colours and the rank in front, which are taken away before an expression is tried.
_DRESS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|^\[(?:(?:default|rank)\d+|\d+,\d+)\](?:<std\w+>)?:\s?")
#: A stamp stands at the start, behind the level of a logger at most.
_STAMPED = re.compile(rf"^(?:\W*(?:[A-Z]{{4,}}|(?:\w+ )?[Tt]ime)\W+|\W*){STAMP.pattern}")
_START = re.compile(
    r"\b(?:start|begin|launch)(?:n?ing|ed|s)?(?: [\w-]+)?? (?:training|run|trial|experiment|fold)\b"
    r"|\b(?:training|run|trial|experiment|fold)(?: [\w-]+)? (?:start(?:s|ed|ing)|begins|began)\b"
    r"|^\W*(?:run|trial|experiment|fold)\b\W{0,3}\d+",
    re.IGNORECASE,
)
#: More lines are not looked at, and longer ones hold no evaluation.
_MOST_LINES = 20_000
_LONGEST = 2_000
#: Of more forms of lines none is looked at for one that sums others up.
_MOST_FORMS = 20
#: More expressions are not proposed.
_MOST_EXPRESSIONS = 4
_ENDED_TIME = rf"\[(?P<{names.OF_A_BAR}>\d[\d:]+)<"

#: A word for a part of the data, and the group of it.
_PART_WORD = re.compile(rf"\b(?:{'|'.join((*names.TRAINING, *names.EVALUATING))})\b", re.IGNORECASE)
_PART = "part"
#: Parts of a line that may be the name of a run, between others; times of work differ in any run.
_TOKEN = re.compile(r"([\w.+-]+)")
_PASSED = re.compile(r"\d[\d.]*(?:m?s|min)")

#: Lines that evaluate, by their form.
_Forms: TypeAlias = Mapping[Form, Sequence[Line]]


def proposal(text: str, path: str) -> Proposal:
    """Return the proposed keys of a block for the lines of a text."""
    lines = [_DRESS.sub("", line) for line in re.split("[\r\n]+", text)[:_MOST_LINES]]
    lines = [line for line in lines if line.strip() and len(line) <= _LONGEST]
    tags: dict[str, str] = {}
    line_keys: dict[str, Any] = {}
    metrics, quantities = list[str](), list[Line]()
    expressions = _numbers_only(lines, path)
    if not expressions:
        metrics, quantities = _metrics(lines, read_lines(lines, tags), tags)
        try:
            expressions, line_keys = _expressions(lines, quantities, metrics)
        except NoLogError:  # those that the question names may be told apart
            if not (metrics := [*filter(is_named, metrics)]):
                raise
            expressions, line_keys = _expressions(lines, quantities, metrics)
    if not expressions:
        commas = re.finditer(r"\b([A-Za-z]\w*)[ :=]{1,8}\d{1,3},\d{3}\b", text)
        comma = next((match for match in commas if higher_is_better(match[1]) is not None), None)
        question = f"; does the comma of {comma[0]!r} part thousands, or decimals?" if comma else ""
        raise NoLogError(f"neither a table nor a line with a metric as `key=value`{question}")
    patterns = tuple(expressions)
    block = Block("", line=patterns, joined="joined" in line_keys, new_run=line_keys.get("new_run"))
    try:
        rows = rows_of_lines(log_from_bytes("\n".join(lines).encode(), f"/{path}", block=block))
    except UnfitError as error:
        raise NoLogError(str(error)) from error
    first = _first_evaluation(lines, patterns, metrics)
    before = (row for row in quantities if row.at <= first)
    qualities = ((row.at, item) for row in before for item in row.form if _is_quality(item))
    trained = any(at < first or item.group not in metrics for at, item in qualities)
    _expect_one_seed(lines, [row for row in quantities if _is_evaluation(row.form, {*metrics})])
    epoch_texts = (
        text for row in quantities for item, text in row.texts.items() if item.part == "epoch"
    )
    begin = numbers(pl.Series([next(epoch_texts, None)], dtype=pl.String))[0]
    carried = rows.frame.with_columns(pl.col("^(name|seed)$").forward_fill())
    frame, trains_first = _of_evaluating_part(carried)
    guess = columns.proposal(frame, tags, trained=trained or trains_first, begin=begin)
    reasons = [
        Reason("line", f"guessed from {line.strip()[:160]!r}", False)
        for line in dict.fromkeys(expressions.values())
    ]
    reasons += [Reason(key, _WHY[key], sure=False) for key in line_keys]
    if not any(guess.keys.get(key) for key in (*COUNTS, "seconds")):
        values = _values(quantities)
        others = {n: of for n, of in values.items() if higher_is_better(n) is None}
        _expect_one_course(others, quantities, patterns)
        reasons.append(
            Reason("step", "no step, epoch or time is told: counted by lines", sure=False)
        )
    return Proposal({"line": patterns, **line_keys, **guess.keys}, (*reasons, *guess.reasons))


def _of_evaluating_part(frame: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Return the rows below headers of the part that evaluates, and whether training comes first.

    Where there are no such headers, they are all rows.
    """
    if _PART not in frame.columns:
        return frame, False
    part = frame[_PART].str.to_lowercase().forward_fill()
    evaluating = next(word for word in names.EVALUATING if word in part)
    first = part.drop_nulls()[0]
    return frame.filter(part == evaluating).drop(_PART), first in names.TRAINING


def _first_evaluation(lines: Sequence[str], patterns: Sequence[str], metrics: Iterable[str]) -> int:
    """Return the place of the first line that an expression with a metric matches."""
    of_metrics = [text for text in patterns if any(f"(?P<{name}>" in text for name in metrics)]
    return next((at for at, line in enumerate(lines) if _matches(of_metrics, line)), 0)


def _matches(patterns: Iterable[str], line: str) -> bool:
    return any(re.search(pattern, line) for pattern in patterns)


def _expect_one_seed(lines: Sequence[str], rows: Sequence[Line]) -> None:
    """Raise an error if evaluations tell several seeds: a run has one."""
    seeds: dict[str, int] = {}
    for row in rows:
        seeds |= {text: row.at for item, text in row.texts.items() if SEED.search(item.group)}
    if len(seeds) > 1:
        line = lines[next(iter(seeds.values()))].strip()[:80]
        text = f"lines such as {line!r} tell {len(seeds)} seeds: are these several runs? Write line"
        raise NoLogError(f"{text} = ... with a group for the seed, and run = ...")


def _expect_one_course(
    values: Mapping[str, pl.Series], rows: Sequence[Line], patterns: Sequence[str]
) -> None:
    """Raise an error if what counts something, such as episodes, begins anew."""
    for name, numbers_of in values.items():
        counts = numbers_of.drop_nulls()
        rises = counts.diff()[1:]
        anew = counts[1:].filter(rises < 0)
        if (rises == 0).any() or not 0 < 4 * len(anew) <= len(rises):
            continue
        if (counts == counts.round()).all() and (anew <= counts[1]).all():
            item = next(item for row in rows for item in row.texts if item.group == name)
            begin = rf"\b{escape(item.name)}\W+{counts[0]:.0f}\b"
            lines = (f"--line {shlex.quote(pattern)}" for pattern in patterns)
            text = f"{name} begins anew {len(anew)} times: are these several runs? Give each a file"
            text += f", or say what begins each: {' '.join(lines)} --new-run {shlex.quote(begin)}"
            raise NoLogError(text)


_WHY = {
    "joined": "the time of an evaluation stands on a line after it",
    "new_run": "this comes before the evaluations of each of several runs",
}


def _metrics(
    lines: Sequence[str], rows: list[Line], tags: Mapping[str, str]
) -> tuple[list[str], list[Line]]:
    """Return the metrics and the rows with their values: in words too, if without a name."""
    values = _values(rows)
    metrics = columns.measured(values, values, tags)
    likely_metrics = [name for name in metrics if not columns.oddity(values[name])]
    if not any(name in tags or names_its_tag(name) for name in likely_metrics):
        rows = sorted([*rows, *_rows_in_words(lines, rows, likely_metrics)], key=attrgetter("at"))
        values = _values(rows)
        metrics = columns.measured(values, values, tags)
    if not metrics and any(item.part == "meter" for row in rows for item in row.texts):
        return _metrics(lines, [_with_meters(row) for row in rows], tags)
    any_metric = [name for name in values if higher_is_better(name) is not None][:1]
    number = max((values[name].count() for name in metrics), default=0)
    as_often = {name: of for name, of in values.items() if abs(len(of) - number) <= 1 < number}
    metrics = [*metrics, *columns.qualities(as_often, metrics)] or any_metric
    return _without_classes(lines, rows, metrics), rows


def _without_classes(
    lines: Sequence[str], rows: Sequence[Line], metrics: Sequence[str]
) -> list[str]:
    """Return the metrics without those that are told of each of the same classes in turn.

    Another one is told once for all classes.
    """
    places = {name: [row.at for row in rows if row.text_of(name)] for name in metrics}
    numbers = {name: len({*before}) for name in metrics if (before := _classes(lines, rows, name))}
    return [
        name
        for name in metrics
        if is_named(name)
        or name not in numbers
        or not any(_once_each(places[name], numbers[name], places[n]) for n in metrics)
    ]


def _classes(lines: Sequence[str], rows: Sequence[Line], metric: str) -> list[str]:
    """Return what stands before each value of a metric, if that is the same again and again."""
    told = [row for row in rows if row.text_of(metric)]
    if any(item.part in COUNTS for row in told for item in row.form):
        return []
    before = [lines[row.at].rpartition(row.text_of(metric) or "")[0] for row in told]
    number = len({*before})
    return before if before == before[:number] * (len(before) // number) else []


def _once_each(of_classes: Sequence[int], number: int, others: Sequence[int]) -> bool:
    """Return whether one of other places stands before or behind each number of the first."""
    behind = [bisect(of_classes, at) for at in others]
    every = [*range(0, len(of_classes) + 1, number)]
    return number > 1 and len(every) > 2 and behind in (every[1:], every[:-1])


def _values(rows: Sequence[Line]) -> dict[str, pl.Series]:
    """Return the values of each possible metric."""
    texts = defaultdict[str, list[str]](list)
    for row in rows:
        for item, text in row.texts.items():
            if item.part == "value":
                texts[item.group].append(text)
    return {group: numbers(pl.Series(group, of_group)) for group, of_group in texts.items()}


def _with_meters(row: Line) -> Line:
    """Return a line whose meters are values."""
    texts = {
        replace(item, part="value") if item.part == "meter" else item: text
        for item, text in row.texts.items()
    }
    return Line(row.at, texts)


def _rows_in_words(
    lines: Sequence[str], rows: Sequence[Line], metrics: Sequence[str]
) -> list[Line]:
    """Return the lines with a quality in words instead of a metric, of recurring kinds."""
    other_lines = {*range(len(lines))}
    other_lines -= {row.at for row in rows if any(item.group in metrics for item in row.texts)}
    quality_rows = [
        Line(at, {item: text}) for at in sorted(other_lines) for item, text in in_words(lines[at])
    ]
    kinds = Counter(row.form for row in quality_rows)
    return [row for row in quality_rows if kinds[row.form] > 1 or not metrics]


# ---------------------------------------------------------------------------- expressions


def _expressions(
    lines: Sequence[str], rows: Sequence[Line], metrics: Collection[str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return expressions with an example each: clocks, metrics, counts; and keys about lines."""
    forms, displays = _evaluations(rows, {*metrics})
    if not forms:
        return {}, {}
    expressions, parts = _of_metrics(lines, forms, displays, {*metrics})
    evaluation_lines = [row.at for row in next(iter(forms.values()))]
    line_keys: dict[str, Any] = _new_run(lines, rows, evaluation_lines)
    if not line_keys:
        name, line_keys = _courses(lines, rows, {*metrics})
        expressions |= name
    other_forms = _by_form(row for row in rows if row.form not in forms)
    if not parts & {*COUNTS}:
        counts = [form for form in other_forms if any(item.part in COUNTS for item in form)]
        for form in counts[:1]:
            items = [item for item in form if item.part in COUNTS]
            expressions[expression_of(form, items)] = lines[other_forms[form][0].at]
    expressions |= _same_clock(lines, other_forms, forms) | _headers(lines, forms)
    if "clock" not in parts:
        if time_expression := _time_behind(lines, other_forms, forms):
            return {**time_expression, **expressions}, {**line_keys, "joined": True}
        # A clock on other lines: rising times, or finished bars.
        clocks = {row.at: text for row in rows if (text := _clock_of(row))}
        bars = {at: _FINISHED for at, line in enumerate(lines) if re.search(_FINISHED, line)}
        before = _before(clocks, evaluation_lines) or _before(bars, evaluation_lines)
        expressions = {**{text: lines[at] for text, at in before.items()}, **expressions}
    stamps = {at: text for at, line in enumerate(lines) if (text := _stamp_expression(line))}
    first = next(iter(stamps.values()), "")
    if {*stamps.values()} == {first} and re.fullmatch(
        "T*(?:VT)+", _order(stamps, evaluation_lines)
    ):
        return {first: lines[next(iter(stamps))], **expressions}, {**line_keys, "joined": True}
    before = _before(stamps, evaluation_lines)
    return {**{text: lines[at] for text, at in before.items()}, **expressions}, line_keys


def _by_form(rows: Iterable[Line]) -> dict[Form, list[Line]]:
    """Return lines by their form, the most common first."""
    forms = defaultdict[Form, list[Line]](list)
    for row in rows:
        forms[row.form].append(row)
    return dict(sorted(forms.items(), key=lambda item: -len(item[1])))


def _evaluations(
    rows: Sequence[Line], metrics: set[str]
) -> tuple[dict[Form, list[Line]], list[Line]]:
    """Return the lines with a metric by their form, and similar lines without one.

    Rare and incomplete ones are neither.
    """
    rows_by_form = _by_form(rows)
    forms = {
        form: form_rows for form, form_rows in rows_by_form.items() if _is_evaluation(form, metrics)
    }
    words = {item.name for form in forms for item in form if item.group in metrics and item.name}
    displays = [
        form for form in rows_by_form if form not in forms and {item.name for item in form} & words
    ]
    for during, end in permutations([*forms][:_MOST_FORMS], 2):
        shared_metrics = {item.group for item in during} & {item.group for item in end} & metrics
        if during in forms and any(
            _sums_up(forms.get(end, ()), forms[during], n) for n in shared_metrics
        ):
            del forms[during]
            displays.append(during)
    largest = max(map(len, forms.values()), default=0)
    progress = {item.part for item in next(iter(forms), ())} & {*COUNTS}
    common = {
        form: form_rows
        for form, form_rows in forms.items()
        if any(is_named(item.group) for item in form)
        or (
            len(form_rows) >= max(0.1 * largest, min(largest, 2))
            and (len(form_rows) == largest or progress <= {item.part for item in form})
        )
    }
    return common, [row for form in displays for row in rows_by_form[form]]


def _groups(form: Form) -> set[str]:
    return {item.group for item in form}


def _is_evaluation(form: Form, metrics: set[str]) -> bool:
    return any(item.part == "value" and item.group in metrics for item in form)


def _is_quality(item: Quantity) -> bool:
    return item.part in {"value", "meter"} and higher_is_better(item.group) is not None


def _sums_up(end: Sequence[Line], during: Sequence[Line], metric: str) -> bool:
    """Return whether each of some lines stands behind others, with a value of its own."""
    if not 2 <= len(end) < len(during):
        return False
    line_numbers = [row.at for row in during]
    before = [bisect(line_numbers, row.at) for row in end]
    if not all(first < second for first, second in pairwise([0, *before])):
        return False
    last = numbers(pl.Series(metric, [during[number - 1].text_of(metric) for number in before]))
    values = numbers(pl.Series(metric, [row.text_of(metric) for row in end]))
    return bool(((values - last).abs() > 1e-3).any())


def _of_metrics(
    lines: Sequence[str], forms: _Forms, displays: Sequence[Line], metrics: set[str]
) -> tuple[dict[str, str], set[str]]:
    """Return the expressions of metrics with an example each, and their parts."""
    expressions: dict[str, str] = {}
    parts, covered = set[str](), set[str]()
    for form, form_rows in forms.items():
        values = {item.group for item in form if item.part == "value"} & metrics
        if values <= covered or len(expressions) == _MOST_EXPRESSIONS:  # written in two forms
            continue
        covered |= values
        items = [item for item in form if item.group in values or item.part in {*COUNTS, "clock"}]
        texts = [lines[row.at] for row in form_rows]
        expression = _apart(expression_of(form, items), texts, [lines[row.at] for row in displays])
        other_lines = [
            lines[other_rows[0].at]
            for other, other_rows in forms.items()
            if not values & _groups(other)
        ]
        with suppress(NoLogError):  # `Accuracy` in `Mean Accuracy`
            expression = _apart(expression, texts, other_lines)
        bars = [line for line in lines if BAR_TIME in expression and re.search(expression, line)]
        # Of bars that are finished once per epoch only the last line counts.
        if len(bars) > 1 and all(re.search(r"100%\||<0?0:00", line) for line in bars):
            expression = expression.replace(BAR_TIME, _ENDED_TIME)
        expressions[expression] = lines[form_rows[0].at]
        parts |= {item.part for item in items}
    return expressions, parts


def _apart(expression: str, texts: Sequence[str], other_texts: Sequence[str]) -> str:
    """Return an expression without other matches, from the start of the line if need be."""
    if not any(re.search(expression, line) for line in other_texts):
        return expression
    match = re.search(expression, texts[0])
    start = template(texts[0][: match.start()] if match else "")
    for pattern in (rf"^{start}{expression}", _with_words_between(expression, texts[0])):
        whole = re.compile(pattern)
        if all(map(whole.search, texts)) and not any(map(whole.search, other_texts)):
            return pattern
    pair = f"{texts[0].strip()[:80]!r} and {other_texts[0].strip()[:80]!r}"
    raise NoLogError(f"lines such as {pair} have the same names: which evaluate? Write line = ...")


def _with_words_between(expression: str, line: str) -> str:
    """Return an expression with what a line has before and between its parts."""
    pieces, end = ["^"], 0
    for part in expression.split(".*?"):
        if match := re.compile(part).search(line, end):
            pieces += [template(line[end : match.start()]), part]
            end = match.end()
    return "".join(pieces)


def _same_clock(lines: Sequence[str], other_forms: _Forms, forms: _Forms) -> dict[str, str]:
    """Return the expression of lines that tell their part of a time which evaluations tell too.

    Where the time of an evaluation is its own, that of the training stands on such a line.
    """
    form, rows = next(iter(forms.items()))
    clocks = [item for item in form if item.part == "clock" and item.group != BAR]
    for clock in clocks:
        seconds = times(pl.Series([row.texts.get(clock) for row in rows]), TimeColumn(""))
        for other_form, other_rows in other_forms.items() if (seconds.diff() <= 0).any() else ():
            parts = [n for n in other_form if n.group == clock.group or n.part in COUNTS]
            if clock.group in _groups(other_form) and abs(len(other_rows) - len(rows)) <= 1:
                return {expression_of(other_form, parts): lines[other_rows[0].at]}
    return {}


def _headers(lines: Sequence[str], forms: _Forms) -> dict[str, str]:
    """Return the expression of headers that say on which data the values below were measured.

    They differ in that word and in numbers alone, and each kind of values stands once behind each.
    """
    headers = defaultdict[tuple[str, str], dict[int, str]](dict)
    for at, line in enumerate(lines):
        if len(told := [*_PART_WORD.finditer(line)]) == 1:
            start, end = told[0].span()
            around = template(line[:start]), template(line[end:])
            headers[around][at] = told[0][0]
    values = [[row.at for row in rows] for rows in forms.values()]
    for (before, behind), words in headers.items():
        places, distinct = [*words], {word.lower() for word in words.values()}
        if len(distinct) < 2 or not distinct & {*names.EVALUATING} or places[0] > values[0][0]:
            continue
        if all([bisect(places, at) for at in of] == [*range(1, len(of) + 1)] for of in values):
            either = "|".join(dict.fromkeys(words.values()))
            return {rf"^{before}(?P<{_PART}>{either}){behind}$": lines[places[0]]}
    return {}


def _time_behind(lines: Sequence[str], other_forms: _Forms, forms: _Forms) -> dict[str, str]:
    """Return the expression of a line of time behind each evaluation, with an example."""
    counts = {item.group for form in forms for item in form if item.part in COUNTS}
    evaluations = {row.at: row for rows in forms.values() for row in rows}
    for form, rows in other_forms.items():
        clocks = [item for item in form if item.part == "clock" and item.group != BAR]
        shared_counts = [item for item in form if item.group in counts]
        times = {row.at: row for row in rows}
        if clocks and _stand_behind(
            times, evaluations, shared_counts[0].group if shared_counts else ""
        ):
            return {expression_of(form, [clocks[0], *shared_counts]): lines[rows[0].at]}
    return {}


def _stand_behind(times: Mapping[int, Line], evaluations: Mapping[int, Line], count: str) -> bool:
    """Return whether times follow evaluations: by a count on both lines, else by their order."""
    if count:
        order = sorted([*times, *evaluations])
        pairs = [(v, t) for v, t in pairwise(order) if v in evaluations and t in times]
        equal = [evaluations[v].text_of(count) == times[t].text_of(count) for v, t in pairs]
        return bool(equal) and all(equal)
    return re.fullmatch(r"(V+)T(?:\1T)*", _order(times, evaluations)) is not None


def _order(times: Collection[int], evaluations: Collection[int]) -> str:
    """Return the order of times and evaluations as letters, none where a line tells both."""
    order = sorted([*times, *evaluations])
    return "".join("T" if at in times else "V" for at in order) * (len({*order}) == len(order))


def _before(expressions: Mapping[int, str], evaluations: Collection[int]) -> dict[str, int]:
    """Return the expression before nearly every evaluation, with its first line."""
    since = set[str]()
    counts: Counter[str] = Counter()
    ends = {*evaluations}
    for at in sorted({*expressions, *ends}):
        if at in expressions:
            since.add(expressions[at])
        if at in ends:
            counts.update(since)
            since.clear()
    # Of a model that is evaluated before it is trained no time has passed.
    number = len(ends)
    limit = min(0.9 * number, number - 1) if number > 2 else number
    first = {text: at for at, text in reversed([*expressions.items()])}
    return {text: first[text] for text, times in counts.most_common(1) if times >= limit}


_FINISHED = rf"100%\|.*{_ENDED_TIME}"


def _clock_of(row: Line) -> str:
    """Return an expression for the first time in a line, or an empty text."""
    clocks = [item for item in row.texts if item.part == "clock" and item.group != BAR]
    return expression_of(clocks[:1], clocks[:1])


def _stamp_expression(line: str) -> str:
    """Return an expression for the time stamp at the start of a line, or an empty text."""
    if (stamp := _STAMPED.match(line)) is None or (match := STAMP.search(stamp[0])) is None:
        return ""
    before = stamp[0][: match.start()]
    start = r"[Tt]ime\W+" if "time" in before.lower() else rf"^{re.escape(before)}"
    return f"{start}{expression_like(match)}"


def _new_run(
    lines: Sequence[str], rows: Sequence[Line], evaluations: Sequence[int]
) -> dict[str, str]:
    """Return the expression of a line before each run where a file holds several.

    Progress begins anew behind each, or none is known and one evaluation follows. Else it is asked.
    """
    counts = _counts(rows)
    for expression, line_numbers in _starts(lines, evaluations).items():
        spans = [*pairwise([*line_numbers, len(lines)])]
        evaluation_counts = [sum(start < at < end for at in evaluations) for start, end in spans]
        if not all(evaluation_counts):
            continue
        first = [next((n for at, n in counts if start < at < end), inf) for start, end in spans]
        begins_anew = [
            later <= earlier for earlier, later in pairwise(first) if max(earlier, later) < inf
        ]
        if all(begins_anew) if begins_anew else {*evaluation_counts} == {1}:
            return {"new_run": expression}
        if any(begins_anew) or not begins_anew:
            text = f"{lines[line_numbers[0]].strip()[:80]!r} stands in {len(line_numbers)} lines"
            raise NoLogError(f"{text}: are these several runs? Write new_run = '{expression}'")
    return {}


def _courses(
    lines: Sequence[str], rows: Sequence[Line], metrics: set[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the expression of the name of each run, or a key, if epochs begin anew for others.

    That they are others is proved by a name before the epoch; else all epochs of the one before
    were done and the metrics begin anew too. What else differs before them, if anything, is a name.
    """
    epochs = [(row.at, *found) for row in rows for found in _epoch_of(row, lines[row.at])]
    anew = [(early, late) for early, late in pairwise(epochs) if late[1] < early[1]]
    if not anew or {late[1] for _, late in anew} != {epochs[0][1]} or epochs[0][1] > 1:
        return {}, {}
    starts = [epochs[0][0], *(late[0] for _, late in anew)]
    evaluated = [row for row in rows if _is_evaluation(row.form, metrics)]
    ends = [
        0,
        *(max((row.at for row in evaluated if row.at < start), default=0) for start in starts[1:]),
    ]
    heads = [lines[end : start + 1] for end, start in zip(ends, starts, strict=True)]
    number = min(map(len, heads)) - 1
    tokens = [[_TOKEN.split(line) for line in head[len(head) - number :]] for head in heads]
    apart = {
        words: (at, place)
        for at, of_runs in enumerate(zip(*tokens, strict=True))
        for place, words in enumerate(zip_longest(*of_runs))
        if len({*words}) > 1 and not all(map(_PASSED.fullmatch, map(str, words)))
    }
    total = len({n - epochs[0][1] for _, n, _ in epochs})
    ended = all(early[2] == total for early, _ in anew) and total > 1
    proved = ended and all(_begins_anew(evaluated, name, starts) for name in metrics)
    if not apart and proved:
        return {}, {"new_run": "step back"}
    if len(apart) != 1:
        return {}, {}
    ((words, (at, place)),) = apart.items()
    before, behind = tokens[0][at][:place], tokens[0][at][place + 1 :]
    is_seed = SEED.search((["", *before])[-2] if before else "")
    is_name = is_seed or all(re.search("[A-Za-z]", word or "") for word in words)
    if len({*words}) < len(words) or not (is_name and (proved or at == number - 1)):
        return {}, {}
    group = "seed" if is_seed else "name"
    written = rf"^{template(''.join(before))}(?P<{group}>[\w.+-]+){template(''.join(behind))}$"
    return {written: heads[0][len(heads[0]) - number + at]}, {}


def _epoch_of(row: Line, line: str) -> Iterator[tuple[int, int]]:
    """Yield the epoch that a line tells, and of how many, 0 if that is not told."""
    for item, text in row.texts.items():
        if item.part == "epoch" and text.isdecimal():
            total = re.search(rf"{item.expression()}\s*/\s*(\d+)", line)
            yield int(text), int(total[2]) if total else 0


def _begins_anew(rows: Sequence[Line], metric: str, starts: Sequence[int]) -> bool:
    """Return whether each run begins with a metric nearer to the first than to the last."""
    told = [row for row in rows if row.text_of(metric)]
    values = numbers(pl.Series(metric, [row.text_of(metric) for row in told]))
    firsts = [bisect([row.at for row in told], start) for start in starts]
    if None in values or firsts[-1] >= len(told):
        return False
    first = values[firsts[0]]
    return all(abs(values[at] - first) < abs(values[at] - values[at - 1]) for at in firsts[1:])


def _starts(lines: Sequence[str], evaluations: Sequence[int]) -> dict[str, list[int]]:
    """Return the places of lines that start something, of those that recur, by expression."""
    starts = defaultdict[str, list[int]](list)
    for at, line in enumerate(lines):
        if (match := _START.search(line)) and at not in evaluations:
            starts[re.sub(r"\d+", r"\\d+", escape(match[0].strip()))].append(at)
    return {text: at for text, at in starts.items() if len(at) > 1 and at[0] < evaluations[0]}


def _counts(rows: Sequence[Line]) -> list[tuple[int, float]]:
    """Return the places and values of counts of the first kind that there is."""
    for part in COUNTS:
        texts = [
            (row.at, text) for row in rows for item, text in row.texts.items() if item.part == part
        ]
        if texts:
            values = numbers(pl.Series(part, [text for _, text in texts]))
            return [(at, n) for (at, _), n in zip(texts, values, strict=True) if n is not None]
    return []


_CELL = r"(?:[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|\d+(?::\d\d)+|nan|inf)"
_CELLS = re.compile(rf"^\s*{_CELL}(?:\s+{_CELL})+\s*$")
#: What heads of narrow columns mean.
_HEADS = {"E": "epoch", "ep": "epoch", "#": "step", "it": "iteration"}


def _numbers_only(lines: Sequence[str], path: str) -> dict[str, str]:
    """Return an expression for lines of bare numbers, named by a line above."""
    rows = [at for at, line in enumerate(lines) if _CELLS.match(line)]
    if len(rows) < 2:
        return {}
    width, first = len(lines[rows[0]].split()), lines[rows[0]]
    head = next((line for line in lines[: rows[0]][::-1] if re.search(r"\w", line)), "")
    head_cells = (re.split(mark, head.strip("# ")) for mark in (r"\s{2,}|\t", r"\s+"))
    heads = next((heads for heads in head_cells if len(heads) == width), [])
    groups = [group_name(_HEADS.get(name, name)) for name in heads]
    if len(set(groups)) != width:
        counts = [float(lines[at].split()[0]) for at in rows]
        is_table = width == 2 and all(map(float.is_integer, counts)) and counts == sorted(counts)
        if len(rows) < 0.8 * len(lines) or not is_table:
            return {}
        # A rising count, and what the path says. Numbers without groups are those of every step.
        words = reversed(re.findall("[a-z]+", path.lower()))
        quality = next((word for word in words if higher_is_better(word) is not None), "value")
        groups = ["step", "train_loss" if quality in {"loss", "losses"} else quality]
    cells = r"\s+".join(rf"(?P<{name}>{_CELL})" for name in groups)
    return {rf"^\s*{cells}\s*$": first}
