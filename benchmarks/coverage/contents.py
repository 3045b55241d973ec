"""The sections of the page, their quantities, and what each quantity means."""

from __future__ import annotations

from dataclasses import dataclass

Quantities = tuple[tuple[str, str], ...]
"""Quantities, and what each is."""


@dataclass(frozen=True, slots=True)
class Section:
    """Quantities that were measured with the same setups, which `text` describes."""

    heading: str
    text: str
    quantities: Quantities


def _claims(prefix: str) -> Quantities:
    return (
        (f"{prefix}claims", "False claims without a mark, %."),
        (f"{prefix}claims ‡", "False claims with ‡ alone, %."),
        (f"{prefix}claims †", "False claims with †, %."),
    )


def _case(group: str, heading: str, text: str) -> Section:
    intervals = (
        (f"{group}: printed", "Coverage, %, of the interval that is printed."),
        (f"{group}: deciding", "Coverage, %, of the interval that decides: the epoch-safe one."),
        (f"{group}: robust", "Coverage, %, of the interval that allows for stragglers too."),
    )
    return Section(heading, text, (*intervals, *_claims(f"{group}: ")))


SECTIONS = (
    Section(
        "The speedup, when every run reached the target",
        "The true speedup is 1: both sides have the same mean time. In the first nine setups they "
        "have the same distribution, in the others only the mean is the same.",
        (
            ("speedup, printed", "Coverage, %, of the interval that is printed (delta-Welch)."),
            (
                "speedup, deciding",
                "Coverage, %, of the interval that decides: the epoch-safe one where every run of "
                "a side took the same number of epochs, the printed one elsewhere.",
            ),
            ("claims", 'False claims, %: "faster" or "slower" without a mark.'),
            (
                "claims ‡",
                'The same with ‡ alone, %: "if no further run fails or straggles", or "with '
                'unequal numbers of runs". None fails here, so that these are held to 6 % too.',
            ),
            (
                "claims †",
                'The same with a †, %: "if epochs to target really are constant". In TRF, GNMT, '
                "RARE10 and RARE03 they are not: that is what it warns of, and it promises "
                "nothing.",
            ),
        ),
    ),
    Section(
        "Power",
        "How often B is called faster when it is, by the true factor that is given, and with "
        "which mark: what the marks cost. Nothing is wrong with these runs.",
        (
            ("faster", '"faster", without a mark, %.'),
            ("faster ‡", '"faster ‡", %, without those of `faster`.'),
            ("faster †", '"faster †" or "faster †‡", %, without the other two.'),
        ),
    ),
    Section(
        "Claims about a margin",
        "B is slower by 10 %, which is the margin. How often is it claimed to be as fast, or not "
        "slower by more than 10 % (what `--require not-slower:10%` lets pass)? 5 % are allowed. No "
        "run fails or straggles.",
        (
            ("margin", "False claims without a mark, %."),
            ("margin ‡", "False claims with ‡ alone, %."),
            ("margin †", "False claims with †, %."),
        ),
    ),
    Section(
        "When runs fail",
        'A failed run stops after 2 mean times of a success ("early": after 0.3). The ratio '
        "of expected times to a success (ERT) is shown when a run of either side failed; a sample "
        "of a side that sometimes fails may hold no failure.",
        (
            ("ERT, shown", "Coverage, %, of the ERT interval where it is shown."),
            ("ERT, always", "Coverage, %, of the ERT interval in all samples, shown or not."),
            ("ERT, claims", "False claims, %, without a mark, where both ERT are equal."),
            ("ERT, claims ‡", "False claims, %, with ‡ alone, which promises nothing here."),
            ("ERT, claims †", "False claims, %, with †."),
            (
                "ERT, none",
                "Samples, %, in which a side had no success, so that there is no interval and the "
                "fractions reached decide.",
            ),
        ),
    ),
    _case(
        "failures",
        "Failed runs with constant epochs, and failures on one side",
        "Expected times to a success are equal. In the first setups both sides crash quickly, so "
        "that an expected time is shown where epochs look constant; in the others only B fails.",
    ),
    _case(
        "stragglers",
        "Stragglers",
        "One run in 20 takes three times as long; mean times are equal. Five runs hold none of "
        "them in 77 % of the samples.",
    ),
    Section(
        "Failures that a sample does not show",
        "Expected times to a success are equal, but runs of a side are cut off, diverge, crash or "
        "straggle, and many samples hold none of these. `alone`: nothing else is known, which is "
        "what was claimed before other clues counted. `with 4 more rows`: four other rows of the "
        "same benchmark, made alike. `all of one length`: every run goes on to the same end. With "
        '"80% power" B is faster by as much as so many runs find in 80 %, and no run fails: an end '
        "of all runs lies where one in 10,000 would. 1,000 replicates.",
        (
            *_claims("cut off: "),
            ("cut off: right", "Right claims without a mark, %."),
            ("cut off: right ‡", "Right claims with ‡ alone, %."),
            ("cut off: right †", "Right claims with †, %."),
            (
                "cut off: throughput",
                'Intervals of the throughput in the line "why" that miss, %, without a mark.',
            ),
            ("cut off: throughput ‡", "The same with ‡, %."),
        ),
    ),
    Section(
        "Stragglers at a gate",
        "B is slower by 2 %, stragglers included. How often is it claimed not to be slower by "
        "more than 2 % (what `--require not-slower:2%` asks)?",
        (
            ("gate", "False claims without a mark, %."),
            ("gate ‡", "False claims with ‡ alone, %."),
            ("gate †", "False claims with †, %."),
        ),
    ),
    Section(
        "A margin between sides of unequal size",
        "B is slower by 10 %, which is the margin, or as fast as A; claims are those of the "
        "section on a margin. With stragglers, one run in ten takes 1.3 times as long on both "
        "sides: five runs hold none in 59 % of the samples.",
        (
            ("unequal margin", "False claims without a condition, %."),
            ("unequal margin ‡", 'False claims "with unequal numbers of runs" or with ‡, %.'),
            ("unequal margin †", "False claims with †, %."),
            ("unequal right", "Right claims without a condition, %, of equal sides."),
            ("unequal right ‡", "Right claims with such a condition, %."),
            ("unequal right †", "Right claims with †, %."),
        ),
    ),
    _case("unequal", "Many runs against few", "Mean times are equal, and no run fails."),
    _case(
        "epochs",
        "Epochs that are rare, far, coarse, not logged, or tied to the time per epoch",
        "Mean times are equal. Mask R-CNN draws from the epochs of 165 published runs. A far "
        "value lies beyond one evaluation interval, which is all that the epoch-safe interval "
        "allows for. Where epochs are not logged every claim carries a †, and the intervals that "
        "allow for epochs are without bounds.",
    ),
    _case(
        "sessions",
        "Sides run in different sessions",
        "All runs of a side share a session; the setups are the same. Runs cannot show how much "
        "sessions differ: `compare` warns where all runs of one side were started before those "
        "of the other.",
    ),
    Section(
        "Pooled systems",
        "Each side pools systems of 5 runs each, which differ by 20 % while runs of one differ by "
        "2 %; their means are equal. By system is what `compare` does; by run is what it would be "
        "to take the runs for independent, which promises nothing.",
        (
            ("systems: deciding", "Coverage, %, of the interval that decides."),
            *_claims("systems: "),
        ),
    ),
    Section(
        "The coefficient of variation",
        "The interval that `summary` prints, and `compare --wide`; the logs tell epochs and the "
        "evaluation interval.",
        (
            ("CV", "Coverage, %, of the intervals that are printed."),
            ("CV, printed", "Samples, %, with an interval."),
        ),
    ),
    Section(
        "The coefficient of variation of runs that are unlike each other",
        "Times that are not lognormal; epochs are not logged. In some samples Grubbs' test finds a "
        "run that is unlike the others: there the interval is left out below 10 runs, and covers "
        "from 10 on. The other samples show nothing, and no interval that is of use could cover: "
        "a CV is one of runs like those seen.",
        (
            ("unlike runs: printed", "Samples, %, with an interval."),
            ("unlike runs: seen", "Coverage, %, in samples that show an unlike run."),
            ("unlike runs: unseen", "Coverage, %, in samples that show none."),
            ("unlike runs: wrong", "Samples, %, with an interval that is wrong."),
        ),
    ),
    Section(
        "The parts of a speedup",
        'The line "why": ratios of mean time per epoch and of mean epochs.',
        (("throughput", "Throughput: coverage, %."), ("epochs", "Epochs: coverage, %.")),
    ),
    Section(
        "Geometric means",
        "`--estimand geomean`: the printed interval. Its true value differs from 1 in the last "
        "four setups, where the arithmetic means are equal.",
        (("geometric means", "Coverage, %."),),
    ),
    Section(
        "Several benchmarks at once",
        "Five or twelve benchmarks of which none differs; for claims about the margin, twelve "
        "of which each is slower by just the margin, 5 %. No run fails or straggles, so that ‡ is "
        "true.",
        (
            ("geometric mean row", 'Coverage, %, of the row "geo-mean".'),
            ("any claim after Holm", "Comparisons, %, with any false claim without a †."),
            (
                "headlines of several benchmarks",
                'Headlines, %, that say "faster" or "slower" without a condition.',
            ),
            (
                "any claim about the margin",
                'Comparisons, %, with any false "same within 5%" or "not slower by more than 5%".',
            ),
        ),
    ),
    Section(
        "A look after every run a side",
        "Both sides have the same mean time. From 3 runs a side on, a look after every further "
        "one; how often does any look decide? First as plain `compare` would, taking the runs for "
        "all that were planned, then as `compare --sequential` does. What decides is the "
        "epoch-safe interval where every run of a side took the same number of epochs, and the "
        "printed one elsewhere; marks are not counted. To hold where one side is skewed and the "
        "other constant, half of the 5 % are spent.",
        (
            ("any look, printed", "Plain looks: the printed interval excludes 1, %."),
            ("any look, deciding", "Plain looks: the interval that decides excludes 1, %."),
            ("sequential, printed", "`--sequential`: the printed interval excludes 1, %."),
            ("sequential, deciding", "`--sequential`: the interval that decides excludes 1, %."),
            (
                "sequential, any after Holm",
                "`--sequential` of several benchmarks, p by Holm: any look decides about any of "
                "them, %.",
            ),
            (
                "sequential, candidates",
                "Both sides alike, 3 to 20 runs a side: what was considered. Spending shares the "
                "error among the looks of a plan, in proportion to the runs (what is done) or "
                "late, about as O'Brien and Fleming do; a mixture needs no plan and is valid for "
                "ever. Falsely decided by the printed interval, %.",
            ),
            (
                "sequential, decided",
                "B is faster by what a fixed number of runs a side shows with a power of 80 %: "
                "decided within 20, %. LN05: epochs vary by 5 %.",
            ),
            (
                "sequential, runs made",
                "The same: runs made on average, % of that fixed number. Plans have 20 runs at "
                "most.",
            ),
        ),
    ),
    Section(
        "Within blocks",
        "What `compare --block` says of two sides with equal means, run in 2 to 5 sessions that "
        "make all of their runs slower or faster: by a factor whose log varies by 0, 1 or 3 times "
        'as much as that of runs. "3 × 2+2" is 2 runs of A and of B in each of 3 blocks; '
        '"4+1, 1+4" is 4 of A and 1 of B in the first, 1 and 4 in the second, so that sides follow '
        "sessions in part. In the last setup the difference itself varies from "
        "block to block: of sessions that were not made nothing is promised. Half of the "
        "replicates.",
        (
            ("blocks: covered", "Coverage, %, of the interval that decides about times."),
            ("blocks: claims", "False claims without a mark, %."),
            ("blocks: claims ‡", "False claims with ‡ alone, %. It promises nothing of failures."),
            ("blocks: claims †", "False claims with †, %, which promises nothing."),
            ("blocks: qualities", "Coverage, %, of the difference of mean qualities (`--at-end`)."),
            (
                "blocks: candidates",
                "What was considered, on logs of times: decided at 5 % though both sides are "
                "equal, %; blocks vary by what heads the column. An eighth of the replicates, a "
                "sixteenth for the mixed model.",
            ),
            (
                "blocks: power of candidates",
                "The same where B is faster by 2 deviations of a run: rightly decided, %.",
            ),
        ),
    ),
    Section(
        "Effects of settings",
        "What `effects` says of the first of one to three settings that were varied together, and "
        "that has no effect; runs vary by 3 %, and the others change them by a quarter a level. "
        '"2 × 3" are two levels of the first and three of the second. In the last setups sessions '
        "vary by 1 or 3 times what runs do: they cross the settings, or the first is constant in "
        "each. Runs are those of the whole design. Half of the replicates.",
        (
            ("effects: covered", "Coverage, %, of the interval that is printed."),
            (
                "effects: least squares",
                "The same of least squares with one variance (keys `plain_low`, `plain_high`).",
            ),
            (
                "effects: failures",
                "A claim at 5 % that levels differ in how many runs reach the target, %: Boschloo "
                "for one setting, Firth beside another of three levels. An eighth of the "
                "replicates.",
            ),
        ),
    ),
    Section(
        "One setup in several sessions",
        "What `compare --same` says of sets of runs, each from a session of its own; sessions "
        "vary by 0, 1 or 3 times as much as runs, or one in five of them is 6 % slow, which few "
        "sessions do not show. Half of the replicates.",
        (
            (
                "sessions: beyond",
                "Two further sets differ by more than the smallest difference worth claiming, %; "
                "5 % are allowed.",
            ),
            ("sessions: bound", "The bound holds the deviation between sessions, %."),
        ),
    ),
    Section(
        "The share of a source",
        "What `variance --sources` says of five sessions of five runs that make half of the "
        "variance. A twentieth of the replicates.",
        (("share of a source", "Coverage, %, of the interval of the share of sessions."),),
    ),
    Section(
        "Plans for runs that fail",
        "How often so many runs a side as `power` plans for 80 % show a B that is faster by the "
        "factor that is given, where both sides fail alike. Times vary by 10 %; crashes come at "
        "any time, and runs that diverge stop after two mean times. A quarter of the replicates.",
        (
            ("plans: any claim", '"faster", with a mark or without, %.'),
            ("plans: unmarked", '"faster" without a mark, %, with as many as are planned for it.'),
        ),
    ),
    Section(
        "Changes over nights",
        "What `history` says of one part over 100 nights. Unchanged series first; the nights of "
        "bursts do differ, and a gate is not to take them for a change. Then series with one true "
        "step after 15, 40 or 60 nights: the change that was announced first after it. A "
        "twentieth of the replicates.",
        (
            ("history: alarms", "Unchanged series, %, with an alarm; 1 % for all parts together."),
            ("history: gate", "Unchanged series, %, in which a gate at 0 % fails on any night."),
            ("history: size", "Coverage, %, of the size of a step."),
            ("history: nights", "Coverage, %, of the nights between which it lies."),
            ("history: second", "Steps, %, with a second, false change after them."),
        ),
    ),
    Section(
        "Sides that were evaluated or made in different ways",
        "Logs of equal setups, compared as `compare` does with what it finds in their design: "
        "evaluation intervals that differ, to a target at about 60 epochs and at a budget of a "
        "falling curve of losses; the best of unequal numbers of evaluations; an entry made on two "
        "machines. A verdict is prevented where it has a reason in `why`: that values are of "
        "different budgets or a best of unequal numbers, or that a difference is no larger than "
        "what is allowed for. An eighth of the replicates. Then a fifth of them: the best of 40 "
        "evaluations whose noise differs, where the mean of a run varies by .002, and values at "
        "100 s of a falling curve, evaluated at other intervals. Where B is better, a claim in "
        "either direction counts.",
        (
            ("designs: claims", "False claims without a condition, %."),
            ("designs: right", "Right claims without a condition, %."),
            ("designs: marked", "Claims with a condition, %."),
            ("designs: prevented", "Verdicts that were prevented, %."),
            (
                "designs: nothing allowed for",
                "The printed interval excludes 0, %: what was claimed before anything was.",
            ),
        ),
    ),
    Section(
        "Runs that share sessions or seeds",
        "What `compare` says of two sides with equal means whose logs tell starts and seeds. "
        "Sessions, or seeds, make all of their runs slower or faster, by 0, 1 or 3 times as much "
        'as runs vary. A condition is "in these sessions", "for these seeds" or "in these '
        'blocks"; of other sessions, seeds or blocks it promises nothing. In the last setups the '
        "sides are compared within days, and the difference itself varies from day to day. A "
        "fifth of the replicates.",
        (
            ("shared: claims", "False claims without a condition, %."),
            ("shared: claims ‡", "False claims with a condition, %."),
            ("shared: claims †", "False claims with †, %."),
        ),
    ),
    Section(
        "Sides made one after the other, and days that differ",
        "Equal sides of runs of 10 minutes on a machine that slows while it runs: times to the "
        'target, the same with `--same-convergence`, and the throughput in the line "why". '
        'Sides that overlap in time promise claims without a condition; others carry "in this '
        'order" or "in these sessions". Then alternating sides on days that differ: '
        "how often `--block day` is "
        "proposed, and what is claimed falsely by whoever follows the proposal after a look. A "
        "fifth of the replicates.",
        (
            ("orders: claims", "False claims without a condition, %."),
            ("orders: claims ‡", "False claims with a condition, %."),
            ("orders: claims †", "False claims with †, %."),
            ("orders: same convergence", "`--same-convergence`: without a condition, %."),
            ("orders: same convergence ‡", "The same with a condition, %."),
            ("orders: same convergence †", "The same with †, %."),
            ("orders: throughput", "Throughput that differs falsely without a condition, %."),
            ("orders: throughput, all", "Throughput that differs falsely, %."),
            ("orders: drift", "A drift within the sides is named, %."),
            ("blocks: proposed", "Blocks are proposed, %."),
            ("blocks: plain", "False claims without blocks, %."),
            ("blocks: followed", "False claims by those who follow the proposal, %."),
        ),
    ),
    Section(
        "Qualities at a budget",
        "What `compare --at-end` and `--at` say of two sides whose mean qualities are equal. "
        "Deviations are those of one run; rounded values tie in many samples, and no spread is "
        "taken to be less than that of rounding.",
        (
            ("quality difference", "Coverage, %, of the difference of means."),
            ("quality claims", 'False claims, %: "better" or "worse".'),
        ),
    ),
    Section(
        "A mean against a number",
        "What `claim` says where the mean just is the number: 5 % are allowed to hold. In the "
        "last setups few runs are much worse than the others. Where a lower value is better, a "
        "sample without one of them looks better than it is: no test of so few runs knows of "
        'them, so that a claim holds "if no further run ends far worse", "if no run differs" or, '
        'of times, "if the number of epochs is constant", unless its p is far below the level. '
        "Right claims are those of normal qualities at 95 % power.",
        (
            ("claim, lower is better", "Claims without a condition, %, where lower is better."),
            ("claim, higher is better", "The same where a higher value is better, %."),
            ("claim, times", "Claims about a mean time without a condition, %."),
            ("claims with or without a condition", "All claims where lower is better, %."),
            ("claims about times, all", "All claims about a mean time, %."),
            ("claims at 1%", "Claims without a condition at the 1% level, lower is better, %."),
            ("right claims, bare", "Right claims that have no condition, % of them."),
            ("mean quality", "Coverage, %, of the interval of one mean (`summary --at-end`)."),
        ),
    ),
    Section(
        "Ranks",
        "What `rank` and `summary` say of a table of entries with equal expected times to a "
        "success (in the last setup means differ). An eighth of the replicates.",
        (
            ("ranks: missed", "Tables, %, in which an interval of ranks leaves out a true rank."),
            (
                "ranks: missed without marks",
                "The same if the order that holds under a condition had no mark, %.",
            ),
            ("ranks: marked", "Tables, %, in which the order of two entries has a condition."),
        ),
    ),
    Section(
        "The fraction reached",
        "Computed exactly, without drawing. Newcombe's interval is that of the difference of two "
        "sides, which is 0 here.",
        (("Wilson", "Wilson: coverage, %."), ("Newcombe", "Newcombe: coverage, %.")),
    ),
    Section(
        "The share of epochs in the variance",
        "What `variance` prints from 10 runs on; a quarter of the replicates. Where a sample has a "
        "straggler, its interval is left out; in the last two setups those that are printed are of "
        "samples without one, in which nothing shows the true share.",
        (
            ("share of epochs", "Coverage, %, of the intervals that are printed."),
            ("share of epochs, printed", "Samples, %, with an interval."),
        ),
    ),
)


