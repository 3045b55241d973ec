"""Which lines of a text tell evaluations: as `key=value`, `key: value`, in words, or as numbers?

What a number measures is a hypothesis from the words around it; the values of the whole file test
it: they must be numbers, and vary as a measurement does.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, permutations
from operator import attrgetter, itemgetter

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing import columns
from ttastats.answers.guessing.answer import NoLogError, Proposal, Reason
from ttastats.base import metrics as names
from ttastats.base.metrics import evaluation_metrics, higher_is_better, unit_of
from ttastats.formats.block import Block, TimeColumn
from ttastats.formats.dialect import log_from_bytes
from ttastats_parsers.own_cells import rows_of_lines
from ttastats_parsers.own_choice import UnfitError, numbers, times

#: A number is taken whole, with what makes it another one: `1,000`, `5k`, `99/100`, `12:34`.
_NUMBER = r"[-+]?\.?\d(?:[.,:/]\d|[\w+-])*|[-+]?(?:nan|inf)\b"
_COUNT = r"\d(?:[.,]\d|\w)*"
_UNIT = r"(?:ms|days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s)"
_AMOUNT = rf"\d[\d.,]*\s?{_UNIT}"
_DURATION = rf"{_AMOUNT}(?:,?\s?(?:{_AMOUNT}|\d+:\d\d(?::\d\d)?(?:\.\d+)?))*\b"
_TIME = rf"{_DURATION}|\d(?:[.,:]\d|\w)*"
_WORD = r"[A-Za-z][\w/.-]*?(?:@[\d.]*(?::[\d.]+)?)?"
_PAIR = re.compile(
    rf"(?<![\w/@.-])(?P<key>{_WORD}(?:\([A-Za-z]\))?(?: {_WORD}){{0,3}})"
    # Brackets behind a name say on what it was measured.
    r"(?P<mark>['\"]?(?:\s?\([^()]{1,40}\)(?=\s?[:=-]))?"
    r"[ \t]{0,8}(?:(?:[:=]|[-=]>)[ \t]{0,8})?[\[(]?[ \t]{0,2})"
    r"(?:(?<=[\s:='\"\[(>])|(?<=[Ss]tep)|(?<=[Ee]poch))"
    rf"(?P<number>{_DURATION}|{_NUMBER})(?=(?P<after>\s?%|\s?\(\s?[\d.]|\s+[A-Za-z])?)"
)
#: Words that say whose values follow, unless they are parts of the name of a file or an option.
_TAG = re.compile(
    r"(?<![\w./-])(?:train(?:ing|_\w+)?|eval(?:uat\w+)?|val|valid(?:at\w+)?|test(?:ing)?)"
    r"(?!\w|[./]\w)",
    re.IGNORECASE,
)
#: Colours and the rank in front, which are taken away before an expression is tried.
_DRESS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|^\[(?:(?:default|rank)\d+|\d+,\d+)\](?:<std\w+>)?:\s?")
_DIGIT = re.compile(r"\d")
_FILLERS = frozenset({"at", "with", "is", "of", "the", "and", "on", "in", "for", "after", "to"})
_STAMP = re.compile(
    r"^\[?((?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?)(?:Z|[+-]\d\d:?\d\d)?"
)
_START = re.compile(
    r"\b(?:start|begin|launch)(?:n?ing|ed|s)?\b(?: [\w-]+)?? (?:training|run|trial|experiment|fold)\b"
    r"|\b(?:training|run|trial|experiment) (?:started|begins)\b"
    r"|^\W*(?:run|trial|experiment|fold)\b\W{0,3}\d+",
    re.IGNORECASE,
)
#: More lines are not looked at, and longer ones hold no evaluation.
_MOST_LINES = 20_000
_LONGEST = 2_000
#: More expressions are not proposed.
_MOST_EXPRESSIONS = 4
_COUNTS = ("step", "epoch", "samples")


class _Number(Struct, frozen=True):
    """A number of a line: its name there, its group, its part, and the tag before it.

    Of a `meter` a mean stands behind it, in brackets: it shows how training goes on. A `tag` is the
    word itself, without a number.
    """

    literal: str
    mark: str
    group: str
    part: str
    tag: str = ""
    written: str = ""

    def expression(self) -> str:
        if self.written:
            return self.written
        key = _escape(self.literal)
        if self.part == "tag":
            return rf"{key}\b"
        value = {"clock": _TIME, **dict.fromkeys(_COUNTS, _COUNT)}.get(self.part, _NUMBER)
        before = r"\s*" if self.mark[:1].isspace() else ""
        sign = re.sub(r"\\\(.*\\\)", lambda _: r"\([^()]*\)", re.escape(self.mark.strip()))
        mark = rf"{before}{sign}\s*" if sign else r"\s+" if self.mark else ""
        return rf"{key}{mark}(?P<{self.group}>{value})"


class _Line(Struct, frozen=True):
    """The numbers of a line, with their texts."""

    at: int
    numbers: dict[_Number, str]

    @property
    def form(self) -> tuple[_Number, ...]:
        """Return what the lines of one kind have in common."""
        return tuple(self.numbers)

    def text_of(self, group: str) -> str | None:
        """Return the text of a number by its group."""
        return next((text for number, text in self.numbers.items() if number.group == group), None)


def proposal(text: str, path: str) -> Proposal:
    """Return the proposed keys of a block for the lines of a text."""
    lines = [_DRESS.sub("", line) for line in re.split("[\r\n]+", text)[:_MOST_LINES]]
    lines = [line for line in lines if line.strip() and len(line) <= _LONGEST]
    tags: dict[str, str] = {}
    more: dict[str, str] = {}
    expressions = _numbers_only(lines, path)
    if not expressions:
        metrics, numbered = _metrics(lines, _numbered_lines(lines, tags), tags)
        expressions, more = _expressions(lines, numbered, metrics)
    if not expressions:
        raise NoLogError("neither a table nor a line with a metric as `key=value`")
    patterns = tuple(expressions)
    block = Block("", line=patterns, joined="joined" in more, new_run=more.get("new_run"))
    try:
        rows = rows_of_lines(log_from_bytes("\n".join(lines).encode(), f"/{path}", block=block))
    except UnfitError as error:
        raise NoLogError(str(error)) from error
    guess = columns.proposal(rows.frame, tags)
    reasons = [
        Reason("line", f"guessed from {line.strip()[:160]!r}", False)
        for line in dict.fromkeys(expressions.values())
    ]
    reasons += [Reason(key, _WHY[key], sure=False) for key in more]
    return Proposal({"line": patterns, **more, **guess.keys}, (*reasons, *guess.reasons))


_WHY = {
    "joined": "the time of an evaluation stands on a line after it",
    "new_run": "this line comes before the evaluations of each of several runs",
}

# ---------------------------------------------------------------------------- numbers of a line


def _numbered_lines(lines: Sequence[str], tags: dict[str, str]) -> list[_Line]:
    """Return the lines with numbers that can be read; `tags` gets the groups that a tag evaluates."""
    found = [(at, _numbers_in(line)) for at, line in enumerate(lines) if _DIGIT.search(line)]
    distinct = dict.fromkeys(number for _, pairs in found for number, _ in pairs)
    of_group = defaultdict[str, set[str]](set)
    for number in distinct:
        if not number.tag.startswith("train"):
            of_group[number.group].add(number.tag)
    named = {}
    for number in distinct:
        group, tag = number.group, number.tag
        # Where one tag evaluates, the group keeps its name; several tags tell groups apart.
        if tag.startswith("train") or (tag and len(of_group[group]) > 1):
            group = _group_name(f"{tag[:5] if tag.startswith('train') else tag} {group}")
        if tag and not tag.startswith("train"):
            tags[group] = tag
        named[number] = replace(number, group=group)
    texts = defaultdict[_Number, list[str]](list)
    for _, pairs in found:
        for number, text in pairs:
            texts[named[number]].append(text)
    readable = {
        number for number in texts if number.part == "tag" or _is_read(number, texts[number])
    }
    numbered = []
    for at, pairs in found:
        first: dict[str, tuple[_Number, str]] = {}
        for number, text in pairs:
            first.setdefault(named[number].group or number.literal, (named[number], text))
        if numbers := {number: text for number, text in first.values() if number in readable}:
            numbered.append(_Line(at, numbers))
    return numbered


def _is_read(number: _Number, texts: Sequence[str]) -> bool:
    """Return whether nearly all texts are numbers, or times."""
    cells = pl.Series(number.group, texts)
    read = times(cells, TimeColumn("")) if number.part == "clock" else numbers(cells)
    return read.null_count() <= 0.1 * len(read)


def _numbers_in(line: str) -> list[tuple[_Number, str]]:
    """Return the numbers of a line with their texts, and the tags among them, in their order."""
    found = [
        (match.start("mark") - len(number.literal), match.end("number"), number, text)
        for match in _PAIR.finditer(line)
        if (both := _named_number(match))
        for number, text in [both]
    ]
    found += _durations(line)
    for match in _TAG.finditer(line):
        is_name = any(start <= match.start() < end for start, end, *_ in found if end)
        if not (is_name and "_" in match[0]):
            tag = _Number(match[0], "", "", "" if is_name else "tag")
            found.append((match.start(), 0, tag, ""))
    tag, numbers = "", list[tuple[_Number, str]]()
    for _, _, number, text in sorted(found, key=itemgetter(0)):
        if not number.group:
            tag = number.literal.lower()
        elif number.part in {"value", "meter"} and not _names_its_tag(number.group):
            number = replace(number, tag=tag)
        if number.part:
            numbers.append((number, text))
    return numbers


@cache
def _names_its_tag(group: str) -> bool:
    return "train" in group or group in evaluation_metrics([group, "val_loss"])


#: The group of the time that a bar of tqdm shows, `[00:12<00:34, 5.2it/s]`.
_BAR = "elapsed_bar"
_BAR_TIME = rf"\[(?P<{_BAR}>\d[\d:]+)<"
_ENDED_TIME = rf"\[(?P<{names.OF_A_BAR}>\d[\d:]+)<"


def _durations(line: str) -> Iterator[tuple[int, int, _Number, str]]:
    """Yield durations without a `name=`: `0.3s elapsed`, and those of bars of tqdm."""
    if match := re.search(rf"(?<![\w.:])({_DURATION})\s+(elapsed|total)\b", line):
        group = "time_total" if match[2] == "total" else "elapsed"
        written = rf"(?P<{group}>{_DURATION})\s+{match[2]}"
        yield match.start(), match.end(), _Number("", "", group, "clock", "", written), match[1]
    if match := re.search(r"\[(\d+:[\d:]+)<", line):
        yield match.start(), match.end(), _Number("", "", _BAR, "clock", "", _BAR_TIME), match[1]


def _named_number(match: re.Match[str]) -> tuple[_Number, str] | None:
    words, text, after = match["key"].split(" "), match["number"], match["after"] or ""
    while words and words[0].lower() in _FILLERS:
        words.pop(0)
    if not words or _TAG.fullmatch(" ".join(words)):
        return None
    last = _group_name(words[-2] if len(words) > 1 and words[-1].lower() in _FILLERS else words[-1])
    for part in _COUNTS:
        if last in names.LIKELY_COUNTS[part] and "%" not in after:
            at = max(at for at, word in enumerate(words) if _group_name(word) == last)
            count = re.match(_COUNT, text)
            number = _Number(" ".join(words[at:]), match["mark"], last, part)
            return (number, count[0]) if count else None
    literal = " ".join(words)
    group, has_unit = _group_name(literal), bool(re.fullmatch(_DURATION, text))
    if unit_of(group):
        is_clock = has_unit or ":" in text or group in names.CLOCKS
        return (_Number(literal, match["mark"], group, "clock"), text) if is_clock else None
    # In brackets, a number with a word counts what the word says.
    if has_unit or (match["mark"][-1:] in {"(", "["} and after[-1:].isalpha()):
        return None
    part = "meter" if "(" in after else "value"
    return _Number(literal, match["mark"], group, part), text


def _group_name(text: str) -> str:
    """Return a text as the name of a group of an expression."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name[:1].isalpha() else f"n_{name}"


