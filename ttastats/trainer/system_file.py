"""What stands in `systems/SYSTEM.json`? The machine as detected, never over another description."""

from __future__ import annotations

import json
import warnings
from typing import Any

from ttastats import atomic
from ttastats.result_files import Place, explained
from ttastats.trainer import hardware
from ttastats.trainer.settings import Settings


def write(place: Place, settings: Settings) -> None:
    """Write the description unless there is one; one that differs is kept, with a warning.

    A person may have completed it by hand, or the folder may have come from another machine.

    Raises
    ------
    TtastatsError
        The folder cannot be written to.
    """
    described = description(place, settings)
    path = place.system_file
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            there = path.read_text("utf-8")
        except FileNotFoundError:
            atomic.write_text(path, json.dumps(described, indent=2) + "\n")
            return
    if _plain(there) != described:
        warnings.warn(
            f"{path} describes another machine or was edited; it is left as it is. "
            "Name this machine with --system if it is another.",
            SystemDiffers,
            stacklevel=2,
        )


class SystemDiffers(UserWarning):
    """The description of the system differs from what is detected."""


def description(place: Place, settings: Settings) -> dict[str, Any]:
    """Give the official fields, and under `ttastats` what decides how fast this machine is."""
    fields: dict[str, Any] = dict(hardware.describe(settings.device, settings.workers))
    fields |= {
        "submitter": place.org,
        "division": "open",
        "status": "Research, Development, or Internal (RDI)",
        "system_name": place.system,
        "ttastats": {
            "available_cpus": hardware.available_cpus(),
            "threads": settings.threads,
            "workers": settings.workers,
        },
    }
    return fields


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
