"""Where a promise is broken, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.coverage.blocks import FEW_OF_A
from benchmarks.coverage.figures import Figure, breaks_promise, could_be_chance

UNEXPLAINED = "No reason is known yet."


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some figures miss, and what a user sees of it."""

    text: str
    applies: Callable[[Figure], bool]


def _of(*quantities: str) -> Callable[[Figure], bool]:
    return lambda figure: figure.quantity in quantities


def _unequal(figure: Figure) -> bool:
    # Epochs that vary continuously never look constant: only the sizes are left as a reason.
    continuous = figure.setup.startswith("LN") and not figure.quantity.startswith("ERT")
    decides = figure.quantity in {"speedup, deciding", "claims ‡"}
    return "+" in figure.runs and (decides or continuous)


def _looks_constant(figure: Figure) -> bool:
    printed = figure.quantity in {"speedup, printed", "geometric means"}
    return printed and figure.setup != "CONST"


def _failures_on_one_side(figure: Figure) -> bool:
    both_can_fail = " 0% fail" not in figure.setup and "against none" not in figure.setup
    return figure.quantity.startswith("ERT") and figure.runs == "5+30" and both_can_fail


#: The first that applies is given.
REASONS = (
    Reason(
        "Sides of different size, whose times are skewed or differ in spread: where the few runs "
        "carry most of the spread, its estimate and Satterthwaite's degrees of freedom are rough. "
        'The note "unbalanced" appears from two runs to one on; equal sides avoid it. Claims '
        "of such sides carry ‡ unless they allow for failures too, and then hold.",
        _unequal,
    ),
    Reason(
        "A side whose epochs vary happened to show one value only, so that the interval that is "
        "printed cannot know of the others: five runs of TRF agree in 17 % of the samples, five of "
        "RARE10 in 59 %. `compare` marks such a row with ᵉ, prints the epoch-safe interval below, "
        "lets that one decide, and adds a † to a claim it does not support. Of unequal sides the "
        "smaller one is the likelier to look constant; where the deciding interval misses too, the "
        "next reason adds to this.",
        _looks_constant,
    ),
    Reason(
        'The same cause in the line "why": its epochs part has no epoch-safe version of its own. '
        "Where the row is marked ᵉ, its interval of the epochs says no more than the printed one "
        "of the speedup. The throughput part is not affected.",
        _of("epochs"),
    ),
    Reason(
        "The smaller side happened to have no failed run, so that its expected time looks certain, "
        "while the larger one shows its failures: five runs of which 20 % fail are all good in "
        '33 % of the samples. Claims from such samples carry ‡, and the note "unbalanced" is '
        "given. Between equal sides the failures seen are few enough to keep the interval wide: "
        "give both sides the same number of runs.",
        _failures_on_one_side,
    ),
    Reason(
        "The sample held no failed run, or no slow one, and an interval cannot know of what was "
        "not seen: five runs of which 40 % fail are all good in 8 % of the samples. `compare` does "
        "not show expected times then, but mean times, with the epoch-safe rule (see the tables of "
        "what is shown and claimed). Five of five leave room for a failure rate of up to 45 %.",
        _of("ERT, always"),
    ),
    Reason(
        "A value that one run in ten, or in thirty, takes is absent from many samples, and too "
        "frequent in the others. Constant epochs are allowed for, with one evaluation interval; a "
        "value that was seen once is taken at its face.",
        _of("CV"),
    ),
    Reason(
        "The row adds up the printed intervals of its benchmarks, which do not allow for unseen "
        "epochs. Where many rows are marked ᵉ, its interval is too narrow.",
        _of("geometric mean row"),
    ),
    Reason(
        "A value of the epochs that one run in ten takes is seen once or twice: the jackknife of "
        "so few is rough. Take the interval for a guide; below 10 runs none is shown.",
        _of("share of epochs"),
    ),
    Reason(
        "So few runs have so few outcomes that the coverage of any interval jumps about its goal. "
        "Wilson's is right on average over the true fractions; the interval of Clopper and Pearson "
        "never covers less, and is wider.",
        _of("Wilson", "Newcombe"),
    ),
    Reason(
        "Sides of different size whose qualities are skewed, or normal with few runs on one side: "
        "the spread of three runs is a rough guess, and rests on what they happened to show. The "
        'note "unbalanced" appears from two runs to one on; equal sides avoid it.',
        lambda f: f.quantity in {"quality difference", "quality claims"} and "+" in f.runs,
    ),
    Reason(
        "Two runs of A against eight of B: as without blocks, the spread of so few is a guess. The "
        'note "unbalanced" is given; equal sides avoid it.',
        lambda f: f.quantity.startswith("blocks") and f.runs in FEW_OF_A,
    ),
    Reason(
        "Few entries have so many runs, so that the figure is uncertain itself: see its error.",
        lambda figure: figure.quantity.startswith("real"),
    ),
    Reason("Within two standard errors of the goal: chance would do.", could_be_chance),
)


def explained(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    """Give the figures that break their promise, by the reason."""
    found: dict[str, list[Figure]] = {}
    for figure in filter(breaks_promise, figures):
        reasons = (reason.text for reason in REASONS if reason.applies(figure))
        found.setdefault(next(reasons, UNEXPLAINED), []).append(figure)
    return found
