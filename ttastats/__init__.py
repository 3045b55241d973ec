"""Time-to-accuracy statistics for machine-learning training logs.

import ttastats as tta
tta.ingest([Path("logs")], Path("runs.parquet"))
print(tta.summary("runs.parquet").frame)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttastats.base import __version__, forks  # noqa: F401 - which notes forks from here on

if TYPE_CHECKING:
    from ttastats.api import (
        Account,
        Gated,
        Question,
        Report,
        claim,
        compare,
        compare_profiles,
        effects,
        export,
        from_frame,
        guess,
        history,
        html_report,
        ingest,
        judge_record,
        latest_segment,
        plot,
        plot_profiles,
        plots,
        power,
        problems,
        profile_page,
        profiled,
        rank,
        rcp,
        read,
        runs,
        scaling,
        score,
        summary,
        targets,
        variance,
    )
    from ttastats.api import (
        filter as filter,  # noqa: A004 - the name of the command
    )
    from ttastats.base.errors import GateFailed, TtastatsError
    from ttastats.recording.record import record
    from ttastats.sides.options import Options, View
    from ttastats.trainer.profiler.script import profile

__all__ = [
    "Account", "GateFailed", "Gated", "Options", "Question", "Report", "TtastatsError", "View",
    "__version__", "claim", "compare", "compare_profiles", "effects", "export", "from_frame",
    "guess", "history", "html_report", "ingest", "judge_record", "latest_segment", "plot",
    "plot_profiles", "plots", "power", "problems", "profile", "profile_page", "profiled",
    "rank", "rcp", "read", "record", "runs", "scaling", "score", "summary", "targets",
    "variance",
]  # fmt: skip

#: Every public name: also the one that would hide a builtin of whoever imports `*`.
_NAMES = frozenset(__all__) | {"filter"}

#: Names that others than the API offer; none loads a library.
_HOMES = {
    "GateFailed": "ttastats.base.errors",
    "Options": "ttastats.sides.options",
    "TtastatsError": "ttastats.base.errors",
    "View": "ttastats.sides.options",
    "profile": "ttastats.trainer.profiler.script",
    "record": "ttastats.recording.record",
}


def __getattr__(name: str) -> Any:
    """Import the API when it is first used, so that the command line answers at once."""
    if name not in _NAMES:
        raise AttributeError(f"module 'ttastats' has no attribute {name!r}")
    from importlib import import_module

    home = _HOMES.get(name, "ttastats.api")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_NAMES)
