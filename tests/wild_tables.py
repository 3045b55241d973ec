"""Tables of runs that others published, for tests of what their authors state."""

from __future__ import annotations

from pathlib import Path

from ttastats import ingest

_RECORD = "modded-nanogpt/2026-07-17_FP8DownProjection"


def nanogpt(wild: Path, folder: Path) -> tuple[Path, Path]:
    """Ingest records 88 and 89 of the NanoGPT speedrun, thirteen runs each."""
    found = []
    for number, part in ((88, "baseline"), (89, "this_pr")):
        table = folder / f"record_{number}.parquet"
        if not table.exists():
            ingest([wild / _RECORD / part], table, workers=1)
        found.append(table)
    return found[0], found[1]
