"""Which quantities does each line of a text hold, and by what names, tags and words?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import metrics as names
from ttastats.base.metrics import evaluation_metrics, higher_is_better, unit_of, unit_of_each
from ttastats.formats.block import TimeColumn
from ttastats.ingestion.given import is_named
from ttastats_parsers.own_choice import numbers, times

#: A number is taken whole, with what makes it another one: `1,000`, `5k`, `99/100`, `12:34`.
NUMBER = r"[-+]?\.?\d(?:[.,:/]\d|[\w+-])*|nan|inf"
#: Counts of which some are parted by blanks, `2 000`, all of them, with what stands behind.
_APART = r"[1-9]\d{0,2}(?:\s\d{3})+"
_COUNT_APART = r"(?P<{}>\d{{1,3}}(?:\s\d{{3}})*)(?:[^\w%/.:,-]|$)"
_COUNT = r"\d(?:e\+\d|[.,:-]\d|\w)*"
_DURATION = (
    r"(?:\d[\d.,]*\s?(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:s|in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?),?\s?){1,4}"
    r"(?:\d+:[\d:.]+)?\b|P[\dTDHMS.]+"
)
_TIME = rf"{_DURATION}|\d(?:[.,:-]\d|\w)*"
#: What a number counts that stands behind it, if it is not the name of the next number.
_NOUN = (
    r"\s+(?:epochs|steps|iter(?:ation)?s|batches|samples|examples|images|tokens|updates)\b"
    r"(?!\s*[:=]?\s*\d)"
)
_WORD = r"(?:[Tt]op[ -]\d+|[A-Za-z][\w/.-]*?(?:@[\d.]*(?::[\d.]+)?)?)"
#: Behind how much of a bar is done, which is no measurement.
_BAR_DONE = r"%\|(?:[█▉▊▋▌▍▎▏#]|\s\s)"
_PAIR = re.compile(
    rf"(?<![\w/@.-])(?P<key>{_WORD}(?:\([A-Za-z]\))?(?: {_WORD}){{0,3}})"
    # Brackets behind a name say on what it was measured.
    r"(?P<mark>['\"]?(?:\s?\([^()]{1,40}\)(?=\s?[:=-]))?"
    r"[ \t]{0,40}(?:(?:[:=]|[-=]>)[ \t]{0,8})?(?P<open>[\[(])?"
    r"(?:(?:tensor|(?:np|numpy)\.\w+)\()?[ \t]{0,2})"
    r"(?:(?<=[\s:='\"\[(>])|(?<=[Ss]tep)|(?<=[Ee]poch))"
    # `mAP@.5:.95` is a name.
    r"(?!(?<=@\.5:)0?\.95\b)(?!(?<=@0\.5:)0?\.95\b)"
    rf"(?>(?P<number>(?P<unit>{_DURATION})|(?P<apart>{_APART})(?![\w%/.:,-])|{NUMBER}))"
    # One of a list, or of a change, is no measurement.
    r"(?(open)(?!\)?,\s))(?!\s?(?:->|=>|→)\s?[-+\d.])"
    rf"(?!{_BAR_DONE})"
    rf"(?=(?P<after>\s?%|\s?\(\s*[-+\d.e]+\)|(?P<noun>{_NOUN})|\s+[A-Za-z])?)"
)
#: Where a program writes a line.
_SOURCE = re.compile(r"\.(?:py|c|cc|cpp)$")
#: How many batches of an epoch are done.
_BATCH = re.compile(r"\[\s*\d+/\s*\d+")
#: Words that say whose values follow, unless they are parts of the name of a file or an option, or
#: the name of a time.
_TAG = re.compile(
    r"(?<![\w./-])(?:train(?:ing|_\w+)?|eval(?:uat\w+)?|val|valid(?:at\w+)?|test(?:ing)?)"
    r"(?!\w|[./]\w|\s\d[\d.]*\s?m?s\b)",
    re.IGNORECASE,
)
_FILLERS = frozenset({"at", "with", "is", "of", "the", "and", "on", "in", "for", "after", "to"})
_ABBREVIATED = {"up.": "updates", "upd.": "updates", "it.": "iterations", "iter.": "iterations"}
_DIGIT, _BLANK = re.compile(r"\d"), re.compile(r"\s")
COUNTS = ("step", "epoch", "samples")
_PATTERNS = {"clock": _TIME, **dict.fromkeys(COUNTS, _COUNT)}
#: The group of the time that a bar of tqdm shows, `[00:12<00:34, 5.2it/s]`.
BAR = "elapsed_bar"
BAR_TIME = rf"\[(?P<{BAR}>\d[\d:]+)<"


class Quantity(Struct, frozen=True):
    """A number of a line: its name there, the mark behind that, its group, its part and its tag.

    The part is a `value`, a `clock` or what it counts; a `meter` has its mean in brackets behind
    it, which shows how far an epoch has come. Of a `tag`, the name is all. With `apart`, blanks
    part the thousands of a count.
    """

    name: str
    mark: str
    group: str
    part: str
    tag: str = ""
    written: str = ""
    apart: bool = False

    def expression(self) -> str:
        """Return a regular expression with the group."""
        if self.written:
            return self.written
        key = escape(self.name)
        if self.part == "tag":
            return rf"{key}\b"
        number = _PATTERNS.get(self.part, NUMBER)
        before = r"\s*" if self.mark[:1].isspace() else ""
        sign = re.sub(r"\\\(.*\\\)", lambda _: r"\([^()]*\)", re.escape(self.mark.strip()))
        mark = rf"{before}{sign}\s*" if sign else r"\s+" if self.mark else ""
        group = _COUNT_APART.format(self.group) if self.apart else f"(?P<{self.group}>{number})"
        return f"{key}{mark}{group}"

    @property
    def trains(self) -> bool:
        """Return whether the tag says that it is of training."""
        return self.tag.startswith("train")


#: The quantities of one kind of lines.
Form = tuple[Quantity, ...]


class Line(Struct, frozen=True):
    """The quantities of a line, with their texts."""

    at: int
    texts: dict[Quantity, str]

    @property
    def form(self) -> Form:
        """Return the quantities of the line as the form of its kind."""
        return tuple(self.texts)

    def text_of(self, group: str) -> str | None:
        """Return the text of a quantity by its group."""
        return next((text for item, text in self.texts.items() if item.group == group), None)


#: The quantities of a line with their texts, in order.
_Pairs: TypeAlias = list[tuple[Quantity, str]]


def read_lines(lines: Sequence[str], tags: dict[str, str]) -> list[Line]:
    """Return the lines with quantities; `tags` gets the groups that a tag says are evaluated."""
    pairs = {at: quantities(line) for at, line in enumerate(lines) if _DIGIT.search(line)}
    pairs = _with_blanks(pairs)
    columns = _columns(dict.fromkeys(item for line in pairs.values() for item, _ in line), tags)
    texts = defaultdict[Quantity, list[str]](list)
    for item, text in chain.from_iterable(pairs.values()):
        texts[columns[item]].append(text)
    readable = {item: _readable(item, texts[item]) for item in texts}
    rows = []
    for at, line in pairs.items():
        first: dict[str, tuple[Quantity, str]] = {}
        for item, text in line:
            first.setdefault(columns[item].group or item.name, (columns[item], text))
        rows.append(Line(at, {item: t for item, t in first.values() if t in readable[item]}))
    return [row for row in rows if row.texts]


def _with_blanks(pairs: dict[int, _Pairs]) -> dict[int, _Pairs]:
    """Return lines with whole counts where blanks part thousands: cut, they would go back."""
    texts = defaultdict[Quantity, list[str]](list)
    for item, text in chain.from_iterable(pairs.values()):
        if item.part in COUNTS:
            texts[item].append(text)
    blank_items = [item for item in texts if any(map(_BLANK.search, texts[item]))]
    whole_items = {item for item in blank_items if numbers(pl.Series(texts[item])).is_sorted()}

    def read(item: Quantity, text: str) -> tuple[Quantity, str]:
        if item in whole_items:
            return replace(item, apart=True), text
        return item, _BLANK.split(text)[0] if item in blank_items else text

    return (
        {at: [read(*pair) for pair in line] for at, line in pairs.items()} if blank_items else pairs
    )


def _columns(items: Iterable[Quantity], tags: dict[str, str]) -> dict[Quantity, Quantity]:
    """Return quantities with a group of their own for each tag."""
    of_group = defaultdict[str, set[str]](set)
    for item in items:
        if not item.trains:
            of_group[item.group].add(item.tag)
    columns = {}
    for item in items:
        group = item.group
        if item.trains:
            group = f"train_{group}"
        elif item.tag:
            # Where a single tag evaluates it, the name is enough.
            group = group_name(f"{item.tag} {group}") if len(of_group[group]) > 1 else group
            tags[group] = item.tag
        columns[item] = replace(item, group=group)
    return columns


def _readable(item: Quantity, texts: Iterable[str]) -> set[str]:
    """Return the numeric texts of a quantity, or its times, if most are."""
    cells = pl.Series(item.group, [*{*texts}])
    if item.part == "tag":
        return {*cells}
    read = times(cells, TimeColumn("")) if item.part == "clock" else numbers(cells)
    return {*cells.filter(read.is_not_null())} if 2 * read.count() > len(read) else set()


def quantities(line: str) -> _Pairs:
    """Return the quantities of a line with their texts, and the tags among them, in order."""
    spans = [*_pairs(line), *_durations(line)]
    for match in _TAG.finditer(line):
        in_name = any(start <= match.start() < end for start, end, *_ in spans)
        if not (in_name and "_" in match[0]):
            tag = Quantity(match[0], "", "", "" if in_name else "tag")
            spans.append((match.start(), 0, tag, ""))
    word, pairs = "", []
    for _, _, item, text in sorted(spans, key=itemgetter(0)):
        if not item.group:
            word = item.name.lower()
        elif item.part in {"value", "meter"} and not names_its_tag(item.group):
            item = replace(item, tag=word)
        if item.part:
            pairs.append((item, text))
    return pairs


@cache
def names_its_tag(group: str) -> bool:
    """Return whether a name says that it is of training, or of evaluations."""
    return "train" in group or group in evaluation_metrics([group, "val_loss"])


#: Where a quantity starts and ends in its line, and its text.
_Span: TypeAlias = tuple[int, int, Quantity, str]


def _pairs(line: str) -> Iterator[_Span]:
    """Yield the numbers with a name before them."""
    for match in _PAIR.finditer(line):
        text, after = match["number"].rstrip(), (match["after"] or "").strip()[:1]
        kind = "noun" if match["noun"] else ":" if ":" in text else after
        kind = "unit" if match["unit"] else kind
        if (item := _quantity(match["key"], match["mark"], kind)) is None:
            continue
        if match["apart"]:
            text = text if item.part in COUNTS else _BLANK.split(text)[0]
        elif item.part in _PATTERNS:  # of how many is not meant
            text = "".join(re.findall(_PATTERNS[item.part], text)[:1])
        elif item.part == "meter" and not _BATCH.search(line):
            item = replace(item, part="value")
        yield match.start("mark") - len(item.name), match.end("number"), item, text


#: What durations are called by the words around them.
_IN_PROSE = (
    ("elapsed", "", r"\s+elapsed\b"), ("elapsed", r"^\[\s*", r"\]"),
    ("time_total", "", r"\s+total\b"), ("epoch_time", r"[Ee]poch (?:took|done in)\s+", ""),
    ("epoch_time", r"(?:^| - )", r"(?: [\d.]+\w+/\w+)? - "),
)  # fmt: skip


def _durations(line: str) -> Iterator[_Span]:
    """Yield durations without a `name=`: `0.3s elapsed`, and those of bars of tqdm."""
    for group, before, after in _IN_PROSE:
        if match := re.search(rf"{before}(?<![\w.,:])({_DURATION}){after}", line):
            expression = rf"{before}(?P<{group}>{_DURATION}){after}"
            yield *match.span(), Quantity("", "", group, "clock", "", expression), match[1]
    if match := re.search(r"\[(\d+:[\d:]+)<", line):
        yield *match.span(), Quantity("", "", BAR, "clock", "", BAR_TIME), match[1]


@lru_cache(maxsize=10_000)
def _quantity(key: str, mark: str, kind: str) -> Quantity | None:
    """Return the quantity of a name: a number of a `unit`, a time with `:`, or before a sign."""
    words = key.split(" ")
    while words and words[0].lower() in _FILLERS:
        words.pop(0)
    name = " ".join(words)
    if not words or _SOURCE.search(name) or (_TAG.fullmatch(name) and "_" not in name):
        return None
    name_words = words[:-1] if len(words) > 1 and words[-1].lower() in _FILLERS else words
    last = _ABBREVIATED.get(name_words[-1].lower(), group_name(name_words[-1]))
    for part in COUNTS:
        if last in names.LIKELY_COUNTS[part] and kind != "%":
            return Quantity(" ".join(words[len(name_words) - 1 :]), mark, last, part)
    group = group_name(" ".join(name_words))
    if unit_of(group) or unit_of_each(group):
        is_clock = kind in {"unit", ":"} or group in names.CLOCKS or unit_of_each(group)
        return Quantity(name, mark, group, "clock") if is_clock else None
    # A number with a word in brackets counts what the word says.
    if kind in {"unit", "noun"} or (mark[-1:] in {"(", "["} and kind.isalpha()):
        return None
    return Quantity(name, mark, group, "meter" if kind == "(" else "value")


_IN_WORDS = re.compile(
    rf"(?<![\w.,/:-])(?:(?P<share>{NUMBER})(?=\s?%)(?!{_BAR_DONE})"
    rf"|(?<!\d [-=]> )(?:(?<=[:=>]\s)|(?<=\bis\s)|(?<=was\s))(?P<last>{NUMBER})(?=\W*$))"
)


def in_words(line: str) -> Iterator[tuple[Quantity, str]]:
    """Yield the share, or the last number, of a line with a word for a quality."""
    all_words = re.finditer(r"[A-Za-z][\w-]*", line)
    words = (match for match in all_words if _is_quality(match[0].lower()))
    if (word := next(words, None)) is None or (match := _IN_WORDS.search(line)) is None:
        return
    start, end = match.span(str(match.lastgroup))
    tags = sorted(_TAG.findall(line), key=lambda tag: tag.lower().startswith("train"))
    group = group_name(" ".join([*tags[:1], word[0]]))
    before = re.findall(r"[\w-]+", line[: word.start()])[-3:]
    longer = (group_name(" ".join([*before[at:], word[0]])) for at in range(len(before)))
    group = next(filter(is_named, longer), group)
    expression = rf"(?P<{group}>{NUMBER}){template(line[end : word.end()])}"
    expression = template(line[word.start() : start]) + expression
    yield Quantity("", "", group, "value", "", expression), match[0]


@cache
def _is_quality(word: str) -> bool:
    return higher_is_better(word) is not None


def template(text: str) -> str:
    """Return a regular expression for a text, with any numbers."""
    return re.sub(r"\d\S*", r"\\S+", escape(text))


def group_name(text: str) -> str:
    """Return a text as the name of a group of an expression."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name[:1].isalpha() else f"n_{name}"


def escape(text: str) -> str:
    """Return a regular expression for a text, easy to read."""
    return re.escape(text).replace("\\ ", " ").replace("\\-", "-").replace("\\/", "/")


def expression_of(form: Sequence[Quantity], parts: Sequence[Quantity]) -> str:
    """Return the expression of some quantities of a form, with the tags that they stand behind."""
    tags = {item.tag for item in parts}
    items = [n for n in form if n in parts or (n.part == "tag" and n.name.lower() in tags)]
    texts = (item.expression() for item in items)
    return ".*?".join(rf"\b{text}" if text[0].isalpha() else text for text in texts)
