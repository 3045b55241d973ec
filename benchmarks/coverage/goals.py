"""What was asked for, and which figures answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.coverage.blocks import FEW_OF_A
from benchmarks.coverage.figures import Figure
from benchmarks.coverage.simulations import BALANCED


@dataclass(frozen=True, slots=True)
class Goal:
    """What was asked for; `asks` tells which figures answer."""

    text: str
    asks: Callable[[Figure], bool]


#: Tables of false claims in which no run fails or straggles, so that the condition of ‡ is true.
_STEADY = frozenset({"claims ‡", "margin ‡"})
_FAMILIES = frozenset({"any claim after Holm", "any claim about the margin"})


#: Of a difference of qualities, and of a mean against a number.
_OF_DIFFERENCES, _OF_NUMBERS = "quality claims", "claim, "


#: Of sets of runs of one setup.
_OF_SESSIONS = "sessions: beyond"
#: Of tables of entries.
_OF_RANKS = "ranks: missed"
#: Of levels of a setting that fail alike.
_OF_SETTINGS = "effects: failures"


def _of_qualities(figure: Figure) -> bool:
    return figure.quantity == _OF_DIFFERENCES or figure.quantity.startswith(_OF_NUMBERS)


def _unmarked(figure: Figure) -> bool:
    times = figure.kind == "false claim" and not _of_qualities(figure)
    times = times and figure.quantity not in {_OF_SESSIONS, _OF_SETTINGS, _OF_RANKS}
    return times and "‡" not in figure.quantity and not figure.quantity.startswith("sequential")


def _equal(figure: Figure) -> bool:
    return "+" not in figure.runs


_IN_BLOCKS = frozenset({"blocks: covered", "blocks: qualities"})


def _equal_in_blocks(figure: Figure) -> bool:
    return figure.runs not in FEW_OF_A


def _can_fail(figure: Figure) -> bool:
    return " 0% fail" not in figure.setup


GOALS = (
    Goal(
        "Speedup: the deciding interval covers at least 94 %, n = 5 a side",
        lambda f: f.quantity == "speedup, deciding" and f.runs == "5",
    ),
    Goal(
        "The same, n = 10 and 30 a side",
        lambda f: f.quantity == "speedup, deciding" and f.runs in {"10", "30"},
    ),
    Goal(
        "Claims without a mark: at most 6 % false in every cell whose runs are like those seen",
        lambda f: _unmarked(f) and f.quantity not in _FAMILIES,
    ),
    Goal(
        "Claims with ‡ alone, where no run fails or straggles: at most 6 % false, equal sides",
        lambda f: f.quantity in _STEADY and f.runs in BALANCED,
    ),
    Goal(
        "Many benchmarks: any false claim in at most 6 % of the comparisons",
        lambda f: f.quantity in _FAMILIES,
    ),
    Goal(
        "Rare events: the interval for stragglers too covers at least 94 % in every case",
        lambda f: f.quantity.endswith(": robust"),
    ),
    Goal(
        "Pooled systems: the deciding interval covers at least 94 %, by system",
        lambda f: f.quantity == "systems: deciding" and f.kind == "coverage",
    ),
    Goal(
        "ERT: the interval covers at least 94 % where a run failed, equal sides",
        lambda f: f.quantity == "ERT, shown" and f.runs in BALANCED,
    ),
    Goal(
        "ERT: the same in all samples of sides that can fail, none seen or not",
        lambda f: f.quantity == "ERT, always" and f.runs in BALANCED and _can_fail(f),
    ),
    Goal(
        "A look after every run a side, from 3 on: at most 6 % falsely decided at any of them",
        lambda f: f.quantity in {"sequential, deciding", "sequential, any after Holm"},
    ),
    Goal(
        "Within 2 to 5 blocks: the deciding interval covers at least 94 %, equal sides",
        lambda f: f.quantity in _IN_BLOCKS and f.kind == "coverage" and _equal_in_blocks(f),
    ),
    Goal(
        "Within 2 to 5 blocks: claims without a †, no run fails, at most 6 % false, equal sides",
        lambda f: (
            f.quantity.startswith("blocks: claims")
            and f.kind == "false claim"
            and _equal_in_blocks(f)
        ),
    ),
    Goal(
        "Effects of settings: the interval covers at least 94 %",
        lambda f: f.quantity == "effects: covered" and f.kind == "coverage",
    ),
    Goal(
        "Effects of settings: at most 6 % of levels that fail alike are told apart",
        lambda f: f.quantity == _OF_SETTINGS and f.kind == "false claim",
    ),
    Goal(
        "Sessions of one setup: two more lie beyond the smallest claim in at most 6 %",
        lambda f: f.quantity == _OF_SESSIONS and f.kind == "false claim",
    ),
    Goal(
        "Qualities at a budget: the interval of the difference covers at least 94 %, equal sides",
        lambda f: f.quantity == "quality difference" and _equal(f),
    ),
    Goal(
        "Qualities at a budget: at most 6 % false claims, equal sides",
        lambda f: f.quantity == _OF_DIFFERENCES and _equal(f),
    ),
    Goal(
        "A mean against a number: at most 6 % hold falsely without a condition",
        lambda f: f.quantity.startswith(_OF_NUMBERS) and f.kind == "false claim",
    ),
    Goal(
        "Ranks: an interval misses in at most 6 % of the tables",
        lambda f: f.quantity == _OF_RANKS and f.kind == "false claim",
    ),
    Goal(
        "Changes over nights: size and nights of a step are covered in at least 94 %",
        lambda f: f.quantity in {"history: size", "history: nights"},
    ),
    Goal(
        "Real runs: the deciding interval covers at least 94 %",
        lambda f: f.quantity == "real: deciding",
    ),
    Goal(
        "Real runs: at most 6 % false claims, without a mark or with ‡ alone",
        lambda f: f.quantity in {"real: claims", "real: claims ‡"},
    ),
)
