"""The commands that set two sides against each other: compare, targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ttastats as tta
from ttastats.base import percentages
from ttastats.base.errors import raise_if
from ttastats.base.stores import parse_place, without_secrets
from ttastats.cli.options import Comparing, Parts, options_and_keywords, refuse_of_runs, sources
from ttastats.sides.options import Counted, Judged, View

if TYPE_CHECKING:
    from ttastats.report.answer import Report
    from ttastats.traces.answers import By

_Profiles = tuple[Sequence[str | Path], Sequence[str | Path]]


def compare(
    files: Sequence[str] = (),
    *,
    parts: Parts,
    comparing: Comparing,
    profile_a: Sequence[Path] = (),
    profile_b: Sequence[Path] = (),
    block: Sequence[str] = (),
    same: bool = False,
    baseline: str = "",
    prior: Sequence[str] = (),
    wide: bool = False,
    verbose: bool = False,
) -> Report:
    """Compare B with A: speedup to the target with causes, or quality.

    FILE...: Parquet files or logs: A, then B; one, with --a, --b; or profiles.
    --profile-a PATH: Profile of A: which parts of a step explain the throughput? Repeatable;
        without runs, profiles alone are compared.
    --profile-b PATH: Profile of B. Repeatable.
    --block COLUMN: Compare within sessions: day, order (alternating runs), a column, a name in
        extra, or a condition. Comma-separated.
    --same: The files, or the groups of --by, are one setup: which difference is worth claiming?
    --baseline FILE: Side A: the runs since the last change of this history (see `history`).
    --prior FILE: Runs of earlier entries, whose noise adds to that of few runs. Repeatable.
    --wide: Show more columns.
    --verbose, -v: Show all notes in full, the causes of each row, and each run as a dot.

    $ ttastats compare a.parquet b.parquet
    $ ttastats compare runs.parquet --a system=old --b system=new
    $ ttastats compare runs/adam runs/sgd --fail-on slower:2%
    $ ttastats compare old.parquet new.parquet --at-end
    """
    options, keywords = options_and_keywords(comparing)
    remedy = f"Add {'--profile-b' if profile_a else '--profile-a'}."
    one_side = "profiles were given for one side only"
    raise_if(bool(profile_a) != bool(profile_b), one_side, None, remedy)
    profiles = (profile_a, profile_b) if profile_a else None
    if (of_steps := _profiles_alone(files, profiles)) is not None:
        others = {"block": block, "same": same, "baseline": baseline, "prior": prior}
        given = {name: value for name, value in others.items() if value}
        refuse_of_runs(parts, comparing, given, but=("--confidence", "--by"))
        by = ",".join(comparing.get("by", ())) or "work"
        raise_if(
            by not in {"work", "operator"},
            "is not a breakdown of the work of a step",
            f"--by {by}",
            "Choose work (by kind, the default) or operator.",
        )
        return tta.compare_profiles(*of_steps, by=cast("By", by), confidence=options.confidence)
    for file in files if same else ():  # the number of a margin
        raise_if(
            percentages.parse_number(file) is not None and not Path(file).exists(),
            "takes no number: it means that the files hold runs of one setup",
            f"--same {file}",
            f"To test equality within a margin: --same --margin {file}.",
        )
    sides_of = sources(files, parts, one_will_do=same or bool(baseline))
    if baseline:
        whole = "--same has no baseline"
        raise_if(same, whole, f"--baseline {baseline}", "Remove one of the two.")
        judged: Any = {name: keywords[name] for name in Judged.__annotations__ if name in keywords}
        sides_of = [tta.latest_segment([baseline], **judged), *sides_of]
    return tta.compare(
        *sides_of,
        view=View(wide, verbose, margin_claims="margin" in comparing, named="labels" in comparing),
        profiles=profiles,
        block=block,
        same=same,
        prior=list(prior) or None,
        options=options,
        **keywords,
    )


def _profiles_alone(files: Sequence[str], both: _Profiles | None) -> _Profiles | None:
    """Return the profiles of A and B if no runs are given; raise an error for a mixture."""
    from ttastats.ingestion.given import is_profile  # polars costs start-up time

    if not files:
        remedy = "Give two files: ttastats compare a.parquet b.parquet"
        raise_if(both is None, "nothing to compare", remedy=remedy)
        return both
    profiles = [file for file in files if is_profile(parse_place(file))]
    if len(profiles) == len(files) == 2:
        return profiles[:1], profiles[1:]
    mixed = "is a profile, but other files are runs"
    remedy = "Pass it as --profile-a or --profile-b."
    raise_if(profiles, mixed, without_secrets("".join(profiles[:1])), remedy)
    return None


def targets(
    files: Sequence[str],
    *,
    parts: Parts,
    counted: Counted,
    points: int = 9,
    metric: str | None = None,
) -> Report:
    """Show how the answer depends on the quality target.

    FILE...: One Parquet file or folder of logs, or two to compare.
    --points: Maximum number of round quality targets to evaluate, beside the official one. [x>=2]
    --metric METRIC: Metric whose target is varied, if there are several.

    $ ttastats targets runs.parquet
    $ ttastats targets a.parquet b.parquet --metric val_loss
    """
    tables = sources(files, parts, one_will_do=True)
    raise_if(len(tables) > 2, "more than two files", None, "Compare two at a time.")
    return tta.targets(*tables, points=points, metric=metric, **counted)
