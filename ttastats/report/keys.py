"""Which keys have rows of several answers, and what do they mean?"""

from __future__ import annotations

from typing import Annotated

from ttastats.report.row import Key, Row
from ttastats.table import schema


def column_key(name: str, unit: str = "") -> Key:
    """Return the key of a column of the table of runs."""
    return Key(next(column.description for column in schema.COLUMNS if column.name == name), unit)


RunId = Annotated[str, column_key("run_id")]
Source = Annotated[str, column_key("source")]
Suite = Annotated[str | None, column_key("suite")]
Round = Annotated[str | None, column_key("round")]
Benchmark = Annotated[str | None, column_key("benchmark")]
Entry = Annotated[str | None, column_key("entry")]
Submitter = Annotated[str | None, column_key("submitter")]
System = Annotated[str | None, column_key("system")]
RunStatus = Annotated[str, column_key("run_status")]
RunSeconds = Annotated[float | None, column_key("run_seconds", "seconds")]
Seed = Annotated[int | None, column_key("seed")]
Steps = Annotated[float | None, Key("steps trained until then", "steps")]
Epochs = Annotated[float | None, Key("epochs trained until then", "epochs")]
Samples = Annotated[float | None, Key("samples trained until then", "samples")]
Cost = Annotated[float | None, Key("what the time until then cost", "dollars")]
SetAside = Annotated[str | None, Key("code of the reason why the run does not count")]

RunCount = Annotated[int, Key("runs of the group", "runs")]
ReachedCount = Annotated[int, Key("those of them that reached the target", "runs")]
AxisName = Annotated[str, Key("what is counted to the target: the name of an axis (`--in`)")]
TtaMean = Annotated[
    float | None, Key("mean time to the target of the runs that reached it", "axis")
]
TtaStd = Annotated[float | None, Key("standard deviation of the time to the target", "axis")]
Ert = Annotated[
    float | None, Key("expected time to a success: what failed runs took is included", "axis")
]
EpochsMean = Annotated[float | None, Key("mean epochs to the target", "epochs", "epochs")]
EpochSecondsMean = Annotated[float | None, Key("mean time per epoch", "axis")]
Cv = Annotated[
    float | None,
    Key("coefficient of variation of the times to the target", "fraction", interval=True),
]
SpeedupOfB = Annotated[float | None, Key("mean of A over that of B: above 1, B is faster", "ratio")]
PAlone = Annotated[float | None, Key("p of no difference, of this row alone")]
PAdjusted = Annotated[float | None, Key("the same, adjusted for all that is judged together")]
VerdictOfTimes = Annotated[str, Key("of B: faster, slower, same, undecided or unavailable")]
Dagger = Annotated[bool, Key("whether the claim holds for a constant number of epochs only")]
Conditions = Annotated[list[str], Key("codes of what has to be true for the claim")]
Marks = Annotated[str, Key("the marks of these conditions: †, ‡")]
Why = Annotated[str | None, Key("why nothing is decided, or what the claim carries")]
#: The limits of the interval of the key before them, in its unit.
Low = Annotated[float | None, Key("lower limit of its confidence interval", "same")]
High = Annotated[float | None, Key("upper limit of its confidence interval", "same")]
Withheld = Annotated[str | None, Key("code of the reason why it has no interval")]


Interrupted = Annotated[int, Key("runs that the user interrupted: not counted", "runs")]
RejectedLogs = Annotated[int, Key("logs that could not be read", "logs")]
MissingRuns = Annotated[int, Key("runs missing from numbered sets", "runs")]


class LeftOutKeys(Row, frozen=True):
    """What belongs to a group of runs and is in none of its numbers."""

    interrupted: Interrupted = 0
    rejected_logs: RejectedLogs = 0
    missing_runs: MissingRuns = 0


class LeftOutOfA(Row, frozen=True):
    """The same of side A."""

    interrupted_a: Interrupted = 0
    rejected_logs_a: RejectedLogs = 0
    missing_runs_a: MissingRuns = 0


class LeftOutOfB(Row, frozen=True):
    """The same of side B."""

    interrupted_b: Interrupted = 0
    rejected_logs_b: RejectedLogs = 0
    missing_runs_b: MissingRuns = 0
