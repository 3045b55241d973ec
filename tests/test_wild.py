"""What people log outside MLPerf is read as an independent reader reads it.

What authors state of their runs comes out of `summary` and `runs`, from logs nobody has described.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.wild_tables import parameter_golf

pytestmark = pytest.mark.real

BLOCKS = Path(__file__).parent / "wild.toml"
#: What programs write, which no table and no pattern of lines describes.
KINDS = ("hf-trainer", "tfevents", "wandb-local", "mlflow", "sb3")
#: How the truth calls a metric that its files do not name.
NAMES = {"mean evaluation reward": "eval/mean_reward"}
TORN = "aorvieto r8mtbfdx: truncated store"
#: What the truth says of a target.
TARGET = {"target", "reached", "tta_seconds", "step_to_target", "epoch_to_target"}


@pytest.fixture(scope="module")
def truth(wild: Path) -> list[dict[str, Any]]:
    setups: list[dict[str, Any]] = json.loads((wild / "truth.json").read_text("utf-8"))
    return setups


@pytest.fixture(scope="module")
def setups(truth: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [setup for setup in truth if setup["kind"] not in KINDS]


@pytest.fixture(scope="module")
def rows(wild: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    table = tmp_path_factory.mktemp("wild") / "wild.parquet"
    tta.ingest([wild], table, config=BLOCKS)
    return pl.read_parquet(table)


@pytest.fixture(scope="module")
def guessed(wild: Path, ingested_round: Callable[[str], tta.Account]) -> pl.DataFrame:
    """Return the runs of the wild files, read without configuration."""
    return pl.read_parquet(ingested_round("wild").output).filter(pl.col("dialect").is_not_null())


def read_runs(rows: pl.DataFrame, wild: Path) -> dict[tuple[str, str], list[pl.DataFrame]]:
    """Return the evaluations of each run by file and metric, in the order of the file."""
    groups: dict[tuple[str, str], list[pl.DataFrame]] = {}
    for run in rows.partition_by("source", "run_id", "metric", maintain_order=True):
        place = str(Path(run["source"][0]).relative_to(wild))
        groups.setdefault((place, run["metric"][0]), []).append(run)
    for runs in groups.values():
        runs.sort(key=lambda run: int(run["run_id"][0].rpartition("-")[2]))
    return groups


def selected(run: pl.DataFrame, truth: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a run that its truth states."""
    last = run.row(-1, named=True)
    known = run.filter(pl.col("value").is_not_null())
    sign = 1 if truth["higher_is_better"] else -1
    met = known.filter(sign * pl.col("value") >= sign * truth.get("target", 0.0))
    first = met.row(0, named=True) if met.height else dict.fromkeys(run.columns)
    return {
        "evaluations": run.height,
        "higher_is_better": last["higher_is_better"],
        "final": last["value"],
        "best": sign * (sign * known["value"]).max(),
        "last_eval_seconds": last["seconds"],
        "last_step": last["step"],
        "last_epoch": last["epoch"],
        "target": last["target_value"],
        "reached": met.height > 0,
        "tta_seconds": first["seconds"],
        "step_to_target": first["step"],
        "epoch_to_target": first["epoch"],
    }


def without_target(truth: Mapping[str, Any]) -> dict[str, Any]:
    """Return a truth without its target, and without times that only its reader looked for."""
    times = ["last_eval_seconds"] if truth["file"].startswith("parameter-golf/") else []
    return {name: value for name, value in truth.items() if name not in {*TARGET, *times}}


