"""What the page of results holds: its goals, and its tables in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.coverage.figures import Figure
from benchmarks.coverage.simulations import BALANCED


@dataclass(frozen=True, slots=True)
class Section:
    """Tables under one heading: `tables` are pairs of a quantity and what its table shows."""

    heading: str
    text: str
    tables: tuple[tuple[str, str], ...]


SECTIONS = (
    Section(
        "The speedup, when every run reached the target",
        "The true speedup is 1: both sides have the same mean time. In the first nine rows they "
        "have the same distribution, in the others only the mean is the same.",
        (
            ("speedup, printed", "Coverage, %, of the interval that is printed (delta-Welch)."),
            (
                "speedup, deciding",
                "Coverage, %, of the interval that decides: the epoch-safe one where every run of "
                "a side took the same number of epochs, the printed one elsewhere.",
            ),
            ("claims", 'False claims, %: "faster" or "slower" without a dagger.'),
            (
                "claims with a dagger",
                'The same with a dagger, %, which means "if epochs to target really are '
                'constant". In TRF, GNMT, RARE10 and RARE03 they are not: that is what the dagger '
                "warns of, and it promises nothing.",
            ),
        ),
    ),
    Section(
        "Power",
        "How often B is called faster when it is, by a true factor of 1.1 or 1.2.",
        (
            ("faster", '"faster", %.'),
            ("faster with a dagger", '"faster †", %, not contained in the table above.'),
        ),
    ),
    Section(
        "Claims about a margin",
        "B is slower by 10 %, which is the margin. How often is it claimed to be as fast, or not "
        "slower by more than 10 % (what `--require not-slower:10%` lets pass)? 5 % are allowed.",
        (("margin", "False claims, %."),),
    ),
    Section(
        "When runs fail",
        'A failed run stops after 2 mean times of a success ("early": after 0.3). The ratio '
        "of expected times to a success (ERT) is shown when a run of either side failed; a sample "
        "of a side that sometimes fails may hold no failure.",
        (
            ("ERT, shown", "Coverage, %, of the ERT interval where it is shown."),
            ("ERT, always", "Coverage, %, of the ERT interval in all samples, shown or not."),
            ("ERT, claims", "False claims, %, without a dagger, where both ERT are equal."),
            (
                "ERT, none",
                "Samples, %, in which a side had no success, so that there is no interval and the "
                "fractions reached decide.",
            ),
        ),
    ),
    Section(
        "The coefficient of variation",
        "The interval that `summary` prints, and `compare --wide`; the logs tell epochs and the "
        "evaluation quantum, but for LN15 and LN45.",
        (("CV", "Coverage, %."),),
    ),
    Section(
        "The parts of a speedup",
        'The line "why": ratios of mean time per epoch and of mean epochs.',
        (("throughput", "Throughput: coverage, %."), ("epochs", "Epochs: coverage, %.")),
    ),
    Section(
        "Geometric means",
        "`--estimand geomean`: the printed interval. Its true value differs from 1 in the last "
        "four rows, where the arithmetic means are equal.",
        (("geometric means", "Coverage, %."),),
    ),
    Section(
        "Several benchmarks at once",
        "Five benchmarks of which none differs.",
        (
            ("geometric mean row", 'Coverage, %, of the row "geo-mean".'),
            ("any claim after Holm", "Comparisons, %, with any false claim without a dagger."),
        ),
    ),
    Section(
        "The verdict at other targets",
        "What `ttastats targets` says of runs with the same mean time to the target asked about.",
        (("targets", "False claims, %."),),
    ),
    Section(
        "The fraction reached",
        "Computed exactly, without drawing. Newcombe's interval is that of the difference of two "
        "sides, which is 0 here.",
        (("Wilson", "Wilson: coverage, %."), ("Newcombe", "Newcombe: coverage, %.")),
    ),
    Section(
        "The share of epochs in the variance",
        "What `variance` prints from 10 runs on; a quarter of the replicates.",
        (("share of epochs", "Coverage, %."),),
    ),
)


@dataclass(frozen=True, slots=True)
class Goal:
    """What was asked for, and which figures answer."""

    text: str
    asks: Callable[[Figure], bool]


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
        "Verdict: at most 6 % false claims, equal sides",
        lambda f: f.quantity == "claims" and f.runs in BALANCED,
    ),
    Goal(
        "The same, when runs fail, equal sides",
        lambda f: f.quantity == "ERT, claims" and f.runs in BALANCED and _can_fail(f),
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
        "Real runs: the deciding interval covers at least 94 %",
        lambda f: f.quantity == "real: deciding",
    ),
    Goal("Real runs: at most 6 % false claims", lambda f: f.quantity == "real: claims"),
)

#: Columns of the table of real runs, by quantity.
REAL = {
    "real: printed": "printed interval",
    "real: deciding": "deciding interval",
    "real: claims": "false claims",
    "real: claims with a dagger": "with a dagger",
    "real: throughput": "throughput",
    "real: epochs": "epochs",
}
