"""How often the ranks that an entry may have leave out its true one, in tables of made-up runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.figures import Figure, Kind, rate
from benchmarks.coverage.judging import numbers
from benchmarks.coverage.shapes import (
    CONST,
    LN15,
    RARE10,
    Bools,
    Failing,
    Shape,
    draw,
    generator,
)
from benchmarks.coverage.simulations import Plan
from ttastats.sides.order import Order, order

_HALF = Shape("HALF", (3.0, 4.0), (0.5, 0.5), 0.0025)
_EIGHT = Shape("EIGHT", (8.0, 9.0), (0.7, 0.3), 0.0025)
_COARSE = Shape("COARSE", (35.0, 40.0, 45.0), (0.2, 0.6, 0.2), 0.0025, evaluation_interval=5.0)
_THIRTEEN = Shape("THIRTEEN", (12.0, 13.0, 14.0), (0.25, 0.5, 0.25), 0.0025)

_Entry = tuple[Shape, float, float]
"""How its runs vary, their expected time to a success, and the share that fails."""


@dataclass(frozen=True, slots=True)
class Table:
    """Entries of one table, and the runs of each."""

    name: str
    entries: Sequence[_Entry]
    runs: Sequence[int]

    @property
    def column(self) -> str:
        """Return the runs of each entry in words."""
        return str(self.runs[0]) if len(set(self.runs)) == 1 else ", ".join(map(str, self.runs))


def _alike(*shapes: Shape) -> list[_Entry]:
    return [(shape, 1.0, 0.0) for shape in shapes]


def _tables() -> Iterator[Table]:
    rare = [*_alike(*[CONST] * 5), *_alike(*[RARE10] * 5)]
    mixed = [*_alike(*[CONST] * 3), *_alike(*[_EIGHT] * 3)]
    failing = [*_alike(*[LN15] * 3), *[(LN15, 1.0, 0.5)] * 3]
    spread = [(LN15, 1.0 + 0.1 * min(n, 6), 0.0) for n in range(8)]
    for name, entries, sizes in (
        ("5 CONST, 5 RARE10", rare, (5, 10)),
        ("6 HALF: 3 or 4 epochs", _alike(*[_HALF] * 6), (3, 5)),
        ("6 EIGHT: 8 (70%) or 9 epochs", _alike(*[_EIGHT] * 6), (3, 5, 10)),
        ("6 COARSE: each 5 of 35 to 45 epochs", _alike(*[_COARSE] * 6), (3, 5, 10)),
        ("10 THIRTEEN: 12 to 14 epochs", _alike(*[_THIRTEEN] * 10), (3, 5, 10)),
        ("3 CONST, 3 EIGHT", mixed, (5, 10)),
        ("6 LN15", _alike(*[LN15] * 6), (3, 5, 10)),
        ("3 LN15, 3 LN15 of which half fail", failing, (5, 10)),
        ("8 LN15, means 1 to 1.6", spread, (5, 10)),
    ):
        for n in sizes:
            yield Table(name, entries, [n] * len(entries))
    yield Table("6 EIGHT: 8 (70%) or 9 epochs", _alike(*[_EIGHT] * 6), (3, 3, 5, 10, 10, 20))


def ranks(plan: Plan) -> Iterator[Figure]:
    """Measure tables in which any interval of ranks leaves out a rank that an entry may have."""
    for table in _tables():
        names = (table.name, table.column)
        orders = list(_orders(table, plan))
        means = np.array([mean for _, mean, _ in table.entries])
        slower = means[:, None] >= means  # what is claimed of a pair is false
        for quantity, claims in (
            ("ranks: missed", [entry_order.faster for entry_order in orders]),
            ("ranks: missed without marks", [entry_order.conditional for entry_order in orders]),
        ):
            false = rate(sum(_has_claim(claim & slower) for claim in claims), len(orders))
            # That an entry happened not to fail is what every claim excludes.
            kind: Kind = (
                "excluded" if any(share for _, _, share in table.entries) else "false claim"
            )
            kind = kind if quantity == "ranks: missed" else "no promise"
            yield Figure(quantity, *names, false, kind)
        marked = rate(sum(bool(entry_order.conditions) for entry_order in orders), len(orders))
        yield Figure("ranks: marked", *names, marked, "no promise")


def _has_claim(claims: Bools) -> bool:
    return bool(claims.any())


def _orders(table: Table, plan: Plan) -> Iterator[Order]:
    samples = []
    for number, ((shape, mean, share), n) in enumerate(zip(table.entries, table.runs, strict=True)):
        rng = generator(plan.seed, "ranks", table.name, table.column, str(number))
        failing = Failing(share)
        size, success = (plan.replicates, n), mean / failing.expected_time
        samples.append(draw(shape, size, rng, mean=success, failing=failing))
    for replicate in range(plan.replicates):
        yield order([numbers(runs.row(replicate)) for runs in samples], 0.95)
