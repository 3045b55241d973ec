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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ttastats.base.errors import TtastatsError

#: What the official package calls the rulesets of a suite.
_USAGES = {"mlperf": "training", "mlperf_hpc": "hpc"}
_FILES = "rcps_*.json"
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
    unit: Literal["epochs", "samples"]


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
    """Return the ruleset of a round: `5.0.0` of `v5.0`; None where it has no such name."""
    match = _RULESET.fullmatch(round_ or "")
    return None if match is None else ".".join(part or "0" for part in match.groups())


def ruleset(written: str) -> str:
    """Read the name of a ruleset, which may be written as a round.

    Raises
    ------
    TtastatsError
        It is none.
    """
    found = ruleset_of(written)
    if found is None:
        raise TtastatsError(
            f"{written!r} is not a ruleset", where="--ruleset", remedy="Write 5.0.0 for v5.0."
        )
    return found


def library(place: Path | None = None) -> Library:
    """Return what finds records in a folder or, without one, in the official package.

    It raises a TtastatsError where the package or the folder is not there or cannot be used.
    """
    if place is None:
        return _of_package
    return lambda suite, ruleset: _of_folder(place, suite, ruleset)


def _of_package(suite: str | None, ruleset: str | None) -> Records:
    """Return the records of a ruleset in the official package, if it has any."""
    folder = _package() / f"{_USAGES.get(suite or '', '')}_{ruleset}"
    return _read(folder) if folder.is_dir() else {}


def _of_folder(place: Path, suite: str | None, ruleset: str | None) -> Records:
    """Return the records in a folder, or in its part for a ruleset where it has such parts."""
    if not place.exists():
        raise TtastatsError(
            "no such folder",
            where=str(place),
            remedy=f"It must contain {_FILES} or subfolders of it.",
        )
    parts = [f"{usage}_*" for usage in _USAGES.values()]
    if place.is_dir() and any(any(place.glob(pattern)) for pattern in parts):
        part = place / f"{_USAGES.get(suite or '', '')}_{ruleset}"
        return _read(part) if part.is_dir() else {}
    return _read(place)


def _package() -> Path:
    """Return the folder of the official package's records without importing it."""
    found = importlib.util.find_spec("mlperf_logging")
    places = list(found.submodule_search_locations or ()) if found else []
    folder = Path(places[0]) / "rcp_checker" if places else None
    if folder is None or not folder.is_dir():
        raise TtastatsError(
            "the reference convergence records are not installed",
            where="mlperf_logging",
            remedy="Install the official package, `pip install 'mlperf-logging>=4.1'`, or give a "
            "folder with its rcps_*.json: --records FOLDER.",
        )
    return folder


def _read(place: Path) -> Records:
    files = [place] if place.is_file() else sorted(place.glob(_FILES))
    found: dict[str, list[Record]] = {}
    for path in files:
        for record in _of_file(path):
            found.setdefault(record.benchmark, []).append(record)
    if not found:
        raise TtastatsError(
            "no reference convergence records",
            where=str(place),
            remedy=f"The folder must contain {_FILES}, as the official package does.",
        )
    return {
        benchmark: tuple(sorted(some, key=lambda record: record.batch_size))
        for benchmark, some in found.items()
    }


def _of_file(path: Path) -> list[Record]:
    try:
        written = msgspec.json.decode(path.read_bytes(), type=dict[str, _Written])
    except OSError as error:
        raise TtastatsError(error.strerror or "cannot be read", where=str(path)) from None
    except msgspec.MsgspecError as error:
        raise _unusable(path, str(error)) from None
    # The file's name tells the benchmark, as it does for the official checker.
    named = path.stem.removeprefix("rcps_") if path.stem.startswith("rcps_") else None
    return [_record(path, name, named or one.benchmark, one) for name, one in written.items()]


def _record(path: Path, name: str, benchmark: str, written: _Written) -> Record:
    values = written.samples or written.epochs
    if not values:
        raise _unusable(path, f"{name} has no runs: neither epochs nor samples to converge")
    if not all(math.isfinite(value) and value > 0 for value in values) or written.batch_size < 1:
        raise _unusable(path, f"{name} contains a number that is not positive")
    unit: Literal["epochs", "samples"] = "samples" if written.samples else "epochs"
    return Record(name, benchmark, written.batch_size, tuple(sorted(values)), unit)


def _unusable(path: Path, why: str) -> TtastatsError:
    return TtastatsError(
        f"not a file of reference convergence records: {why}",
        where=str(path),
        remedy='Expected: {"name": {"Benchmark": .., "BS": .., "Epochs to converge": [..]}}.',
    )
