"""Where do the log of a run, the description of its system and its DAWNBench entry go?

`ROOT/ORG/results/SYSTEM/BENCHMARK/result_N.txt`, the layout of official results. The log is written
in place from the first line: a run that is killed leaves what it had said, and is counted.
"""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TextIO

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError

_RESULT = re.compile(r"result_(\d+)\.txt")


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """The folder names of a set of runs."""

    root: Path
    org: str
    system: str
    benchmark: str

    @property
    def results(self) -> Path:
        """Return the folder of the logs of this setup."""
        return self.root / self.org / "results" / self.system / self.benchmark

    @property
    def dawnbench(self) -> Path:
        """Return the folder of DAWNBench entries."""
        return self.root / self.org / "dawnbench" / self.benchmark


@contextmanager
def log_errors_named(path: Path) -> Iterator[None]:
    """Turn an OSError while writing into a message that names what is already written."""
    try:
        yield
    except OSError as error:
        raise TtastatsError(
            f"cannot write: {error.strerror or error}",
            where=str(path),
            remedy="Earlier output is kept. Free some space, or use another log folder.",
        ) from error


def create_log(place: ResultFolder) -> tuple[Path, TextIO]:
    """Create the log with the lowest free number; return its path and the open file.

    Creation is exclusive, so that two runs at once in one folder get two numbers.
    """
    with log_errors_named(place.results):
        place.results.mkdir(parents=True, exist_ok=True)
        for name in log_names():
            path = place.results / name
            try:
                return path, path.open("x", encoding="utf-8", buffering=1)
            except FileExistsError:
                continue
    raise AssertionError("numbers do not end")


def log_names() -> Iterator[str]:
    """Yield the names of logs: `result_0.txt`, `result_1.txt`, ..."""
    return (f"result_{number}.txt" for number in itertools.count())


def log_number(path: PurePath) -> int | None:
    """Return N of `result_N.txt`; None for any other name."""
    match = _RESULT.fullmatch(path.name)
    return int(match.group(1)) if match else None


class SystemDiffers(UserWarning):
    """The description of the system differs from what is given or detected."""


def write_description(place: ResultFolder, described: Mapping[str, Any]) -> None:
    """Write the system description; one that exists and differs is kept, with a warning."""
    path = place.root / place.org / "systems" / f"{place.system}.json"
    with log_errors_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            atomic.write_text(path, json.dumps(described, indent=2) + "\n")
            return
        content = path.read_bytes()
    fields = None
    with suppress(ValueError):
        fields = json.loads(content)
    if not isinstance(fields, dict) or not described.items() <= fields.items():
        warnings.warn(
            f"{path} describes another machine or was edited; it is kept. If this is another "
            "system, give it another name.",
            SystemDiffers,
            stacklevel=2,
        )


#: The columns of the qualities that the format knows.
COLUMNS = {"top1_accuracy": "top1Accuracy", "top5_accuracy": "top5Accuracy", "f1": "f1Score"}


def curve_table(metrics: Sequence[str], rows: Iterable[Sequence[float | None]]) -> str:
    """Return the text of a DAWNBench table; a row holds epochs, seconds and metrics."""
    lines = ["\t".join(["epoch", "hours", *(COLUMNS[name] for name in metrics)])]
    for epoch, seconds, *qualities in rows:
        hours = None if seconds is None else seconds / 3600.0
        numbers = (epoch, hours, *qualities)
        lines.append("\t".join("" if number is None else f"{number!r}" for number in numbers))
    return "\n".join(lines) + "\n"


def description_json(fields: Mapping[str, Any]) -> str:
    """Return the text of a DAWNBench description."""
    return json.dumps(fields, indent=2) + "\n"
