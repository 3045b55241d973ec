"""What do earlier entries of the same benchmark say of the noise of these runs? (`--prior`)

Epochs and time per epoch apart: epochs vary alike at near batch sizes, times per epoch within one
system. Means are never taken: at equal batch size 31 % of published groups differ in these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.codes import wording
from ttastats.outcomes.left_out import counted
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report.row import Key, Row
from ttastats.stats import sources as priors
from ttastats.stats.logratio import satterthwaite
from ttastats.stats.moments import chi2_quantile
from ttastats.stats.results import Floats
from ttastats.stats.sources import Prior
from ttastats.table.schema import RUN

#: The parts, with the most runs of a side that a prior is for.
PARTS = {"epochs": 5, "throughput": 3}
_NAMES = {"epochs": "epochs", "throughput": "time per epoch"}
_ENTRY = (
    "suite", "round", "benchmark", "division", "submitter", "system", "entry", "accelerators",
    "global_batch_size",
)  # fmt: skip
#: Fewest runs of an entry that shows a variance, and how far batch sizes are near.
_LEAST_RUNS, _NEAR = 3, 1.5

_Weight = Annotated[
    float | None, Key("degrees of freedom that the earlier entries are worth, at most 20", "runs")
]
_Sd = Annotated[float | None, Key("their standard deviation of one run, of its log", "fraction")]
_Entries = Annotated[int, Key("earlier entries that were used", "entries")]
_Refused = Annotated[
    str | None, Key("why the earlier entries were not used, and Welch's interval is")
]
_Ratio = Annotated[float | None, Key("A over B, of geometric means", "ratio")]
_Low = Annotated[float | None, Key("lower limit of its confidence interval", "same")]
_High = Annotated[float | None, Key("upper limit of its confidence interval", "same")]
_P = Annotated[float | None, Key("p of no difference, of this part alone")]


class PriorKeys(Row, frozen=True, kw_only=True):
    """What earlier entries add to the noise of each part (`--prior`)."""

    prior_epochs_entries: _Entries = 0
    prior_epochs_sd: _Sd = None
    prior_epochs_df: _Weight = None
    prior_epochs_refused: _Refused = None
    prior_throughput_entries: _Entries = 0
    prior_throughput_sd: _Sd = None
    prior_throughput_df: _Weight = None
    prior_throughput_refused: _Refused = None


class PriorRatios(PriorKeys, frozen=True, kw_only=True):
    """The parts of a speedup with the noise of earlier entries (`--prior`)."""

    prior_epochs_ratio: _Ratio = None
    prior_epochs_low: _Low = None
    prior_epochs_high: _High = None
    prior_epochs_p: _P = None
    prior_throughput_ratio: _Ratio = None
    prior_throughput_low: _Low = None
    prior_throughput_high: _High = None
    prior_throughput_p: _P = None


class Entry(Struct, frozen=True, eq=False):
    """Earlier runs of one setup: what they are, and the variance of the log of each part."""

    keys: Mapping[str, Any]
    target: float | None
    runs: frozenset[Any]
    variances: Mapping[str, float]
    df: float


class Noise(Struct, frozen=True):
    """The variance of the log of one run, and what it is worth in degrees of freedom."""

    variance: float
    df: float

    def limits(self) -> tuple[float, float, float]:
        """Return the coefficient of variation with its 95 % limits."""
        ends = (self.df / chi2_quantile(share, self.df) for share in (0.975, 0.025))
        cv, low, high = (math.sqrt(math.expm1(self.variance * each)) for each in (1.0, *ends))
        return cv, low, high


def earlier(runs: pl.DataFrame) -> tuple[Entry, ...]:
    """Return the entries of a table in which at least three runs reached the target."""
    by = [name for name in _ENTRY if name in runs.columns]
    entries = []
    for part in counted(runs, by).filter("reached").partition_by(by):
        logs = _log_parts(part)
        if logs is None or logs["epochs"].size < _LEAST_RUNS:
            continue
        variances = {name: float(np.var(each, ddof=1)) for name, each in logs.items()}
        keys, target = part.select(by).row(0, named=True), part["target_value"][0]
        df = logs["epochs"].size - 1.0
        entries.append(Entry(keys, target, _run_identities(part), variances, df))
    return tuple(entries)


def _run_identities(runs: pl.DataFrame) -> frozenset[Any]:
    return frozenset(runs.select(RUN).rows()) | frozenset(runs["content_digest"].drop_nulls())


def _log_parts(runs: pl.DataFrame) -> dict[str, Floats] | None:
    """Return the logs of progress, and of the time per unit of it, of runs that reached."""
    unit, _ = common_progress(runs)
    reached = runs.filter("reached")
    if unit is None or reached.is_empty() or reached["tta_seconds"].null_count():
        return None
    progress = reached[unit].cast(pl.Float64).log().to_numpy()
    return {"epochs": progress, "throughput": reached["tta_seconds"].log().to_numpy() - progress}


def prior_for(entries: Sequence[Entry], runs: pl.DataFrame, part: str) -> Prior:
    """Return the prior of one part of a side's runs, refused with a reason if unsuitable."""
    first = runs.row(0, named=True)
    reached = int(runs["reached"].sum())
    if reached < 2:
        return Prior(0, refused="prior_few_runs")
    if reached > PARTS[part]:
        return Prior(0, refused="prior_enough_runs")
    identities = _run_identities(runs)
    near = [
        entry for entry in entries
        if entry.keys.get("benchmark") == first.get("benchmark")
        and entry.target == first.get("target_value") and not entry.runs & identities
    ]  # fmt: skip
    if part == "epochs":
        batch = first.get("global_batch_size") or math.nan
        sizes = [(entry, entry.keys.get("global_batch_size") or math.nan) for entry in near]
        near = [entry for entry, size in sizes if 1 / _NEAR <= size / batch <= _NEAR]
    else:
        names = ("submitter", "system")
        same = [each for each in near if all(each.keys.get(n) == first.get(n) for n in names)]
        near = same if len(same) >= priors.LEAST_ENTRIES else near
    return priors.make_prior([each.variances[part] for each in near], [each.df for each in near])