def _escape(text: str) -> str:
    return re.escape(text).replace("\\ ", " ").replace("\\-", "-").replace("\\/", "/")


# ---------------------------------------------------------------------------- which are measured


def _metrics(
    lines: Sequence[str], numbered: list[_Line], tags: Mapping[str, str]
) -> tuple[list[str], list[_Line]]:
    """Return the metrics, and the lines with all that tell one: in words too, if no name does."""
    values = _values(numbered)
    metrics = columns.measured(values, tags)
    fit = [name for name in metrics if not columns.oddity(values[name])]
    if not any(name in tags or _names_its_tag(name) for name in fit):
        if in_words := _lines_in_words(lines, numbered, fit):
            numbered = sorted([*numbered, *in_words], key=attrgetter("at"))
            values = _values(numbered)
            metrics = columns.measured(values, tags)
    if metrics:
        return metrics, numbered
    if any(number.part == "meter" for line in numbered for number in line.numbers):
        shown = [
            _Line(line.at, {
                replace(number, part="value") if number.part == "meter" else number: text
                for number, text in line.numbers.items()
            })
            for line in numbered
        ]  # fmt: skip
        return _metrics(lines, shown, tags)
    return [name for name in values if higher_is_better(name) is not None][:1], numbered


def _values(numbered: Sequence[_Line]) -> dict[str, pl.Series]:
    """Return the values of each group that may be a metric."""
    texts = defaultdict[str, list[str]](list)
    for line in numbered:
        for number, text in line.numbers.items():
            if number.part == "value":
                texts[number.group].append(text)
    return {group: numbers(pl.Series(group, of_group)) for group, of_group in texts.items()}


