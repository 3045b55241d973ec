"""Which runs of the reference does an official record of its convergence hold?

A reference convergence point (RCP) is what the reference implementation of a benchmark needs to
reach the target at one batch size, in twice as many runs as a submission makes. The official
package `mlperf_logging` carries them as JSON, a folder for each ruleset and a file for each
benchmark.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ttastats.base.errors import TtastatsError

#: What the official package calls the rulesets of a suite.
_USAGES = {"mlperf": "training", "mlperf_hpc": "hpc"}
_FILES = "rcps_*.json"
Unit = Literal["epochs", "samples"]
_RULESET = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")


@dataclass(frozen=True, slots=True)
class Record:
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


class _Written(msgspec.Struct, frozen=True):
    """A record as it is written, as far as it is needed."""

    benchmark: str = msgspec.field(name="Benchmark")
    batch_size: int = msgspec.field(name="BS")
    epochs: tuple[float, ...] = msgspec.field(name="Epochs to converge", default=())
    samples: tuple[float, ...] = msgspec.field(name="samples to converge", default=())


def ruleset_of(round_: str | None) -> str | None:
    """Return the ruleset of a round: `5.0.0` of `v5.0`; None for another kind of name."""
    match = _RULESET.fullmatch(round_ or "")
    return None if match is None else ".".join(part or "0" for part in match.groups())


def ruleset(written: str) -> str:
    """Return the name of a ruleset, which may be given as a round, or raise an error."""
    name = ruleset_of(written)
    if name is None:
        raise TtastatsError(
            f"{written!r} is not a ruleset", where="--ruleset", remedy="Write 5.0.0 for v5.0."
        )
    return name


def library(place: Path | None = None) -> Library:
    """Return a function that finds records in a folder or in the official package.

    It raises a TtastatsError where the package or the folder is not there or cannot be used.
    """

    def records(suite: str | None, ruleset: str | None) -> Records:
        folder = _package_folder() if place is None else place
        if not folder.exists():
            raise TtastatsError(
                "no such folder",
                where=str(folder),
                remedy=f"It must contain {_FILES} or subfolders of it.",
            )
        # A folder may have a part for each ruleset, as the package has.
        parts = (path for usage in _USAGES.values() for path in folder.glob(f"{usage}_*"))
        if place is None or (folder.is_dir() and any(parts)):
            part = folder / f"{_USAGES.get(suite or '', '')}_{ruleset}"
            return _read_records(part) if part.is_dir() else {}
        return _read_records(folder)

    return records


def _package_folder() -> Path:
    """Return the folder of the official package's records without importing it."""
    spec = importlib.util.find_spec("mlperf_logging")
    places = list(spec.submodule_search_locations or ()) if spec else []
    folder = Path(places[0]) / "rcp_checker" if places else None
    if folder is None or not folder.is_dir():
        raise TtastatsError(
            "the reference convergence records are not installed",
            where="mlperf_logging",
            remedy="Install the official package, `pip install 'mlperf-logging>=4.1'`, or give a "
            "folder with its rcps_*.json: --records FOLDER.",
        )
    return folder


def _read_records(place: Path) -> Records:
    files = [place] if place.is_file() else sorted(place.glob(_FILES))
    records: dict[str, list[Record]] = {}
    for path in files:
        for record in _records_in_file(path):
            records.setdefault(record.benchmark, []).append(record)
    if not records:
        raise TtastatsError(
            "no reference convergence records",
            where=str(place),
            remedy=f"The folder must contain {_FILES}, as the official package does.",
        )
    return {
        benchmark: tuple(sorted(some, key=lambda record: record.batch_size))
        for benchmark, some in records.items()
    }


def _records_in_file(path: Path) -> Iterator[Record]:
    try:
        records = msgspec.json.decode(path.read_bytes(), type=dict[str, _Written])
    except OSError as error:
        raise TtastatsError(error.strerror or "cannot be read", where=str(path)) from None
    except msgspec.MsgspecError as error:
        raise _unusable_error(path, str(error)) from None
    # The file's name tells the benchmark, as it does for the official checker.
    named = path.stem.removeprefix("rcps_") if path.stem.startswith("rcps_") else None
    for name, record in records.items():
        values = record.samples or record.epochs
        if not values:
            raise _unusable_error(
                path, f"{name} has no runs: neither epochs nor samples to converge"
            )
        if not all(math.isfinite(value) and value > 0 for value in values) or record.batch_size < 1:
            raise _unusable_error(path, f"{name} contains a number that is not positive")
        unit: Unit = "samples" if record.samples else "epochs"
        benchmark, size = named or record.benchmark, record.batch_size
        yield Record(name, benchmark, size, tuple(sorted(values)), unit)


def _unusable_error(path: Path, why: str) -> TtastatsError:
    return TtastatsError(
        f"not a file of reference convergence records: {why}",
        where=str(path),
        remedy='Expected: {"name": {"Benchmark": .., "BS": .., "Epochs to converge": [..]}}.',
    )
