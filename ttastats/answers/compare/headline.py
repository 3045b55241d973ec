"""What does a whole comparison come to: yes or no, by how much, and what is to be distrusted?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ttastats.answers.compare.verdicts import carried, factor_of, p_text
from ttastats.base import percentages, units
from ttastats.base.codes import SHORT
from ttastats.outcomes.axis import of_row
from ttastats.report.answer import Against, Report
from ttastats.sides.design.findings import POOLED
from ttastats.sides.pairing import SAME_RUNS
from ttastats.stats.verdict import Tone, Verdict

Numbers = Mapping[str, Any]
Rows = Sequence[Numbers]


@dataclass(frozen=True, slots=True)
class Headline:
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
        """Give it as one would say it."""
        return f"{self.word}: {self.claim}."


@dataclass(frozen=True, slots=True)
class Caveat:
    """What is to be distrusted, in a few words, and in whole sentences."""

    text: str
    more: str
    tone: Tone = "plain"


def headlines(report: Report, confidence: float = 0.95) -> tuple[Headline, ...]:
    """Give the answer of a comparison of times for each table held against the baseline."""
    return tuple(_headline(one, confidence) for one in report.against)


def _headline(whole: Against, confidence: float) -> Headline:
    """Return the answer of one table; rows with the same runs on both sides take no part in it."""
    rows = tuple(row for row in whole.rows if row["claim"] != SAME_RUNS) or whole.rows
    found = replace(whole, rows=rows)
    word, tone = _word(Counter(row["verdict"] for row in rows))
    numbers = "; ".join((*_ratio(found, confidence), _runs(rows)))
    numbers = numbers[:1].upper() + numbers[1:]
    condition = ", ".join(dict.fromkeys(filter(None, map(carried, rows))))
    claim = _claim(found)
    if same := len(whole.rows) - len(rows):
        claim += f"; {units.plural(same, 'other row')} with the same runs on both sides left out"
    tone = "bad" if any(POOLED in row["conditions"] and carried(row) for row in rows) else tone
    return Headline(word, claim, numbers, tone, condition)


def _word(verdicts: Counter[str]) -> tuple[str, Tone]:
    (most, count), total = verdicts.most_common(1)[0], verdicts.total()
    verdict = Verdict(most)
    if count == total:
        return verdict.answer, verdict.tone
    if 2 * count > total:
        return f"Mostly {verdict.answer.lower()}", verdict.tone
    return "It depends", "plain"


def _claim(found: Against) -> str:
    rows = found.rows
    row, words = rows[0], [each["verdict"] for each in rows]
    axis, a, b = of_row(row), row["a"], row["b"]
    how = _by(found)
    if how and set(words) == {"faster"}:
        return f"{b} {axis.does(axis.better, how)} than {a} to the same quality"
    if how and set(words) == {"slower"}:
        return f"{b} {axis.does(axis.worse, how)} than {a} to the same quality"
    if len(rows) == 1 and words[0] == "same":
        return f"{b} {axis.same} {a} ({axis.claim(row['claim'])})"
    if len(rows) == 1 and row["estimand"] == "fraction":
        each = (f"{row[f'reached_{x}']} of {row[f'n_{x}']} runs of {row[x]}" for x in "ab")
        return f"{' and '.join(each)} reached the target"
    if not any(Verdict(word).decided for word in words):
        return _undecided(found)
    return _counted(rows, words)


def _counted(rows: Rows, words: Sequence[str]) -> str:
    """Say on how many rows each verdict stands: `B is faster than A on 8 of 40 benchmarks, ...`."""
    axis, a, b = of_row(rows[0]), rows[0]["a"], rows[0]["b"]
    verbs = {
        "faster": (f"{axis.does(axis.better)} than {a}", axis.does(axis.better)),
        "slower": (f"{axis.does(axis.worse)} than {a}", axis.does(axis.worse)),
        "same": (f"{axis.same} {a}", axis.same.removesuffix(" as")),
    }
    there = [word for word in verbs if word in words]
    first, *others = there
    said = (
        f"{b} {verbs[first][0]} on {words.count(first)} of {units.plural(len(rows), _noun(rows))}"
    )
    if words.count(first) == 1 == sum(words.count(word) for word in there):
        said += f" ({_one(rows[words.index(first)])})"
    more = [f"{verbs[word][1].removeprefix('is ')} on {words.count(word)}" for word in others]
    more += [
        f"{words.count(word)} {text}"
        for word, text in (("undecided", "undecided"), ("unavailable", "without a verdict"))
        if word in words
    ]
    return ", ".join((said, *more))


def _by(found: Against) -> str | None:
    """Give the factor of the one row, or of the mean of several; None where there is none."""
    row, mean = found.rows[0], found.mean
    ratio = row["speedup"] if len(found.rows) == 1 else mean.estimate if mean else None
    word = row["verdict"]
    if not ratio or (ratio > 1) != (word == "faster"):
        return None
    return _factor(ratio, row)


def _factor(ratio: float, row: Numbers) -> str:
    alone = {"speedup": ratio, "speedup_low": ratio, "speedup_high": ratio}
    return factor_of(alone, "faster" if ratio >= 1 else "slower", of_row(row))[0]


def _one(row: Numbers) -> str:
    """Say of the only decided row what it is of, and by how much."""
    name = row["benchmark"] or "these runs"
    return f"{name}, {_factor(row['speedup'], row)}" if row["speedup"] else name


def _noun(rows: Rows) -> str:
    return "benchmark" if len({row["benchmark"] for row in rows}) == len(rows) else "comparison"


def _undecided(found: Against) -> str:
    """Say between which ends the truth lies where nothing is decided."""
    rows, mean = found.rows, found.mean
    a, b = rows[0]["a"], rows[0]["b"]
    reasons = {row["claim"] for row in rows if row["verdict"] == "unavailable"}
    if len(reasons) == 1 and all(row["verdict"] == "unavailable" for row in rows):
        return str(reasons.pop() or "no data").removeprefix("no verdict: ")
    low, high = (
        (rows[0]["speedup_low"], rows[0]["speedup_high"])
        if len(rows) == 1
        else (mean.low, mean.high)
        if mean
        else (None, None)
    )
    on = "" if len(rows) == 1 else f" on any of {units.plural(len(rows), _noun(rows))}"
    axis = of_row(rows[0])
    if low is None or high is None:
        return f"no significant difference between {b} and {a}{on}"
    between = f"{b} {'is' if axis.is_time else 'needs'} {_between(low, high, rows[0])} than {a}"
    if len(rows) == 1:
        return between
    however = "" if low <= 1 <= high else "however, "
    return f"no significant difference{on}; overall, {however}{between}"


def _between(low: float, high: float, row: Numbers) -> str:
    """Give `between 1.1× slower and 2× faster`, or `between 1.5× and 2× faster`."""
    axis = of_row(row)
    words = [axis.less if end >= 1 else axis.more for end in (low, high)]
    first = f" {words[0]}" if words[0] != words[1] else ""
    return f"between {_factor(low, row)}{first} and {_factor(high, row)} {words[1]}"


def _ratio(found: Against, confidence: float) -> Iterator[str]:
    """Give the speedup with its interval and, of one row, its p."""
    rows, mean = found.rows, found.mean
    axis = of_row(rows[0])
    row = rows[0]
    if len(rows) > 1:
        estimate, low, high = (mean.estimate, mean.low, mean.high) if mean else (None,) * 3
        what, p = f"geometric mean {axis.ratio} over {units.plural(len(rows), _noun(rows))}", ""
    else:
        estimate, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
        what, p = axis.ratio, p_text(row, "; {}")
    if estimate is None:
        return
    limits = f"{percentages.text(confidence)} CI {low:.2f} to {high:.2f}×" if low and high else ""
    inside = f"{limits}{p}".removeprefix("; ")
    yield f"{what} {estimate:.2f}×" + (f" ({inside})" if inside else "")


def _runs(rows: Rows) -> str:
    """Give n on both sides, and how many of them did not reach."""
    n = {side: sum(row[f"n_{side}"] for row in rows) for side in "ab"}
    failed = {side: n[side] - sum(row[f"reached_{side}"] for row in rows) for side in "ab"}
    text = f"{units.plural(n['a'], 'run')} against {n['b']:,}"
    if not any(failed.values()):
        return f"{text}, all reached the target"
    said = (f"{failed[side]:,} of {rows[0][side]}" for side in "ab")
    return f"{text}; {' and '.join(said)} did not reach the target"


# ---------------------------------------------------------------------------------------- caveats

#: Notes that say what to distrust, worst first.
_DOUBTS: dict[str, Tone] = {
    **dict.fromkeys(
        (POOLED, "mixed_speeds", "targets_differ", "runs_vary", "no_success", "failed_runs",
         "one_run", "contended", "fixed_length", "convergence_differs"),
        "bad",
    ),
    **dict.fromkeys(
        ("no_stragglers", "constant_epochs", "batch_sizes", "unsteady", "unbalanced",
         "separate_sessions", "few_runs", "unmatched", "shared_runs", "copies"),
        "plain",
    ),
}  # fmt: skip


def caveats(report: Report) -> tuple[Caveat, ...]:
    """Give what is to be distrusted, worst first: of how many rows, and the whole notes."""
    notes: dict[str, list[str]] = {}
    for note in report.notes:
        notes.setdefault(note.code, []).append(note.text)
    return tuple(
        Caveat(SHORT[code] + _share(code, report.rows), " ".join(notes[code]), tone)
        for code, tone in _DOUBTS.items()
        if code in notes
    )


def _share(code: str, rows: Rows) -> str:
    """Say which rows a flag is of, where it is not of all."""
    of = [row for row in rows if code in row["flags"]]
    if not of or len(of) == len(rows):
        return ""
    return f": {of[0]['benchmark']}" if len(of) == 1 else f": {len(of)} of {len(rows)}"