#: What is not of simulated intervals and verdicts alone.
OTHERS = (
    Section(
        "Real runs",
        "Runs of published MLPerf Training entries, from Parquet files that `ttastats ingest` "
        "wrote of the logs of one round each. The runs of an entry are split at random into two "
        "sides that share none, so that the true ratio is 1 whatever their distribution; 100 "
        'splits at most of every entry that has at least twice the runs. "Successes" takes the '
        'runs that reached the target; "entries with failures" all runs of entries of which some '
        "failed. The error is that of the mean over entries, whose splits share their runs.",
        (
            ("real: printed", "Coverage, %, of the interval that is printed."),
            ("real: deciding", "Coverage, %, of the interval that decides."),
            ("real: unbounded", "Splits, %, whose deciding interval has no upper limit."),
            *_claims("real: "),
            ("real: throughput", "Throughput: coverage, %."),
            ("real: epochs", "Epochs: coverage, %."),
        ),
    ),
    Section(
        "Ways to fool oneself",
        "The verdict takes its runs for all runs of two setups, their number fixed beforehand. "
        "What a decision is worth when that is not so: how often it is made, whatever its mark. A "
        "quarter of the replicates; a sixteenth for Mann-Whitney.",
        (("pitfalls", "Decided, %."),),
    ),
    Section(
        "Scores of equal setups",
        "Setups with equal mean times: the olympic mean that `score` shows leaves out the slowest "
        "run.",
        (("scores", "The two scores differ by more than 5 %, %."),),
    ),
)
