"""Which runs of the reference does an official record hold, and does an entry pass the check?

A reference convergence point (RCP) is what the reference implementation of a benchmark needs to
reach the target at one batch size, in twice as many runs as a submission makes. The official
package `mlperf_logging` carries them as JSON, a folder for each ruleset and a file for each
benchmark.

The rules are those of MLPerf Training as `mlperf_logging.rcp_checker` 4.1 applies them, written
anew from its behaviour. An entry may converge in fewer samples or epochs than the reference only as
far as chance could explain; what it gains by that is taken back by a factor on its time.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base.errors import TtastatsError, raise_if
from ttastats.stats.moments import two_sided_t

Reason = Literal[
    "RCP found",
    "RCP Interpolation",
    "RCP not found but slower convergence on smaller batch size",
    "Missing RCP",
    "Cannot find any RCPs",
    "Could not detect global_batch_size",
    "Insufficient convergence",
    "too few runs",
]
"""The reason for the verdict of a check, in the words of the official checker, but for the last."""


class ConvergenceRules(Struct, frozen=True):
    """The rules of one benchmark and ruleset.

    A submission makes `runs` runs; the `dropped` fastest and slowest leave its mean, and as many
    may fail. `slack` is by how much the mean may fall below the limit.
    """

    runs: int
    dropped: int = 1
    slack: float = 0.0


class Point(Struct, frozen=True):
    """Reference convergence at a batch size; `limit` is the lowest mean that chance explains."""

    batch_size: int
    mean: float
    std: float
    limit: float


class ConvergenceVerdict(Struct, frozen=True):
    """The verdict of the official check.

    `mean` is the olympic mean of the entry; `point` what it was held against and `limit` what it
    had to reach, None where there was nothing to hold it against.
    """

    passed: bool
    reason: Reason
    factor: float = 1.0
    mean: float | None = None
    limit: float | None = None
    point: Point | None = None
    bypassed: bool = False


def rules(benchmark: str, ruleset: str | None, runs: int) -> ConvergenceRules:
    """Return the convergence rules of a benchmark.

    The rules allow llama31_405b one evaluation (46,080 samples) before the limit in v5.0 only;
    the code does so in every ruleset from 5.0.0 on, and the code is followed.
    """
    dropped = 4 if benchmark == "unet3d" else 1
    major = (ruleset or "").partition(".")[0]
    from_v5 = major.isdecimal() and int(major) >= 5
    slack = 46_080 if benchmark == "llama31_405b" and from_v5 else 0.0
    return ConvergenceRules(runs, dropped, slack)


def as_written(rules: ConvergenceRules, ruleset: str | None) -> ConvergenceRules:
    """Return the rules as written, without deviations of the official code."""
    return rules if ruleset == "5.0.0" else replace(rules, slack=0.0)


def points(records: Sequence[Record], rules: ConvergenceRules) -> tuple[Point, ...]:
    """Return the valid points of the records of one benchmark, by batch size."""
    measured = []
    for record in records:
        values = np.array(record.values)
        kept_values = values[rules.dropped : len(values) - rules.dropped]
        if not kept_values.size:  # the official checker has no mean then
            kept_values = values
        mean, std = float(np.mean(kept_values)), float(np.std(values))
        limit = _lower_limit(mean, std, kept_values.size, rules.runs)
        measured.append(Point(record.batch_size, mean, std, limit))
    # Without those slower than a smaller batch or their neighbours. The official pass never steps
    # back: it need not end in a convex curve.
    fastest = min(measured, key=lambda point: point.mean)
    candidates = [point for point in measured if point.batch_size >= fastest.batch_size]
    index = 1
    while index < len(candidates) - 1:
        low, middle, high = candidates[index - 1 : index + 2]
        if middle.mean > _interpolate(middle.batch_size, low, high, rules).mean:
            del candidates[index]
        else:
            index += 1
    sizes = {point.batch_size for point in candidates}
    return tuple(point for point in measured if point.batch_size in sizes)


def _lower_limit(mean: float, std: float, n_reference: int, runs: int) -> float:
    """Return the lowest mean to pass a one-sided pooled t test at 5 % against the reference.

    Both groups are given the standard deviation of the reference. The bisection is repeated since
    where it stops is up to 0.00005 away from the answer, which counts where epochs are fractions.
    """
    n_entry = runs - 2
    if std == 0.0 or n_entry < 1:
        return mean
    t = two_sided_t(n_reference + n_entry - 2, 0.9)
    exact = mean - t * std * math.sqrt(1 / n_reference + 1 / n_entry)
    low, high = 0.0, mean
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if middle > exact else (middle, high)
    return (low + high) / 2


def _interpolate(batch_size: int, low: Point, high: Point, rules: ConvergenceRules) -> Point:
    """Return the point between two measured ones, counted as two submissions' runs."""
    sizes = [low.batch_size, high.batch_size]
    mean = float(np.interp(batch_size, sizes, [low.mean, high.mean]))
    std = float(np.interp(batch_size, sizes, [low.std, high.std]))
    return Point(batch_size, mean, std, _lower_limit(mean, std, 2 * rules.runs, rules.runs))


