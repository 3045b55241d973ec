"""What does a whole comparison come to: yes or no, by how much, and what is to be distrusted?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ttastats.answers.compare.rows import QualitiesRow, TimesRow
from ttastats.answers.compare.sentences import claim, factor_of, p_text
from ttastats.base import percentages, units
from ttastats.base.codes import DOUBTS
from ttastats.outcomes.axis import Axis
from ttastats.report.answer import Against, Report, ranked_remarks
from ttastats.report.cells import Lead
from ttastats.sides.checks import POOLED
from ttastats.sides.pairing import SAME_RUNS
from ttastats.stats.decision import side_of
from ttastats.stats.results import Tone, Verdict

Rows = Sequence[TimesRow]


class Headline(Struct, frozen=True):
    """The answer in a word, in a sentence that begins with it, and the numbers behind it.

    `condition` is what the design of the runs adds to the word: `setups pooled`, or nothing.
    """

    word: str
    claim: str
    numbers: str
    tone: Tone = "plain"
    condition: str = ""

    @property
    def sentence(self) -> str:
        """Return the headline as one sentence."""
        return f"{self.word}: {self.claim}."


class Caveat(Struct, frozen=True):
    """What is to be distrusted, in a few words, and in whole sentences."""

    text: str
    more: str
    tone: Tone = "plain"


def headlines(report: Report, confidence: float) -> tuple[Headline, ...]:
    """Return the headline of each table compared with the baseline."""
    return tuple(_make_headline(against, confidence) for against in report.against)


class _Whole(Struct, frozen=True):
    """The rows of one table, and their speedup with its interval: of the one row, or the mean."""

    rows: Rows
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def testable(self) -> Rows:
        """Return the rows that could be decided; all if none could."""
        return [row for row in self.rows if row.word is not Verdict.UNAVAILABLE] or self.rows

    def counted(self, rows: Rows) -> str:
        """Return how many of the rows these are: `8 benchmarks`."""
        several = len({row.benchmark for row in self.rows}) == len(self.rows)
        return units.plural(len(rows), "benchmark" if several else "comparison")


def _make_headline(against: Against, confidence: float) -> Headline:
    """Return the headline of one table; rows with the same runs on both sides do not count."""
    rows = _distinct_rows(against)
    row, mean = rows[0], against.mean
    if len(rows) == 1:
        whole = _Whole(rows, row.speedup, row.speedup_low, row.speedup_high)
    else:
        whole = _Whole(rows, *((mean.estimate, mean.low, mean.high) if mean else (None,) * 3))
    testable = whole.testable
    ((most, count),) = Counter(row.word for row in testable).most_common(1)
    answer, tone = most.answer, most.tone
    if 2 * count <= len(testable):
        answer, tone = "It depends", "plain"
    elif count < len(rows):  # those without a verdict may be otherwise
        answer = f"Mostly {answer.lower()}"
    if any(POOLED in row.conditions and row.carried for row in rows):
        tone = "bad"
    n_a, n_b = sum(row.n_a for row in rows), sum(row.n_b for row in rows)
    failed = n_a - sum(row.reached_a for row in rows), n_b - sum(row.reached_b for row in rows)
    alone = row.on.alone
    every = "no quality was looked at" if alone else "all reached the target"
    runs = f"{units.plural(n_a, 'run')} against {n_b:,}, {every}"
    if any(failed):
        a, b = (f"{n:,} of {side}" for n, side in zip(failed, (row.a, row.b), strict=True))
        ended = f"failed; {every}" if alone else "did not reach the target"
        runs = f"{units.plural(n_a, 'run')} against {n_b:,}; {a} and {b} {ended}"
    numbers = "; ".join(filter(None, (_ratio_text(whole, confidence), runs)))
    condition = ", ".join(dict.fromkeys(row.carried for row in rows if row.carried))
    text = _claim_text(whole)
    if same := len(against.rows) - len(rows):
        text += f"; {units.plural(same, 'other row')} with the same runs on both sides left out"
    return Headline(answer, text, numbers[:1].upper() + numbers[1:], tone, condition)


def _distinct_rows(against: Against) -> Rows:
    """Return the rows without the same runs on both sides; all rows if there is none."""
    every = tuple(row for row in against.rows if isinstance(row, TimesRow))
    return tuple(row for row in every if row.claim != SAME_RUNS) or every


def _claim_text(whole: _Whole) -> str:
    rows, row = whole.rows, whole.rows[0]
    words, axis, a, b = {each.word for each in rows}, row.on, row.a, row.b
    toward = Verdict.FASTER if whole.ratio and whole.ratio > 1 else Verdict.SLOWER
    if words == {toward} and whole.ratio:
        of_quality = "" if axis.alone else " to the same quality"
        return f"{claim(toward, a, b, axis, _factor_text(whole.ratio, axis))}{of_quality}"
    if len(rows) == 1 and row.word is Verdict.SAME:
        return f"{claim(row.word, a, b, axis)} ({axis.claim(row.claim)})"
    if len(rows) == 1 and row.estimand == "fraction":
        of_a = f"{row.reached_a} of {row.n_a} runs of {a}"
        return f"{of_a} and {row.reached_b} of {row.n_b} runs of {b} reached the target"
    return _counts_text(whole) if any(word.decided for word in words) else _undecided_text(whole)


def _counts_text(whole: _Whole) -> str:
    """Return how many rows have each verdict: `B is faster than A on 8 of 40, ...`."""
    row, counts = whole.rows[0], Counter(row.word for row in whole.rows)
    axis = row.on
    verbs = {
        Verdict.FASTER: axis.does(axis.better),
        Verdict.SLOWER: axis.does(axis.worse),
        Verdict.SAME: axis.same.removesuffix(" as"),
    }
    first, *others = (word for word in verbs if word in counts)
    of_all = whole.counted(whole.testable)
    text = f"{claim(first, row.a, row.b, axis)} on {counts[first]} of {of_all}"
    if counts[first] == 1 == sum(counts[word] for word in verbs):
        only = next(row for row in whole.rows if row.word is first)
        factor = f", {_factor_text(only.speedup, axis)}" if only.speedup else ""
        text += f" ({only.benchmark or 'these runs'}{factor})"
    more = [f"{verbs[word].removeprefix('is ')} on {counts[word]}" for word in others]
    without = {Verdict.UNDECIDED: "undecided", Verdict.UNAVAILABLE: "without a verdict"}
    more += [f"{counts[word]} {name}" for word, name in without.items() if word in counts]
    return ", ".join((text, *more))


def _factor_text(ratio: float, axis: Axis) -> str:
    word = Verdict.FASTER if ratio >= 1 else Verdict.SLOWER
    return factor_of(word, axis, ratio, ratio, ratio)[0]


def _undecided_text(whole: _Whole) -> str:
    """Return the range in which the truth lies if nothing is decided."""
    rows, low, high = whole.rows, whole.low, whole.high
    a, b, axis = rows[0].a, rows[0].b, rows[0].on
    reasons = {row.reason for row in rows}
    if len(reasons) == 1 and all(row.word is Verdict.UNAVAILABLE for row in rows):
        return reasons.pop() or "no data"
    testable = whole.testable
    on = "" if len(rows) == 1 else f" on any of {whole.counted(testable)}"
    if len(testable) < len(rows):
        on += f" ({len(rows) - len(testable)} more without a verdict)"
    if low is None or high is None or low == high:  # without a spread there are no ends
        return f"no significant difference between {b} and {a}{on}"
    less, more = (axis.less if end >= 1 else axis.more for end in (low, high))
    first = f" {less}" if less != more else ""
    text = (
        f"{b} {'is' if axis.is_time else 'needs'} between {_factor_text(low, axis)}{first} and "
        f"{_factor_text(high, axis)} {more} than {a}"
    )
    however = "however, " if side_of(1, low, high) else ""
    return text if not on else f"no significant difference{on}; overall, {however}{text}"


def _ratio_text(whole: _Whole, confidence: float) -> str:
    if whole.ratio is None:
        return ""
    rows, low, high = whole.rows, whole.low, whole.high
    row, several = rows[0], len(rows) > 1
    what = f"geometric mean {row.on.ratio} over {whole.counted(rows)}" if several else row.on.ratio
    level = percentages.percent_text(confidence)
    limits = f"{level} CI {units.factor_range(low, high)}" if low and high else ""
    inside = f"{limits}{'' if several else p_text(row, '; {}')}".removeprefix("; ")
    return f"{what} {units.factor(whole.ratio)}" + (f" ({inside})" if inside else "")


def leads(against: Sequence[Against], alone: str, confidence: float) -> tuple[Lead, ...]:
    """Return the opening of a screen: a headline per table, or the sentence `alone`."""
    made = []
    for each in against:
        headline = _make_headline(each, confidence)
        condition = f", {headline.condition}" if headline.condition else ""
        text = alone or f"{headline.claim}{condition}. {headline.numbers}."
        word = _common_verdict([row.word for row in _distinct_rows(each)])
        made.append(Lead(word, text, headline.tone))
    return tuple(made)


def leads_of_qualities(rows: Sequence[QualitiesRow], sentence: str) -> tuple[Lead, ...]:
    """Return the opening of a screen of qualities: the verdict and the sentence."""
    words = [row.word for row in rows]
    tone = words[0].tone if len(set(words)) == 1 else "plain"
    return (Lead(_common_verdict(words), sentence, tone),) if words else ()


def _common_verdict(words: Sequence[Verdict]) -> str:
    """Return the verdict of most rows in capitals, or MIXED."""
    ((most, count),) = Counter(words).most_common(1)
    if sum(word.directed for word in set(words)) > 1 or 2 * count <= len(words):
        return "MIXED"
    word = "EQUIVALENT" if most is Verdict.SAME else most.label.upper()
    return f"MOSTLY {word}" if count < len(words) else word


def caveats(report: Report) -> tuple[Caveat, ...]:
    """Return the cautions of a comparison, the most serious first, with their notes."""
    return tuple(
        Caveat(f"{each.short}{f': {each.share}' if each.share else ''}", " ".join(each.texts),
               DOUBTS[each.code])
        for each in ranked_remarks(report)
        if each.code in DOUBTS
    )  # fmt: skip
