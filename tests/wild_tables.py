"""Tables of runs that others published, for tests of what their authors state."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ttastats import ingest

_RECORD = "modded-nanogpt/2026-07-17_FP8DownProjection"


def nanogpt(wild: Path, folder: Path) -> tuple[Path, Path]:
    """Ingest records 88 and 89 of the NanoGPT speedrun, thirteen runs each."""
    tables = []
    for number, part in ((88, "baseline"), (89, "this_pr")):
        table = folder / f"record_{number}.parquet"
        if not table.exists():
            ingest([wild / _RECORD / part], table, workers=1)
        tables.append(table)
    return tables[0], tables[1]


def track_3(wild: Path, folder: Path) -> Path:
    """Ingest result 6 of its third track: twenty runs in one file."""
    table = folder / "track_3.parquet"
    logs = sorted((wild / "modded-nanogpt/track_3_optimization/results").glob("*.txt"))
    ingest(logs, table, workers=1)
    return table


def nanochat(wild: Path, folder: Path) -> Path:
    """Ingest the twenty seeds of one recipe that a pull request to nanochat lists."""
    block = """
        files   = "pr807_20_seeds.csv"
        run     = "seed"
        seconds = "train_time_sec s"
        step    = "num_iterations"
        metric  = "core_score >= 0.256525"
    """
    return _described(wild / "nanochat", folder, "nanochat", block)


def parameter_golf(wild: Path, folder: Path) -> Path:
    """Ingest the three seeds of a submission to Parameter Golf, with the value that counts."""
    block = """
        files   = "*/train_seed{seed}.log"
        line    = ['wallclock_cap train_time: (?P<ms>\\d+)ms step: (?P<step>\\d+)',
                   '^quantized_ttt val_loss:\\S+ val_bpb:(?P<submitted_bpb>\\S+)']
        seconds = "ms ms"
        metric  = "submitted_bpb lower"
    """
    return _described(wild / "parameter-golf", folder, "golf", block)


def _described(logs: Path, folder: Path, name: str, block: str) -> Path:
    """Ingest logs as a block of a `ttastats.toml` describes them."""
    config, table = folder / f"{name}.toml", folder / f"{name}.parquet"
    config.write_text(f"[[logs]]\n{textwrap.dedent(block)}", "utf-8")
    ingest([logs], table, config=config, workers=1)
    return table