def reference(
    batch_size: int, pruned: Sequence[Point], rules: ConvergenceRules
) -> tuple[Point | None, Reason]:
    """Return the point to compare a batch size with, and its origin."""
    for point in pruned:
        if point.batch_size == batch_size:
            return point, "RCP found"
    smaller = [point for point in pruned if point.batch_size < batch_size]
    larger = [point for point in pruned if point.batch_size > batch_size]
    if smaller and larger:
        return _interpolate(batch_size, smaller[-1], larger[0], rules), "RCP Interpolation"
    if larger:
        return larger[0], "RCP not found but slower convergence on smaller batch size"
    return None, "Missing RCP" if smaller else "Cannot find any RCPs"


def check(
    values: Sequence[float],
    failed: int,
    batch_size: int | None,
    pruned: Sequence[Point],
    rules: ConvergenceRules,
    *,
    bypass: bool = False,
) -> ConvergenceVerdict:
    """Return the official verdict on an entry's convergence.

    `values` are samples or epochs to the target of the runs that converged; each of the `failed`
    counts as a slowest. `batch_size` is None if it is unknown or differs. What the official
    `--rcp_bypass` lets pass is passed with a mark by `bypass`.
    """
    if batch_size is None:
        return ConvergenceVerdict(passed=False, reason="Could not detect global_batch_size")
    if failed > rules.dropped:
        return ConvergenceVerdict(passed=False, reason="Insufficient convergence")
    sorted_values = np.array(sorted([*values, *[math.inf] * failed]))
    kept_values = sorted_values[rules.dropped : len(sorted_values) - rules.dropped]
    if not kept_values.size:
        return ConvergenceVerdict(passed=False, reason="too few runs")
    point, reason = reference(batch_size, pruned, rules)
    mean = float(np.mean(kept_values))
    limit = None if point is None else point.limit - rules.slack
    is_met = limit is not None and mean >= limit
    if not is_met and reason.startswith("RCP not found"):
        reason = "Missing RCP"
    bypassed = bypass and not is_met and reason in {"RCP found", "RCP Interpolation", "Missing RCP"}
    factor = 1.0 if point is None else max(1.0, point.mean / mean)
    return ConvergenceVerdict(is_met or bypassed, reason, factor, mean, limit, point, bypassed)


#: What the official package calls the rulesets of a suite.
_USAGES = {"mlperf": "training", "mlperf_hpc": "hpc"}
_FILES = "rcps_*.json"
Unit = Literal["epochs", "samples"]
_RULESET = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")


class Record(Struct, frozen=True):
    """Runs of the reference at one batch size: what each needed to reach the target, ascending.

    `unit` is what the record says it counts; the official ones say epochs of most that are
    samples.
    """

    name: str
    benchmark: str
    batch_size: int
    values: tuple[float, ...]
    unit: Unit


Records = Mapping[str, tuple[Record, ...]]
"""Records by benchmark, those of each by ascending batch size."""

Library = Callable[[str | None, str | None], Records]
"""Returns the records of a suite and a ruleset."""


