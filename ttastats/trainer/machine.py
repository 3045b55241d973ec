"""What does the description of a system say? The machine as detected."""

from __future__ import annotations

from typing import Any

from ttastats.result_files import Place
from ttastats.trainer import hardware
from ttastats.trainer.settings import Settings


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
