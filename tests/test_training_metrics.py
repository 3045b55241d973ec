"""Training metrics come on request, and change no answer."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests import made_logs
from tests.conftest import FIXTURES
from ttastats import api, ingest
from ttastats.table.store import read_tables

LOG = "".join(
    made_logs.line(key, value, seconds, **about)
    for key, value, seconds, about in (
        ("submission_benchmark", "bert", 0, {}),
        ("run_start", None, 1, {}),
        ("train_loss", 2.5, 5, {"samples_count": 64, "lr": 0.01}),
        ("tracked_stats", {"throughput": 320.5, "note": "x"}, 6, {"epoch_num": 0.5}),
        ("train_loss", float("nan"), 9, {"samples_count": 128}),
        ("eval_accuracy", 0.73, 11, {"epoch_num": 1}),
        ("train_loss", 1.5, 15, {"samples_count": 192}),
        ("tracked_stats", {"throughput": 310.0}, 16, {"epoch_num": 1.5}),
    )
)


@pytest.mark.parametrize("dialect", ["hf-trainer", "tfevents", "wandb", "mlflow", "mlperf-mllog"])
def test_no_answer_depends_on_training_metrics(dialect: str, tmp_path: Path) -> None:
    plain, full = tmp_path / "plain.parquet", tmp_path / "full.parquet"
    ingest([FIXTURES / dialect], plain, workers=1)
    ingest([FIXTURES / dialect], full, workers=1, metrics="all")
    more = read_tables([full]).filter(pl.col("eval_index") < 0).collect()
    assert more.height > 0 or dialect == "mlperf-mllog"
    assert more.get_column("metric").null_count() == 0
    for answer in (api.runs, api.summary):
        assert answer([full]).rows == answer([plain]).rows  # type: ignore[operator]


OWN = "epoch,seconds,train_loss,lr,val_accuracy\n" + "".join(
    f"{n},{60 * n},{2 / n},{0.1 / n},{0.2 * n:.1f}\n" for n in (1, 2, 4)
)


@pytest.mark.parametrize(
    ("text", "kind", "metric", "points"),
    [
        (LOG, "quality-time", "throughput", [(5, 320.5), (15, 310.0)]),
        (LOG, "quality-epochs", "throughput", [(0.5, 320.5), (1.5, 310.0)]),
        (LOG, "quality-time", "train_loss", [(4, 2.5), (14, 1.5)]),
        (OWN, "quality-epochs", "lr", [(1, 0.1), (2, 0.05), (4, 0.025)]),
        (OWN, "quality-time", "val_accuracy", [(60, 0.2), (120, 0.4), (240, 0.8)]),
    ],
)
def test_any_metric_is_drawn_over_time_and_epochs(
    tmp_path: Path, text: str, kind: str, metric: str, points: list[tuple[float, float]]
) -> None:
    log, over = tmp_path / "log", "seconds" if kind == "quality-time" else "epoch"
    log.write_text(text)
    block = {"metric": "val_accuracy >= 0.7"} if text == OWN else None
    ingest([log], log.with_suffix(".parquet"), workers=1, metrics="all", block=block)
    (plot,) = api.plot(kind, log.with_suffix(".parquet"), metric=metric)
    lines, *_ = plot.data.values()
    assert list(lines.select(over, "value").iter_rows()) == points
    has_target = metric == "val_accuracy"
    assert ("The dotted line is the target" in plot.caption) is has_target
    assert ("the mark is" in plot.caption) is has_target
    plot.to_svg()
