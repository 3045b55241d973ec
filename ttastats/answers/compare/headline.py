"""What is the headline of a comparison: a word, a sentence with its conditions, and the numbers?

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
NamedRows = Sequence[tuple[str, TimesRow]]


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
    all_rows = list(zip(shorter, rows, strict=True))
    named_rows = [(name, row) for name, row in all_rows if row.claim != SAME_RUNS] or all_rows
    if len(named_rows) == 1:
        (name, row) = named_rows[0]
        headline = sentences.finding(row, confidence, name, margin_claims=margin_claims)
    else:
        headline = _lead_of_several(named_rows, against, target, confidence)
    if n_same := len(all_rows) - len(named_rows):
        omission = f"{units.plural(n_same, 'other row')} with the same runs on both sides left out."
        headline = replace(headline, numbers=f"{headline.numbers} {omission}".strip())
    return headline


#: The condition of a mean over rows of which some compare unlike sizes.
_UNLIKE = {"accelerators": "accelerators_differ", "division": "division_differs"}


def _lead_of_several(
    named_rows: NamedRows, against: Against, target: str, confidence: float
) -> Lead:
    rows = [row for _, row in named_rows]
    testable = [row for row in rows if row.word is not Verdict.UNAVAILABLE] or rows
    distinct_benchmarks = len({row.benchmark for row in rows}) == len(rows)
    total = units.plural(len(testable), "benchmark" if distinct_benchmarks else "comparison")
    pairs = {*map(sentences.named_sides, rows)}
    (a, b) = pairs.pop() if len(pairs) == 1 else (rows[0].a, rows[0].b)
    to = f" to {target}" if target and not rows[0].on.alone else ""
    if any(row.word.decided for row in rows):
        text = _counts_text(named_rows, a, b, to, total)
    elif testable is rows and rows[0].word is Verdict.UNAVAILABLE:
        reasons = dict.fromkeys(row.reason for row in rows if row.reason)
        text = f"No verdict{to} on any of {total}: {units.join_names([*reasons], 3, '; ')}"
    else:
        text = f"No significant difference between {b} and {a}{to} on any of {total}"
        if len(testable) < len(rows):
            text += f" ({len(rows) - len(testable)} more without a verdict)"
    mean_codes = [*dict.fromkeys(chain.from_iterable(against.conditions))]
    unlike_rows = [row for row in testable if row.sides_differ_in and not row.reason]
    if unlike_rows and (a, b) == (rows[0].a, rows[0].b):
        columns = Counter(name for row in unlike_rows for name in row.sides_differ_in)
        differences = (
            f"{'logged ' * (name == 'nodes')}{name} on {n}" for name, n in columns.items()
        )
        text += f"; the sides differ in {' and '.join(differences)} of {len(testable)}"
        mean_codes += [code for name, code in _UNLIKE.items() if name in columns]
    mean = _mean_text(rows, against.mean, mean_codes, total, confidence)
    numbers = f"{mean}{sentences.runs_text(rows)}."
    word, tone = sentences.judgement(rows)
    return Lead(word, f"{text}.", numbers[:1].upper() + numbers[1:], tone)


def _counts_text(named_rows: NamedRows, a: str, b: str, to: str, total: str) -> str:
    """Return the counts of verdicts in words, with those under conditions.

    `B is faster than A to the target of each on 8 of 40 benchmarks (3 with conditions: ...)`.
    """
    rows = [row for _, row in named_rows]
    counts, axis = Counter(row.word for row in rows), rows[0].on
    verbs = {
        Verdict.FASTER: axis.fill(axis.better).removeprefix("is "),
        Verdict.SLOWER: axis.fill(axis.worse).removeprefix("is "),
        Verdict.SAME: axis.same.removesuffix(" as").removeprefix("is "),
    }
    parts = list[str]()
    for word in (word for word in verbs if word in counts):
        verdict_rows = [row for row in rows if row.word is word]
        name = next(name for name, row in named_rows if row.word is word)
        n = f"all {total}" if counts[word] == len(rows) > 1 else f"{counts[word]} of {total}"
        first = f"{claim(word, a, b, axis)}{to} on {n}"
        text = f"{verbs[word]} on {counts[word]}" if parts else first
        first_row = verdict_rows[0]
        conditional_rows = [row for row in verdict_rows if row.conditions]
        details = [name] if len(verdict_rows) == 1 else []
        if len(verdict_rows) == 1 and word.directed and first_row.speedup:
            ratio = first_row.speedup
            if (a, b) == (first_row.a, first_row.b) and _UNLIKE.keys() & {
                *first_row.sides_differ_in
            }:
                details.append(f"{first_row.setup_b} against {first_row.setup_a}")
            details.append(sentences.factor_of(word, axis, ratio, ratio, ratio)[0])
        conditions = conditions_text(code for row in conditional_rows for code in row.conditions)
        if 0 < len(conditional_rows) < len(verdict_rows):
            details.append(f"{len(conditional_rows)} of them conditionally: {conditions}")
        elif conditional_rows and len(verdict_rows) < len(rows):
            details.append(conditions)
        text += f" ({', '.join(details)})" if details else ""
        parts.append(f"{text}, {conditions}" if len(conditional_rows) == len(rows) else text)
    names = {Verdict.UNDECIDED: "undecided", Verdict.UNAVAILABLE: "without a verdict"}
    parts += [f"{counts[word]} {name}" for word, name in names.items() if word in counts]
    return ", ".join(parts)


def _mean_text(
    rows: Rows, mean: MeanSpeedup | None, codes: Sequence[str], total: str, confidence: float
) -> str:
    """Return the geometric mean with its interval and the conditions of its rows."""
    if mean is None or mean.estimate is None:
        return ""
    level, text = percentages.percent_text(confidence), conditions_text(codes)
    limits = ""
    if mean.low and mean.high:
        # What the interval of the mean assumes, which no verdict on a row has to.
        condition = f", {text}" if text else ""
        limits = f" ({level} CI {units.factor_range(mean.low, mean.high)}{condition})"
    way = side_of(1, mean.low, mean.high)
    word = {1: Verdict.FASTER, -1: Verdict.SLOWER}.get(way)
    alone = word is not None and any(row.word is not word for row in rows)
    label = f"geometric mean {rows[0].on.ratio} over {total}{', not of each one:' if alone else ''}"
    return f"{label} {units.factor(mean.estimate)}{limits}; "


def conditions_of(contrast: Comparison) -> Iterator[str]:
    """Yield the codes of the assumptions of the interval of a speedup, decided or not."""
    speedup = contrast.speedup
    yield from contrast.verdict.conditions
    yield from (finding.code for finding in contrast.findings if finding.effect == "condition")
    if speedup and speedup.unseen_epochs:
        yield "constant_epochs"
    if speedup and speedup.doubts:
        yield "no_stragglers"


def caveats(report: Report) -> tuple[Remark, ...]:
    """Return the cautions of a comparison beyond its sentences, the most serious first."""
    condition_codes = {code for row in report.records for code in row.get("conditions") or ()}
    remarks = ranked_remarks(report)
    return tuple(
        remark for remark in remarks if remark.code in DOUBTS and remark.code not in condition_codes
    )