_IN_WORDS = re.compile(
    rf"(?<![\w.,/:-])(?:(?P<share>{_NUMBER})(?=\s?%)|(?:(?<=[:=>]\s)|(?<=is\s)|(?<=was\s))(?P<last>{_NUMBER})(?=\W*$))"
)


def _lines_in_words(
    lines: Sequence[str], numbered: Sequence[_Line], metrics: Sequence[str]
) -> list[_Line]:
    """Return the lines that tell a quality in words, of kinds that come more than once."""
    named = {
        line.at for line in numbered if any(number.group in metrics for number in line.numbers)
    }
    found = [
        _Line(at, {number: text})
        for at, line in enumerate(lines)
        if at not in named and _DIGIT.search(line)
        for number, text in _quality_in_words(line)
    ]
    kinds = Counter(line.form for line in found)
    return [line for line in found if kinds[line.form] > 1 or not metrics]


def _quality_in_words(line: str) -> Iterator[tuple[_Number, str]]:
    """Yield the share, or the last number, of a line with a word for a quality."""
    words = (match for match in re.finditer(r"[A-Za-z][\w-]*", line) if _is_quality(match[0]))
    if (word := next(words, None)) is None or (match := _IN_WORDS.search(line)) is None:
        return
    start, end = match.span(match.lastgroup or 0)
    tags = sorted(_TAG.findall(line), key=lambda tag: tag.lower().startswith("train"))
    group = _group_name(" ".join([*tags[:1], word[0]]))
    before, after = line[word.start() : start], line[end : word.end()]
    written = rf"{_template(before)}(?P<{group}>{_NUMBER}){_template(after)}"
    yield _Number("", "", group, "value", "", written), match[0]