def compared(
    setups: list[dict[str, Any]],
    runs: Mapping[tuple[str, str], list[pl.DataFrame]],
    known: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> tuple[int, list[str]]:
    """Return how many runs of the truth were read, and in what they differ from what is known."""
    taken: dict[tuple[str, str], int] = {}
    number, wrong = 0, []
    for truth in (truth for setup in setups for truth in setup["runs"]):
        key = (truth["file"], truth["metric"])
        position = order_of(truth, key, runs, taken)
        if position is not None:
            number += 1
            read, true = selected(runs[key][position], truth), known(truth)
            differing = (n for n in read if n in true and not same(read[n], true[n]))
            wrong += [f"{truth['run']}: {n}: {read[n]} instead of {true[n]}" for n in differing]
    return number, wrong


def same(read: Any, true: Any) -> bool:
    """Compare with a truth of ten significant digits, of seconds to the millisecond."""
    if read is None or true is None:
        return read is true
    return bool(read == pytest.approx(true, rel=1e-9, abs=6e-4 if true > 100 else 1e-9))


def test_every_run_is_read_as_an_independent_reader_reads_it(
    setups: list[dict[str, Any]], rows: pl.DataFrame, wild: Path
) -> None:
    assert compared(setups, read_runs(rows, wild)) == (383, [])


def test_every_file_is_read_as_what_it_looks_like_or_not_at_all(
    wild: Path, guessed: pl.DataFrame
) -> None:
    guesses = guessed.select(
        kind=pl.col("source").str.strip_prefix(f"{wild}/").str.split("/").list.first(),
        preset=pl.coalesce(pl.col("extra").str.json_path_match("$.preset"), "dialect"),
    )
    expected = {
        "algoperf": "algoperf",
        "autoresearch": "autoresearch",
        "deepspeed": "deepspeed",
        "deit-jsonl": "deit",
        "hf-trainer": "hf-trainer",
        "keras-csv": "keras",
        "lightning-csv": "lightning",
        "llmc": "llmc",
        "mlflow": "mlflow",
        "mmdet-json": "mmcv",
        "modded-nanogpt": "nanogpt-speedrun",
        "nanogpt-stdout": "nanogpt-speedrun",
        "parameter-golf": "parameter-golf",
        "sb3": "evaluations-npz",
        "wandb-export": "wandb-table",
        "wandb-local": "wandb",
        "yolo-csv": "ultralytics",
    }
    assert set(guesses.iter_rows()) == {*expected.items(), ("deepspeed", "deepspeed-random-ltd")}


def test_what_presets_read_without_a_word_is_what_an_independent_reader_reads(
    setups: list[dict[str, Any]], wild: Path, guessed: pl.DataFrame
) -> None:
    assert compared(setups, read_runs(guessed, wild), without_target) == (283, [])


def order_of(
    truth: Mapping[str, Any],
    key: tuple[str, str],
    runs: Mapping[tuple[str, str], list[pl.DataFrame]],
    taken: dict[tuple[str, str], int],
) -> int | None:
    """Return which run of a file is meant: by seed and name where it is named, else the next."""
    candidates = runs.get(key, [])
    seed = truth["run"].rpartition("seed ")[2]
    if "seed " in truth["run"]:
        entry = truth["run"].rpartition(" seed ")[0]
        named = [(str(run["seed"][0]), run["entry"][0] if entry else "") for run in candidates]
        return named.index((seed, entry)) if named.count((seed, entry)) == 1 else None
    position = taken.get(key, 0)
    taken[key] = position + 1
    return position if position < len(candidates) else None


def store_of(run: Mapping[str, Any], wild: Path) -> str:
    """Return the file that identifies a run: the description of an MLflow run, the W&B store."""
    file: str = run["file"]
    if "/metrics/" in file:
        return f"{file.partition('/metrics/')[0]}/meta.yaml"
    stores = list((wild / file).parent.parent.glob("*.wandb"))
    return str(stores[0].relative_to(wild)) if file.endswith("summary.json") and stores else file


def test_what_programs_write_is_read_as_an_independent_reader_reads_it(
    truth: list[dict[str, Any]], wild: Path, guessed: pl.DataFrame, tmp_path: Path
) -> None:
    """Checkpoints are parts of a later one, and event files beside a table parts of its run."""
    events = tta.ingest([wild / "algoperf"], tmp_path / "x.parquet", dialect="tfevents").output
    rows = pl.concat([guessed, pl.read_parquet(events)]).filter(pl.col("metric").is_not_null())
    runs = [
        run | {"file": store_of(run, wild), "metric": NAMES.get(run["metric"], run["metric"])}
        for setup in truth
        if setup["kind"] in KINDS
        for run in setup["runs"]
        if "history_rows" not in run
    ]
    result = compared([{"runs": runs}], read_runs(rows, wild), lambda run: {**run, "target": None})
    assert result == (38, [])  # the targets are those of the truth


def test_a_store_that_was_copied_while_it_was_written_tells_where_it_ends(
    truth: list[dict[str, Any]], wild: Path, guessed: pl.DataFrame
) -> None:
    (expected,) = next(setup["runs"] for setup in truth if setup["setup"] == TORN)
    # Its evaluation is that of the summary: the history has none of this metric.
    (row,) = guessed.filter(source=str(wild / expected["file"])).iter_rows(named=True)
    extra = json.loads(row["extra"])
    for name in ("history_rows", "last_history_step"):
        assert extra[name] == expected[name]
    codes = [problem["code"] for problem in json.loads(row["problems"])]
    assert codes == ["torn_tail", "no_exit_record", "summary_is_later"]
    assert (row["value"], row["step"]) == (expected["summary_test_acc"], expected["summary_step"])
    assert same(row["seconds"], expected["summary_runtime"])


@pytest.fixture(scope="module")
def stated(truth: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {setup["setup"]: setup for setup in truth}


def spread(runs: list[dict[str, Any]], name: str) -> tuple[float, float]:
    values = [run[name] for run in runs]
    return statistics.mean(values), statistics.stdev(values)


def test_means_and_deviations_of_all_setups_of_an_export(
    guessed: pl.DataFrame, stated: dict[str, dict[str, Any]]
) -> None:
    """A target that no run meets makes `runs` give the last value and the whole time of each."""
    setups = {
        name.removeprefix("Lucas-longxutang "): study["stated_by_authors"]
        for name, study in stated.items()
        if study["kind"] == "wandb-export"
    }
    ours: Any = {"where": ["source=*wandb_export*"], "target": ["val/loss<=3.4"]}
    summary = {row["entry"]: row for row in tta.summary(guessed, **ours).rows}
    runs = tta.runs(guessed, **ours).rows
    assert summary.keys() == setups.keys()
    assert len(setups) == 16
    for entry, theirs in setups.items():
        row, part = summary[entry], [run for run in runs if run["entry"] == entry]
        assert row["n"] == len(part) == theirs["n"]
        numbers = (row["tta_mean_seconds"], row["tta_std_seconds"], *spread(part, "value_final"))
        names = ("runtime_mean", "runtime_std", "val_loss_mean", "val_loss_std")
        assert numbers == pytest.approx(tuple(theirs[name] for name in names), rel=1e-8)


def test_medians_of_three_studies_of_algoperf(
    guessed: pl.DataFrame, stated: dict[str, dict[str, Any]]
) -> None:
    setups = {n: study["check"] for n, study in stated.items() if study["kind"] == "algoperf"}
    assert len(setups) >= 8
    for name, check in setups.items():
        entry, _, benchmark = name.rpartition("/")[2].partition(" ")
        theirs = [float(seconds) for seconds in check["best_trial_tta_per_study"]]
        best = []
        for study in range(len(theirs)):
            which = [f"entry={entry}", f"benchmark={benchmark}", f"source=*/study_{study}/*"]
            trials = tta.runs(guessed, where=which).rows
            best.append(min(t["tta_seconds"] if t["reached"] else math.inf for t in trials))
        assert best == pytest.approx(theirs, abs=1e-5)
        median = float(check["median_over_studies"])
        assert statistics.median(best) == pytest.approx(median, abs=1e-5)


def test_the_submitted_value_of_parameter_golf(
    wild: Path, tmp_path: Path, stated: dict[str, dict[str, Any]]
) -> None:
    theirs = stated["2026-04-09_SP8192_3LayerRecur_ParResid_QK525_LegalTTT"]["stated_by_authors"]
    runs = tta.runs(parameter_golf(wild, tmp_path)).rows
    mean, deviation = spread(runs, "value_final")
    assert sorted(run["seed"] for run in runs) == theirs["seeds"]
    assert (round(mean, 3), round(deviation, 4)) == (theirs["val_bpb"], theirs["val_bpb_std"])
