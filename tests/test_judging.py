"""Where runs tell little, less is claimed of them."""

from __future__ import annotations

import polars as pl

from tests.test_compare import Outcome, compared, row, side
from ttastats.report.answer import Report

STEADY: list[Outcome] = [(100.0, 3), (100.3, 3), (99.8, 3), (100.1, 3), (99.9, 3)]
THRICE: list[Outcome] = [
    (seconds / 3.3, 3 + number % 2) for number, (seconds, _) in enumerate(STEADY)
]


def note(report: Report, code: str) -> str:
    """Return the one note of a code, or nothing."""
    found = [each.text for each in report.notes if each.code == code]
    assert len(found) < 2
    return found[0] if found else ""


class TestConstantEpochs:
    def test_without_any_progress_no_claim_is_made_that_epochs_could_undo(self) -> None:
        columns = ("epochs", "evaluation_interval_epochs", "evaluations_to_target")
        a, b = (without(side(runs), *columns) for runs in (STEADY, THRICE))
        report = compared(a, b)
        (found,) = report.rows
        assert (found["verdict"], found["marks"]) == ("faster", "†")
        assert (found["epoch_safe_low"], found["non_inferiority_low"]) == (None, 0.0)
        assert "progress is not logged, so it is unknown whether epochs vary" in note(
            report, "constant_epochs"
        )


def without(runs: pl.DataFrame, *names: str) -> pl.DataFrame:
    return runs.with_columns(pl.lit(None, runs.schema[name]).alias(name) for name in names)


class TestSameConvergence:
    def test_is_refused_where_the_epochs_rule_it_out(self) -> None:
        a = [(100.0 + k / 10, 10) for k in range(6)] + [(110.0, 11)]
        b = [(90.0 + k / 10, 15) for k in range(6)] + [(96.0, 16)]
        report = compared(side(a), side(b), same_convergence=True)
        (found,) = report.rows
        assert (found["estimand"], found["speedup"]) == ("mean", row(a, b)["speedup"])
        assert "convergence_differs" in found["flags"]
        assert "--same-convergence refused: epochs to target differ (p < .001)" in note(
            report, "convergence_differs"
        )
