"""Which keys have rows of several answers, and what do they mean?"""

from __future__ import annotations

from typing import Annotated

from ttastats.report.row import Key, Row

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
