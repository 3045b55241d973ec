"""Which words and numbers in the name of a run tell its setup, and which only tell it apart?

Numbers behind words such as `seed` and `run` count repetitions; so do numbers at the end that count
from 0 or 1. Dates, times, jobs and what programs make up say nothing. All else is of the setup:
`lr_0.1`, `wd=1e-3`, `bs64`, `resnet-18`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

#: No file has a longer name, and our expressions take the square of its length.
_LONGEST = 255
#: Words that count repetitions. The number behind one counts runs wherever it stands in a name.
WORDS = "seed|replicate|repeat|rep|run|trial|try|study|fold|version|jobid|job|slurm"
_RUN_COUNT = re.compile(
    rf"(?i)(?:^|(?<=[-_. =,+]))(?:random[-_]?)?(?P<word>{WORDS})"
    r"[-_=. ]?(?P<number>\d{1,10})(?=$|[-_ =,+]|\.(?!\d))"
)
_TIME = r"[0-2]\d[-_:.h]?[0-5]\d(?:[-_:.m]?[0-5]\d)?(?:[.,]\d+)?"
_DATE = r"(?:(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d|[0-3]\d[-_.][01]\d[-_.]20\d\d)"
#: Dates, times, seconds since 1970, and the names that programs make up: digests, UUIDs, the
#: trials of Ray.
_STAMP = re.compile(
    r"(?:^|(?<=[-_. ,+@]))(?:[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d"
    rf"|{_DATE}(?:[-_T .]?{_TIME}Z?)?|[0-2]\d[-_:][0-5]\d[-_:][0-5]\d"
    r"|1[5-9]\d{8}(?:\d{3}|\.\d+)?"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}"
    r"|[0-9a-f]{5,8}_\d{5}(?:_\d+)?)(?=$|[-_. ,+])"
)
#: A number so long is that of a job, unless it is round or a power of two, as sizes are.
_JOB = re.compile(r"(?:^|(?<=[-_. ]))\d{6,}(?=$|[-_ ]|\.(?!\d))")
#: Names that a program makes up for each run, and places that are the same for all.
_MADE_UP = re.compile(
    r"(?:offline-)?run-\d{8}_\d{6}-\w+|\d{6,}|[0-2]\d[-_:]\d\d[-_:]\d\d"
    r"|(?=[a-f]*\d)[0-9a-f]{8,}|(?:last-)?checkpoint(?:-\d+)?|latest",
    re.IGNORECASE,
)
#: A number at the end of a name, which counts runs only if the numbers beside it say so. It is no
#: fraction (`0.1`), no exponent (`1e-4`), no value (`lr=3`).
_AT_END = re.compile(
    r"(?P<before>|.*?(?:[A-Za-z)\]]|\d(?=[-_ ]|\.[srv])))"
    r"(?P<mark>(?:(?<=^)|[-_. ])(?P<letter>[srv])[-_=]?|(?<![0-9.]e)[-_. ]|(?<![0-9.]e))"
    r"(?P<number>\d{1,5})",
    re.IGNORECASE,
)
#: Words, as single letters, whose numbers say how large or how many, not which run.
_QUANTITY = re.compile(
    r"(?i)(?:^|.*[-_. =,+])(?:[a-z]|(?:lr|rate|wd|decay|bs|batch(?:es|size)?|size|drop(?:out)?|"
    r"alpha|beta|gamma|tau|eps(?:ilon)?|lambda|sigma|momentum|temp(?:erature)?|layers?|depth|"
    r"width|heads?|dims?|hidden|units|gpus?|nodes?|workers?|devices?|cores?|threads?|epochs?|steps?|"
    r"iters?|warmup|clip|noise|scale|levels?|stages?|degree|order|horizon|window|len(?:gth)?|bits?|"
    r"groups?|experts?|shots?|blocks?|stride|kernel|patch|clients?|top|accum)"
    r"[-_. ]?)"
)


def stem_of(name: str) -> str:
    """Return the name of a file without its endings, such as `_log.csv`, but with fractions."""
    stem = re.sub(r"(?:\.[A-Za-z]\w*)+$", "", name) or name
    return re.sub(r"(?i)(?<=.)[-_.](?:logs?|metrics|history|results?|progress)$", "", stem)


def split_run_number(name: str) -> tuple[str, int | None]:
    """Return a name without its run number and without dates, and the seed in it."""
    if len(name) > _LONGEST:
        return name, None
    if _MADE_UP.fullmatch(name):
        return "", None
    stem = _JOB.sub(_without_job, _STAMP.sub("", name))
    words = [(match["word"].lower(), int(match["number"])) for match in _RUN_COUNT.finditer(stem)]
    seeds = [number for word, number in words if word == "seed"]
    stem = _RUN_COUNT.sub("", stem)
    if stem != name:
        stem = re.sub(r"([-_. =,+])[-_. =,+]+", r"\1", stem).strip("-_. =,+")
    return stem, seeds[0] if seeds else None


def _without_job(match: re.Match[str]) -> str:
    """Return nothing in place of the number of a job, and a size as it is."""
    number = int(match[0])
    return match[0] if not number % 1000 or number & (number - 1) == 0 else ""


class Name(NamedTuple):
    """The name of a run, whether its settings are recorded, and its seed if that is known."""

    text: str
    recorded: bool = False
    seed: int | None = None


class Numbered(NamedTuple):
    """A name with a number at its end that may count runs; `mark` stands between both."""

    mark: str
    before: str
    letter: str
    number: int


def numbered(text: str) -> Numbered | None:
    """Return the number at the end of a name, unless it says how large or how many something is."""
    match = _AT_END.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    stem, mark, letter, number = match["before"], match["mark"], match["letter"], match["number"]
    if letter is None and _QUANTITY.fullmatch(stem + mark):
        return None
    return Numbered(mark, stem, (letter or "").lower(), int(number))


def strip_counts(names: Sequence[Name]) -> list[tuple[str, int | None]]:
    """Return names without numbers that count runs, and the seeds in them, of names side by side.

    `exp1` and `exp2` may be two setups: what tells is that others have the same numbers, or that
    the settings of all are known. A number that is the recorded seed of each run is no setup.
    """
    endings = [numbered(name.text) for name in names]
    recorded: dict[tuple[str, str], bool] = {}
    are_seeds: dict[tuple[str, str], bool] = {}
    numbers: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for name, ending in zip(names, endings, strict=True):
        if ending:
            key = ending.mark, ending.before
            recorded[key] = recorded.get(key, True) and name.recorded
            are_seeds[key] = are_seeds.get(key, True) and name.seed == ending.number
            numbers[key].add(ending.number)
    sets: defaultdict[str, Counter[frozenset[int]]] = defaultdict(Counter)
    for (mark, _), run_numbers in numbers.items():
        if len(run_numbers) > 1 and count_runs(run_numbers):
            sets[mark][frozenset(run_numbers)] += 1

    def is_count(ending: Numbered) -> bool:
        group, is_recorded = numbers[ending[:2]], recorded[ending[:2]]
        group_counts = sets[ending.mark]
        # Words that differ before equal numbers name setups: `adam1`, `sgd1`.
        is_apart = (
            ending.mark or not ending.before or is_recorded or group_counts[frozenset(group)] > 1
        )
        is_lone = max(group) <= 1 and (is_recorded or ending.letter == "s")
        return bool(is_apart) and (
            is_lone or any(group <= run_numbers for run_numbers in group_counts)
        )

    stripped: list[tuple[str, int | None]] = []
    for name, ending in zip(names, endings, strict=True):
        if ending and (are_seeds[ending[:2]] or is_count(ending)):
            stripped.append((ending.before, ending.number if ending.letter == "s" else None))
        else:
            stripped.append((name.text, None))
    return stripped


def count_runs(numbers: Collection[int]) -> bool:
    """Return whether numbers count from 0 or 1 with few gaps, and do not double: 1, 2, 4."""
    lowest, highest = min(numbers), max(numbers)
    doubling = highest > 2 and all(number and number & (number - 1) == 0 for number in numbers)
    return lowest <= 1 and len(numbers) >= 2 / 3 * (highest - lowest + 1) and not doubling
