"""What does a whole comparison come to: a word, a sentence with its conditions, and the numbers?

The one sentence is that of the screen, of Markdown, JSON and page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from ttastats.answers.compare import sentences
from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import claim, conditions_text
from ttastats.base import percentages, units
from ttastats.base.codes import DOUBTS
from ttastats.report import fitting
from ttastats.report.answer import Against, Remark, Report, ranked_remarks
from ttastats.report.cells import Lead
from ttastats.report.row import expect_kind
from ttastats.sides.comparison import Comparison
from ttastats.sides.pairing import SAME_RUNS
from ttastats.stats.decision import side_of
from ttastats.stats.multiplicity import MeanSpeedup
from ttastats.stats.results import Verdict

Rows = Sequence[TimesRow]
#: Rows with their names.
Named = Sequence[tuple[str, TimesRow]]


def lead(
    against: Against, names: Sequence[str], target: str, confidence: float,
    *, margin_claims: bool = False,
) -> Lead:  # fmt: skip
    """Return the headline of one table; rows with the same runs on both sides do not count.

    `names` tell its rows from each other, and `target` is that of all in words. `margin_claims`:
    one undecided row says of the margin what it shows.
    """
    rows = expect_kind(against.rows, TimesRow)
    models = fitting.hardware_models(str(row.get("hardware")) for row in rows)
    shorter = (name.replace(hardware := str(row.get("hardware")), models[hardware])
               for name, row in zip(names, rows, strict=True))  # fmt: skip
    every = list(zip(shorter, rows, strict=True))
    named = [(name, row) for name, row in every if row.claim != SAME_RUNS] or every
    if len(named) == 1:
        (name, row) = named[0]
        made = sentences.finding(row, confidence, name, margin_claims=margin_claims)
    else:
        made = _of_several(named, against, target, confidence)
    if same := len(every) - len(named):
        left = f"{units.plural(same, 'other row')} with the same runs on both sides left out."
        made = replace(made, numbers=f"{made.numbers} {left}".strip())
    return made


#: The condition of a mean over rows of which some compare unlike sizes.
_UNLIKE = {"accelerators": "accelerators_differ", "division": "division_differs"}


def _of_several(named: Named, against: Against, target: str, confidence: float) -> Lead:
    rows = [row for _, row in named]
    testable = [row for row in rows if row.word is not Verdict.UNAVAILABLE] or rows
    several = len({row.benchmark for row in rows}) == len(rows)
    of_all = units.plural(len(testable), "benchmark" if several else "comparison")
    pairs = {*map(sentences.named_sides, rows)}
    (a, b) = pairs.pop() if len(pairs) == 1 else (rows[0].a, rows[0].b)
    to = f" to {target}" if target and not rows[0].on.alone else ""
    if any(row.word.decided for row in rows):
        text = _counts_text(named, a, b, to, of_all)
    elif testable is rows and rows[0].word is Verdict.UNAVAILABLE:
        reasons = dict.fromkeys(row.reason for row in rows if row.reason)
        text = f"No verdict{to} on any of {of_all}: {units.join_names([*reasons], 3, '; ')}"
    else:
        text = f"No significant difference between {b} and {a}{to} on any of {of_all}"
        if len(testable) < len(rows):
            text += f" ({len(rows) - len(testable)} more without a verdict)"
    mean_codes = [*dict.fromkeys(chain.from_iterable(against.conditions))]
    unlike = [row for row in testable if row.sides_differ_in and not row.reason]
    if unlike and (a, b) == (rows[0].a, rows[0].b):
        columns = Counter(name for row in unlike for name in row.sides_differ_in)
        differing = (f"{'logged ' * (name == 'nodes')}{name} on {n}" for name, n in columns.items())
        text += f"; the sides differ in {' and '.join(differing)} of {len(testable)}"
        mean_codes += [code for name, code in _UNLIKE.items() if name in columns]
    mean = _mean_text(rows, against.mean, mean_codes, of_all, confidence)
    numbers = f"{mean}{sentences.runs_text(rows)}."
    word, tone = sentences.judgement(rows)
    return Lead(word, f"{text}.", numbers[:1].upper() + numbers[1:], tone)


def _counts_text(named: Named, a: str, b: str, to: str, of_all: str) -> str:
    """Return how many rows have each verdict, and how many of them carry conditions.

    `B is faster than A to the target of each on 8 of 40 benchmarks (3 with conditions: ...)`.
    """
    rows = [row for _, row in named]
    counts, axis = Counter(row.word for row in rows), rows[0].on
    verbs = {
        Verdict.FASTER: axis.fill(axis.better).removeprefix("is "),
        Verdict.SLOWER: axis.fill(axis.worse).removeprefix("is "),
        Verdict.SAME: axis.same.removesuffix(" as").removeprefix("is "),
    }
    parts = list[str]()
    for word in (word for word in verbs if word in counts):
        some = [row for row in rows if row.word is word]
        name = next(name for name, row in named if row.word is word)
        n = f"all {of_all}" if counts[word] == len(rows) > 1 else f"{counts[word]} of {of_all}"
        first = f"{claim(word, a, b, axis)}{to} on {n}"
        text = f"{verbs[word]} on {counts[word]}" if parts else first
        only = some[0]
        carried = [row for row in some if row.conditions]
        details = [name] if len(some) == 1 else []
        if len(some) == 1 and word.directed and only.speedup:
            ratio = only.speedup
            if (a, b) == (only.a, only.b) and _UNLIKE.keys() & {*only.sides_differ_in}:
                details.append(f"{only.setup_b} against {only.setup_a}")
            details.append(sentences.factor_of(word, axis, ratio, ratio, ratio)[0])
        conditions = conditions_text(code for row in carried for code in row.conditions)
        if 0 < len(carried) < len(some):
            details.append(f"{len(carried)} of them conditionally: {conditions}")
        elif carried and len(some) < len(rows):
            details.append(conditions)
        text += f" ({', '.join(details)})" if details else ""
        parts.append(f"{text}, {conditions}" if len(carried) == len(rows) else text)
    without = {Verdict.UNDECIDED: "undecided", Verdict.UNAVAILABLE: "without a verdict"}
    parts += [f"{counts[word]} {name}" for word, name in without.items() if word in counts]
    return ", ".join(parts)


def _mean_text(
    rows: Rows, mean: MeanSpeedup | None, codes: Sequence[str], of_all: str, confidence: float
) -> str:
    """Return the geometric mean with its interval and the conditions of its rows."""
    if mean is None or mean.estimate is None:
        return ""
    level, text = percentages.percent_text(confidence), conditions_text(codes)
    limits = ""
    if mean.low and mean.high:
        # What the interval of the mean assumes, which no verdict on a row has to.
        carried = f", {text}" if text else ""
        limits = f" ({level} CI {units.factor_range(mean.low, mean.high)}{carried})"
    way = side_of(1, mean.low, mean.high)
    word = {1: Verdict.FASTER, -1: Verdict.SLOWER}.get(way)
    alone = word is not None and any(row.word is not word for row in rows)
    what = f"geometric mean {rows[0].on.ratio} over {of_all}{', not of each one:' if alone else ''}"
    return f"{what} {units.factor(mean.estimate)}{limits}; "


def conditions_of(contrast: Comparison) -> Iterator[str]:
    """Yield the codes of what has to be true for the interval of a speedup, decided or not."""
    speedup = contrast.speedup
    yield from contrast.verdict.conditions
    yield from (each.code for each in contrast.findings if each.effect == "condition")
    if speedup and speedup.unseen_epochs:
        yield "constant_epochs"
    if speedup and speedup.doubts:
        yield "no_stragglers"


def caveats(report: Report) -> tuple[Remark, ...]:
    """Return the cautions of a comparison that no sentence says, the most serious first."""
    said = {code for row in report.records for code in row.get("conditions") or ()}
    remarks = ranked_remarks(report)
    return tuple(each for each in remarks if each.code in DOUBTS and each.code not in said)