class _RecordInFile(msgspec.Struct, frozen=True):
    """A record as it is written, as far as it is needed."""

    benchmark: str = msgspec.field(name="Benchmark")
    batch_size: int = msgspec.field(name="BS")
    epochs: tuple[float, ...] = msgspec.field(name="Epochs to converge", default=())
    samples: tuple[float, ...] = msgspec.field(name="samples to converge", default=())


def ruleset_of(round_: str | None) -> str | None:
    """Return the ruleset of a round: `5.0.0` of `v5.0`; None for another kind of name."""
    match = _RULESET.fullmatch(round_ or "")
    return None if match is None else ".".join(part or "0" for part in match.groups())


def ruleset(text: str) -> str:
    """Return the name of a ruleset, which may be given as a round, or raise an error."""
    name = ruleset_of(text)
    if name is None:
        raise TtastatsError(
            f"{text!r} is not a ruleset", where="--ruleset", remedy="Write 5.0.0 for v5.0."
        )
    return name


def library(records_folder: Path | None = None) -> Library:
    """Return a function to find records in a folder or in the official package.

    It raises a TtastatsError where the package or the folder is not there or cannot be used.
    """

    def records(suite: str | None, ruleset: str | None) -> Records:
        folder = records_folder or _package_folder()
        remedy = f"It must contain {_FILES} or subfolders of it."
        raise_if(not folder.exists(), "no such folder", str(folder), remedy)
        # A folder may have a part for each ruleset, as the package has.
        parts = (path for usage in _USAGES.values() for path in folder.glob(f"{usage}_*"))
        if records_folder is None or (folder.is_dir() and any(parts)):
            folder = folder / f"{_USAGES.get(suite or '', '')}_{ruleset}"
            if not folder.is_dir():
                return {}
        by_benchmark: dict[str, list[Record]] = {}
        for path in [folder] if folder.is_file() else sorted(folder.glob(_FILES)):
            for record in _records_in_file(path):
                by_benchmark.setdefault(record.benchmark, []).append(record)
        remedy = f"The folder must contain {_FILES}, as the official package does."
        raise_if(not by_benchmark, "no reference convergence records", str(folder), remedy)
        size = attrgetter("batch_size")
        return {name: tuple(sorted(records, key=size)) for name, records in by_benchmark.items()}

    return records


def _package_folder() -> Path:
    """Return the folder of the official package's records without importing it."""
    spec = importlib.util.find_spec("mlperf_logging")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    folder = Path(folders[0]) / "rcp_checker" if folders else None
    if folder is None or not folder.is_dir():
        raise TtastatsError(
            "the reference convergence records are not installed",
            where="mlperf_logging",
            remedy="Install the official package, `pip install 'mlperf-logging>=4.1'`, or give a "
            "folder with its rcps_*.json: --records FOLDER.",
        )
    return folder


def _records_in_file(path: Path) -> Iterator[Record]:
    problem = "not a file of reference convergence records"
    remedy = 'Expected: {"name": {"Benchmark": .., "BS": .., "Epochs to converge": [..]}}.'
    try:
        records = msgspec.json.decode(path.read_bytes(), type=dict[str, _RecordInFile])
    except OSError as error:
        raise TtastatsError(error.strerror or "cannot be read", where=str(path)) from None
    except msgspec.MsgspecError as error:
        raise TtastatsError(f"{problem}: {error}", where=str(path), remedy=remedy) from None
    # The file's name tells the benchmark, as it does for the official checker.
    name_of_file = path.stem.removeprefix("rcps_") if path.stem.startswith("rcps_") else None
    for name, record in records.items():
        values, size = record.samples or record.epochs, record.batch_size
        text = f"{problem}: {name} has no runs: neither epochs nor samples to converge"
        raise_if(not values, text, str(path), remedy)
        wrong = not all(math.isfinite(value) and value > 0 for value in values) or size < 1
        number = f"{problem}: {name} contains a number that is not positive"
        raise_if(wrong, number, str(path), remedy)
        unit: Unit = "samples" if record.samples else "epochs"
        yield Record(name, name_of_file or record.benchmark, size, tuple(sorted(values)), unit)
