"""Logs of every kind that were cut off, continued in the same file, or hold two runs.

No number is made up, nothing is lost without a word, and nothing ends in an error of the program.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from tests.conftest import FIXTURES
from ttastats.base.errors import TtastatsError
from ttastats.formats.config import FILE
from ttastats.ingestion.ingest import ingest
from ttastats.table import store

#: A fixture of each kind of log that is no text of a suite.
KINDS = {
    "airbench": "lines/airbench.txt",
    "algoperf": "table/algoperf_measurements.csv",
    "autoresearch": "table/autoresearch_results.tsv",
    "autoresearch-log": "lines/autoresearch_run.log",
    "bars": "lines/progress_bar.log",
    "deepspeed": "lines/deepspeed_value_alone.log",
    "deepspeed-random-ltd": "lines/deepspeed_random_ltd.log",
    "deit": "table/deit.txt",
    "detectron2": "table/detectron2_metrics.json",
    "evaluations-npz": "evaluations-npz/three_evaluations",
    "hf-trainer": "hf-trainer/several_sets_and_nan",
    "keras": "table/keras.csv",
    "lightning": "table/lightning.csv",
    "llmc": "lines/llmc.log",
    "megatron": "lines/megatron_stamps_and_ranks.log",
    "mlflow": "mlflow/two_runs_and_a_deleted_one",
    "mlflow-db": "mlflow-db/two_runs.db",
    "mmcv": "table/mmcv.log.json",
    "mmengine": "table/mmengine_scalars.json",
    "monitor": "table/monitor.csv",
    "monitors": "sb3-monitor/two_environments",
    "nanogpt": "lines/nanogpt.txt",
    "nanogpt-speedrun": "lines/speedrun_in_seconds.txt",
    "parameter-golf": "lines/parameter_golf.log",
    "seeds": "table/several_seeds.csv",
    "tfevents": "tfevents/restarted",
    "torchtitan": "lines/torchtitan_colours.log",
    "ultralytics": "table/ultralytics_padded.csv",
    "wandb": "wandb/finished",
    "wandb-history": "table/wandb_history.jsonl",
    "wandb-panel": "table/wandb_panel.csv",
    "wandb-table": "table/wandb_runs.csv",
    "yolov5": "table/yolov5_padded.csv",
}


def torn(content: bytes) -> bytes:
    """Cut off the file within its last line, or its last bytes."""
    last = content.rstrip(b"\n").rpartition(b"\n")[2]
    return content.rstrip(b"\n")[: -max(min(len(last), 60) // 2, 1)]


def resumed(content: bytes) -> bytes:
    """Repeat the second half of the lines."""
    content = content.rstrip(b"\n") + b"\n"
    lines = content.splitlines(keepends=True)
    return content + b"".join(lines[max(len(lines) // 2, 1) :])


def twice(content: bytes) -> bytes:
    """Repeat the whole file, as two trainings that append to one file leave it."""
    return content + content


def read(folder: Path) -> tuple[pl.DataFrame | None, Counter[str]]:
    """Return the rows of a folder, or none, and how many problems of which code, or the error."""
    table = folder.with_suffix(".parquet")
    try:
        account = ingest([folder], table, workers=1)
    except TtastatsError as error:
        return None, Counter({str(error): 1})
    return store.read_tables([table]).collect(), Counter(account.problem_counts())


def changed(case: Path, folder: Path, change: Callable[[bytes], bytes]) -> Path:
    """Copy a fixture, with the files that are logs changed."""
    target = folder / case.name
    folder.mkdir()
    if (case.parent / FILE).exists():
        shutil.copy(case.parent / FILE, folder / FILE)
    (shutil.copytree if case.is_dir() else shutil.copy)(case, target)
    files = [path for path in target.rglob("*") if path.is_file()] if case.is_dir() else [target]
    for path in files:
        if path.suffix not in {".yaml", ".toml"}:
            path.write_bytes(change(path.read_bytes()))
    return folder


def values(rows: pl.DataFrame | None) -> Counter[tuple[object, ...]]:
    if rows is None:
        return Counter()
    return Counter(rows.select("metric", "step", "epoch", "logged_value").rows())


#: What is no error of the reader: steps of monitors count on, and half a log of MMEngine begins
#: with a value whose step stood in the line before.
COUNTS_ON = {"monitors", "mmengine"}


@cache
def as_it_is(kind: str) -> tuple[pl.DataFrame | None, Counter[str]]:
    with TemporaryDirectory() as place:
        return read(changed(FIXTURES / KINDS[kind], Path(place) / "a", bytes))


#: Why a file that holds two runs is refused, or what to do.
REASONS = "--new-run|--resume|not a trainer state|cannot be read|but the header has"


@pytest.mark.parametrize("change", [torn, resumed, twice])
@pytest.mark.parametrize("kind", KINDS)
def test_a_log_with_a_misfortune(
    kind: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    whole, known = as_it_is(kind)
    after, codes = read(changed(FIXTURES / KINDS[kind], tmp_path / "after", change))
    assert after is not None or change is not twice or re.search(REASONS, str(codes))
    assert whole is not None
    assert "dialect_failed" not in codes
    more = codes - known
    made_up = values(after).keys() - values(whole).keys()
    if change is not torn:
        assert not made_up or kind in COUNTS_ON
        assert after is None or not values(whole).keys() - values(after).keys() or more or made_up
    elif after is not None:
        assert not made_up or more
        assert after.height >= whole.height // 3


@pytest.mark.parametrize("kind", ["keras", "lightning", "nanogpt", "torchtitan", "wandb-panel"])
def test_two_runs_in_one_file_are_two_runs_where_one_says_so(kind: str, tmp_path: Path) -> None:
    folder = changed(FIXTURES / KINDS[kind], tmp_path / "twice", twice)
    file = next(path for path in folder.iterdir() if path.name != FILE)
    block = {"preset": kind, "new_run": "step back"}
    account = ingest([file], tmp_path / "x.parquet", block=block, workers=1)
    before, _ = as_it_is(kind)
    assert before is not None
    assert account.runs == 2 * before["run_id"].n_unique()
