"""Where a promise is broken, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.coverage.blocks import FEW_OF_A
from benchmarks.coverage.figures import Figure, breaks_promise, could_be_chance

UNEXPLAINED = "No reason is known yet."
CHANCE = "Within two standard errors of the goal, perhaps by chance:"


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
        "Sides of different size, with skewed times or different spreads. The note "
        '"unbalanced" appears from two runs to one on. Claims of such sides say so (here ‡) unless '
        "they allow for failures too, and then hold.",
        _unequal,
    ),
    Reason(
        "A side whose epochs vary happened to show one value only, which the printed interval "
        "cannot know: five runs of TRF agree in 17 % of the samples, five of RARE10 in 59 %. "
        "`compare` marks such a row with ᵉ, lets the epoch-safe interval decide, and adds a † to a "
        "claim which that interval does not support.",
        _looks_constant,
    ),
    Reason(
        'The same cause in the line "why": the epochs part has no epoch-safe interval of its own. '
        "The throughput part is not affected.",
        _of("epochs"),
    ),
    Reason(
        "The smaller side happened to have no failed run: five runs of which 20 % fail all succeed "
        "in 33 % of the samples. Claims from such samples carry ‡.",
        _failures_on_one_side,
    ),
    Reason(
        "The sample had no failed run, or no slow one: five runs of which 40 % fail all succeed in "
        "8 % of the samples. `compare` then shows mean times with the epoch-safe rule.",
        _of("ERT, always"),
    ),
    Reason(
        "A value of the epochs that one run in ten, or in thirty, takes is absent from many "
        "samples and too frequent in the others.",
        _of("CV"),
    ),
    Reason(
        "The row combines the printed intervals of its benchmarks, which do not allow for "
        "unobserved epochs. Where many rows are marked ᵉ, its interval is too narrow.",
        _of("geometric mean row"),
    ),
    Reason(
        "The jackknife of a value of the epochs that occurs once or twice is rough.",
        _of("share of epochs"),
    ),
    Reason(
        "So few runs have so few outcomes that the coverage of any interval varies.",
        _of("Wilson", "Newcombe"),
    ),
    Reason(
        "Sides of different size with skewed qualities, or few runs on one side. The note "
        '"unbalanced" appears.',
        lambda f: f.quantity in {"quality difference", "quality claims"} and "+" in f.runs,
    ),
    Reason(
        'Two runs of A against eight of B within blocks. The note "unbalanced" appears.',
        lambda f: f.quantity.startswith("blocks") and f.runs in FEW_OF_A,
    ),
    Reason(
        "Few entries have so many runs, so that the figure itself is uncertain: see its error.",
        lambda figure: figure.quantity.startswith("real"),
    ),
    Reason(CHANCE, could_be_chance),
)


def explained(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    """Return the figures that break their promise, by the reason."""
    missed = [(figure, _reason(figure)) for figure in figures if breaks_promise(figure)]
    texts = (*(reason.text for reason in REASONS), UNEXPLAINED)
    by_reason = {text: [figure for figure, reason in missed if reason == text] for text in texts}
    return {text: misses for text, misses in by_reason.items() if misses}


def _reason(figure: Figure) -> str:
    return next((reason.text for reason in REASONS if reason.applies(figure)), UNEXPLAINED)
