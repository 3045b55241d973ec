"""Hold logs that nobody described against an independent reader of them; prints a table.

    python benchmarks/reading.py DATA/wild

DATA/wild has a folder for each kind of logs, and `truth.json`: of each run the metric, its last
value, and where a stated target was met, read by code that shares nothing with the project. Each
folder with runs is read by `ttastats ingest FOLDER --guess`. A setup is

right    if each run tells the value, the steps and the seconds of the truth (within 1 in 1,000);
asked    if it is refused with a question;
marked   if a number differs or is missing, and a warning or an error of the run says why;
wrong    if a number differs without a word.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import ttastats as tta

CLASSES = ("right", "asked", "marked", "wrong")
#: How the truth calls a metric that its files do not name.
NAMES = {"mean evaluation reward": "eval/mean_reward"}
#: What is compared: the name in the truth, and the column of the table.
AT_TARGET = {"tta_seconds": "seconds", "step_to_target": "step", "epoch_to_target": "epoch"}


def main(arguments: Sequence[str]) -> int:
    """Print the number of setups in each class by kind; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/reading.py", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="say what differs")
    options = parser.parse_args(arguments)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for setup, verdict, reasons in judge(options.data):
        counts[setup["kind"]][verdict] += 1
        if options.verbose and verdict != "right":
            print(f"{verdict:7}{setup['kind']}: {setup['setup']}: {'; '.join(reasons[:3])}")
    print("| kind | " + " | ".join(CLASSES) + " |\n| --- |" + " ---: |" * len(CLASSES))
    for kind, of_kind in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"| {kind} | " + " | ".join(str(of_kind[name] or "") for name in CLASSES) + " |")
    return 0


def judge(data: Path) -> Iterator[tuple[Mapping[str, Any], str, list[str]]]:
    """Yield each setup of the truth, its class, and its differences."""
    tables: dict[Path, tuple[pl.DataFrame, str]] = {}
    for setup in json.loads((data / "truth.json").read_text("utf-8")):
        folder = data / setup["runs"][0]["file"].partition("/")[0]
        if folder not in tables:
            tables[folder] = read(folder)
        rows, refusal = tables[folder]
        positions = Counter[str]()
        verdicts, reasons = set[str](), list[str]()
        for truth in setup["runs"]:
            run = run_of(rows, data, truth, positions)
            verdict, reason = compare(run, truth, refusal)
            verdicts.add(verdict)
            reasons += [f"{truth['run']}: {reason}"] if reason else []
        yield setup, max(verdicts, key=CLASSES.index), reasons


def read(folder: Path) -> tuple[pl.DataFrame, str]:
    """Return the rows of a folder as it is guessed, and what was refused."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            account = tta.ingest([folder], Path(scratch, "x.parquet"), guess=tta.guess)
        except tta.TtastatsError as error:
            return pl.DataFrame(), str(error)
        refused = "; ".join(problem.message for problem in account.rejected)
        return pl.read_parquet(account.output), refused


def run_of(
    rows: pl.DataFrame, data: Path, truth: Mapping[str, Any], positions: Counter[str]
) -> pl.DataFrame:
    """Return the evaluations of a run of the truth, the next in its file if there are several."""
    metric = NAMES.get(truth["metric"], truth["metric"])
    plain = "".join(char if char.isalnum() else "_" for char in metric.lower())
    source = str(data / truth["file"])
    if rows.is_empty():
        return rows
    of_metric = pl.col("metric").str.to_lowercase().str.replace_all(r"[^a-z0-9]", "_") == plain
    of_file = rows.filter(of_metric, pl.col("source") == source)
    if of_file.is_empty():  # a store is known by another of its files
        store = re.split("/(?:metrics|files|checkpoint-[0-9]+|last-checkpoint)/", source)[0]
        of_file = rows.filter(of_metric, pl.col("source").str.starts_with(store))
    runs = of_file.partition_by("source", "run_id")
    runs.sort(key=lambda run: (run["source"][0], int(run["run_id"][0].rpartition("-")[2])))
    called = [f"{run['entry'][0]} seed {run['seed'][0]}" for run in runs]
    seeded = [run for run, name in zip(runs, called, strict=True) if name.endswith(truth["run"])]
    at = positions[truth["file"]]
    positions[truth["file"]] += 1
    return next(iter(seeded or runs[at : at + 1]), of_file[:0])


def compare(run: pl.DataFrame, truth: Mapping[str, Any], refusal: str) -> tuple[str, str]:
    """Return the class of a run, and its differences."""
    if run.is_empty():
        return ("asked", refusal) if refusal else ("marked", "not read")
    differing = [text for text in differences(run, truth) if text]
    if not differing:
        return "right", ""
    doubts = [p for p in json.loads(run["problems"][0] or "[]") if p["severity"] != "info"]
    return "marked" if doubts else "wrong", "; ".join(differing)


def differences(run: pl.DataFrame, truth: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between a run and its truth."""
    finite = run.filter(pl.col("value").is_finite())
    if truth.get("last_step") is not None:  # of a checkpoint that another one continues
        finite = finite.filter((pl.col("step") <= truth["last_step"]).fill_null(value=True))
    sign = 1 if truth["higher_is_better"] else -1
    met = finite.filter(sign * pl.col("value") >= sign * truth.get("target", sign * math.inf))
    final, last = truth.get("final"), finite["value"].last()
    if final is not None and not math.isclose(
        math.nan if last is None else last, final, rel_tol=1e-3, abs_tol=1e-9
    ):
        yield f"the last value is {last}, not {final}"
    if "reached" in truth and bool(met.height) != truth["reached"]:
        yield f"reached is {bool(met.height)}, not {truth['reached']}"
    for name, column in AT_TARGET.items() if met.height else ():
        true, value = truth.get(name), met[column][0]
        if true is not None and (value is None or not math.isclose(value, true, rel_tol=1e-3)):
            yield f"{name} is {value}, not {true}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
