"""What stands in `systems/SYSTEM.json`? What is said of it, never over another description."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from ttastats.base import atomic
from ttastats.recording.result_files import ResultFolder, explained


class SystemDiffers(UserWarning):
    """The description of the system differs from what is said or detected."""


def write(place: ResultFolder, described: Mapping[str, Any]) -> None:
    """Write the description unless there is one; one that differs is kept, with a warning.

    A person may have completed it by hand, or the folder may have come from another machine.

    Raises
    ------
    TtastatsError
        The folder cannot be written to.
    """
    path = place.system_file
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            there = path.read_text("utf-8")
        except FileNotFoundError:
            atomic.write_text(path, json.dumps(described, indent=2) + "\n")
            return
    if not _holds(there, described):
        warnings.warn(
            f"{path} describes another machine or was edited; it is kept. If this is another "
            "system, give it another name.",
            SystemDiffers,
            stacklevel=2,
        )


def _holds(text: str, described: Mapping[str, Any]) -> bool:
    """Return whether a description says the same; it may say more."""
    try:
        there = json.loads(text)
    except ValueError:
        return False
    return isinstance(there, dict) and described.items() <= there.items()
