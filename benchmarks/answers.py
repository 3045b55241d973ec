"""What do answers from large tables cost, beside a few lines of polars on the same files?"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).resolve().parent.parent
#: What one would write by hand: when each run met its target, the mean time of each entry, and how
#: much of its variance is that of epochs.
BY_HAND = """
import sys, polars as pl
value, target = pl.col("value"), pl.col("target_value")
higher = pl.col("higher_is_better").fill_null(True)
met = pl.when(higher).then(value >= target).otherwise(value <= target)
runs = pl.scan_parquet(sys.argv[1:]).group_by("run_id", "source").agg(
    pl.col("benchmark", "entry", "run_seconds", "run_status").first(),
    pl.col("seconds", "epoch").filter(met).first()).collect()
epochs, time = pl.col("epoch").log(), pl.col("seconds").log()
print(runs.group_by("benchmark", "entry").agg(
    n=pl.len(), reached=pl.col("seconds").count(), mean=pl.col("seconds").mean(),
    std=pl.col("seconds").std(), of_epochs=epochs.var(), of_pace=(time - epochs).var(),
    of_both=pl.cov(epochs, time - epochs)).sort("benchmark", "mean").write_csv())
"""
#: A frame of a million evaluations, and how it becomes a table.
FRAME = """
import numpy as np, polars as pl, ttastats
frame = pl.DataFrame({"seed": np.arange(1_000_000) // 10, "step": np.arange(1_000_000) % 10})
frame = frame.with_columns(seconds=pl.col("step") * 7.0 + 1, accuracy=pl.col("step") / 10)
"""
FROM_FRAME = """
ttastats.from_frame(frame, run="seed", metric="accuracy", seconds="seconds", step="step")
"""
#: How often each round stands in the eleven tables; they come to 17,000 runs.
ELEVEN = ("v5.0",) * 9 + ("v0.7", "v0.5")
NAMES = ("run_id", "source", "source_digest", "content_digest", "submitter", "entry")
BENCHMARKS = ("bert", "dlrm", "gpt", "resnet", "unet")
#: Of made tables: entries of each benchmark, runs of each, least and most evaluations of a run.
SIZES = ((200, 10, 3, 8), (2_000, 10, 3, 8), (4_000, 50, 10, 10))


def eleven(tables: Path, folder: Path) -> list[Path]:
    """Write eleven tables: existing rounds, repeated under other names."""
    from ttastats.table import store

    paths = []
    for number, name in enumerate(ELEVEN):
        renamed = [pl.format(f"{{}}~{number}", column).alias(column) for column in NAMES]
        paths.append(folder / f"round_{number}.parquet")
        rows = store.read_tables([tables / f"{name}.parquet"]).with_columns(renamed).collect()
        store.write(rows, paths[-1])
    return paths


def large(folder: Path, entries: int, runs_of_each: int, least: int, most: int) -> list[Path]:
    """Write a table of made-up runs; the last run of each entry and benchmark was aborted."""
    from ttastats.table import schema, store

    rng = np.random.default_rng(1)
    number = entries * len(BENCHMARKS) * runs_of_each
    pace = pl.DataFrame({"e": range(entries), "pace": np.exp(rng.normal(6, 1, entries))})
    runs = (
        pace.join(pl.DataFrame({"benchmark": BENCHMARKS}), how="cross")
        .join(pl.DataFrame({"r": range(runs_of_each)}), how="cross")
        .with_columns(pl.Series("needed", rng.integers(least, most + 1, number)))
        .with_columns(run_seconds=pl.col("pace") * rng.normal(1, 0.05, number))
    )
    last, failed = pl.col("eval_index") == pl.col("needed") - 1, pl.col("r") == runs_of_each - 1
    progress = (pl.col("eval_index") + 1) / pl.col("needed")
    rows = (
        runs.join(pl.DataFrame({"eval_index": range(most)}), how="cross")
        .filter(pl.col("eval_index") < pl.col("needed"))
        .with_columns(
            run_id=pl.format("{}-{}-{}", "e", "benchmark", "r"),
            source=pl.format("logs/{}/{}/{}.txt", "e", "benchmark", "r"),
            entry=pl.format("entry {}", "e"),
            system=pl.format("system {}", pl.col("e") // 4),
            submitter=pl.format("lab {}", pl.col("e") % 40),
            accelerators=2 ** (3 + pl.col("e") % 5),
            seed="r",
            metric=pl.lit("accuracy"),
            value=pl.when(last & ~failed).then(0.9).otherwise(progress * 0.7),
            target_value=0.8,
            seconds=pl.col("run_seconds") * progress,
            epoch=pl.col("eval_index") + 1,
            run_status=pl.when(failed).then(pl.lit("aborted")).otherwise(pl.lit("success")),
        )
    )
    typed = [
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.POLARS.items()
    ]
    path = folder / f"{number}.parquet"
    store.write(rows.sort("source", "eval_index").lazy().select(typed), path)
    return [path]


def programs_of(files: list[Path], commands: list[list[str]]) -> dict[str, list[str]]:
    """Return the hand-written programs and the commands that answer from some tables."""
    programs = {"polars by hand": [sys.executable, "-c", BY_HAND, *map(str, files)]}
    for words in commands:
        visible_words = (word for word in words if not word.endswith(("page.html", "all.parquet")))
        name = f"`{' '.join(visible_words)}`"
        command = [sys.executable, "-m", "ttastats", words[0], *map(str, files), *words[1:]]
        programs[name.replace(" -o", "")] = command
    return programs


def compared(title: str, programs: dict[str, list[str]], turns: int) -> list[str]:
    """Return the section of some programs, measured in turns; ratios are over the first."""
    from benchmarks.ingest.measuring import Cost, measured, ratio

    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(turns):
        for name, command in programs.items():
            costs[name].append(measured(command))
    lines = [f"### {title}\n", "| | CPU s, least | CPU, first row 1 | MB | MB, first row 1 |"]
    lines.append("|---|---:|---:|---:|---:|")
    by_hand = next(iter(costs.values()))
    for name, of_command in costs.items():
        cpu, peak = min(cost.cpu for cost in of_command), max(cost.peak for cost in of_command)
        times = ratio([cost.cpu for cost in of_command], [cost.cpu for cost in by_hand])
        memory = peak / max(cost.peak for cost in by_hand)
        lines.append(f"| {name} | {cpu:.2f} | {times:.1f}× | {peak / 1e6:.0f} | {memory:.1f}× |")
    return [*lines, ""]


def main(arguments: Any = None) -> int:
    """Make the tables, measure in turns, and print what was found as Markdown."""
    parser = argparse.ArgumentParser(prog="python benchmarks/answers.py", description=__doc__)
    parser.add_argument(
        "tables", type=Path, help="a folder with a table of each round: v0.5.parquet, v0.7, v5.0"
    )
    parser.add_argument("--turns", type=int, default=3, help="of every command; 3")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        # An installed program has its bytecode, whatever is set here.
        os.environ["PYTHONPYCACHEPREFIX"] = f"{scratch}/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        folder = Path(scratch)
        page = ["report", "-o", f"{scratch}/page.html"]
        # Made by another process: the memory of a program is at least that of the one it is
        # started from.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            several = pool.submit(eleven, options.tables, folder).result()
            small_table, medium_table, million = (
                pool.submit(large, folder, *size).result() for size in SIZES
            )
        rounds, merged = sorted(options.tables.glob("*.parquet")), folder / "rounds.parquet"
        filter_all = [sys.executable, "-m", "ttastats", "filter", *rounds, "-o", merged]
        subprocess.run(filter_all, check=True)
        parts = (
            (f"All rounds: {', '.join(path.stem for path in rounds)}", [merged], [page]),
            ("v5.0: 1,717 runs", [options.tables / "v5.0.parquet"], [["runs"], page]),
            (
                "Eleven tables: 16,993 runs",
                several,
                [
                    ["runs"],
                    ["summary"],
                    ["score"],
                    ["rcp"],
                    ["filter", "-o", f"{scratch}/all.parquet"],
                ],
            ),
            (
                "100,000 runs in 10,000 groups",
                medium_table,
                [
                    [*words, *rows]
                    for words in (["runs"], ["summary"], ["variance"])
                    for rows in ([], ["-f", "csv"])
                ]
                + [page],
            ),
            ("10,000 runs in 1,000 groups", small_table, [["summary", "-f", "csv"]]),
            (
                "1,000,000 runs in 20,000 groups",
                million,
                [
                    ["summary", "-f", "csv"],
                    ["compare", "--a", "entry=entry 1", "--b", "entry=entry 2"],
                ],
            ),
        )
        programs_by_input = {
            title: programs_of(files, commands) for title, files, commands in parts
        }
        programs_by_input["A frame of a million rows"] = {
            "the frame": [sys.executable, "-c", FRAME],
            "`from_frame`": [sys.executable, "-c", FRAME + FROM_FRAME],
        }
        for title, programs in programs_by_input.items():
            print("\n".join(compared(title, programs, options.turns)), flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    raise SystemExit(importlib.import_module("benchmarks.answers").main())