@cache
def _is_quality(word: str) -> bool:
    return higher_is_better(word) is not None


def _template(text: str) -> str:
    return re.sub(r"\d\S*", r"\\S+", _escape(text)) if text else ""


# ---------------------------------------------------------------------------- expressions


def _expressions(
    lines: Sequence[str], numbered: Sequence[_Line], metrics: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return expressions with an example each: clocks, metrics, the rest; and keys for the lines."""
    forms = _evaluations(numbered, metrics)
    expressions: dict[str, str] = {}
    parts, covered = set[str](), set[str]()
    for form, alike in forms.items():
        values = {number.group for number in form if number.part == "value"} & {*metrics}
        if values <= covered or len(expressions) == _MOST_EXPRESSIONS:  # told twice, in two forms
            continue
        covered |= values
        kept = [n for n in form if n.group in values or n.part in {*_COUNTS, "clock"}]
        expression = _join_expressions(form, kept)
        bars = [line for line in lines if _BAR_TIME in expression and re.search(expression, line)]
        # Of bars that are finished once per epoch only the last line counts.
        if len(bars) > 1 and all(re.search(r"100%\||<0?0:00", line) for line in bars):
            expression = expression.replace(_BAR_TIME, _ENDED_TIME)
        expressions[expression] = lines[alike[0].at]
        parts |= {number.part for number in kept}
    if not expressions:
        return {}, {}
    more = _new_run(lines, numbered, [line.at for line in next(iter(forms.values()))])
    of_metrics = tuple(expressions)
    if not parts & {*_COUNTS}:
        expressions |= _counts_elsewhere(lines, numbered, forms)
    if "clock" not in parts:
        if behind := _times_behind(lines, numbered, forms):
            return {**behind, **expressions}, {**more, "joined": "true"}
        # A clock on other lines: rising times, or finished bars.
        clocks = _line_before(lines, of_metrics, _clock_in_line)
        expressions = {**(clocks or _line_before(lines, of_metrics, _finished_bar)), **expressions}
    return {**_line_before(lines, of_metrics, _stamp_expression), **expressions}, more


def _evaluations(
    numbered: Sequence[_Line], metrics: Sequence[str]
) -> dict[tuple[_Number, ...], list[_Line]]:
    """Return the lines that tell a metric by their form, without rare incomplete forms."""
    forms = defaultdict[tuple[_Number, ...], list[_Line]](list)
    for line in numbered:
        if any(number.group in metrics and number.part == "value" for number in line.numbers):
            forms[line.form].append(line)
    ordered = dict(sorted(forms.items(), key=lambda item: -len(item[1])))
    for during, end in permutations(ordered, 2):
        shared = {n.group for n in during} & {n.group for n in end} & {*metrics}
        if during in forms and any(_sums_up(forms[end], forms[during], name) for name in shared):
            del forms[during]
    ordered = {form: ordered[form] for form in ordered if form in forms}
    most = max(map(len, ordered.values()), default=0)
    first = next(iter(ordered), ())
    progress = {number.part for number in first} - {"value", "clock", "tag", "meter"}
    return {
        form: alike
        for form, alike in ordered.items()
        if len(alike) >= max(0.1 * most, min(most, 2))
        and (len(alike) == most or progress <= {number.part for number in form})
    }


def _sums_up(end: Sequence[_Line], during: Sequence[_Line], metric: str) -> bool:
    """Return whether each of some lines stands behind others, with a value of its own."""
    if not 2 <= len(end) < len(during):
        return False
    places = [line.at for line in during]
    before = [bisect(places, line.at) for line in end]
    if not all(early < late for early, late in pairwise([0, *before])):
        return False
    last = numbers(pl.Series(metric, [during[number - 1].text_of(metric) for number in before]))
    values = numbers(pl.Series(metric, [line.text_of(metric) for line in end]))
    return bool(((values - last).abs() > 1e-3).any())


def _counts_elsewhere(
    lines: Sequence[str], numbered: Sequence[_Line], forms: Iterable[tuple[_Number, ...]]
) -> dict[str, str]:
    """Return the expression of the most common other line that counts."""
    for form, examples in _other_forms(numbered, forms):
        if counted := [number for number in form if number.part in _COUNTS]:
            return {_join_expressions(form, counted): lines[examples[0].at]}
    return {}


def _other_forms(
    numbered: Sequence[_Line], forms: Iterable[tuple[_Number, ...]]
) -> list[tuple[tuple[_Number, ...], list[_Line]]]:
    """Return other lines than those of some forms, by their form, the most common first."""
    others = defaultdict[tuple[_Number, ...], list[_Line]](list)
    for line in numbered:
        others[line.form].append(line)
    for form in forms:
        others.pop(form, None)
    return sorted(others.items(), key=lambda item: -len(item[1]))


def _times_behind(
    lines: Sequence[str],
    numbered: Sequence[_Line],
    forms: Mapping[tuple[_Number, ...], Sequence[_Line]],
) -> dict[str, str]:
    """Return the expression of the line of time behind each evaluation."""
    counts = {number.group for form in forms for number in form if number.part in _COUNTS}
    evaluated = {line.at: line for alike in forms.values() for line in alike}
    for form, alike in _other_forms(numbered, forms):
        clocks = [number for number in form if number.part == "clock" and number.group != _BAR]
        shared = [number for number in form if number.group in counts]
        timed = {line.at: line for line in alike}
        if clocks and _stand_behind(timed, evaluated, shared[0].group if shared else ""):
            return {_join_expressions(form, [clocks[0], *shared]): lines[alike[0].at]}
    return {}


def _stand_behind(timed: Mapping[int, _Line], evaluated: Mapping[int, _Line], count: str) -> bool:
    """Return whether times follow evaluations: by a count on both lines, else by their order."""
    order = sorted([*timed, *evaluated])
    if count:
        pairs = [(v, t) for v, t in pairwise(order) if v in evaluated and t in timed]
        told = [evaluated[v].text_of(count) == timed[t].text_of(count) for v, t in pairs]
        return bool(told) and all(told)
    kinds = "".join("T" if at in timed else "V" for at in order)
    return re.fullmatch(r"(V+)T(?:\1T)*", kinds) is not None


def _new_run(
    lines: Sequence[str], numbered: Sequence[_Line], evaluated: Sequence[int]
) -> dict[str, str]:
    """Return the expression of a line before each run where a file holds several.

    Progress begins anew behind each, or none is known and one evaluation follows. Else it is asked.
    """
    starts = defaultdict[str, list[int]](list)
    for at, line in enumerate(lines):
        if (match := _START.search(line)) and at not in evaluated:
            starts[re.sub(r"\d+", r"\\d+", _escape(match[0].strip()))].append(at)
    counts = _counts(numbered)
    for expression, places in starts.items():
        spans = list(pairwise([*places, len(lines)]))
        behind = [sum(start < at < end for at in evaluated) for start, end in spans]
        if len(places) < 2 or not all(behind) or evaluated[0] < places[0]:
            continue
        firsts = [next((n for at, n in counts if start < at < end), None) for start, end in spans]
        again = [b <= a for a, b in pairwise(firsts) if a is not None and b is not None]
        if all(again) if again else {*behind} == {1}:
            return {"new_run": expression}
        if any(again) or not again:
            text = f"{lines[places[0]].strip()[:80]!r} stands in {len(places)} lines"
            raise NoLogError(f"{text}: are these several runs? Write new_run = '{expression}'")
    return {}


def _counts(numbered: Sequence[_Line]) -> list[tuple[int, float]]:
    """Return the line and the value of each count of the first kind that is told."""
    for part in _COUNTS:
        both = [
            (line.at, text)
            for line in numbered
            for number, text in line.numbers.items()
            if number.part == part
        ]
        if both:
            values = numbers(pl.Series(part, [text for _, text in both]))
            return [(at, n) for (at, _), n in zip(both, values, strict=True) if n is not None]
    return []


def _clock_in_line(line: str) -> str:
    """Return an expression for the first time in a line, or an empty text."""
    numbers = [number for number, _ in _numbers_in(line)] if _DIGIT.search(line) else []
    clocks = [number for number in numbers if number.part == "clock" and number.group != _BAR]
    return _join_expressions(clocks[:1], clocks[:1])


def _finished_bar(line: str) -> str:
    return rf"100%\|.*{_ENDED_TIME}" if re.search(r"100%\|.*\[\d[\d:]+<", line) else ""


def _stamp_expression(line: str) -> str:
    """Return an expression for the time stamp that a line begins with, or an empty text."""
    if (stamp := _STAMP.match(line)) is None:
        return ""
    written = re.sub(r"\d+", lambda digits: rf"\d{{{len(digits[0])}}}", stamp[1])
    written = re.sub(r"([.,])\\d\{\d+\}$", lambda end: rf"{re.escape(end[1])}\d+", written)
    return rf"^{re.escape(stamp[0][: stamp.start(1)])}(?P<stamp>{written})"


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


def _join_expressions(form: Sequence[_Number], kept: Sequence[_Number]) -> str:
    """Return the expression of some numbers of a form, with the tags that they stand behind."""
    tags = {number.tag for number in kept}
    named = [n for n in form if n in kept or (n.part == "tag" and n.literal.lower() in tags)]
    expressions = (number.expression() for number in named)
    return ".*?".join(rf"\b{text}" if text[0].isalpha() else text for text in expressions)


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
