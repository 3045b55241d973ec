"""The Python API: each command of the program as one function.

A *source* is a Parquet file, logs (a folder, an archive, a file, a URL), several of them, or a
polars, pandas or pyarrow table in memory; use `from_frame` to convert a frame with other column
names. Tables of logs are cached, and a `UserWarning` names logs that were rejected. Functions
return a `Report`, whose `rows` and `frame` contain raw numbers: seconds, fractions, None for
unknown. What cannot be answered raises `TtastatsError`, which says what is wrong, where, and what
to do: a file that cannot be used, a malformed condition, no run that meets all, too few runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttastats.api.answers import (
    claim,
    effects,
    history,
    judge_record,
    latest_segment,
    power,
    rank,
    rcp,
    scaling,
    score,
    summary,
    targets,
    variance,
)
from ttastats.api.comparing import compare, compare_profiles, plot_profiles, profile_page, profiled
from ttastats.api.drawing import html_report, material, plot, plots
from ttastats.api.tables import (
    export,
    filter,  # noqa: A004 - the name of the command
    problems,
    read,
    run_table,
    runs,
)
from ttastats.report.answer import Gated, Report
from ttastats.sides.question import Question, Source
from ttastats.table.frames import from_frame

if TYPE_CHECKING:
    from ttastats.answers.guessing.folder import guess
    from ttastats.ingestion.account import Account
    from ttastats.ingestion.ingest import ingest

__all__ = [
    "Account", "Gated", "Question", "Report", "Source", "claim", "compare", "compare_profiles",
    "effects", "export", "filter", "from_frame", "guess", "history", "html_report", "ingest",
    "judge_record", "latest_segment", "material", "plot", "plot_profiles", "plots", "power",
    "problems", "profile_page", "profiled", "rank", "rcp", "read", "run_table", "runs",
    "scaling", "score", "summary", "targets", "variance",
]  # fmt: skip

#: What reads logs, which most commands need not import.
_HOMES = {
    "Account": "ttastats.ingestion.account",
    "guess": "ttastats.answers.guessing.folder",
    "ingest": "ttastats.ingestion.ingest",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ttastats.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