def noise_of(entries: Sequence[Entry], runs: pl.DataFrame) -> tuple[dict[str, Noise], PriorKeys]:
    """Return the noise of each part of the runs of one setup, and the keys on the priors."""
    logs = _log_parts(runs) or {}
    noises: dict[str, Noise] = {}
    numbers: dict[str, Any] = {}
    for part in logs:
        prior = prior_for(entries, runs, part)
        if not prior.refused and not priors.consistent_with([logs[part]], [prior]):
            prior = replace(prior, refused="prior_misfit")
        numbers |= _prior_keys(part, [prior])
        df = logs[part].size - 1.0
        if df > 0:
            variance = float(np.var(logs[part], ddof=1))
            used = Prior(0) if prior.refused else prior
            noises[part] = Noise(used.shrink(variance, df), used.df + df)
    return noises, PriorKeys(**numbers)


def together(noises: Mapping[str, Noise]) -> Noise | None:
    """Return the noise of the time to the target from its parts, taken as independent."""
    if len(noises) < len(PARTS):
        return None
    variances = [each.variance for each in noises.values()]
    return Noise(sum(variances), satterthwaite(variances, [each.df for each in noises.values()]))


def between(
    entries: Sequence[Entry], a: pl.DataFrame, b: pl.DataFrame, confidence: float
) -> PriorRatios:
    """Return the parts of the speedup of B over A with the noise of earlier entries."""
    of_a, of_b = _log_parts(a), _log_parts(b)
    if of_a is None or of_b is None:
        return PriorRatios()
    numbers: dict[str, Any] = {}
    for part in PARTS:
        logs = [of_a[part], of_b[part]]
        both = [prior_for(entries, side, part) for side in (a, b)]
        if not any(prior.refused for prior in both):
            reason = "" if priors.consistent_with(logs, both) else "prior_misfit"
            reason = "prior_coarse" if priors.too_coarse(logs) else reason
            both = [replace(prior, refused=reason) for prior in both]
        numbers |= _prior_keys(part, both)
        if min(each.size for each in logs) > 1:
            used = [Prior(0) if any(prior.refused for prior in both) else prior for prior in both]
            ratio = priors.moderated_ratio(logs[1], logs[0], used[1], used[0], confidence)
            values = (ratio.estimate, ratio.low, ratio.high, ratio.p_value)
            names = (f"prior_{part}_{name}" for name in ("ratio", "low", "high", "p"))
            numbers |= zip(names, values, strict=True)
    return PriorRatios(**numbers)


def _prior_keys(part: str, both: Sequence[Prior]) -> dict[str, Any]:
    """Return the keys on the prior of a part; of two sides, the weaker prior."""
    least = next((p for p in both if p.refused), None) or min(both, key=lambda p: p.df)
    why = wording(least.refused, n=least.entries, constant=least.constant) if least.refused else ""
    return {
        f"prior_{part}_entries": least.entries,
        f"prior_{part}_sd": math.sqrt(least.variance) if least.variance else None,
        f"prior_{part}_df": least.df or None,
        f"prior_{part}_refused": why or None,
    }


def prior_lines(row: PriorKeys) -> Iterator[str]:
    """Yield a line for each part: what its prior is made of, or why it is refused."""
    for part, name in _NAMES.items():
        entries, sd, df, refused = (
            row.get(f"prior_{part}_{key}") for key in ("entries", "sd", "df", "refused")
        )
        text = f"prior  {name}"
        if isinstance(row, PriorRatios) and row.get(f"prior_{part}_ratio") is not None:
            ends = (row.get(f"prior_{part}_{key}") for key in ("ratio", "low", "high"))
            ratio = units.ratio_interval(*ends)
            text += f" {ratio} ({units.p_text(row.get(f'prior_{part}_p'))})"
        if refused:
            yield f"{text}: {wording('prior_refused', why=refused)}"
        elif entries:
            yield f"{text}: {wording('prior_used', n=entries, sd=sd, df=df)}"
